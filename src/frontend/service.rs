//! What the frontend asks of the program behind it.

use crate::answer::{Identity, Notice, Outcome};
use crate::error::ClientError;
use std::collections::BTreeMap;
use std::future::Future;

/// How a user proves who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A PostgreSQL verifier, `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.
    Scram(String),
    /// No proof, and only for a peer on the loopback interface.
    Trust,
}

/// A user who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Who they are for the budgets.
    pub identity: Identity,
    /// How they log in.
    pub auth: Auth,
}

/// What a statement does to the virtual transaction. The frontend executes all but [`Control::None`] itself;
/// the session hears of it through [`Session::transaction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// An ordinary statement, for [`Session::run`].
    None,
    /// `BEGIN`.
    Begin,
    /// `START TRANSACTION`: the same, with a tag of its own.
    StartTransaction,
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
}

/// The program behind the frontend. One value serves every connection; share what is inside by `Arc`.
pub trait Service: Send + Sync + 'static {
    /// One client's session.
    type Session: Session;

    /// The backend's own `ParameterStatus` values: clients choose catalog SQL by `server_version` and parse
    /// dates by `DateStyle`. The frontend adds or overrides what it alone knows (`session_authorization`,
    /// `is_superuser`, `application_name`, `client_encoding`, `default_transaction_read_only`, `in_hot_standby`).
    fn parameters(&self) -> Vec<(String, String)>;

    /// The account of this name, if there is one.
    fn user(&self, name: &str) -> Option<Account>;

    /// Every SCRAM iteration count that occurs in the accounts' verifiers. The exchange with a user who does
    /// not exist uses one of them, so that it looks like any other.
    fn scram_iterations(&self) -> Vec<u32> {
        vec![4096]
    }

    /// Opens a session for an authenticated user. `startup` holds every parameter of the startup packet
    /// (`user`, `database`, `application_name`, `options`, ...). An error ends the connection as FATAL.
    fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
    ) -> Result<Self::Session, ClientError>;
}

/// One client's session. It is dropped when the connection ends.
///
/// The extended protocol will need two things more, both with the statement in hand: a description of
/// parameters and columns, and parameter values for `run`. Nothing else here depends on the protocol used.
pub trait Session: Send + 'static {
    /// One parsed statement.
    type Statement: Send + 'static;

    /// Splits and parses a message's text. An empty list means an empty query.
    fn parse(&mut self, sql: &str) -> Result<Vec<Self::Statement>, ClientError>;

    /// What the statement does to the virtual transaction.
    fn control(&self, statement: &Self::Statement) -> Control;

    /// Runs one statement. What is pushed to `notices` reaches the client before the first row, or before the
    /// error. Dropping the future or the row stream cancels the work.
    fn run(
        &mut self,
        statement: Self::Statement,
        notices: &mut Vec<Notice>,
    ) -> impl Future<Output = Result<Outcome, ClientError>> + Send;

    /// Told after the virtual transaction took `step`, so that settings can follow it. A `COMMIT` of a failed
    /// transaction arrives as [`Control::Rollback`].
    fn transaction(&mut self, step: &Control) {
        let _ = step;
    }

    /// Reportable settings that changed since the last call; they go out as `ParameterStatus`.
    fn changed_parameters(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }
}
