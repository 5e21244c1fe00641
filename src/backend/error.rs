//! Errors of the database, kept apart by who may read them.

use answer::{ClientError, SqlState};

use postgres_protocol::message::backend::ErrorFields;
use std::fmt;
use tokio_postgres::error::Severity;
use tokio_postgres::fallible_iterator::FallibleIterator;

/// Bytes of the largest row that is read.
pub(super) const LARGEST_ROW: usize = 64 << 20;

/// An error of PostgreSQL's. Its text must reach a client only from the finish login, which sees
/// released values only (soundness rule 32), or where a caller has made sure that it names only
/// names and types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbError {
    /// ERROR, FATAL or PANIC, not localised.
    pub severity: String,
    /// The SQLSTATE.
    pub code: SqlState,
    /// The message.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// Advice on what to do.
    pub hint: Option<String>,
    /// Character, from 1, in the text that *we* sent.
    pub position: Option<u32>,
}

impl DbError {
    pub(super) fn read(mut fields: ErrorFields<'_>) -> Self {
        let mut error = Self {
            severity: String::new(),
            code: SqlState::INTERNAL,
            message: String::new(),
            detail: None,
            hint: None,
            position: None,
        };
        // A field that cannot be read ends the list: what was read so far stands.
        while let Ok(Some(field)) = fields.next() {
            let value = String::from_utf8_lossy(field.value_bytes());
            match field.type_() {
                b'S' if error.severity.is_empty() => error.severity = value.into_owned(),
                b'V' => error.severity = value.into_owned(),
                b'C' => error.code = SqlState::parse(&value),
                b'M' => error.message = value.into_owned(),
                b'D' => error.detail = Some(value.into_owned()),
                b'H' => error.hint = Some(value.into_owned()),
                b'P' => error.position = value.parse().ok(),
                _ => {}
            }
        }
        error
    }

    /// The server ends this session: what follows is a closed connection.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// Whether a statement gives other types than when it was prepared.
    pub(super) fn is_outdated_plan(&self) -> bool {
        self.code.as_str() == "0A000"
    }
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code.as_str())
    }
}

/// Why a statement on the finish login gave no (more) rows.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RelayError {
    /// The database said no.
    #[error("{0}")]
    Db(Box<DbError>),
    /// No connection could be made; nothing was sent.
    #[error("the database is not reachable: {0}")]
    Unreachable(String),
    /// The connection was lost while a statement ran.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// The other side does not speak the protocol, or a message cannot be written in it.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// The database did not answer in time.
    #[error("the database did not answer in time")]
    Timeout,
    /// Nothing came, and nobody else heard of it.
    #[error("the database cannot be reached any more")]
    Away,
    /// The statement, or its reader, took longer than a statement over public tables may.
    #[error("the statement took too long")]
    TooLong,
    /// A row is larger than any that is read.
    #[error("a row is too large")]
    TooLarge,
    /// All connections stayed busy.
    #[error("no connection became free in time")]
    Busy,
    /// All places of the user stayed taken.
    #[error("no place of the user became free in time")]
    Share,
}

impl RelayError {
    /// The client's error when the statement touched public and released rows only: PostgreSQL's
    /// own words (soundness rule 32). The position is left out, because it points into our text.
    pub fn into_finish_error(self) -> ClientError {
        match self {
            Self::Db(db) if db.code == SqlState::INSUFFICIENT_PRIVILEGE => lacking(&db.message),
            // Memory, disk, connections: the server's own, whose paths and sizes are the operator's business.
            Self::Db(db) if db.code.0.starts_with(b"53") => {
                tracing::warn!(sqlstate = db.code.as_str(), cause = %db.message, "the database has no room for a statement");
                ClientError::new(db.code, "the database has no room for this statement")
                    .hint("Ask for less at once: fewer joined rows, DISTINCT or ORDER BY over fewer rows.")
            }
            Self::Db(db) => {
                let mut error = ClientError::new(db.code, db.message);
                error.detail = db.detail;
                error.hint = db.hint;
                error
            }
            Self::Unreachable(cause) | Self::Lost(cause) => unreachable(&cause),
            Self::Protocol(cause) => {
                ClientError::incident(SqlState::INTERNAL, "the database answered out of turn", &cause)
            }
            Self::Away => unreachable("it answers nobody"),
            Self::Timeout => {
                ClientError::new(SqlState::QUERY_CANCELED, "the database did not answer in time")
            }
            Self::TooLong => ClientError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to the time that statements over public tables may take",
            )
            .hint("Ask for less, read faster, or ask the operator to raise backend.public_timeout."),
            Self::TooLarge => ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a row of the answer is larger than {} MiB", LARGEST_ROW >> 20),
            )
            .hint("Ask for shorter texts: left(x, 1000)."),
            Self::Busy => busy(),
            Self::Share => ClientError::new(
                SqlState::TOO_MANY_CONNECTIONS,
                "as many statements of this user are running as may at once, and none of them ended in time",
            )
            .hint(
                "Ask again when one of them has ended, or ask the operator to raise backend.pool_per_user.",
            ),
        }
    }

    pub(super) fn io(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                Self::Protocol(error.to_string())
            }
            _ => Self::Lost(error.to_string()),
        }
    }
}

/// Why a fetch gave no rows. The causes are for the operator: [`FetchError::into_client_error`] is the only way
/// to a client's text, and is constant for everything that can depend on private rows.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No connection could be made; no private row was read.
    #[error("the database is not reachable: {0}")]
    Unreachable(String),
    /// All connections stayed busy; no private row was read.
    #[error("no connection became free in time")]
    Busy,
    /// The database did not answer in time, or a table could not be locked in time; no private row was read.
    #[error("{0}")]
    Late(String),
    /// The schema is not the one that the policy was loaded against. Nothing of what was read was kept.
    #[error("the schema changed")]
    SchemaChanged,
    /// The fetch login lacks a right; no private row was read. The cause is the database's, for the operator.
    #[error("{0}")]
    Denied(String),
    /// The engine cannot read each unit's rows in one snapshot, or refuses the text; no private row was read. The cause is of the
    /// plan, for the operator.
    #[error("{0}")]
    Spread(String),
    /// A limit of the server would let private rows decide whether a fetch fails; none was read. The cause says what to do.
    #[error("{0}")]
    Limited(String),
    /// More groups were kept than may come back. How many these are was drawn with noise: it is no failure.
    #[error("more than {0} groups")]
    Many(usize),
    /// The connection was lost while private rows were read; whether that was the whole database is to be found out.
    #[error("{cause}")]
    Lost {
        /// As of [`Self::Failed`].
        cause: String,
        /// The SQLSTATE that the server said last.
        last_word: Option<SqlState>,
        /// Whether the server said nothing for too long.
        silent: bool,
    },
    /// The whole database fell, was stopped or is away, and took the fetch with it: nobody's failure (soundness rule 56).
    #[error("{0}")]
    Fell(String),
    /// Any other failure of a fetch, whatever its cause. Soundness rule 18: counted per user.
    #[error("{0}")]
    Failed(String),
}

impl FetchError {
    /// The client's error.
    pub fn into_client_error(self) -> ClientError {
        match self {
            Self::Unreachable(cause) => unreachable(&cause),
            Self::Busy => busy(),
            Self::Late(cause) => {
                tracing::warn!(%cause, "a fetch could not be opened in time");
                ClientError::new(SqlState::QUERY_CANCELED, "the database did not answer in time")
                    .hint("It is busy, or a table is being altered. Try again later; nothing was charged.")
            }
            Self::SchemaChanged => ClientError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the schema changed; the operator must reload the policy",
            ),
            Self::Denied(cause) => ClientError::incident(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the fetch login (backend.url) may not read a table of this statement; nothing was charged",
                &format!("{cause}: GRANT it; `noisegate check` has the statement"),
            )
            .hint("The operator grants it SELECT again: `noisegate check` says on which table."),
            Self::Spread(cause) => {
                tracing::warn!(%cause, "Citus cannot read a statement's private rows as they must be read");
                ClientError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "Citus cannot read the private rows of this statement in one snapshot of each unit; nothing was charged",
                )
                .hint(
                    "Ask in another way: NOT EXISTS in the place of EXCEPT or FULL JOIN, EXISTS in the place of INTERSECT, one \
                     statement for each part. The proxy's log has the reason.",
                )
            }
            Self::Limited(cause) => ClientError::incident(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the fetch login (backend.url) has a limit that private rows could reach; nothing was charged",
                &cause,
            )
            .hint("The operator lifts it: `noisegate check` has the statement."),
            Self::Many(most) => ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "the answer has more than {most} groups; it was charged, since only its noise says so"
                ),
            )
            .hint("Group by something coarser, or ask the operator to raise limits.max_result_groups."),
            Self::Fell(cause) => {
                tracing::warn!(%cause, "the database fell, or is away, while private rows were read");
                ClientError::new(
                    SqlState::CONNECTION_FAILURE,
                    "the database fell, or is away, while private rows were read",
                )
                .hint("Try again later. It is no failure of yours; what was charged stays charged.")
            }
            // One code and one message for timeouts, memory, disk, lost connections and defects alike: which of
            // them it was may depend on private rows.
            Self::Failed(cause) | Self::Lost { cause, .. } => {
                ClientError::incident(SqlState::INTERNAL, "the private data could not be read", &cause)
            }
        }
    }
}

/// PostgreSQL speaks of the finish login's rights, and not of the client's.
pub fn lacking(message: &str) -> ClientError {
    ClientError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("the finish login (backend.finish_url) lacks a right: {message}"),
    )
    .hint("The operator grants it again: `noisegate check` has the statement.")
}

fn unreachable(cause: &str) -> ClientError {
    tracing::warn!(%cause, "the database is not reachable");
    ClientError::new(SqlState::CONNECTION_FAILURE, "the database is not reachable")
        .hint("Try again later; the proxy reconnects by itself.")
}

fn busy() -> ClientError {
    ClientError::new(SqlState::TOO_MANY_CONNECTIONS, "too many statements are running")
        .hint("Try again later, or ask the operator to raise backend.pool.")
}

/// The driver says that an option of its own is missing.
pub(super) const NO_PASSWORD: &str = "the server asks for a password, and none is set: give it in the URL, in the \
    password_file of the policy, or in the file that the variable PGPASSFILE names";

/// tokio-postgres shows the cause of an error only in its chain of sources.
pub fn cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) if source.to_string() == "password missing" => NO_PASSWORD.into(),
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// A failure before any private row was read.
pub(super) fn early(e: tokio_postgres::Error) -> FetchError {
    let Some(db) = e.as_db_error() else {
        let io = std::error::Error::source(&e).is_some_and(|s| s.is::<std::io::Error>());
        return match e.is_closed() || io {
            true => FetchError::Unreachable(cause(&e)),
            false => FetchError::Failed(cause(&e)),
        };
    };
    match (db.parsed_severity(), db.code().code()) {
        (Some(Severity::Fatal | Severity::Panic), _) => FetchError::Unreachable(cause(&e)),
        // statement_timeout, lock_timeout, a deadlock: with whoever alters a table.
        (_, "57014" | "55P03" | "40P01") => FetchError::Late(place(&e)),
        // Rights on tables, schemas and databases: the message names these, and there is no row yet.
        (_, "42501") => FetchError::Denied(cause(&e)),
        _ => FetchError::Failed(place(&e)),
    }
}

/// What the log may hold of a failure over private rows: PostgreSQL's own words may quote a value of one, or a
/// constant of the analyst. Its SQLSTATE and the place in its source say as much about the cause.
pub(super) fn place(e: &tokio_postgres::Error) -> String {
    let Some(db) = e.as_db_error() else { return cause(e) };
    let routine = db.routine().unwrap_or("an unknown routine");
    let at = db.file().zip(db.line()).map_or_else(String::new, |(file, line)| format!(", {file}:{line}"));
    format!("SQLSTATE {} from {routine}{at}", db.code().code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_18_a_fetch_failure_is_one_constant_error() {
        let a = FetchError::Failed("canceling statement due to statement timeout".into()).into_client_error();
        let b = FetchError::Failed("division by zero in row 7".into()).into_client_error();
        assert_eq!((a.code, &a.message, &a.hint), (b.code, &b.message, &b.hint));
        assert!(!format!("{b:?}").contains("row 7"));
    }

    #[test]
    fn what_the_server_lacks_is_told_in_words_of_ours() {
        let db = DbError {
            severity: "ERROR".into(),
            code: SqlState(*b"53100"),
            message: "could not write to file \"base/pgsql_tmp/pgsql_tmp7.0\": No space left on device"
                .into(),
            detail: Some("d".into()),
            hint: None,
            position: None,
        };
        let error = RelayError::Db(Box::new(db)).into_finish_error();
        assert_eq!((error.code.as_str(), error.detail), ("53100", None));
        assert!(!error.message.contains("pgsql_tmp") && error.hint.is_some());
    }

    #[test]
    fn rule_32_finish_relays_postgresql_s_own_words_without_the_position() {
        let db = DbError {
            severity: "ERROR".into(),
            code: SqlState(*b"22012"),
            message: "division by zero".into(),
            detail: None,
            hint: Some("h".into()),
            position: Some(7),
        };
        let error = RelayError::Db(Box::new(db)).into_finish_error();
        assert_eq!(error.message, "division by zero");
        assert_eq!(error.code, SqlState(*b"22012"));
        assert_eq!(error.hint.as_deref(), Some("h"));
        assert_eq!(error.position, None);
    }
}
