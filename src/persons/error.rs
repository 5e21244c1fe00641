//! Why the file of what persons have said cannot be used, and why nothing was charged.

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpendingError {
    /// SQLite's word.
    #[error("{0:?} cannot be used: {1}")]
    Sqlite(String, rusqlite::Error),
    /// The file cannot be made.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// Another process has it.
    #[error(
        "{0:?} is in use by another noisegate: each keeps count by itself, so that two with one file, or two files, would let through \
         twice as much. Give each policy its own: persons = \"…\""
    )]
    InUse(String),
    /// It was made under another key.
    #[error(
        "{0:?} was made with another person_key_file, by which nobody in it is known again. Put the key back, or give this relation a \
         file of its own (persons = \"…\"), which `noisegate collect create` makes: everybody then has a whole window before them"
    )]
    Key(String),
    /// Of another version.
    #[error(
        "{0:?} is no file of this version of noisegate for what persons have said. If an earlier one made it, move it away, and go on \
         without it: `noisegate collect accept --policy FILE --reason \"why\"`"
    )]
    Version(String),
    /// It is not there.
    #[error(
        "{0:?} is not there: it keeps what each person has said, and without it everybody would have a whole window before them. If \
         nothing was collected yet, make it: `noisegate collect create --policy FILE`. If it is lost, have what was said counted as all \
         that may be said until the windows end: `noisegate collect accept --policy FILE --reason \"why\"`"
    )]
    Missing(String),
    /// It does not fit its mark.
    #[error(
        "{0:?} has lost what persons have said, or may have: {1}. Was an older copy put back, or the file moved without its -wal or \
         -mark? Put the right one back; or, if it is gone, have what was said counted as all that may be said until the windows end: \
         `noisegate collect accept --policy FILE --reason \"why\"`"
    )]
    Mark(String, String),
    /// There is one already, or was.
    #[error(
        "{0:?} is there already, or its mark is: nothing was made. What is lost is made up for by `noisegate collect accept`"
    )]
    Exists(String),
    /// No random bits.
    #[error("there is no randomness")]
    Entropy,
}

/// Nothing was charged.
#[derive(Debug, thiserror::Error)]
pub enum ChargeError {
    /// The person at this place of the list has no report left in the window.
    #[error("a person has no report left in this window")]
    Exceeded(usize),
    /// What was said in this window is lost, and counts as all that may be said.
    #[error("what was said in this window is lost, and counts as all that may be said")]
    Lost,
    /// The owner has not signed so much.
    #[error("its owner has signed no such window, or fewer reports in one")]
    Unsigned,
    /// The file, or its mark, was taken away or replaced while it was open.
    #[error("the file of what persons have said, or its mark, is no longer where it was")]
    Gone,
    /// The file cannot be read or written.
    #[error("what persons have said cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The mark cannot be written.
    #[error("the mark of what persons have said cannot be written: {0}")]
    Mark(std::io::Error),
    /// It was sealed under another key, or changed.
    #[error("what a person has said does not open: the key is another one, or the file was changed")]
    Closed,
    /// No random bits.
    #[error("there is no randomness")]
    Entropy,
}
