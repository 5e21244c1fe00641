//! Delivery of a batch: to an analyser over PostgreSQL's wire, as `COPY collection FROM STDIN`, or
//! into a folder.
//!
//! A batch leaves the spool when its receiver has it. When either dies between the two, it is sent
//! again, under the same id.

use super::running::Running;
use backend::{Login, cause};
use bytes::Bytes;
use futures::SinkExt;
use shuffler::{Batch, to_folder};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Error};

/// For a connection, and for a batch.
const PATIENCE: Duration = Duration::from_secs(300);
/// What an analyser answers about a batch that it will never take: it is none, of another description or key, or too large.
const NEVER: [&str; 3] = ["22P04", "22023", "54000"];
/// Bytes of one message.
const PIECE: usize = 1 << 16;

/// A connection to the analyser.
pub(super) struct Analyser {
    client: Client,
    task: JoinHandle<()>,
}

impl Drop for Analyser {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Analyser {
    /// Connects.
    pub(super) async fn connect(login: &Login) -> Result<Self, String> {
        let connected = timeout(PATIENCE, login.connect()).await;
        let (client, connection) = connected
            .map_err(|_| "the analyser does not answer".to_owned())?
            .map_err(|e| format!("the analyser cannot be reached: {}", cause(&e)))?;
        // How it ended is told by what the client was doing.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { client, task })
    }

    /// Sends a batch; how many of its reports were new to the analyser.
    async fn send(&self, collection: &str, batch: &Batch) -> Result<u64, Error> {
        let sql = format!("COPY {} FROM STDIN", schema::quoted::ident(collection));
        let sink = self.client.copy_in(&sql).await?;
        let mut sink = std::pin::pin!(sink);
        let text = Bytes::from(batch.text());
        for at in (0..text.len()).step_by(PIECE) {
            sink.send(text.slice(at..text.len().min(at + PIECE))).await?;
        }
        sink.finish().await
    }
}

/// Delivers a batch, whole. One that the analyser will never take is put into a folder for its operator, so that others are not
/// held up by it.
pub(super) async fn deliver(
    running: Arc<Running>,
    to: Option<&Analyser>,
    batch: Batch,
) -> Result<(), String> {
    let Some(analyser) = to else { return keep(running.config.batches.clone(), batch).await };
    let collections = running.config.shuffler.collections();
    let Some(collection) = collections.iter().find(|c| c.digest() == batch.collection) else {
        return Err(format!("batch {} is of a collection that is configured no more", batch.name()));
    };
    match timeout(PATIENCE, analyser.send(collection.name(), &batch)).await {
        Err(_) => Err("the analyser does not answer".into()),
        Ok(Ok(_)) => Ok(()),
        Ok(Err(e)) if e.code().is_some_and(|code| NEVER.contains(&code.code())) => {
            let (folder, name) = (running.config.batches.join("refused"), batch.name());
            keep(folder.clone(), batch).await?;
            eprintln!("noisegate: batch {name} was refused, and is in {}: {}", folder.display(), cause(&e));
            Ok(())
        }
        Ok(Err(e)) => Err(cause(&e)),
    }
}

async fn keep(folder: PathBuf, batch: Batch) -> Result<(), String> {
    let kept = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&folder)?;
        to_folder(&folder, &batch)
    });
    kept.await.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
}
