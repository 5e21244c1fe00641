//! Collector of traces: `[traces]`.

/// `[traces]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Host and port of the collector.
    pub address: String,
    /// The path that it takes traces at.
    pub path: String,
    /// With the texts of statements, where these are kept.
    pub text: bool,
}
