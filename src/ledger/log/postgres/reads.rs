//! Reads that have not ended well, in the database.

use super::server::Connection;
use crate::log::{PrivateRead, ReadChange};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

pub(super) async fn all(
    client: &Client,
    statement: &Statement,
) -> Result<Vec<PrivateRead>, tokio_postgres::Error> {
    let rows = client.query(statement, &[]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(PrivateRead {
            id: row.try_get(0)?,
            user: row.try_get(1)?,
            began: row.try_get(2)?,
            until: row.try_get(3)?,
            failed: row.try_get(4)?,
        })
    };
    rows.iter().map(read).collect()
}

/// Sends notes in their order: each is sent when it is first polled. Gives how many rows they changed.
pub(super) async fn send(
    connection: &Connection,
    notes: &[ReadChange],
) -> Result<u64, tokio_postgres::Error> {
    let client = &connection.client;
    let each = notes.iter().map(|note| async move {
        match note {
            ReadChange::Reserve(read) => {
                let row: [&(dyn ToSql + Sync); 5] =
                    [&read.id, &read.user, &read.began, &read.until, &read.failed];
                client.execute(&connection.reserve, &row).await
            }
            ReadChange::Fail(id) => client.execute(&connection.fail, &[id]).await,
            ReadChange::Remove(id) => client.execute(&connection.remove, &[id]).await,
        }
    });
    futures::future::join_all(each).await.into_iter().sum()
}
