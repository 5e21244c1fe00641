//! Access rules, of who may connect from where: `[[access]]`.

use std::net::IpAddr;

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

/// An item of `access.from`.
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
