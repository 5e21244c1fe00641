//! Reads that have not ended well, as a log has them.

/// A read of private rows, from its debit on and until it has ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRead {
    /// Name of the read.
    pub id: String,
    /// User who reads.
    pub user: String,
    /// When it was reserved, in microseconds since 1970.
    pub began: i64,
    /// When it is no longer under way, if nothing is heard of it until then.
    pub until: i64,
    /// The read did not end well.
    pub failed: bool,
}

/// A change of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadChange {
    /// The read may begin.
    Reserve(PrivateRead),
    /// The read failed, or nobody waited for its end.
    Fail(String),
    /// The read ended well, never began, or was long ago.
    Remove(String),
}
