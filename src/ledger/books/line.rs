//! Statements of a user, as they are remembered.

use crate::account::{Amount, Counter};
use crate::error::decimal;
use dp::Ratio;

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
