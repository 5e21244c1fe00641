//! Reports of the books: to users their budgets and their own statements, to the owner everything.

use super::body::{BudgetTerms, Debit};
use super::line::Line;
use super::state::{Books, Key};
use crate::account::{BudgetState, Counter, Granted};
use answer::Identity;
use policy::Budget;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Statements of each user that are remembered, at least; the entries have them all.
pub(super) const KEPT: usize = 1000;

/// An owner's share of a budget, for the owner of the data.
#[derive(Clone, Debug)]
pub struct Share {
    /// User or role; empty for everybody.
    pub owner: String,
    /// As they see it.
    pub state: BudgetState,
}

/// A budget and everyone who has drawn on it in its present window.
#[derive(Clone, Debug)]
pub struct BudgetSummary {
    /// As the policy in force has it.
    pub budget: Arc<Budget>,
    /// The counter, without grants.
    pub counter: Counter,
    /// The owner closed it.
    pub closed: bool,
    /// When its next window begins, in microseconds since 1970.
    pub next: Option<i64>,
    /// Owners who have spent or were granted something.
    pub shares: Vec<Share>,
}

impl Books {
    /// Entries of an earlier pricing that count for more than they paid, in words; nothing where
    /// there are none.
    pub(crate) fn dearer(&self) -> Vec<String> {
        self.dearer.told()
    }

    /// The budgets that match a user, as they are at `clock`.
    pub(crate) fn states(&mut self, who: &Identity, clock: i64) -> Vec<BudgetState> {
        let at = self.now(clock);
        let matches = self.matches(&who.user, who.role.as_deref(), None, at);
        matches.into_iter().filter_map(|m| self.state(&m.key, m.window, at)).collect()
    }

    /// States of the budgets that a debit was paid from, after it.
    pub(crate) fn states_of(&mut self, debit: &Debit, at: i64) -> Vec<BudgetState> {
        let matches = self.matches(&debit.user, debit.role.as_deref(), debit.tables.as_deref(), at);
        matches.into_iter().filter_map(|m| self.state(&m.key, m.window, at)).collect()
    }

    fn state(&mut self, key: &Key, window: Option<i64>, at: i64) -> Option<BudgetState> {
        let counter = self.counter(key, window);
        let budget = self.accounts.get(key.0)?.budget.clone();
        Some(BudgetState {
            closed: self.closed.contains(&budget.name),
            next: budget.window.map(|w| w.next(at)),
            spent: self.spent(key, window),
            granted: Granted::sum(&self.granted(key, window)),
            counter,
            budget,
        })
    }

    /// The user's own statements, the latest last.
    pub(crate) fn lines(&self, user: &str) -> Vec<Line> {
        let lines = self.recent.get(user);
        lines.map_or_else(Vec::new, |l| l.iter().skip(l.len().saturating_sub(KEPT)).cloned().collect())
    }

    /// Every budget in force.
    pub(crate) fn summaries(&mut self, clock: i64) -> Vec<BudgetSummary> {
        let at = self.now(clock);
        let mut summaries = Vec::with_capacity(self.accounts.len());
        for index in 0..self.accounts.len() {
            let Some(account) = self.accounts.get(index).cloned() else { continue };
            let window = account.window(at);
            let budget = account.budget;
            let spenders = self.sums.iter().filter(|((i, _), sum)| *i == index && sum.window == window);
            let mut owners: BTreeSet<Arc<str>> = spenders.map(|((_, owner), _)| owner.clone()).collect();
            let granted = self.grants.iter().filter(|g| g.budget == budget.name && g.window == window);
            owners.extend(granted.filter_map(|g| g.owner.as_deref().map(Arc::from)));
            let share = |owner: Arc<str>| {
                let state = self.state(&(index, owner.clone()), window, at)?;
                Some(Share { owner: owner.to_string(), state })
            };
            summaries.push(BudgetSummary {
                shares: owners.into_iter().filter_map(share).collect(),
                closed: self.closed.contains(&budget.name),
                next: budget.window.map(|w| w.next(at)),
                counter: account.counter,
                budget,
            });
        }
        summaries
    }

    /// The counter of a budget in force for one owner, in a window, with what was granted there.
    pub(crate) fn counter_of(&mut self, budget: &str, owner: &str, window: Option<i64>) -> Option<Counter> {
        let index = self.accounts.iter().position(|a| a.budget.name == budget)?;
        Some(self.counter(&(index, owner.into()), window))
    }

    /// Whether a budget of a policy is the one in force.
    pub(crate) fn in_force(&self, budget: &Budget) -> bool {
        let terms = BudgetTerms::new(budget);
        self.terms.iter().flat_map(|t| &t.budgets).any(|b| *b == terms)
    }
}
