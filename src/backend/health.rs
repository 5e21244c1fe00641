//! Whether the database answers, and how its connections are used.

use super::pool::Backend;
use super::settings::Settings;
use deadpool::managed::{Manager, Pool};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long the database may take to say anything.
const PATIENCE: Duration = Duration::from_secs(3);

/// Use of a pool of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// Connections that it may have.
    pub most: usize,
    /// Connections that work.
    pub busy: usize,
    /// Statements that wait for one.
    pub waiting: usize,
}

impl PoolUse {
    fn of<M: Manager>(pool: &Pool<M>) -> Self {
        let status = pool.status();
        Self {
            most: status.max_size,
            busy: status.size.saturating_sub(status.available),
            waiting: status.waiting,
        }
    }
}

impl Backend {
    /// Connections of the fetch login, of the finish login that run statements, and of the same that type them.
    pub fn pools(&self) -> [PoolUse; 3] {
        [PoolUse::of(&self.fetch), PoolUse::of(&self.finish), PoolUse::of(&self.aside)]
    }

    /// Time that the database takes to answer a question about nothing, by the finish login.
    ///
    /// # Errors
    /// Why it does not, for the operator.
    pub async fn ping(&self) -> Result<Duration, String> {
        let begun = Instant::now();
        let asked = async {
            let rows = self.query(&Settings::default(), "SELECT 1", &[], &[0]).await;
            rows.map_err(|e| e.to_string())?.into_texts().await.map_err(|e| e.to_string())
        };
        match timeout(PATIENCE, asked).await {
            Ok(answer) => answer.map(|_| begun.elapsed()),
            Err(_) => Err(format!("it did not answer within {} seconds", PATIENCE.as_secs())),
        }
    }
}
