//! The proxy at the moment of a request: who is connected, whether the database answers, which
//! streams are open, which incidents there were.

use std::time::Duration;

/// The proxy at the moment of a request.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Time that the database took to answer, or why it did not.
    pub database: Option<Result<Duration, String>>,
    /// `server_version_num` of the database.
    pub server_version: u32,
    /// Connections to the database, by their purpose.
    pub pools: Vec<Pool>,
    /// Connected clients, the earliest first.
    pub clients: Vec<Client>,
    /// Streams that were asked about since the proxy was started.
    pub streams: Vec<UserStream>,
    /// Answers that are at hand in this process, and their bytes.
    pub at_hand: (usize, usize),
    /// Incidents since the proxy was started, the latest first.
    pub incidents: Vec<Incident>,
}

/// Connections to the database.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Purpose of the connections.
    pub what: &'static str,
    /// The most connections.
    pub most: usize,
    /// Number of connections that work.
    pub busy: usize,
    /// Number of statements that wait for one.
    pub waiting: usize,
}

/// A client that is connected.
#[derive(Clone, Debug)]
pub struct Client {
    /// Login name.
    pub user: String,
    /// Role, if it has one.
    pub role: Option<String>,
    /// Name that the client gives itself; may be empty.
    pub application: String,
    /// Address of the client.
    pub address: String,
    /// TLS protects the connection.
    pub encrypted: bool,
    /// Since when, in microseconds since 1970.
    pub since: i64,
}

/// Standing of a user with a stream.
#[derive(Clone, Debug)]
pub struct UserStream {
    /// The stream's name.
    pub stream: String,
    /// Login name.
    pub user: String,
    /// `open`, or why it is not.
    pub state: &'static str,
    /// Questions that may still get a yes.
    pub left: u32,
    /// Questions that were asked of what is open, groups counted one by one; None where an earlier process was asked.
    pub asked: Option<u64>,
}

/// Something that a client was told no more of than an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The id, as the client has it, and the log.
    pub id: String,
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Whose statement it was, where it was one.
    pub user: Option<String>,
    /// The SQLSTATE that the client was told.
    pub code: String,
    /// Message that the client was told.
    pub message: String,
}
