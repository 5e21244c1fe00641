//! The policy after it was parsed, and checked against a schema: what the rest of the program may rely on.

use super::stream::Stream;
use bigdecimal::BigDecimal;
use schema::SqlType;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A checked policy. Every name in it exists in the schema it was checked against.
#[derive(Clone, Debug)]
pub struct Policy {
    /// SHA-256 over everything that changes an answer's meaning (unit, tables, bounds, budgets).
    pub version: [u8; 32],
    /// Where to listen.
    pub server: Server,
    /// Who may connect from where; empty lets in everybody who can log in.
    pub access: Vec<AccessRule>,
    /// What the operator hears.
    pub log: Log,
    /// The database.
    pub backend: Backend,
    /// The books.
    pub ledger: LedgerLocation,
    /// Entries of the books hold the text that the database was sent, too.
    pub ledger_text: bool,
    /// Table (index into `tables`) whose rows stand for units, and its unit column.
    pub unit: (usize, String),
    /// What one statement costs and may touch.
    pub statement: StatementDefaults,
    /// Every budget; all that match a user are debited.
    pub budgets: Vec<Budget>,
    /// Sparse vector streams.
    pub streams: Vec<Stream>,
    /// Who may log in.
    pub users: Vec<User>,
    /// The tables that exist for analysts.
    pub tables: Vec<Table>,
    /// Every limit.
    pub limits: Limits,
    /// How answers are kept.
    pub cache: Cache,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where clients arrive.
    pub listen: Vec<Listen>,
    /// Permissions of Unix sockets, as in `chmod`.
    pub unix_socket_permissions: u32,
    /// Certificate and key, if TLS is offered.
    pub tls: Option<Tls>,
    /// What running statements get to finish at a shutdown.
    pub shutdown_timeout: Duration,
    /// Where users are looked up who are in no list.
    pub auth_query: Option<AuthQuery>,
}

/// `server.auth_query`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthQuery {
    /// The database that has the verifiers.
    pub url: String,
    /// Gives the verifier of the user `$1`, as one text.
    pub query: String,
    /// The role of everybody who is found.
    pub role: Option<String>,
    /// Iterations of the verifiers there, for the exchange with users who do not exist.
    pub iterations: u32,
}

/// One address of `server.listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// A Unix socket `.s.PGSQL.<port>`, as clients of PostgreSQL look for it.
    Unix {
        /// The folder that it is in.
        folder: PathBuf,
        /// The port; None takes that of the first TCP address.
        port: Option<u16>,
    },
}

/// `[[access]]`: all that it names must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRule {
    /// Any of these; empty matches all.
    pub from: Vec<Network>,
    /// Any of these login names; empty matches all.
    pub users: Vec<String>,
    /// Any of these roles; empty matches all.
    pub roles: Vec<String>,
    /// With TLS, or without; None matches both.
    pub tls: Option<bool>,
    /// Whether who matches may connect.
    pub allow: bool,
}

/// One item of `access.from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Unix sockets.
    Local,
    /// IP addresses that begin alike.
    Inet {
        /// The first one.
        first: IpAddr,
        /// Bits that are alike.
        length: u8,
    },
}

/// `[log]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// How an event is written.
    pub format: LogFormat,
    /// Which events are written.
    pub level: LogLevel,
}

/// `log.format`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// `log.level`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Failures that need somebody.
    Error,
    /// And what may need somebody.
    Warn,
    /// And connections and statements.
    #[default]
    Info,
    /// And what helps to find a defect.
    Debug,
    /// And everything else.
    Trace,
}

/// `server.tls`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM file of the certificate chain.
    pub cert: PathBuf,
    /// PEM file of the key.
    pub key: PathBuf,
    /// Refuse connections without TLS.
    pub required: bool,
}

/// `[backend]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Reads private tables.
    pub url: String,
    /// Can read public tables only.
    pub finish_url: String,
    /// Passwords of both, where the URLs have none.
    pub password_file: Option<PathBuf>,
    /// Connections in each of the two pools.
    pub pool: usize,
    /// `statement_timeout` of backend sessions.
    pub statement_timeout: Duration,
    /// `work_mem` of fetch sessions, for example `64MB`.
    pub work_mem: Option<String>,
    /// Where `check --write-schema` puts the schema snapshot, and `explain` reads it.
    pub schema: PathBuf,
}

/// `ledger.url`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerLocation {
    /// A SQLite file; relative paths are relative to the policy.
    Sqlite(PathBuf),
    /// A schema of a PostgreSQL database.
    Postgres(LedgerDatabase),
}

/// Where a shared ledger is.
#[derive(Clone, PartialEq, Eq)]
pub struct LedgerDatabase {
    /// The connection; it may hold a password.
    pub url: String,
    /// The password, where the URL has none.
    pub password_file: Option<PathBuf>,
    /// The schema that is all the ledger's.
    pub schema: String,
    /// What the database gets to answer. Then statements are refused.
    pub timeout: Duration,
}

impl std::fmt::Debug for LedgerDatabase {
    /// Without the URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerDatabase").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl std::fmt::Display for LedgerLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(database) => database.fmt(f),
        }
    }
}

/// `[cache]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Answers are kept.
    pub enabled: bool,
    /// How long an answer is given again; None is until something else ends it.
    pub refresh: Option<Duration>,
    /// The channel whose NOTIFY ends the answers kept so far.
    pub notify: Option<String>,
    /// What `now()` is rounded down to a multiple of, where private rows are compared with it.
    pub snap: Option<Duration>,
    /// What kept answers are encrypted with.
    pub key: Option<CacheKey>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            enabled: true,
            refresh: Some(Duration::from_secs(86_400)),
            notify: None,
            snap: None,
            key: None,
        }
    }
}

/// `cache.key_file`, `cache.key`
#[derive(Clone, PartialEq, Eq)]
pub enum CacheKey {
    /// Where it is.
    File(PathBuf),
    /// The key itself.
    Bytes([u8; 32]),
}

/// `[statement]`
#[derive(Clone, Debug)]
pub struct StatementDefaults {
    /// The ε that names the price of a statement.
    pub epsilon: BigDecimal,
    /// Spent when any group key is private.
    pub delta: BigDecimal,
    /// Groups one unit may touch (l0).
    pub max_groups: u32,
    /// Rows one unit may bring to one group (l∞).
    pub max_rows: u32,
}

/// The notion a budget counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accounting {
    /// Σε; δ = 0.
    Pure,
    /// Σε, Σδ.
    Approx,
    /// Σε², converted to (ε, δ) by advanced composition.
    Advanced,
    /// Σρ, converted to (ε, δ).
    Zcdp,
    /// Rényi divergences at fixed orders.
    Rdp,
    /// Σμ², converted to (ε, δ).
    Gdp,
    /// So many uses of each declared mechanism, counted down.
    Envelope,
}

impl Accounting {
    /// All, as policies list them.
    pub const ALL: [Self; 7] =
        [Self::Pure, Self::Approx, Self::Advanced, Self::Zcdp, Self::Rdp, Self::Gdp, Self::Envelope];

    /// The notion that `dp` counts in; None where declared uses are counted.
    pub fn notion(self) -> Option<dp::Notion> {
        Some(match self {
            Self::Pure => dp::Notion::Pure,
            Self::Approx => dp::Notion::Approx,
            Self::Advanced => dp::Notion::Advanced,
            Self::Zcdp => dp::Notion::Zcdp,
            Self::Rdp => dp::Notion::Rdp,
            Self::Gdp => dp::Notion::Gdp,
            Self::Envelope => return None,
        })
    }

    /// The word that policies and ledgers use.
    pub fn word(self) -> &'static str {
        self.notion().map_or("envelope", dp::Notion::word)
    }

    /// By its word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.word() == word)
    }
}

/// Who shares a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everybody: the guarantee.
    Dataset,
    /// Each user has one: a quota.
    User,
    /// Each role has one: a quota.
    Role,
}

impl Scope {
    /// The word that ledgers use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dataset => "dataset",
            Self::User => "user",
            Self::Role => "role",
        }
    }

    /// By its word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Dataset, Self::User, Self::Role].into_iter().find(|s| s.word() == word)
    }
}

/// When a budget starts anew. In UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Periods of so many days, the first of which began on 1970-01-01.
    Days(u32),
    /// Calendar months.
    Month,
}

impl Window {
    /// As policies write it.
    pub fn word(self) -> String {
        match self {
            Self::Days(n) => format!("{n}d"),
            Self::Month => "month".into(),
        }
    }

    /// From 1 to 3660 days, or "month".
    pub fn parse(word: &str) -> Option<Self> {
        if word == "month" {
            return Some(Self::Month);
        }
        let days = word.strip_suffix('d')?;
        let plain = days.bytes().all(|b| b.is_ascii_digit()) && !days.starts_with('0');
        days.parse().ok().filter(|n| plain && (1..=3660).contains(n)).map(Self::Days)
    }
}

/// Uses of one mechanism that an envelope grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The noise, and what one unit can change.
    pub mechanism: dp::Mechanism,
    /// How often. A statement uses each of its noises once for every group that a unit may touch.
    pub uses: u32,
}

/// `[[budget]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name, unique.
    pub name: String,
    /// Whose it is.
    pub scope: Scope,
    /// Private tables: statements that read any of them are debited. Empty: all statements are.
    pub tables: Vec<String>,
    /// When it starts anew; None for one budget for all time.
    pub window: Option<Window>,
    /// The notion.
    pub accounting: Accounting,
    /// Total ε.
    pub epsilon: BigDecimal,
    /// Total δ (0 for pure).
    pub delta: BigDecimal,
    /// The part of δ that pays for private groups.
    pub selection_delta: BigDecimal,
    /// What an envelope grants; empty elsewhere.
    pub mechanisms: Vec<Declared>,
}

impl Budget {
    /// A budget over all tables and for all time.
    pub fn new(
        name: &str,
        scope: Scope,
        accounting: Accounting,
        epsilon: BigDecimal,
        delta: BigDecimal,
    ) -> Self {
        Self {
            name: name.into(),
            scope,
            tables: Vec::new(),
            window: None,
            accounting,
            epsilon,
            selection_delta: match accounting {
                Accounting::Envelope => BigDecimal::default(),
                _ => (&delta / BigDecimal::from(2)).normalized(),
            },
            delta,
            mechanisms: Vec::new(),
        }
    }

    /// The notion that says which noise it has a price for. An envelope has it for what it declares.
    pub fn notion(&self) -> dp::Notion {
        let gaussian = |d: &Declared| d.mechanism.kind() == dp::Kind::DiscreteGaussian;
        self.accounting.notion().unwrap_or(match self.mechanisms.iter().any(gaussian) {
            true => dp::Notion::Zcdp,
            false => dp::Notion::Pure,
        })
    }
}

/// `[[user]]`
#[derive(Clone, Debug)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Role, for budgets per role.
    pub role: Option<String>,
    /// A PostgreSQL SCRAM-SHA-256 verifier.
    pub scram: String,
}

/// A table that exists for analysts.
#[derive(Clone, Debug)]
pub struct Table {
    /// OID in the database.
    pub oid: u32,
    /// Schema in the database.
    pub schema: String,
    /// Name in the database, and the analyst's name for it.
    pub name: String,
    /// Public or private.
    pub privacy: Privacy,
    /// `max_rows` of this table, if the policy sets one.
    pub max_rows: Option<u32>,
    /// Visible columns. Hidden ones and those the policy does not name (for private tables) do not exist.
    pub columns: Vec<Column>,
    /// Keys that prove uniqueness, as column names; they may name hidden columns.
    pub keys: Vec<Vec<String>>,
    /// Rows of one unit are at most this many, proven by a key `(unit, n)` and a CHECK that bounds n.
    pub proven_rows: Option<u32>,
    /// Read with `ONLY` (the table has inheritance children, which the policy does not name).
    pub only: bool,
}

/// Whose rows a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Anybody may read it.
    Public,
    /// Each row belongs to the unit in this column of the table.
    Private {
        /// The column, and whether it can be NULL.
        unit: String,
        /// Rows with a NULL unit exist and are dropped.
        nullable: bool,
        /// The unit column's type.
        ty: SqlType,
    },
    /// Each row belongs to the unit of the row that it refers to, in another private table.
    Path(UnitPath),
}

/// One step of a `unit_path`. It equates columns of this table with a key of another, which may have a path of its
/// own; the last table has the unit column. Rows that lead nowhere belong to nobody and are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPath {
    /// Columns of this table.
    pub columns: Vec<String>,
    /// Their types, which are those of the key's columns.
    pub types: Vec<SqlType>,
    /// One of them can be NULL.
    pub nullable: bool,
    /// The other table, by its index in `Policy::tables`.
    pub table: usize,
    /// Its columns, in the same order; they hold a usable key (soundness rule 7).
    pub key: Vec<String>,
}

/// A visible column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// NOT NULL.
    pub not_null: bool,
    /// Its collation (if any) is deterministic.
    pub deterministic: bool,
    /// Declared or proven bounds, inclusive, with low <= high.
    pub range: Option<Range>,
    /// A public domain of values.
    pub domain: Option<Domain>,
    /// Grid for sums: declared, or the numeric's scale, or 1 for integers. None for floats without one.
    pub grid: Option<BigDecimal>,
}

/// Bounds of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// For numbers.
    Number {
        /// Inclusive.
        low: BigDecimal,
        /// Inclusive.
        high: BigDecimal,
    },
    /// For dates and timestamps: microseconds since 2000-01-01 00:00:00 (UTC for timestamptz).
    Time {
        /// Inclusive.
        low: i64,
        /// Inclusive.
        high: i64,
    },
}

/// Public values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Listed in the policy, or an enum's labels, or a CHECK's list; as text that casts to the column's type.
    Values(Vec<String>),
    /// The values of a column of a public table.
    References {
        /// Index into `Policy::tables`.
        table: usize,
        /// Column there.
        column: String,
    },
}

/// `[limits]`: everything that a client can grow has one.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one wire message, and so of one statement.
    pub max_statement_bytes: usize,
    /// Items in one IN list.
    pub max_in_list: usize,
    /// Nesting of expressions and queries.
    pub max_depth: usize,
    /// Expressions in one statement, after names are resolved.
    pub max_expressions: usize,
    /// Statements in one message.
    pub max_statements: usize,
    /// Groups of a public domain that are all returned; larger products count as private.
    pub max_public_groups: usize,
    /// Groups that a fetch may return.
    pub max_result_groups: usize,
    /// Client connections, all together.
    pub max_connections: usize,
    /// Client connections of one user.
    pub max_connections_per_user: usize,
    /// Prepared statements of one session.
    pub max_prepared: usize,
    /// Portals of one session.
    pub max_portals: usize,
    /// Bytes of rows that one session's suspended portals keep.
    pub max_portal_bytes: usize,
    /// Time a client has to log in.
    pub login_timeout: Duration,
    /// Failed fetches of one user in a day before the user is suspended.
    pub max_backend_errors: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_statement_bytes: 1 << 20,
            max_in_list: 10_000,
            max_depth: 100,
            max_expressions: 50_000,
            max_statements: 100,
            max_public_groups: 10_000,
            max_result_groups: 1_000_000,
            max_connections: 200,
            max_connections_per_user: 50,
            max_prepared: 1_000,
            max_portals: 1_000,
            max_portal_bytes: 64 << 20,
            login_timeout: Duration::from_secs(30),
            max_backend_errors: 5,
        }
    }
}

impl Table {
    /// The column that names the unit, if it is one of this table's own.
    pub fn unit_column(&self) -> Option<&str> {
        match &self.privacy {
            Privacy::Private { unit, .. } => Some(unit),
            Privacy::Public | Privacy::Path(_) => None,
        }
    }

    /// The visible column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }
}
