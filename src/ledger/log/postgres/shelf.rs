//! Stored releases in the database.

use super::{CHANGED, Postgres, Put, array, send};
use crate::error::LedgerError;
use crate::log::{Forget, Kept, Shelf};
use tokio_postgres::types::ToSql;

impl Postgres {
    fn try_get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        self.connection()?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        self.server.wait(async {
            let row = connection.client.query_opt(&connection.get, &[&key.as_slice()]).await?;
            row.as_ref().map(kept).transpose()
        })
    }

    /// Sends what waits, and then a statement that gives one number.
    fn remove(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        let client = &connection.client;
        let done = self.server.wait(async {
            // What waited is in the table from now on, or not any more.
            batch.looked.clear();
            let whole = send(connection, batch).await?;
            batch.dirty = true;
            Ok((whole, client.query_one(sql, params).await?.try_get::<_, i64>(0)?))
        });
        match done {
            Ok((true, number)) => Ok(u64::try_from(number).unwrap_or(0)),
            Ok((false, _)) => {
                self.give_up();
                Err(self.server.unusable(CHANGED))
            }
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }
}

impl Shelf for Postgres {
    fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        batch.stored = batch.stored.saturating_add(bytes.len() as u64);
        batch.puts.push(Put { key: *key, entry, epoch, bytes });
        Ok(())
    }

    fn look(&mut self, keys: &[[u8; 32]]) -> Result<(), LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let connection = self.connection.as_ref().ok_or(LedgerError::NoBatch)?;
        if keys.is_empty() {
            return Ok(());
        }
        let wanted: Vec<&[u8]> = keys.iter().map(<[u8; 32]>::as_slice).collect();
        let found = self.server.wait(async {
            let rows = connection.client.query(&connection.look, &[&wanted]).await?;
            rows.iter().map(|row| Ok((array(row.try_get(3)?), kept(row)?))).collect::<Result<Vec<_>, _>>()
        });
        match found {
            Ok(found) => {
                batch.looked.extend(keys.iter().map(|key| (*key, None)));
                batch.looked.extend(found.into_iter().map(|(key, kept)| (key, Some(kept))));
                Ok(())
            }
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        let idle = self.batch.is_none() && self.connection.is_some();
        let looked = self.batch.as_ref().and_then(|batch| batch.looked.get(key).cloned());
        let got = match looked.map_or_else(|| self.try_get(key), Ok) {
            Err(_) if idle && self.connection.as_ref().is_some_and(|c| c.client.is_closed()) => {
                self.give_up();
                self.try_get(key)
            }
            got => got,
        };
        let waiting = self.batch.iter().flat_map(|b| &b.puts).find(|put| put.key == *key);
        match got {
            Ok(None) => {
                Ok(waiting.map(|put| Kept { entry: put.entry, epoch: put.epoch, bytes: put.bytes.clone() }))
            }
            Ok(kept) => Ok(kept),
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    fn forget(&mut self, what: Forget) -> Result<u64, LedgerError> {
        let names = &self.server.names;
        match what {
            Forget::Key(key) => {
                let sql = names.forget("key = $1");
                self.remove(&sql, &[&key.as_slice()])
            }
            Forget::Before(epoch) => {
                let sql = names.forget("epoch < $1");
                self.remove(&sql, &[&epoch])
            }
            Forget::All => {
                let sql = names.forget("true");
                self.remove(&sql, &[])
            }
        }
    }

    fn stored(&mut self) -> Result<u64, LedgerError> {
        let sql = self.server.names.stored();
        self.remove(&sql, &[])
    }

    fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError> {
        if self.batch.as_ref().ok_or(LedgerError::NoBatch)?.stored <= cap || self.stored()? <= cap {
            return Ok(0);
        }
        let room = i64::try_from(cap - cap / 10).unwrap_or(i64::MAX);
        let sql = self.server.names.make_room();
        self.remove(&sql, &[&room])
    }
}

fn kept(row: &tokio_postgres::Row) -> Result<Kept, tokio_postgres::Error> {
    Ok(Kept { entry: row.try_get(0)?, epoch: row.try_get(1)?, bytes: row.try_get(2)? })
}
