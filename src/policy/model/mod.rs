//! The policy after it was parsed, and checked against a schema: what the rest of the program may rely on.
//!
//! One file for each section of the text, and one for the tables; data and their words only, nothing that reads text.

mod access;
mod answers;
mod backend;
mod budget;
mod cache;
mod collect;
mod console;
mod ledger;
mod limits;
mod log;
mod metrics;
mod profile;
mod role;
mod server;
mod stream;
mod table;
mod traces;
mod view;

pub use access::*;
pub use answers::*;
pub use backend::*;
pub use budget::*;
pub use cache::*;
pub use collect::*;
pub use console::*;
pub use ledger::*;
pub use limits::*;
pub use log::*;
pub use metrics::*;
pub use profile::*;
pub use role::*;
pub use server::*;
pub use stream::*;
pub use table::*;
pub use traces::*;
pub use view::*;

use bigdecimal::BigDecimal;

/// A checked policy. Every name in it exists in the schema it was checked against.
#[derive(Clone, Debug)]
pub struct Policy {
    /// SHA-256 over everything that changes an answer's meaning (unit, tables, bounds, budgets).
    pub version: [u8; 32],
    /// Addresses for clients.
    pub server: Server,
    /// Rules of who may connect from where; an empty list lets in everybody who can log in.
    pub access: Vec<AccessRule>,
    /// The operator's log.
    pub log: Log,
    /// Pages for owners and auditors, if there are any.
    pub console: Option<Console>,
    /// Metrics for monitoring, if any.
    pub metrics: Option<Metrics>,
    /// Collector of traces, if any.
    pub traces: Option<Traces>,
    /// The database.
    pub backend: Backend,
    /// The books.
    pub ledger: LedgerLocation,
    /// Entries of the books hold the text that the database was sent, too.
    pub ledger_text: bool,
    /// The unit. None where no table is about people: all that is asked is public, or was collected
    /// privately.
    pub unit: Option<Unit>,
    /// Price and bounds of one statement.
    pub statement: StatementDefaults,
    /// Every budget; all that match a user are debited.
    pub budgets: Vec<Budget>,
    /// Sparse vector streams.
    pub streams: Vec<Stream>,
    /// Queries that analysts find as tables.
    pub views: Vec<View>,
    /// Relations that are collected by local differential privacy.
    pub collects: Vec<Collect>,
    /// Users who may log in.
    pub users: Vec<User>,
    /// Roles that are answered in a way of their own.
    pub roles: Vec<Role>,
    /// The tables that exist for analysts.
    pub tables: Vec<Table>,
    /// Every limit.
    pub limits: Limits,
    /// Terms of kept answers.
    pub cache: Cache,
    /// Answers without rows.
    pub answers: Answers,
}

/// The unit of privacy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The table whose rows stand for units: its place in [`Policy::tables`].
    pub table: usize,
    /// Column whose values are the units.
    pub column: String,
}

impl Policy {
    /// Name of a unit: that of its column.
    pub fn unit_column(&self) -> &str {
        self.unit.as_ref().map_or("unit", |u| u.column.as_str())
    }

    /// `table.column` of the unit, as `privacy.unit` has it; empty where nobody's rows are read.
    pub fn unit_name(&self) -> String {
        let name = |u: &Unit| Some(format!("{}.{}", self.tables.get(u.table)?.name, u.column));
        self.unit.as_ref().and_then(name).unwrap_or_default()
    }
}

/// `[statement]`
#[derive(Clone, Debug)]
pub struct StatementDefaults {
    /// The ε that names the price of a statement.
    pub epsilon: BigDecimal,
    /// The least ε that a statement or a stream may be asked at.
    pub min_epsilon: BigDecimal,
    /// Spent when any group key is private.
    pub delta: BigDecimal,
    /// Groups one unit may touch (l0).
    pub max_groups: u32,
    /// Rows of one unit that count in each private group, and times `max_groups` in all groups together.
    pub max_rows: u32,
    /// The most rows that `noisegate.bounds = auto` may choose; None refuses it.
    pub auto_max_rows: Option<u32>,
    /// The part of ε that it spends on choosing.
    pub auto_share: BigDecimal,
}

/// `[[user]]`
#[derive(Clone, Debug)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Role, for budgets per role.
    pub role: Option<String>,
    /// A PostgreSQL SCRAM-SHA-256 verifier; None for who logs in by a certificate alone.
    pub scram: Option<String>,
    /// The common name that the client's certificate must have; None asks for no certificate.
    pub certificate: Option<String>,
    /// Whether its sessions begin with `noisegate.notices = on`; None leaves it to the role.
    pub notices: Option<bool>,
}
