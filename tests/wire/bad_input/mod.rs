//! What bad input gets: at start-up, at the login, in statements; and probes for leaks.
//!
//! Each case has its SQLSTATE or exit code and a message that says what to do; afterwards the process still serves.

mod clients;
mod probes;
mod start_up;
mod statements;

use crate::city::{self, PASSWORD, policy};
use crate::raw::Client as Raw;
use crate::scram;
use crate::support::{Gate, TestDb, Workdir, connect};
use tokio_postgres::Client;

/// A database, a policy over it, and a proxy that serves it to `ada` and `bob`.
struct World {
    db: TestDb,
    dir: Workdir,
    gate: Gate,
}

impl World {
    async fn new(rules: &str) -> Self {
        Self::over(city::bikes().await, rules).await
    }

    async fn over(db: TestDb, rules: &str) -> Self {
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], rules));
        let gate = dir.serve().await;
        Self { db, dir, gate }
    }

    fn url(&self, user: &str, password: &str) -> String {
        self.gate.url(user, password, "bikes")
    }

    /// A session of `ada`.
    async fn ada(&self) -> Client {
        connect(&self.url("ada", PASSWORD)).await
    }

    /// A session of `ada` that sends bytes as they are.
    fn raw(&self) -> Raw {
        scram::login(self.gate.address.parse().unwrap(), "ada", PASSWORD, "bikes")
    }

    /// New clients get answers.
    async fn assert_alive(&self) {
        let rows = city::rows(&self.ada().await, "SELECT count(*) FROM stations").await.unwrap();
        assert_eq!(rows, [[Some("10".to_owned())]]);
    }
}
