//! A session with a running proxy, for commands that ask it as any client would, and pay.

use crate::cli::database::{self, Connected};
use tokio_postgres::SimpleQueryMessage;

/// A session with the proxy.
pub(super) struct Proxy {
    connected: Connected,
}

/// Rows as text.
pub(super) type Rows = Vec<Vec<Option<String>>>;

impl Proxy {
    /// Connects to the proxy that `--proxy` names.
    pub async fn connect(url: &str) -> Result<Self, String> {
        let connected = database::connect(&url.into(), None, "--proxy").await.map_err(|e| e.to_string())?;
        Ok(Self { connected })
    }

    /// The rows of a statement; the error is in the proxy's own words, with its hint.
    pub async fn rows(&self, sql: &str) -> Result<Rows, String> {
        let messages = self.connected.client.simple_query(sql).await.map_err(|e| refusal(&e))?;
        let row = |m: &SimpleQueryMessage| match m {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(messages.iter().filter_map(row).collect())
    }
}

fn refusal(e: &tokio_postgres::Error) -> String {
    let Some(db) = e.as_db_error() else { return database::reason(e) };
    let more = [db.detail(), db.hint()].into_iter().flatten().map(|m| format!("\n  {m}"));
    std::iter::once(db.message().to_owned()).chain(more).collect()
}
