//! Addresses for clients: `[server]`.

use crate::given::{Given, GivenFile};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Addresses for clients.
    pub listen: Vec<Listen>,
    /// Permissions of Unix sockets, as in `chmod`.
    pub unix_socket_permissions: u32,
    /// Certificate and key, if TLS is offered.
    pub tls: Option<Tls>,
    /// Time that running statements have to finish at a shutdown.
    pub shutdown_timeout: Duration,
    /// The name that clients ask for; None leaves it to the file's name, or to them.
    pub database: Option<String>,
    /// Query that looks up users who are in no list.
    pub auth_query: Option<AuthQuery>,
}

/// `server.auth_query`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthQuery {
    /// The database that has the verifiers.
    pub url: Given<String>,
    /// Gives the verifier of the user `$1`, as one text.
    pub query: String,
    /// The role of everybody who is found.
    pub role: Option<String>,
    /// Iterations of the verifiers there, for the exchange with users who do not exist.
    pub iterations: u32,
}

/// An address of `server.listen`.
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

/// `server.tls`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM file of the certificate chain.
    pub cert: GivenFile,
    /// PEM file of the key.
    pub key: GivenFile,
    /// Refuse connections without TLS.
    pub required: bool,
    /// PEM file of those who vouch for clients' certificates, if these are asked for.
    pub client_ca: Option<GivenFile>,
}
