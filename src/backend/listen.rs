//! LISTEN: a connection of its own that hears one channel, by the login that reads public tables only.

use super::error::cause;
use super::pool::Backend;
use policy::{Policy, Privacy};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Hears a channel until the connection is lost, or this is dropped.
pub struct Listening {
    heard: mpsc::Receiver<()>,
    task: JoinHandle<()>,
    _client: Client,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listening {
    /// Waits for a NOTIFY; several at a time count as one. None once the connection is lost.
    pub async fn heard(&mut self) -> Option<()> {
        self.heard.recv().await
    }

    /// Whether there was one since, without waiting.
    pub fn heard_meanwhile(&mut self) -> bool {
        self.heard.try_recv().is_ok()
    }
}

impl Backend {
    /// Listens on a channel.
    ///
    /// # Errors
    /// The database's words, for the operator.
    pub async fn listen(&self, channel: &str) -> Result<Listening, String> {
        let login = &self.finish.manager().0;
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, login.connect()).await;
        let (client, mut connection) =
            connecting.map_err(|_| "it did not accept a connection in time")?.map_err(|e| cause(&e))?;
        // One that waits stands for all that come before it is heard.
        let (tell, heard) = mpsc::channel(1);
        let own = channel.to_owned();
        let task = tokio::spawn(async move {
            loop {
                match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(n))) if n.channel() == own => {
                        let _ = tell.try_send(());
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                }
            }
        });
        let listening = Listening { heard, task, _client: client };
        let sql = format!("LISTEN {}", schema::quoted::ident(channel));
        listening._client.batch_execute(&sql).await.map_err(|e| cause(&e))?;
        Ok(listening)
    }
}

/// Soundness rule 27: a trigger on a private table that notifies the cache's channel would make what an answer costs a
/// function of one person's row. A warning, where the source of such a trigger names the channel.
///
/// # Errors
/// The database's words, for the operator.
pub async fn row_triggers(client: &Client, policy: &Policy) -> Result<Option<String>, String> {
    let Some(channel) = &policy.cache.notify else { return Ok(None) };
    let private = policy.tables.iter().filter(|t| t.privacy != Privacy::Public);
    let tables: Vec<u32> = private.map(|t| t.oid).collect();
    let sql = "SELECT DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text
        FROM pg_catalog.pg_trigger AS t
        JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
        JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
        WHERE NOT t.tgisinternal AND t.tgrelid = ANY ($1)
          AND (pg_catalog.strpos(p.prosrc, $2) > 0
            OR pg_catalog.strpos(p.prosrc, pg_catalog.quote_literal($2)) > 0
            OR pg_catalog.strpos(pg_catalog.encode(t.tgargs, 'escape'), $2) > 0)
        ORDER BY 1";
    let rows = client.query(sql, &[&tables, channel]).await.map_err(|e| cause(&e))?;
    let found: Vec<String> =
        rows.iter().map(|r| r.try_get(0).map_err(|e| cause(&e))).collect::<Result<_, _>>()?;
    Ok((!found.is_empty()).then(|| {
        format!(
            "cache.notify = {channel:?} is named by a trigger on {}: whether an answer is fresh, and so what it \
             costs, would tell when a row was written\n    notify at the end of a load job instead",
            found.join(", ")
        )
    }))
}
