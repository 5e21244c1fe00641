//! Books: the meaning of a ledger's entries, as a state machine without any I/O.
//!
//! [`Books::apply`] takes entries in their order and verifies each: its spelling, its time, every
//! price and every sum (the chain of hashes is the log's to prove). [`Books::decide`] says whether
//! a statement can be paid for, and what its entry is. A writer does nothing but decide, append and
//! apply. Files, databases, clocks and randomness may not live here.

mod body;
mod compare;
mod dearer;
mod decide;
mod history;
mod line;
mod lost;
mod profiles;
mod replay;
mod report;
mod state;
#[cfg(test)]
mod tests;

pub(super) use body::{Accepted, Cached, Close, End, Paid, Profile, Restore};
pub(super) use body::{Body, BudgetTerms, Closed, Debit, Entry, Epoch, Grant, Opening, TableTerms, Terms};
pub(super) use compare::PUBLIC;
pub(super) use decide::{Ask, Claim, Opens};
pub use line::Line;
pub use report::{BudgetSummary, Share};
pub(super) use state::Books;
pub use state::Head;

use super::account::Account;
use super::change::Change;
use super::log::GENESIS;
use compare::Known;
use dearer::Dearer;
use history::History;
use state::Granted;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

impl Books {
    /// Before the first entry.
    pub(super) fn new() -> Self {
        Self {
            head: Head { id: 0, hash: GENESIS, at: 0 },
            id: String::new(),
            terms: None,
            accounts: Vec::new(),
            known: Known::default(),
            sums: HashMap::new(),
            grants: Vec::new(),
            raised: HashMap::new(),
            closed: BTreeSet::new(),
            closed_streams: BTreeSet::new(),
            opened: HashMap::new(),
            anew_since: 0,
            history: History::default(),
            prices: HashMap::new(),
            fresh: None,
            pending: HashMap::new(),
            dearer: Dearer::default(),
            sweep_at: replay::SWEEP,
            lost: Vec::new(),
            mends: Vec::new(),
            epoch: 0,
            epoch_since: 0,
            recent: HashMap::new(),
            noted: HashSet::new(),
            noted_on: 0,
            measurements: BTreeMap::new(),
            profiles: BTreeMap::new(),
        }
    }

    /// End of the chain.
    pub(super) fn head(&self) -> Head {
        self.head
    }

    /// The policy in force; None before there is one.
    pub(super) fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref()
    }

    /// Number of times that the data have been declared new.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The epoch, when it began, and what time it is.
    pub(super) fn epoch_at(&self, clock: i64) -> crate::time::Epoch {
        crate::time::Epoch { number: self.epoch, since: self.epoch_since, now: self.now(clock) }
    }

    /// The ledger's own name.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether a budget of this name was ever in force.
    pub(super) fn knows(&self, budget: &str) -> bool {
        self.known.budgets.contains_key(budget)
    }

    /// The latest entry by which a user opened a stream.
    pub(super) fn opened(&self, user: &str, stream: &str) -> Option<i64> {
        self.opened.get(&(user.to_owned(), stream.to_owned())).map(|o| o.entry)
    }

    /// The window of a budget in force.
    pub(super) fn window(&self, budget: &str, at: i64) -> Option<i64> {
        self.accounts.iter().find(|a| a.budget.name == budget)?.window(at)
    }

    /// Time only moves forward: a clock that steps back gives no window anew.
    pub(super) fn now(&self, clock: i64) -> i64 {
        durable::forward(clock, self.head.at)
    }

    /// Differences of a policy from the one in force.
    pub(super) fn compare(&self, new: &Terms, at: i64) -> Vec<Change> {
        self.compare_by(new, at, compare::Measure::Coordinates)
    }

    fn compare_by(&self, new: &Terms, at: i64, measure: compare::Measure) -> Vec<Change> {
        let Some(old) = &self.terms else { return Vec::new() };
        let is_spent = |index: usize, account: &Account| {
            let (window, nothing) = (account.window(at), account.counter.nothing());
            self.base(account, window) != nothing
                || self
                    .sums
                    .iter()
                    .any(|((of, _), sum)| *of == index && sum.window == window && sum.spent != nothing)
        };
        let spent = self.accounts.iter().enumerate().filter(|(index, account)| is_spent(*index, account));
        let past = compare::Past {
            known: &self.known,
            closed: &self.closed,
            charged: !self.is_unspent(),
            spent: spent.map(|(_, account)| account.budget.name.as_str()).collect(),
            granted: self.grants.iter().map(|g| (g.budget.as_str(), self.granted_beside(g))).collect(),
            measure,
        };
        let mut changes = compare::compare(old, &past, new);
        changes.extend(self.cannot_take_over(new, at));
        changes
    }

    /// All that the owner of a grant was granted in its window, if nobody else shares it.
    fn granted_beside(&self, grant: &Granted) -> super::account::Granted {
        let with = |g: &&Granted| {
            (&g.budget, g.window) == (&grant.budget, grant.window)
                && (g.owner == grant.owner || g.owner.is_none())
        };
        let all: Vec<_> = self.grants.iter().filter(with).map(|g| g.more.clone()).collect();
        super::account::Granted::sum(&all)
    }
}
