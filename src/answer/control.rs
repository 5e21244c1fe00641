//! Statements that the frontend executes.

use crate::{Copy, Cursor, Fetch, Modes};

/// Effect of a statement on the frontend's state: the virtual transaction, the prepared statements
/// and the portals. The frontend executes such a statement itself, in both protocols, and tells the
/// session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// `BEGIN`.
    Begin(Modes),
    /// `START TRANSACTION`: the same, with a tag of its own.
    Start(Modes),
    /// `COMMIT` or `END`.
    Commit {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `ROLLBACK` or `ABORT`.
    Rollback {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `RELEASE [SAVEPOINT] name`.
    Release(String),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(String),
    /// `DEALLOCATE name`, or `DEALLOCATE ALL` without a name. Statements of SQL and of the protocol
    /// share one namespace.
    Deallocate(Option<String>),
    /// `CLOSE name`, or `CLOSE ALL` without a name: portals, whoever opened them.
    CloseCursors(Option<String>),
    /// `DECLARE`: the rows of the statement's query are kept under a name.
    Declare(Cursor),
    /// `FETCH` and `MOVE`: rows of a cursor.
    Fetch(Fetch),
    /// `COPY … TO STDOUT`: the rows of the statement's query go out in this format.
    Copy(Copy),
    /// `COPY … FROM STDIN`: rows come in this format.
    CopyFrom(Copy),
    /// `PREPARE`: the statement's query is prepared under a name.
    Prepare {
        /// The name.
        name: String,
        /// Type OIDs of the first parameters.
        types: Vec<u32>,
    },
    /// `EXECUTE`: the prepared statement of this name runs with values that the statement gives: as its one row, or as
    /// an answer without rows where there are none.
    Execute(String),
    /// `DISCARD ALL`: statements and portals go, and the session resets its settings when it is told.
    DiscardAll,
}
