//! Stored answers: asking again costs nothing, and gives the same numbers.
//!
//! `canonical` says which releases mean the same, `key` what an answer depends on, `serve` which stored parts answer a
//! question, `flight` who of many pays, `epoch` when an answer ends; `bytes` and `seal` are its form at rest. Only noisy
//! values come here: this module can reach no exact one, and draws no noise. Where bytes are kept is the ledger's
//! business, what a question costs the gateway's.

mod bytes;
mod canonical;
mod epoch;
mod flight;
mod key;
mod memory;
mod notify;
mod seal;
mod serve;

pub use bytes::{Column, Record, Stored};
pub use canonical::{Canonical, canonical};
pub use epoch::Epoch;
pub use flight::Lead;
pub use key::{Around, Key, Keys, Wanted, together};
pub use seal::{Broken, Seal};
pub use serve::Served;

use crate::backend::Backend;
use crate::plan::Release;
use crate::policy;
use crate::release::Noisy;
use std::sync::Arc;
use std::time::SystemTime;

/// Releases that one list of releases with the same groups and price names; further ones are found by their own keys.
const MAX_LIST: usize = 64;

/// A release with its keys.
#[derive(Clone, Debug)]
pub struct Question {
    canonical: Canonical,
    /// Its keys.
    pub keys: Keys,
}

impl Question {
    /// What is asked by a release.
    pub fn new(release: &Release, around: &Around<'_>) -> Self {
        let canonical = canonical(release);
        let keys = Keys::of(&canonical, &release.spec, around);
        Self { canonical, keys }
    }
}

/// The answers that are kept, under one policy.
pub struct Store {
    cache: policy::Cache,
    seal: Seal,
    shared: Arc<Shared>,
}

/// What outlives a reload.
#[derive(Default)]
struct Shared {
    memory: memory::Memory,
    flights: Arc<flight::Flights>,
    ended: epoch::Ended,
    ear: notify::Ear,
}

impl Store {
    /// An empty one.
    ///
    /// # Errors
    /// The key of the policy cannot be read.
    pub fn new(cache: &policy::Cache) -> Result<Self, String> {
        Self::over(cache, Arc::default())
    }

    /// The same answers under another policy.
    pub fn reopened(&self, cache: &policy::Cache) -> Result<Self, String> {
        Self::over(cache, self.shared.clone())
    }

    fn over(cache: &policy::Cache, shared: Arc<Shared>) -> Result<Self, String> {
        let key = cache.key.as_ref().map(policy::CacheKey::read).transpose()?;
        Ok(Self { cache: cache.clone(), seal: Seal::new(key), shared })
    }

    /// Whether answers are kept.
    pub fn enabled(&self) -> bool {
        self.cache.enabled
    }

    /// The epoch at this moment.
    pub fn epoch(&self) -> Epoch {
        Epoch::at(SystemTime::now(), self.cache.refresh, self.shared.ended.times())
    }

    /// Hears the policy's channel from now on.
    pub fn listen(&self, backend: &Arc<Backend>) {
        notify::listen(&self.shared, backend, self.cache.notify.as_deref().filter(|_| self.cache.enabled));
    }

    /// Ends the epoch.
    pub fn end_epoch(&self) {
        self.shared.ended.end();
    }

    /// The answer to a question, if it is kept.
    pub async fn find(&self, question: &Question, release: &Release) -> Option<Served> {
        let keys = &question.keys;
        if let Some(Record::Release(stored)) = self.get(&keys.exact).await
            && let Some(served) = serve::serve(release, &question.canonical, keys, &[stored])
        {
            return Some(served);
        }
        let Some(Record::List(list)) = self.get(&keys.like).await else { return None };
        let places = serve::choose(&keys.parts, release.public_groups, &list)?;
        let mut stored = Vec::with_capacity(places.len());
        for place in places {
            let (key, _) = list.get(place)?;
            let Some(Record::Release(one)) = self.get(key).await else { return None };
            stored.push(one);
        }
        serve::serve(release, &question.canonical, keys, &stored)
    }

    /// Keeps the answer to a question. `release` is as it was fetched.
    pub async fn keep(&self, question: &Question, release: &Release, noisy: &Noisy) {
        let keys = &question.keys;
        let Some(stored) = serve::stored(&question.canonical, keys, &release.spec, noisy) else { return };
        self.put(&keys.exact, &Record::Release(stored)).await;
        let mut list = match self.get(&keys.like).await {
            Some(Record::List(list)) => list,
            _ => Vec::new(),
        };
        if list.len() < MAX_LIST && list.iter().all(|(key, _)| *key != keys.exact) {
            list.push((keys.exact, keys.parts.iter().map(|w| w.key).collect()));
            self.put(&keys.like, &Record::List(list)).await;
        }
    }

    /// The place of the one who may pay for this key, or None after somebody else was done with it.
    pub async fn turn(&self, key: Key) -> Option<Lead> {
        self.shared.flights.turn(key).await
    }

    async fn get(&self, key: &Key) -> Option<Record> {
        let bytes = self.shared.memory.get(key)?;
        self.opened(key, &bytes)
    }

    /// What was stored, if it can be read. What cannot counts as not stored: the question is paid for again.
    fn opened(&self, key: &Key, bytes: &[u8]) -> Option<Record> {
        let why = match self.seal.open(key, bytes) {
            Ok(plain) => match Record::decode(&plain) {
                Some(record) => return Some(record),
                None => Broken::Format,
            },
            Err(why) => why,
        };
        tracing::warn!(%why, "a kept answer cannot be used, and is paid for again");
        None
    }

    async fn put(&self, key: &Key, record: &Record) {
        match self.seal.close(key, &record.encode()) {
            Some(bytes) => self.shared.memory.put(*key, &bytes),
            None => tracing::warn!("an answer cannot be kept: no randomness is available"),
        }
    }
}
