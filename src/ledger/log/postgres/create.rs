//! Creation of a ledger in a database, and the check for one.

use super::schema::{Names, VERSION};
use super::server::Server;
use crate::error::LedgerError;
use crate::log::{Row, Tip};
use tokio_postgres::Client;

pub(super) fn check(server: &Server, client: &Client, schema: &str) -> Result<(), LedgerError> {
    if !found(server, client, schema)?.1 {
        return Err(LedgerError::NoSchema(server.place.clone()));
    }
    let version = server.names.version();
    let version: i32 = server.wait(async { client.query_one(&version, &[]).await?.try_get(0) })?;
    if version != VERSION {
        return Err(server.unusable(format!("its format is {version}, not {VERSION}")));
    }
    let has_reads =
        || server.wait(async { client.query_one(Names::has_reads(), &[&schema]).await?.try_get(0) });
    if has_reads()? {
        return Ok(());
    }
    // Another proxy may make it at the same moment: what counts is whether it is there.
    let table = server.names.reads_table();
    let made = server.wait(client.batch_execute(&table));
    if has_reads()? {
        return Ok(());
    }
    let why = made.err().map_or_else(String::new, |e| format!(" ({e})"));
    Err(server.unusable(format!(
        "it was made by an earlier version, which had no table of reads, and this login cannot make it{why}; its owner \
         can, by running\n{table}\nand granting the proxies' login SELECT, INSERT, UPDATE and DELETE on it"
    )))
}

/// Whether there is such a schema, and a ledger in it.
fn found(server: &Server, client: &Client, schema: &str) -> Result<(bool, bool), LedgerError> {
    server.wait(async {
        let row = client.query_one(Names::found(), &[&schema]).await?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    })
}

pub(super) fn create(
    server: &Server,
    client: &mut Client,
    schema: &str,
    first: &[String],
) -> Result<(), LedgerError> {
    let (has_schema, has_ledger) = found(server, client, schema)?;
    if has_ledger {
        return Err(LedgerError::HasSchema(server.place.clone()));
    }
    let (rows, tip) = chained(first);
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
    let hashes: Vec<&[u8]> = rows.iter().map(|row| row.hash.as_slice()).collect();
    let names = &server.names;
    server.wait(async {
        let transaction = client.transaction().await?;
        if !has_schema {
            transaction.batch_execute(&names.create_schema()).await?;
        }
        transaction.batch_execute(&names.tables()).await?;
        transaction.execute(&names.append(), &[&ids, &bodies, &hashes]).await?;
        transaction.execute(&names.first_head(), &[&VERSION, &tip.id, &tip.hash.as_slice()]).await?;
        transaction.commit().await
    })
}

/// The chain of these bodies.
fn chained(first: &[String]) -> (Vec<Row>, Tip) {
    let mut tip = Tip::START;
    let rows = first
        .iter()
        .map(|body| {
            let row = tip.next(body.clone());
            tip = Tip::of(&row);
            row
        })
        .collect();
    (rows, tip)
}
