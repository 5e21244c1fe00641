//! Pages for owners and auditors: `[console]`.

use std::net::SocketAddr;
use std::time::Duration;

/// `[console]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// Address for browsers.
    pub listen: SocketAddr,
    /// Time that a login lasts.
    pub session: Duration,
    /// Users who may log in.
    pub users: Vec<ConsoleUser>,
}

/// `[[console.user]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleUser {
    /// Login name.
    pub name: String,
    /// Role, which decides what they see.
    pub role: ConsoleRole,
    /// A SCRAM-SHA-256 verifier.
    pub scram: String,
}

/// `console.user.role`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleRole {
    /// Everything.
    Owner,
    /// Everything but the texts of statements.
    Auditor,
}

impl ConsoleRole {
    /// All, as policies list them.
    pub const ALL: [Self; 2] = [Self::Owner, Self::Auditor];

    /// The word in the policy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Auditor => "auditor",
        }
    }
}
