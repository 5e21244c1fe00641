//! Statements that are remembered by their text: how a message parses, the text that PostgreSQL
//! runs for a statement over public tables alone, and the plan of one over private rows. No entry
//! depends on a private row, and all end with the policy: a reload that changes neither the policy
//! nor a table leaves them.

use super::certificates::Certificates;
use super::domain_sizes::DomainSizes;
use super::type_cache;
use crate::gateway::Statement;
use crate::gateway::private::bounds::Auto;
use crate::gateway::session::statement::Planned;
use answer::{ClientError, Field, Values};
use bytes::Bytes;
use plan::Plan;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// Bytes of the longest text that is remembered.
const LONGEST: usize = 8 * 1024;
/// Bytes of all syntax trees.
const TREES: u64 = 16 << 20;
/// Bytes of all texts of public statements.
const TEXTS: u64 = 8 << 20;
/// Bytes of an entry beside its contents.
const ENTRY: u64 = 512;
/// Bytes of all plans.
const PLANS: u64 = 32 << 20;
/// Entries that a cache is laid out for.
const ENTRIES: usize = 1_000;

/// Caches of statements, for as long as the policy and the tables that it was checked against stay
/// as they are.
#[derive(Default)]
pub struct Known {
    /// Columns of statements, as PostgreSQL typed them.
    pub typed: type_cache::Cache,
    /// Columns of finishes.
    pub finishes: type_cache::Cache,
    pub parsed: Parsed,
    pub public: PublicTexts,
    pub plans: Plans,
    pub sizes: DomainSizes,
    pub certificates: Certificates,
}

/// Messages, and the statements that they are.
pub struct Parsed(Cache<Arc<str>, Arc<[Statement]>, Memory>);

/// Weight of an entry, in bytes.
#[derive(Clone)]
struct Memory;

impl Weighter<Arc<str>, Arc<[Statement]>> for Memory {
    fn weight(&self, text: &Arc<str>, statements: &Arc<[Statement]>) -> u64 {
        ENTRY + (text.len() + statements.iter().map(Statement::bytes).sum::<usize>()) as u64
    }
}

impl Default for Parsed {
    fn default() -> Self {
        Self(Cache::with_weighter(ENTRIES, TREES, Memory))
    }
}

impl Parsed {
    pub fn get(&self, sql: &str) -> Option<Vec<Statement>> {
        self.0.get(sql).map(|statements| statements.to_vec())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn keep(&self, sql: &str, statements: &[Statement]) {
        if sql.len() <= LONGEST {
            self.0.insert(sql.into(), statements.into());
        }
    }
}

/// The terms by which a session's statements are read, beside their texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The settings that PostgreSQL reads constants by, and shows values by.
    pub settings: backend::Settings,
    /// The schemas of names without one.
    pub path: Vec<String>,
    /// Name of the database, as clients call it.
    pub database: String,
    /// Values of the settings `noisegate.*` that decide about columns
    /// ([`crate::gateway::session::settings::table`]).
    pub own: Vec<String>,
}

/// The key of a statement: two with one key are the same statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    reading: Arc<Reading>,
    text: Arc<str>,
    /// Types of parameters, their values, and the formats of these.
    types: Vec<u32>,
    parameters: Vec<Option<Bytes>>,
    formats: Vec<i16>,
}

impl Key {
    pub fn new(reading: Arc<Reading>, text: &Arc<str>, types: &[u32], values: &Values) -> Self {
        let Values { parameters, formats, .. } = values.clone();
        Self { reading, text: text.clone(), types: types.to_vec(), parameters, formats }
    }

    /// Whether no value of its parameters may be read as a moment.
    fn is_lasting(&self) -> bool {
        self.parameters.iter().flatten().all(|v| backend::is_lasting(&String::from_utf8_lossy(v)))
    }

    pub fn size(&self) -> usize {
        self.text.len() + self.parameters.iter().flatten().map(Bytes::len).sum::<usize>()
    }
}

/// A statement over public tables as PostgreSQL runs it.
#[derive(Debug)]
pub struct PublicText {
    pub sql: String,
    /// The columns of its last run, in text.
    pub fields: Vec<Field>,
}

impl PublicText {
    pub fn size(&self) -> usize {
        self.sql.len() + self.fields.len() * size_of::<Field>()
    }
}

/// Statements over public tables.
pub struct PublicTexts(Cache<Key, Arc<PublicText>, Memory>);

impl Weighter<Key, Arc<PublicText>> for Memory {
    fn weight(&self, key: &Key, public: &Arc<PublicText>) -> u64 {
        ENTRY + (key.size() + public.size()) as u64
    }
}

impl Default for PublicTexts {
    fn default() -> Self {
        Self(Cache::with_weighter(ENTRIES, TEXTS, Memory))
    }
}

impl PublicTexts {
    pub fn get(&self, key: &Key) -> Option<Arc<PublicText>> {
        self.0.get(key)
    }

    pub fn keep(&self, key: Key, public: PublicText) {
        if key.size() <= LONGEST && public.sql.len() <= 4 * LONGEST {
            self.0.insert(key, Arc::new(public));
        }
    }

    pub fn forget(&self, key: &Key) {
        self.0.remove(key);
    }
}

/// The plan of a statement over private rows.
pub struct KeptPlan {
    pub plan: Plan,
    /// The statement, where a bound is chosen for it each time.
    pub auto: Option<Arc<Auto>>,
    /// The settings of the planner that made it.
    settings: plan::Settings,
    sizes: plan::Sizes,
    /// Columns, in text.
    pub fields: Vec<Field>,
    /// Bytes that it takes, at most.
    bytes: usize,
}

/// Plans of statements over private rows.
pub struct Plans(Cache<Key, Arc<KeptPlan>, Memory>);

impl Weighter<Key, Arc<KeptPlan>> for Memory {
    fn weight(&self, key: &Key, kept: &Arc<KeptPlan>) -> u64 {
        ENTRY + (key.size() + kept.bytes) as u64
    }
}

impl Default for Plans {
    fn default() -> Self {
        Self(Cache::with_weighter(ENTRIES, PLANS, Memory))
    }
}

impl Plans {
    /// The plan, where it was made with these.
    pub fn get(&self, key: &Key, settings: &plan::Settings, sizes: &plan::Sizes) -> Option<Arc<KeptPlan>> {
        self.0.get(key).filter(|kept| kept.settings == *settings && kept.sizes == *sizes)
    }

    /// Keeps a plan of at most `bytes` bytes.
    pub fn keep(&self, key: Key, planned: &Planned, sizes: plan::Sizes, fields: &[Field], bytes: usize) {
        if planned.lasting && key.size() <= LONGEST && key.is_lasting() {
            let (plan, settings, fields) = (planned.plan.clone(), planned.settings.clone(), fields.to_vec());
            // A statement takes no more than its plan.
            let auto = planned.auto.clone();
            let bytes = if auto.is_some() { 2 * bytes } else { bytes };
            self.0.insert(key, Arc::new(KeptPlan { plan, auto, settings, sizes, fields, bytes }));
        }
    }
}

/// Whether an error may come from what was remembered: tables were altered, or are not there any more.
pub fn may_be_outdated(error: &ClientError) -> bool {
    matches!(&error.code.0, [b'4', b'2', ..] | b"0A000")
}
