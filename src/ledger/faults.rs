//! Faults that a ledger is not served with: entries that do not follow, a chain that is broken, a
//! mark that does not fit.

use policy::GivenFile;

/// An entry that does not follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {id} does not follow from those before it: {why}")]
pub struct Wrong {
    /// Number of the entry.
    pub id: i64,
    /// The mistake in it.
    pub why: String,
}

/// The first row that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Its number does not follow.
    #[error("entry {expected} is missing (entry {found} follows entry {})", .expected - 1)]
    Missing {
        /// The number that was due.
        expected: i64,
        /// The number that came.
        found: i64,
    },
    /// Its hash is not that of the chain.
    #[error("entry {0} is not as it was written")]
    Changed(i64),
    /// The rows end before the head.
    #[error("entry {} is missing: the last one is entry {last}, and the head says {head}", .last + 1)]
    Short {
        /// The last row's number.
        last: i64,
        /// The number in the head.
        head: i64,
    },
    /// The rows go on after the head, or the head has another hash.
    #[error("the head says entry {head}, and the entries do not end there in the same way")]
    Head {
        /// The number in the head.
        head: i64,
    },
}

/// Why a ledger is not served from, though its chain is whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Nobody knows where it ended.
    #[error(
        "{place} has no mark: {mark} {why}, so nothing tells whether its last entries are there. Bring the mark back, if \
         there is one; or, if this is the newest copy and no other is served, say which entry it must have, by the hash \
         that `noisegate budget verify` printed last: `noisegate budget mark --policy FILE --hash HASH`; or, if entries \
         may be missing, `noisegate budget restore --policy FILE --reason \"why\"`"
    )]
    Missing {
        /// The ledger.
        place: String,
        /// Where the mark would be.
        mark: GivenFile,
        /// "is not there", or what is wrong with it.
        why: &'static str,
    },
    /// The file is not the one that was marked.
    #[error(
        "{place} is another file than the one that its mark was made for: a copy. Each of two copies would spend what is \
         left. Put the original back, with its -wal and -mark; or, if it is gone and this is the newest copy, say which \
         entry it must have, by the hash that `noisegate budget verify` printed last: `noisegate budget mark --policy \
         FILE --hash HASH`; or, if entries may be missing, `noisegate budget restore --policy FILE --reason \"why\"`"
    )]
    Copy {
        /// The ledger.
        place: String,
    },
    /// It is that of a ledger with another opening.
    #[error(
        "the mark {mark} is that of another ledger than {place}. Put the right ledger back; or move the mark away, if it \
         is the mark that is wrong"
    )]
    Other {
        /// The ledger.
        place: String,
        /// The mark.
        mark: GivenFile,
    },
    /// Entries that were there are not.
    #[error(
        "{place} has lost entries: its mark says entry {expected}, and {found}. Was an older copy put back, or the file \
         moved without its -wal? Nothing is served from it. Put the right one back, with its -wal; or, if it is gone, \
         have what is missing charged: `noisegate budget restore --policy FILE --reason \"why\"`"
    )]
    Behind {
        /// The ledger.
        place: String,
        /// The number in the mark.
        expected: i64,
        /// "it ends with entry 7", or what else is wrong.
        found: String,
    },
}
