//! The two views of a failure: what the client may read, and what the operator must know.
//!
//! [`ClientError`] is all that ever reaches a client. It is built from constants, from the analyst's own text,
//! and from names in the policy; never from a row. There is deliberately no `From<tokio_postgres::Error>`:
//! a backend's error becomes a client's only where the code says so by name, and a failure while private rows
//! are read becomes [`ClientError::incident`], a constant message with an id that the operator finds in the log.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Incidents of this process.
static INCIDENTS: AtomicU64 = AtomicU64::new(0);

/// Number of incidents in this process.
pub fn incidents() -> u64 {
    INCIDENTS.load(Ordering::Relaxed)
}

/// A five-character SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// Reads a code that came over the wire; anything that is not five ASCII letters or digits is `XX000`.
    pub fn parse(code: &str) -> Self {
        match <[u8; 5]>::try_from(code.as_bytes()) {
            Ok(b) if b.iter().all(u8::is_ascii_alphanumeric) => Self(b),
            _ => Self::INTERNAL,
        }
    }
}

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl SqlState { $($(#[$doc])* pub const $name: SqlState = SqlState(*$code);)* }
    };
}

states! {
    /// 08006: the backend is not reachable.
    CONNECTION_FAILURE = b"08006";
    /// 08P01: the client broke the protocol.
    PROTOCOL_VIOLATION = b"08P01";
    /// 0A000: not supported (yet, or because it would leak).
    FEATURE_NOT_SUPPORTED = b"0A000";
    /// 22023: a parameter has a value out of its domain.
    INVALID_PARAMETER_VALUE = b"22023";
    /// 25P02: the transaction has failed and waits for ROLLBACK.
    IN_FAILED_TRANSACTION = b"25P02";
    /// 25001: SET TRANSACTION and its like inside a transaction.
    ACTIVE_TRANSACTION = b"25001";
    /// 26000: no such prepared statement.
    UNDEFINED_STATEMENT = b"26000";
    /// 28000: the user may not connect this way.
    INVALID_AUTHORIZATION = b"28000";
    /// 28P01: wrong password (or no such user: the two look alike).
    INVALID_PASSWORD = b"28P01";
    /// 34000: no such cursor or portal.
    UNDEFINED_CURSOR = b"34000";
    /// 3D000: no such database.
    UNDEFINED_DATABASE = b"3D000";
    /// 42501: writing, or what the policy hides.
    INSUFFICIENT_PRIVILEGE = b"42501";
    /// 42601: syntax error.
    SYNTAX_ERROR = b"42601";
    /// 42702: ambiguous column.
    AMBIGUOUS_COLUMN = b"42702";
    /// 42703: no such column.
    UNDEFINED_COLUMN = b"42703";
    /// 42704: no such object (setting, type).
    UNDEFINED_OBJECT = b"42704";
    /// 42712: a table name is used twice.
    DUPLICATE_ALIAS = b"42712";
    /// 42803: a column must appear in GROUP BY or in an aggregate.
    GROUPING_ERROR = b"42803";
    /// 42804: types do not fit.
    DATATYPE_MISMATCH = b"42804";
    /// 42883: no such function.
    UNDEFINED_FUNCTION = b"42883";
    /// 42P01: no such table.
    UNDEFINED_TABLE = b"42P01";
    /// 42P10: an ordinal is out of the select list.
    INVALID_COLUMN_REFERENCE = b"42P10";
    /// 53300: too many connections.
    TOO_MANY_CONNECTIONS = b"53300";
    /// 53400: a configured limit is exceeded; here, the privacy budget.
    BUDGET_EXCEEDED = b"53400";
    /// 54000: a statement is larger or deeper than the limits allow.
    PROGRAM_LIMIT_EXCEEDED = b"54000";
    /// 55000: the schema changed under the policy; reload.
    OBJECT_NOT_IN_PREREQUISITE_STATE = b"55000";
    /// 57014: cancelled, by the client or by a time limit.
    QUERY_CANCELED = b"57014";
    /// 57P01: the proxy is shutting down.
    ADMIN_SHUTDOWN = b"57P01";
    /// 57P03: the proxy cannot serve now (ledger lost).
    CANNOT_CONNECT_NOW = b"57P03";
    /// 58030: the ledger cannot be written.
    IO_ERROR = b"58030";
    /// XX000: a defect of ours.
    INTERNAL = b"XX000";
}

/// ERROR ends the statement, FATAL the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed; the session goes on.
    Error,
    /// The connection ends.
    Fatal,
}

/// An error for the client. Holds no data of any row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// ERROR or FATAL.
    pub severity: Severity,
    /// The SQLSTATE.
    pub code: SqlState,
    /// Message: one sentence, PostgreSQL style: lower case, no full stop.
    pub message: String,
    /// More about it, if anything.
    pub detail: Option<String>,
    /// Hint: what to write or do instead.
    pub hint: Option<String>,
    /// Position in the client's own text: characters, counted from 1.
    pub position: Option<usize>,
}

impl ClientError {
    /// An ERROR with a code and a message.
    pub fn new(code: SqlState, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    /// SQLSTATE 0A000.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a position (characters, from 1).
    #[must_use]
    pub fn at(mut self, position: Option<usize>) -> Self {
        self.position = position.or(self.position);
        self
    }

    /// Makes it FATAL: the connection ends after it.
    #[must_use]
    pub fn fatal(mut self) -> Self {
        self.severity = Severity::Fatal;
        self
    }

    /// A failure whose cause the client must not read: logs `cause` for the operator under a random id and
    /// gives the client a constant message with that id.
    pub fn incident(code: SqlState, message: &'static str, cause: &dyn fmt::Display) -> Self {
        let id = logged(code, message, cause);
        Self::new(code, message)
            .detail(format!("Incident {id}."))
            .hint("The operator finds the cause in the proxy's log under this id.")
    }
}

/// An incident that no client hears of at once: logs it for the operator, and gives its id.
pub fn noted(message: &'static str, cause: &dyn fmt::Display) -> String {
    logged(SqlState::INTERNAL, message, cause)
}

fn logged(code: SqlState, message: &'static str, cause: &dyn fmt::Display) -> String {
    let id = incident_id();
    INCIDENTS.fetch_add(1, Ordering::Relaxed);
    tracing::error!(incident = %id, code = code.as_str(), cause = %cause, "{message}");
    id
}

/// A random id that joins the client's view with the operator's.
fn incident_id() -> String {
    let mut bytes = [0u8; 6];
    // An id need not be secret or unique beyond doubt: without entropy it is all zeros.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code.as_str())?;
        if let Some(hint) = &self.hint {
            write!(f, ". {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ClientError {}
