//! Limits on what clients may grow: `[limits]`.

use std::time::Duration;

/// `[limits]`: everything that a client can grow has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one wire message, and so of one statement.
    pub max_statement_bytes: usize,
    /// Items in one IN list.
    pub max_in_list: usize,
    /// Nesting of expressions and queries.
    pub max_depth: usize,
    /// Expressions that one statement may come to, over all passes from its text to its plan.
    pub max_expressions: usize,
    /// Rows of public tables that one private row may meet.
    pub max_fan_out: u64,
    /// Rows of one unit that a row of it may meet in a join that no key narrows.
    pub max_joined_rows: u64,
    /// Steps, of about a nanosecond, that the expressions of a statement may take for one private row.
    pub max_row_cost: u64,
    /// Bytes that the texts of a statement may take for one row, all together.
    pub max_text_bytes: u64,
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
    /// Rows for what is collected that wait in one session for its COMMIT.
    pub max_waiting_rows: usize,
    /// Portals of one session.
    pub max_portals: usize,
    /// Bytes of rows that one session's cursors and suspended portals keep in memory.
    pub max_portal_bytes: usize,
    /// Bytes of rows that they keep on disk beyond that.
    pub max_spool_bytes: u64,
    /// The same for all sessions of a user.
    pub max_user_spool_bytes: u64,
    /// The same for all sessions.
    pub max_total_spool_bytes: u64,
    /// Bytes of memory that a session's statements, portals and rows take, by estimate.
    pub max_session_bytes: u64,
    /// The same for all sessions of a user.
    pub max_user_bytes: u64,
    /// The same for all sessions.
    pub max_total_bytes: u64,
    /// Clients of one address that have connected and not logged in yet.
    pub max_logins_per_address: usize,
    /// Time a client has to log in.
    pub login_timeout: Duration,
    /// Time it has for its first byte.
    pub first_byte_timeout: Duration,
    /// Reads of one user that may fail in a day, before the user is suspended; as many may run at once.
    pub max_backend_errors: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_statement_bytes: 1 << 20,
            max_in_list: 10_000,
            max_depth: 100,
            max_expressions: 200_000,
            max_fan_out: 1_000,
            max_joined_rows: 1_000,
            max_row_cost: 10_000_000,
            max_text_bytes: 16 << 20,
            max_statements: 100,
            max_public_groups: 10_000,
            max_result_groups: 1_000_000,
            max_connections: 200,
            max_connections_per_user: 50,
            max_prepared: 1_000,
            max_waiting_rows: 1_000_000,
            max_portals: 1_000,
            max_portal_bytes: 64 << 20,
            max_spool_bytes: 1 << 30,
            max_user_spool_bytes: 4 << 30,
            max_total_spool_bytes: 16 << 30,
            max_session_bytes: 256 << 20,
            max_user_bytes: 512 << 20,
            max_total_bytes: 2 << 30,
            max_logins_per_address: 50,
            login_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(3),
            max_backend_errors: 5,
        }
    }
}
