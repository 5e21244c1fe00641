//! Whether the schema is still the one that was planned on (soundness rule 7), at little cost.
//!
//! The fingerprint itself takes a millisecond to compute. So the place and transaction of each catalog row that it
//! rests on are remembered from when it was last right: as long as these are the same, so is it. When they are not
//! (a change that does not matter, a rewritten catalog), it is computed, and they are remembered anew.

use crate::citus::Spread;
use crate::connection::FetchClient;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::{Client, Error, Statement};

/// A fingerprint of the schema: the value of a query over catalogs when the policy was loaded.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    sql: String,
    expected: String,
    quick: Option<Quick>,
    spread: Option<Spread>,
}

/// A quick check that the fingerprint is right, without computing it.
#[derive(Clone, Debug)]
pub(crate) struct Quick {
    /// `; LOCK TABLE …`, or nothing.
    pub(crate) lock: String,
    /// No table is without a lock.
    pub(crate) locks_all: bool,
    /// Gives the versions of all catalog rows that the fingerprint rests on.
    pub(crate) versions: String,
    /// Gives the versions of those that the lock does not hold.
    pub(crate) rest: String,
    /// The fingerprint, or NULL if a table may have had a child for a while.
    pub(crate) settled: String,
    /// The versions and the rest with which it was last right. Shared by all who check it.
    pub(crate) known: Arc<Mutex<(String, String)>>,
}

impl Quick {
    /// Remembers the versions that this transaction sees, in which the fingerprint is right. Gives the rest.
    pub(crate) async fn learn(&self, client: &Client) -> Result<Option<String>, Error> {
        let (versions, rest) =
            (client.query(&self.versions, &[]).await?, client.query(&self.rest, &[]).await?);
        let (Some(versions), Some(rest)) = (value(&versions)?, value(&rest)?) else { return Ok(None) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = (versions.to_owned(), rest.to_owned());
        Ok(Some(rest.to_owned()))
    }
}

impl Fingerprint {
    /// A fingerprint from a SELECT of one row with one text, and the text that it gave.
    pub fn new(sql: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { sql: sql.into(), expected: expected.into(), quick: None, spread: None }
    }

    pub(crate) fn with_quick(self, quick: Quick) -> Self {
        Self { quick: Some(quick), ..self }
    }

    /// Of tables that Citus spreads.
    pub(crate) fn with_spread(self, spread: Spread) -> Self {
        Self { spread: Some(spread), ..self }
    }

    /// Facts about tables that Citus spreads, by which plans are proven.
    pub(super) fn spread(&self) -> Option<&Spread> {
        self.spread.as_ref()
    }

    /// Text of the locks, to append to BEGIN.
    pub(super) fn lock(&self) -> &str {
        self.quick.as_ref().map_or("", |q| q.lock.as_str())
    }

    /// Whether no table can be altered in a way that matters between the check and the read.
    pub(super) fn locks_all(&self) -> bool {
        self.quick.as_ref().is_some_and(|q| q.locks_all)
    }

    /// Queries of the fingerprint, prepared on this connection.
    pub(super) async fn prepare(&self, connection: &FetchClient) -> Result<Checks, Error> {
        let quick = match &self.quick {
            Some(quick) => Some(Prepared {
                versions: connection.prepared(&quick.versions).await?,
                rest: connection.prepared(&quick.rest).await?,
                quick: quick.clone(),
                at_first: Mutex::default(),
            }),
            None => None,
        };
        Ok(Checks { fingerprint: self.clone(), quick })
    }
}

/// The checks of a fetch, on its connection.
pub(super) struct Checks {
    fingerprint: Fingerprint,
    quick: Option<Prepared>,
}

struct Prepared {
    versions: Statement,
    rest: Statement,
    quick: Quick,
    /// The rest at the first check: others may learn something newer meanwhile.
    at_first: Mutex<Option<String>>,
}

impl Checks {
    /// Whether nothing is other than when the fingerprint was last right. `false` may be a false alarm.
    pub(super) async fn unchanged(&self, client: &Client) -> Result<bool, Error> {
        let Some(prepared) = &self.quick else { return self.right(client).await };
        let rows = client.query(&prepared.versions, &[]).await?;
        let known = prepared.quick.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = value(&rows)? == Some(&known.0);
        *prepared.at_first.lock().unwrap_or_else(PoisonError::into_inner) =
            unchanged.then(|| known.1.clone());
        Ok(unchanged)
    }

    /// [`unchanged`](Self::unchanged), after the end of a transaction that held the lock.
    pub(super) async fn still_unchanged(&self, client: &Client) -> Result<bool, Error> {
        let Some(prepared) = &self.quick else { return self.right(client).await };
        let rows = client.query(&prepared.rest, &[]).await?;
        let at_first = prepared.at_first.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(at_first.is_some() && value(&rows)? == at_first.as_deref())
    }

    /// Whether the fingerprint is right now.
    pub(super) async fn right(&self, client: &Client) -> Result<bool, Error> {
        self.computed(client, &self.fingerprint.sql).await
    }

    /// Whether the fingerprint is right in the snapshot of this transaction; if so, it is remembered by what.
    pub(super) async fn whole(&self, client: &Client) -> Result<bool, Error> {
        if !self.right(client).await? {
            return Ok(false);
        }
        if let Some(prepared) = &self.quick {
            let rest = prepared.quick.learn(client).await?;
            *prepared.at_first.lock().unwrap_or_else(PoisonError::into_inner) = rest;
        }
        Ok(true)
    }

    /// Whether the fingerprint is right after a transaction that held the lock, and was so throughout.
    pub(super) async fn settled(&self, client: &Client) -> Result<bool, Error> {
        match &self.quick {
            Some(prepared) => self.computed(client, &prepared.quick.settled).await,
            None => Ok(false),
        }
    }

    async fn computed(&self, client: &Client, sql: &str) -> Result<bool, Error> {
        Ok(value(&client.query(sql, &[]).await?)? == Some(&self.fingerprint.expected))
    }
}

/// The text of an answer of one row.
fn value(rows: &[tokio_postgres::Row]) -> Result<Option<&str>, Error> {
    match rows {
        [row] => row.try_get(0),
        _ => Ok(None),
    }
}
