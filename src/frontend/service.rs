//! The service behind the frontend, as traits.

use answer::ClientError;
use answer::{Control, Copy, Description, Identity, Notice, Outcome, Values};
use std::collections::BTreeMap;
use std::future::Future;

/// A proof of who a user is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A PostgreSQL verifier, `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.
    Scram(String),
    /// The account's certificate, and no password.
    Certificate,
    /// No proof, and only for a peer on the loopback interface.
    Trust,
}

/// A user who may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user, for the budgets.
    pub identity: Identity,
    /// The proof that the login asks for.
    pub auth: Auth,
    /// The common name that the certificate must have that the client shows; None asks for no certificate.
    pub certificate: Option<String>,
}

/// The connection of a session.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// The number that the client was told for this session.
    pub pid: i32,
    /// Address of the client: an IP address, or `[local]` by a Unix socket.
    pub address: String,
    /// TLS protects the connection.
    pub encrypted: bool,
}

/// The program behind the frontend. One value serves every connection; share what is inside by `Arc`.
pub trait Service: Send + Sync + 'static {
    /// A client's session.
    type Session: Session;

    /// The backend's own `ParameterStatus` values: clients choose catalog SQL by `server_version` and parse
    /// dates by `DateStyle`. The frontend adds or overrides what it alone knows (`session_authorization`,
    /// `is_superuser`, `application_name`, `client_encoding`, `default_transaction_read_only`, `in_hot_standby`).
    /// They are those of the database that the user asks for.
    fn parameters(&self, user: &str, database: &str) -> Vec<(String, String)>;

    /// The account of this name in a database, if there is one.
    fn user(&self, name: &str, database: &str) -> impl Future<Output = Option<Account>> + Send;

    /// Every SCRAM iteration count that occurs in the verifiers of a database's accounts. The exchange with a user who does
    /// not exist uses one of them, so that it looks like any other.
    fn scram_iterations(&self, user: &str, database: &str) -> Vec<u32> {
        let _ = (user, database);
        vec![4096]
    }

    /// A secret of a database's that lasts over restarts and is the same at each of its proxies: what users who do not exist are
    /// shown is made of it. None where there is none; then it is made of one of this process.
    fn login_secret(&self, user: &str, database: &str) -> Option<[u8; 32]> {
        let _ = (user, database);
        None
    }

    /// Opens a session for an authenticated user. `startup` holds every parameter of the startup packet
    /// (`user`, `database`, `application_name`, `options`, ...). An error ends the connection as FATAL.
    fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
        client: Client,
    ) -> impl Future<Output = Result<Self::Session, ClientError>> + Send;
}

/// Bytes of memory that a statement takes: an estimate that is rather too high than too low.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// For as long as it is there.
    pub kept: usize,
    /// While it is described, bound or run.
    pub running: usize,
}

/// A client's session. It is dropped when the connection ends.
///
/// The simple protocol calls [`parse`](Session::parse) and, for each statement,
/// [`run`](Session::run). The extended protocol calls `parse` and [`describe`](Session::describe)
/// at Parse, [`bind`](Session::bind) at Bind, and [`execute`](Session::execute) at the first
/// Execute of a portal. Dropping any of these futures, or the rows of an outcome, cancels the work,
/// and the session must stay usable.
pub trait Session: Send + 'static {
    /// A parsed statement. A prepared one is kept and shared by its portals.
    type Statement: Send + Sync + 'static;

    /// A bound statement, ready to run once.
    type Portal: Send + 'static;

    /// Splits and parses a message's text. An empty list means an empty query.
    fn parse(&mut self, sql: &str) -> Result<Vec<Self::Statement>, ClientError>;

    /// What the statement does to what the frontend keeps. None: an ordinary statement, for
    /// [`Self::run`], or [`Self::describe`] and so on.
    fn control(&self, statement: &Self::Statement) -> Option<Control>;

    /// What the statement takes.
    fn weight(&self, statement: &Self::Statement) -> Weight {
        let _ = statement;
        Weight::default()
    }

    /// Bytes that a portal keeps, beside the values that were bound.
    fn portal_bytes(&self, portal: &Self::Portal) -> usize {
        let _ = portal;
        0
    }

    /// Simple protocol: runs one statement, and charges for it. What is pushed to `notices` reaches the client
    /// before the first row, or before the error.
    fn run(
        &mut self,
        statement: Self::Statement,
        notices: &mut Vec<Notice>,
    ) -> impl Future<Output = Result<Outcome, ClientError>> + Send;

    /// Parse: freezes parameter types and columns. `types` are the type OIDs that the client gave; the list may
    /// be shorter than that of the parameters, and 0 leaves one open. Charges nothing.
    fn describe(
        &mut self,
        statement: &Self::Statement,
        types: &[u32],
    ) -> impl Future<Output = Result<Description, ClientError>> + Send;

    /// Bind: reads the values and plans anew with them. Their number, the formats and their number are checked
    /// against the description already. Charges nothing.
    fn bind(
        &mut self,
        statement: &Self::Statement,
        description: &Description,
        values: Values,
    ) -> impl Future<Output = Result<Self::Portal, ClientError>> + Send;

    /// Execute: charges, and runs. The outcome's fields carry the formats that Bind asked for; they must be those
    /// of the description in number and type, all of them twice where Bind asked for that, and no rows may come where
    /// it promised none.
    fn execute(
        &mut self,
        portal: Self::Portal,
        notices: &mut Vec<Notice>,
    ) -> impl Future<Output = Result<Outcome, ClientError>> + Send;

    /// COPY FROM, bound: begins to take rows; how many columns they have.
    fn copy_begin(&mut self, portal: Self::Portal, copy: Copy) -> Result<usize, ClientError> {
        let _ = (portal, copy);
        Err(ClientError::unsupported("COPY FROM is not supported"))
    }

    /// Takes the body of a CopyData. After an error nothing of the COPY is left.
    fn copy_data(&mut self, data: &[u8]) -> Result<(), ClientError> {
        let _ = data;
        Err(ClientError::unsupported("COPY FROM is not supported"))
    }

    /// The rows were all; how many they were. What is pushed to `notices` reaches the client before that.
    fn copy_end(
        &mut self,
        notices: &mut Vec<Notice>,
    ) -> impl Future<Output = Result<u64, ClientError>> + Send {
        let _ = notices;
        async { Err(ClientError::unsupported("COPY FROM is not supported")) }
    }

    /// The client gave up: nothing of the COPY is left.
    fn copy_abandon(&mut self) {}

    /// Asked before a COMMIT of a transaction that has not failed: makes durable what it wrote. An error undoes the
    /// transaction.
    fn commit(&mut self) -> impl Future<Output = Result<(), ClientError>> + Send {
        async { Ok(()) }
    }

    /// Told after the frontend executed `step`, so that settings can follow it. A `COMMIT` of a failed
    /// transaction arrives as [`Control::Rollback`].
    fn transaction(&mut self, step: &Control) {
        let _ = step;
    }

    /// Reportable settings that changed since the last call; they go out as `ParameterStatus`.
    fn changed_parameters(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }
}
