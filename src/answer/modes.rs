//! Modes of a transaction.

/// The modes of BEGIN, SET TRANSACTION and SET SESSION CHARACTERISTICS. They are kept and shown: every statement has a
/// snapshot of its own whatever the isolation level is called, and what writes is refused in either access mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL, in lower case.
    pub isolation: Option<String>,
    /// READ ONLY, or READ WRITE.
    pub read_only: Option<bool>,
}

impl Modes {
    /// The settings of one transaction that say so, and their values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let access = self.read_only.map(|only| if only { "on" } else { "off" }.to_owned());
        let isolation = self.isolation.clone().map(|level| ("transaction_isolation", level));
        isolation.into_iter().chain(access.map(|access| ("transaction_read_only", access)))
    }
}
