//! The log in a PostgreSQL schema, for any number of processes.
//!
//! A process that appends holds the lock of the head's one row from `begin` to the end of its
//! transaction, and so knows every row before its own. A batch is two round trips: one reads what
//! others have appended, one writes and commits. Each batch proves that what this process has seen
//! is there still.

mod create;
mod reads;
mod schema;
mod server;
mod shelf;

pub use schema::grants;

use super::chain::{Gap, Read, Row, Tip, Walk};
use super::contract::{Begun, Log, Visit};
use super::read::{PrivateRead, ReadChange};
use super::shelf::Kept;
use crate::error::LedgerError;
use create::{check, create};
use policy::LedgerDatabase;
use schema::PAGE;
use server::{Connection, Server};
use std::collections::HashMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

/// A log in a database.
pub struct Postgres {
    server: Server,
    /// None until it is needed, and after a failure.
    connection: Option<Connection>,
    /// The last row that is known to be committed.
    tip: Tip,
    /// The batch that is open.
    batch: Option<Batch>,
    /// Batches need not be on disk when they end.
    relaxed: bool,
}

/// What is not sent yet.
struct Batch {
    /// Where the head is in the transaction.
    sent: Tip,
    /// The last row, sent or not.
    tip: Tip,
    rows: Vec<Row>,
    puts: Vec<Put>,
    notes: Vec<ReadChange>,
    /// What was looked for, and what was there.
    looked: HashMap<[u8; 32], Option<Kept>>,
    /// Bytes of stored releases, or more.
    stored: u64,
    /// Something was sent.
    dirty: bool,
}

struct Put {
    key: [u8; 32],
    entry: i64,
    epoch: i64,
    bytes: Vec<u8>,
}

impl Postgres {
    pub(super) fn create(ledger: &LedgerDatabase, first: &[String]) -> Result<(), LedgerError> {
        let server = Server::new(ledger)?;
        let (mut client, task) = server.connect()?;
        let made = create(&server, &mut client, &ledger.schema, first);
        server.end(client, task);
        made
    }

    pub(super) fn open(ledger: &LedgerDatabase) -> Result<Self, LedgerError> {
        let server = Server::new(ledger)?;
        let (client, task) = server.connect()?;
        let checked = check(&server, &client, &ledger.schema);
        server.end(client, task);
        checked?;
        let connection = Some(server.prepared()?);
        Ok(Self { server, connection, tip: Tip::START, batch: None, relaxed: false })
    }

    /// The connection, made if there is none.
    fn connection(&mut self) -> Result<&Connection, LedgerError> {
        if self.connection.is_none() {
            self.connection = Some(self.server.prepared()?);
        }
        self.connection.as_ref().ok_or(LedgerError::NoBatch)
    }

    /// Ends a connection of which nothing is known any more.
    fn give_up(&mut self) {
        self.batch = None;
        if let Some(connection) = self.connection.take() {
            self.server.close(connection);
        }
    }

    fn replay_pages(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        self.abandon();
        self.connection()?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        let (server, client) = (&self.server, &connection.client);
        // One snapshot of rows and head.
        server.wait(client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))?;
        let head = server.wait(head(client, &connection.head, 0))?.tip;
        let wrong = |gap: Gap| gap.error(server.place.clone(), self.tip.id, head.id);
        let mut walk = Walk::new(self.tip);
        loop {
            let page = server.wait(rows(client, &connection.rows, walk.last()))?;
            for row in &page {
                walk.follow(row).map_err(wrong)?;
                visit(row)?;
            }
            if (page.len() as i64) < PAGE {
                break;
            }
        }
        server.wait(client.batch_execute("ROLLBACK"))?;
        let tip = walk.end(&head).map_err(wrong)?;
        self.tip = tip;
        Ok(tip)
    }

    /// Takes the head's lock, and reads it and every row after `from`.
    fn lock(&mut self, from: i64) -> Result<(Head, Vec<Row>), LedgerError> {
        self.connection()?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        let (server, client) = (&self.server, &connection.client);
        let begin = server.names.begin(self.relaxed);
        let mut found: Vec<Row> = Vec::new();
        let mut hash = None;
        loop {
            let last = found.last().map_or(from, |row| row.id);
            // Sent together, answered in this order.
            let (head, page) = server.wait(async {
                let (begun, head, page, reads) = futures::join!(
                    client.batch_execute(&begin),
                    head(client, &connection.head, last),
                    rows(client, &connection.rows, last),
                    reads::all(client, &connection.reads)
                );
                begun?;
                Ok((Head { reads: reads?, ..head? }, page?))
            })?;
            if last == from {
                hash = head.hash;
            }
            let more = page.len() as i64 >= PAGE;
            found.extend(page);
            if !more {
                return Ok((Head { hash, ..head }, found));
            }
            // Others have appended a lot: they go on while it is read.
            server.wait(client.batch_execute("ROLLBACK"))?;
            loop {
                let last = found.last().map_or(from, |row| row.id);
                let page = server.wait(rows(client, &connection.rows, last))?;
                let more = page.len() as i64 >= PAGE;
                found.extend(page);
                if !more {
                    break;
                }
            }
        }
    }
}

impl Log for Postgres {
    fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        let done = self.replay_pages(visit);
        if done.is_err() {
            self.give_up();
        }
        done
    }

    fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
        self.abandon();
        // From where both the caller and the chain are known.
        let from = after.min(self.tip.id);
        let idle = self.connection.is_some();
        let begun = match self.lock(from) {
            // The connection may have died while nobody looked. Nothing was asked for yet: once more.
            Err(LedgerError::Unavailable { .. })
                if idle && self.connection.as_ref().is_some_and(|c| c.client.is_closed()) =>
            {
                self.give_up();
                self.lock(from)
            }
            begun => begun,
        };
        let proven = begun.and_then(|(head, rows)| {
            let read = Read { from, hash: head.hash, head: head.tip, rows };
            let rows = read
                .prove(self.tip, after)
                .map_err(|gap| gap.error(self.server.place.clone(), self.tip.id, head.tip.id))?;
            Ok((head, rows))
        });
        match proven {
            Ok((head, rows)) => {
                self.tip = head.tip;
                self.batch = Some(Batch {
                    sent: head.tip,
                    tip: head.tip,
                    rows: Vec::new(),
                    puts: Vec::new(),
                    notes: Vec::new(),
                    looked: HashMap::new(),
                    stored: head.stored,
                    dirty: false,
                });
                Ok(Begun { rows, now: head.now, reads: head.reads })
            }
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let row = batch.tip.next(body);
        batch.tip = Tip::of(&row);
        batch.rows.push(row.clone());
        Ok(row)
    }

    fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        self.batch.as_mut().ok_or(LedgerError::NoBatch)?.notes.push(change);
        Ok(())
    }

    fn relax(&mut self, relaxed: bool) {
        self.relaxed = relaxed;
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        let mut batch = self.batch.take().ok_or(LedgerError::NoBatch)?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        let idle = batch.rows.is_empty() && batch.puts.is_empty() && batch.notes.is_empty() && !batch.dirty;
        // A commit would sync the lock.
        let end = if idle { "ROLLBACK" } else { "COMMIT" };
        let done = self.server.wait(async {
            let (sent, ended) =
                futures::join!(send(connection, &mut batch), connection.client.batch_execute(end));
            // After an error the server takes COMMIT for ROLLBACK and does not say so.
            let whole = sent?;
            ended.map(|()| whole)
        });
        // What is committed by halves is answered to nobody, and found by the next batch.
        let done = done.and_then(|whole| if whole { Ok(()) } else { Err(self.server.unusable(CHANGED)) });
        match done {
            Ok(()) => {
                self.tip = batch.tip;
                Ok(())
            }
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    fn abandon(&mut self) {
        if self.batch.take().is_none() {
            return;
        }
        let Some(connection) = &self.connection else { return };
        if self.server.wait(connection.client.batch_execute("ROLLBACK")).is_err() {
            self.give_up();
        }
    }

    fn in_place(&self) -> bool {
        // Each batch looks for what this process has seen.
        true
    }

    fn tip(&self) -> Tip {
        self.tip
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The lock is not left to a timeout.
        self.give_up();
    }
}

/// What a rule or a trigger could do that somebody else has made.
const CHANGED: &str = "not every row that was written is there";

/// Sends rows, releases and notes that wait, in one round trip. Gives whether each changed what it must.
async fn send(connection: &Connection, batch: &mut Batch) -> Result<bool, tokio_postgres::Error> {
    let client = &connection.client;
    let rows = std::mem::take(&mut batch.rows);
    let puts = std::mem::take(&mut batch.puts);
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
    let hashes: Vec<&[u8]> = rows.iter().map(|row| row.hash.as_slice()).collect();
    let hash = batch.tip.hash.as_slice();
    let append: [&(dyn ToSql + Sync); 3] = [&ids, &bodies, &hashes];
    let moved: [&(dyn ToSql + Sync); 3] = [&batch.tip.id, &hash, &batch.sent.id];
    let entries = async {
        if !rows.is_empty() {
            let (appended, moved) = futures::join!(
                client.execute(&connection.append, &append),
                client.execute(&connection.move_head, &moved)
            );
            return Ok((appended?, moved?) == (rows.len() as u64, 1));
        }
        Ok(true)
    };
    let stored = futures::future::try_join_all(puts.iter().map(|put| async {
        let key = put.key.as_slice();
        let put: [&(dyn ToSql + Sync); 4] = [&key, &put.entry, &put.epoch, &put.bytes];
        client.execute(&connection.put, &put).await
    }));
    let notes = std::mem::take(&mut batch.notes);
    let noted = reads::send(connection, &notes);
    let (entries, stored, noted) = futures::join!(entries, stored, noted);
    stored?;
    let whole = entries? && noted? == notes.len() as u64;
    batch.sent = batch.tip;
    batch.dirty |= !rows.is_empty() || !puts.is_empty() || !notes.is_empty();
    Ok(whole)
}

struct Head {
    tip: Tip,
    stored: u64,
    now: i64,
    /// That of the row that was asked for.
    hash: Option<[u8; 32]>,
    reads: Vec<PrivateRead>,
}

async fn head(client: &Client, statement: &Statement, known: i64) -> Result<Head, tokio_postgres::Error> {
    let row = client.query_one(statement, &[&known]).await?;
    let hash: Option<&[u8]> = row.try_get(4)?;
    Ok(Head {
        tip: Tip { id: row.try_get(0)?, hash: array(row.try_get(1)?) },
        stored: u64::try_from(row.try_get::<_, i64>(2)?).unwrap_or(0),
        now: row.try_get(3)?,
        hash: hash.map(array),
        reads: Vec::new(),
    })
}

/// A page of rows.
async fn rows(client: &Client, statement: &Statement, after: i64) -> Result<Vec<Row>, tokio_postgres::Error> {
    let rows = client.query(statement, &[&after]).await?;
    let row = |row: &tokio_postgres::Row| {
        Ok(Row { id: row.try_get(0)?, body: row.try_get(1)?, hash: array(row.try_get(2)?) })
    };
    rows.iter().map(row).collect()
}

/// What is no hash is none of ours.
fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or_default()
}
