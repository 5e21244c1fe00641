//! Reports of the books: to users their budgets and their own statements, to the owner everything.

use super::body::BudgetTerms;
use super::{Books, Key};
use crate::account::{Amount, BudgetState, Counter, Granted};
use crate::error::decimal;
use answer::Identity;
use dp::Ratio;
use policy::Budget;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Statements of each user that are remembered, at least; the entries have them all.
pub(super) const KEPT: usize = 1000;

/// A statement of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Number of the entry.
    pub entry: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// Hash of what was asked.
    pub statement: String,
    /// The ε that named its price; 0 for an answer that was given again.
    pub epsilon: Ratio,
    /// δ of group selection.
    pub selection_delta: Ratio,
    /// The answer was given again.
    pub cached: bool,
    /// Debits of each budget.
    pub(super) paid: Vec<(String, Price)>,
}

/// A price in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Price {
    /// A letter, and units.
    Sum(&'static str, u128),
    /// Uses of declared mechanisms, all together.
    Uses(u64),
}

impl Price {
    pub(super) fn new(counter: &Counter, price: &Amount) -> Self {
        match (counter, price) {
            (Counter::Filter(f), Amount::Cost(cost)) => {
                let (symbol, units) = f.notion.told(cost);
                Self::Sum(symbol, units)
            }
            (_, Amount::Uses(tokens)) => Self::Uses(tokens.counts().iter().map(|n| u64::from(*n)).sum()),
            (Counter::Envelope(_), Amount::Cost(_)) => Self::Uses(0),
        }
    }
}

impl Line {
    /// Hash that [`Self::statement`] is the text of.
    pub fn hash(&self) -> [u8; 32] {
        crate::entry::unhex(&self.statement).unwrap_or_default()
    }

    /// Debits of each budget, in words; None for a free answer.
    pub fn price(&self) -> Option<String> {
        let price = |(budget, price): &(String, Price)| match price {
            Price::Sum(symbol, units) => format!("{budget}: {symbol} = {}", decimal(*units, true)),
            Price::Uses(n) => format!("{budget}: {n} uses"),
        };
        (!self.paid.is_empty()).then(|| self.paid.iter().map(price).collect::<Vec<_>>().join("; "))
    }
}

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
    pub(crate) fn states_of(&mut self, debit: &super::Debit, at: i64) -> Vec<BudgetState> {
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
