//! Stored answers: asking again costs nothing, and gives the same numbers.
//!
//! `canonical` says which releases mean the same, `key` what an answer depends on, `reuse` which stored parts answer a
//! question, `single_flight` who of many pays, `epoch` when an answer ends; `encoding`, `seal` and `storage` are its form
//! at rest.
//! Only noisy values come here: this module can reach no exact one, and draws no noise. What a question costs, and
//! whether it is paid, is the gateway's and the ledger's business.

mod canonical;
mod encoding;
mod epoch;
mod key;
mod memory;
mod notify;
mod reuse;
mod seal;
mod single_flight;
mod storage;
mod walk;

pub use canonical::{Canonical, canonical};
pub use encoding::{Column, Record, Stored};
pub use epoch::Epoch;
pub use key::{Key, KeyContext, Keys, Wanted, together};
pub use reuse::Served;
pub use seal::{Broken, Seal};
pub use single_flight::Lead;

use backend::Backend;
use bytes::Bytes;
use ledger::{Ledger, Refusal};
use plan::Release;
use release::Noisy;
use std::sync::Arc;
use storage::{Found, Records};

/// Characters of a statement that are kept for whoever wrote it.
const SHOWN: usize = 4_000;
/// Releases with the same groups, at one price or at any, that are looked through for parts; further ones are found by their own keys.
const MAX_LIKE: u64 = 16;

/// Kept answers that are given for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// Answers of the same price, however wide their noise is.
    Any,
    /// Answers of the same price whose noise is as narrow as that of a fresh one.
    AsNarrow,
    /// Answers of any price whose noise is as narrow as that of a fresh one.
    AsNarrowAtAnyPrice,
}

/// A release with its keys.
#[derive(Clone, Debug)]
pub struct Question {
    canonical: Canonical,
    /// Keys of the question.
    pub keys: Keys,
}

impl Question {
    /// The question of a release.
    pub fn new(release: &Release, context: &KeyContext<'_>) -> Self {
        let canonical = canonical(release);
        let keys = Keys::of(&canonical, &release.spec, context);
        Self { canonical, keys }
    }

    /// The same question in these groups, a column for each key.
    pub fn in_groups(&self, groups: &[Vec<Option<Bytes>>]) -> Self {
        let columns = self.canonical.keys.iter().filter_map(|place| groups.get(*place)).map(Vec::as_slice);
        Self { canonical: self.canonical.clone(), keys: self.keys.in_groups(columns) }
    }

    /// The answer to this question from that to another of the same key, asked by `asked`.
    pub fn again(&self, release: &Release, other: &Self, asked: &Release, noisy: &Noisy) -> Option<Served> {
        let stored = reuse::stored(&other.canonical, &other.keys, &asked.spec, noisy)?;
        reuse::serve(release, &self.canonical, &self.keys, &[stored])
    }
}

/// Knowledge about a question.
#[derive(Clone, Debug)]
pub enum Known {
    /// A kept answer.
    Answer(Box<Served>),
    /// No answer, and the place where one could be kept.
    Nothing(Option<Key>),
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
    flights: Arc<single_flight::Flights>,
    epochs: Arc<epoch::EpochCache>,
    listener: notify::Listener,
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
    ///
    /// # Errors
    /// The key of the policy cannot be read.
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

    /// Number of records at hand in this process, and their bytes.
    pub fn at_hand(&self) -> (usize, usize) {
        self.shared.memory.usage()
    }

    /// The epoch at this moment, by the ledger's clock and count.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn epoch(&self, ledger: &Ledger) -> Result<Epoch, Refusal> {
        self.shared.epochs.now(ledger, self.cache.refresh).await
    }

    /// Hears the policy's channel from now on.
    pub fn listen(&self, backend: &Arc<Backend>, ledger: &Ledger) {
        let channel = self.cache.notify.as_deref().filter(|_| self.cache.enabled);
        let channel = channel.map(|channel| (channel, self.cache.notify_interval));
        notify::listen(&self.shared.listener, &self.shared.epochs, backend, ledger, channel);
    }

    /// Ends the epoch.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn refresh(&self, ledger: &Ledger, author: &str, reason: &str) -> Result<(), Refusal> {
        let now = ledger.epoch().await?;
        self.shared.epochs.end(ledger, now.number, author, reason).await
    }

    fn records<'a>(&'a self, ledger: &'a Ledger) -> Records<'a> {
        Records { seal: &self.seal, memory: &self.shared.memory, ledger }
    }

    /// The answer to a question, if one is kept that is accepted.
    pub async fn find(
        &self,
        ledger: &Ledger,
        question: &Question,
        release: &Release,
        accept: Accept,
    ) -> Known {
        let (records, keys) = (self.records(ledger), &question.keys);
        let serve = |stored: &[Stored]| reuse::serve(release, &question.canonical, keys, stored);
        let place = match records.find(&keys.exact).await {
            Found::Record(Record::Release(stored)) => match serve(&[stored]) {
                Some(served) => return Known::Answer(Box::new(served)),
                None => None,
            },
            Found::Record(_) => None,
            Found::Nothing(place) => place,
        };
        let as_narrow = |served: &Served| served.wider(release).is_none();
        let list = self.members(ledger, &keys.like).await;
        if let Some(places) = reuse::choose(&keys.parts, release.public_groups, &list) {
            let mut stored = Vec::with_capacity(places.len());
            for (key, _) in places.into_iter().filter_map(|p| list.get(p)) {
                match records.find(key).await {
                    Found::Record(Record::Release(one)) => stored.push(one),
                    _ => break,
                }
            }
            if let Some(served) = serve(&stored).filter(|s| accept == Accept::Any || as_narrow(s)) {
                return Known::Answer(Box::new(served));
            }
        }
        if accept == Accept::AsNarrowAtAnyPrice {
            for (key, _) in self.members(ledger, &keys.at_any_price).await {
                if let Found::Record(Record::Release(one)) = records.find(&key).await
                    && let Some(served) = serve(&[one]).filter(as_narrow)
                {
                    return Known::Answer(Box::new(served));
                }
            }
        }
        Known::Nothing(place)
    }

    /// The releases of a list, and their parts.
    async fn members(&self, ledger: &Ledger, list: &Key) -> Vec<(Key, Vec<Key>)> {
        let records = self.records(ledger);
        let mut members = Vec::new();
        for n in 0..MAX_LIKE {
            match records.find(&key::member(list, n)).await {
                Found::Record(Record::Member(key, parts)) => members.push((key, parts)),
                _ => break,
            }
        }
        members
    }

    /// Place where the answer to a question can be kept, if it is not there.
    pub async fn place(&self, ledger: &Ledger, question: &Question) -> Option<Key> {
        match self.records(ledger).find(&question.keys.exact).await {
            Found::Nothing(place) => place,
            Found::Record(_) => None,
        }
    }

    /// Keeps the answer to a question, which this entry paid for. `release` is as it was fetched.
    pub async fn keep(
        &self,
        ledger: &Ledger,
        entry: i64,
        place: Key,
        question: &Question,
        release: &Release,
        noisy: &Noisy,
    ) {
        let (records, keys) = (self.records(ledger), &question.keys);
        let Some(stored) = reuse::stored(&question.canonical, keys, &release.spec, noisy) else { return };
        let stored = Record::Release(stored);
        let member = async |list: &Key| {
            let parts: Vec<Key> = keys.parts.iter().map(|w| w.key).collect();
            for n in 0..MAX_LIKE {
                match records.find(&key::member(list, n)).await {
                    Found::Record(Record::Member(key, _)) if key != keys.exact => {}
                    Found::Nothing(Some(place)) => {
                        return records.put(entry, place, &Record::Member(keys.exact, parts)).await;
                    }
                    _ => return,
                }
            }
        };
        // Together, so that they share a commit.
        let lists = async { tokio::join!(member(&keys.like), member(&keys.at_any_price)) };
        tokio::join!(records.put(entry, place, &stored), lists);
    }

    /// Notes that what a payment for several questions is known by has been kept, each under its own key.
    pub async fn keep_several(&self, ledger: &Ledger, entry: i64, key: Key) {
        self.records(ledger).put(entry, key, &Record::Several).await;
    }

    /// Keeps what a user wrote, or how it begins, for that user, as long as answers are kept; `statement` is what the books call it.
    pub async fn remember(&self, ledger: &Ledger, entry: i64, user: &str, statement: &[u8; 32], text: &str) {
        if !self.enabled() {
            return;
        }
        let Ok(epoch) = self.epoch(ledger).await else { return };
        let records = self.records(ledger);
        if let Found::Nothing(Some(place)) = records.find(&key::asked(&epoch, user, statement)).await {
            let shown = match text.char_indices().nth(SHOWN) {
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
                None => text.to_owned(),
            };
            records.put(entry, place, &Record::Text(shown)).await;
        }
    }

    /// Text that a user wrote, of each of these statements; None when it is not kept any more.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn remembered(
        &self,
        ledger: &Ledger,
        user: &str,
        statements: impl IntoIterator<Item = [u8; 32]>,
    ) -> Result<Vec<Option<String>>, Refusal> {
        let epoch = self.epoch(ledger).await?;
        let records = self.records(ledger);
        let text = async |statement| match records.find(&key::asked(&epoch, user, &statement)).await {
            Found::Record(Record::Text(text)) => Some(text),
            _ => None,
        };
        // Together: the books read them in one go.
        Ok(futures::future::join_all(statements.into_iter().map(text)).await)
    }

    /// The place of the one who may pay for this key, or None after somebody else was done with it.
    pub async fn turn(&self, key: Key) -> Option<Lead> {
        self.shared.flights.turn(key).await
    }
}
