//! Tallies by user, and by reason of refusal. Both are bounded; users and reasons beyond are
//! counted under one name.

use crate::outcome::Outcome;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Users that are told apart.
const USERS: usize = 1_000;
/// Reasons that are told apart.
const REASONS: usize = 500;
/// SQLSTATEs that are told apart: PostgreSQL has some 250.
const CODES: usize = 400;
/// Users that are named beside a reason.
const NAMED: usize = 8;
/// Whoever finds no room.
const OTHERS: &str = "(others)";

/// Statements of one user since the process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [u64; Outcome::ALL.len()],
    /// The time of all of them.
    pub took: Duration,
    /// When the latest began, in microseconds since 1970.
    pub last: i64,
}

impl Tally {
    /// Number of statements with this outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.counts.get(outcome as usize).copied().unwrap_or_default()
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Refusals for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// The SQLSTATE.
    pub code: String,
    /// Why, in words without the analyst's own.
    pub why: String,
    /// Number of refusals.
    pub times: u64,
    /// Users who were refused; the first few of them.
    pub users: BTreeSet<String>,
    /// There are more users.
    pub more: bool,
    /// When the latest was asked, in microseconds since 1970.
    pub last: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Tallies {
    users: HashMap<String, Tally>,
    reasons: HashMap<(String, String), Refusals>,
    codes: BTreeMap<String, u64>,
}

impl Tallies {
    pub(crate) fn count(
        &mut self,
        user: &str,
        outcome: Outcome,
        error: Option<(&str, &str)>,
        took: Duration,
        at: i64,
    ) {
        let user = if self.users.contains_key(user) || self.users.len() < USERS { user } else { OTHERS };
        let tally = self.users.entry(user.to_owned()).or_default();
        if let Some(count) = tally.counts.get_mut(outcome as usize) {
            *count += 1;
        }
        tally.took += took;
        tally.last = tally.last.max(at);
        let Some((code, why)) = error else { return };
        if self.codes.contains_key(code) || self.codes.len() < CODES {
            *self.codes.entry(code.to_owned()).or_default() += 1;
        }
        if outcome != Outcome::Refused {
            return;
        }
        let mut key = (code.to_owned(), why.to_owned());
        if !self.reasons.contains_key(&key) && self.reasons.len() >= REASONS {
            key = (String::new(), OTHERS.to_owned());
        }
        let refusals = self.reasons.entry(key).or_insert_with_key(|(code, why)| Refusals {
            code: code.clone(),
            why: why.clone(),
            times: 0,
            users: BTreeSet::new(),
            more: false,
            last: at,
        });
        refusals.times += 1;
        refusals.last = refusals.last.max(at);
        if refusals.users.len() < NAMED {
            refusals.users.insert(user.to_owned());
        } else {
            refusals.more |= !refusals.users.contains(user);
        }
    }

    /// By name.
    pub(crate) fn users(&self) -> Vec<(String, Tally)> {
        let mut users: Vec<_> =
            self.users.iter().map(|(name, tally)| (name.clone(), tally.clone())).collect();
        users.sort_by(|a, b| a.0.cmp(&b.0));
        users
    }

    /// The most frequent first.
    pub(crate) fn refused(&self) -> Vec<Refusals> {
        let mut all: Vec<Refusals> = self.reasons.values().cloned().collect();
        all.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| (&a.code, &a.why).cmp(&(&b.code, &b.why))));
        all
    }

    pub(crate) fn codes(&self) -> BTreeMap<String, u64> {
        self.codes.clone()
    }
}
