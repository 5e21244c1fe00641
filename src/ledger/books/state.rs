//! The state of the books after some entries.

use super::body::Terms;
use super::compare::Known;
use super::dearer::Dearer;
use super::history::History;
use super::line::Line;
use crate::account::{self, Account, Amount, Counter};
use dp::Charge;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// End of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the last entry; 0 where there is none.
    pub id: i64,
    /// Hash of the last entry.
    pub hash: [u8; 32],
    /// Time of the last entry, in microseconds since 1970.
    pub at: i64,
}

/// A sum, and the start of the window that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) window: Option<i64>,
    pub(super) spent: Amount,
}

/// Who draws on which account.
pub(super) type Key = (usize, Arc<str>);

/// Who paid for a release that is not kept yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) entry: i64,
    pub(super) at: i64,
    /// The name of its read.
    pub(super) read: String,
}

/// What opened a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamOpening {
    pub(super) entry: i64,
    pub(super) at: i64,
    pub(super) role: Option<String>,
    /// Hash of the policy that it was opened under.
    pub(super) policy: String,
}

/// A grant, where it applies.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) budget: String,
    pub(super) owner: Option<String>,
    pub(super) window: Option<i64>,
    pub(super) more: account::Granted,
}

/// The state after some entries.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(super) head: Head,
    /// Of the opening.
    pub(super) id: String,
    pub(super) terms: Option<Terms>,
    pub(super) accounts: Vec<Account>,
    pub(super) known: Known,
    pub(super) sums: HashMap<Key, Sum>,
    pub(super) grants: Vec<Granted>,
    /// Limits with grants; where there is none, the account's own applies.
    pub(super) raised: HashMap<(usize, Arc<str>, Option<i64>), Counter>,
    pub(super) closed: BTreeSet<String>,
    pub(super) closed_streams: BTreeSet<String>,
    /// The latest entry by which a user opened a stream.
    pub(super) opened: HashMap<(String, String), StreamOpening>,
    /// The latest entry with which something started anew; 0 where there is none.
    pub(super) anew_since: i64,
    pub(super) history: History,
    /// Prices of each known charge in every account, by its number; computed when they are first needed.
    pub(super) prices: HashMap<u32, Arc<Prices>>,
    /// Prices of a charge that was decided on and is not applied yet.
    pub(super) fresh: Option<(String, Arc<Prices>)>,
    pub(super) pending: HashMap<[u8; 32], Pending>,
    /// Entries that count for more than they paid.
    pub(super) dearer: Dearer,
    /// How many of them are too many.
    pub(super) sweep_at: usize,
    /// What stands for entries that were lost.
    pub(super) lost: Vec<Lost>,
    /// Where the chain was mended.
    pub(super) mends: Vec<Mend>,
    pub(super) epoch: u64,
    pub(super) epoch_since: i64,
    pub(super) recent: HashMap<String, VecDeque<Line>>,
    /// Who was given which release again on the day of the last note.
    pub(super) noted: HashSet<(String, String)>,
    pub(super) noted_on: i64,
    /// Debits of nobody in particular: what the owner had measured.
    pub(super) measurements: BTreeMap<i64, Measurement>,
    /// The latest profile of each table, by its schema and its name.
    pub(super) profiles: BTreeMap<(String, String), policy::Measured>,
}

/// A statement that the owner paid for.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) tables: Vec<String>,
    pub(super) charge: Charge,
}

/// One for each account.
pub(super) type Prices = Vec<Result<Amount, dp::Unpriced>>;

/// Stand-in for entries that were lost.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) at: i64,
    /// None counts as all that a budget has.
    pub(super) charge: Option<Charge>,
    /// All that each budget had, with what was granted to everybody.
    pub(super) full: Vec<(String, Amount)>,
}

/// Place where the chain was mended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mend {
    pub(super) id: i64,
    pub(super) found: i64,
    pub(super) expected: Option<i64>,
}
