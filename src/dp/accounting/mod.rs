//! Budgets as privacy filters: a charge becomes an additive vector of integers in the budget's notion, and is admitted
//! only while the sum stays within the limit.
//!
//! A filter is valid however adaptively charges are chosen and however many sessions interleave: for Σε and Σδ see
//! Rogers et al. (2016), for Σρ Feldman and Zrnic (2021), for concurrent sessions Vadhan and Zhang (2023) and Haney et
//! al. (2023). δ of group selection is a sum of its own and never mixed into ρ, because no filter for concurrent
//! approximate zCDP is known.
//!
//! Sums are integers, so they are exact, associative and can be replayed: each charge is rounded up once, each limit
//! down once.

mod price;
mod table;
mod zcdp;

pub use table::{Kind, Rule, rule};

use super::{Charge, DpError, Ratio};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// Units that make one ε, one ρ or one δ: 10^24. A power of ten, so that ten charges of ε = 0.1 fill a budget of 1
/// exactly (in binary units each would be rounded up, and only nine would fit).
pub const UNITS_PER_ONE: u128 = 1_000_000_000_000_000_000_000_000;

/// What a budget counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notion {
    /// Σε, with δ = 0: pure differential privacy.
    Pure,
    /// Σε and Σδ: basic composition.
    Approx,
    /// Σρ: zero-concentrated differential privacy (Bun and Steinke 2016), with Σδ of selection beside it.
    Zcdp,
}

/// A price or a sum of prices, in units of 10^-24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// ε (pure, approx) or ρ (zcdp).
    pub loss: u128,
    /// δ of group selection.
    pub delta: u128,
}

/// A charge that a notion has no price for, whatever the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpriced {
    /// Private groups need δ > 0 (soundness rule 22).
    #[error(
        "private groups are selected with a small probability of failure (delta), which a pure budget does not allow"
    )]
    PrivateGroups,
    /// The mechanism has no price in this notion (soundness rule 21).
    #[error("{0}")]
    Mechanism(&'static str),
    /// No noise where a unit has influence, or an ε that is no number.
    #[error("the statement has no finite price")]
    Unbounded,
}

/// Which sum a charge does not fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// True where δ of selection runs out, false where ε or ρ does.
    pub of_delta: bool,
    /// What the charge needs, in units.
    pub needed: u128,
    /// What is left, in units.
    pub left: u128,
}

impl Cost {
    /// The sum. None on overflow, which no limit admits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (loss, delta) = (self.loss.checked_add(other.loss)?, self.delta.checked_add(other.delta)?);
        Some(Self { loss, delta })
    }
}

impl Notion {
    /// The letter of its loss: ε or ρ.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Pure | Self::Approx => "ε",
            Self::Zcdp => "ρ",
        }
    }

    /// The word of policies and ledgers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Approx => "approx",
            Self::Zcdp => "zcdp",
        }
    }

    /// What `charge` costs in this notion, rounded up.
    pub fn price(self, charge: &Charge) -> Result<Cost, Unpriced> {
        let refused = |kind| match rule(kind, self) {
            Rule::Refused(why) => Some(why),
            Rule::Charged(_) => None,
        };
        if *charge.selection_delta.numer() != 0 && refused(Kind::ThresholdSelection).is_some() {
            return Err(Unpriced::PrivateGroups);
        }
        if let Some(why) = charge.events.iter().find_map(|e| refused(e.mechanism.kind())) {
            return Err(Unpriced::Mechanism(why));
        }
        let loss = match self {
            Self::Pure | Self::Approx => price::epsilon(&charge.events)?,
            Self::Zcdp => price::rho(&charge.events)?,
        };
        Ok(Cost { loss, delta: units_up(&charge.selection_delta).ok_or(Unpriced::Unbounded)? })
    }
}

/// A budget's notion and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The notion.
    pub notion: Notion,
    /// No sum may exceed it.
    pub limit: Cost,
}

impl Filter {
    /// The filter that guarantees (`epsilon`, `delta`)-differential privacy in all, of which `selection_delta` pays for
    /// private groups (soundness rule 22).
    ///
    /// * pure: δ = 0, and Σε <= ε.
    /// * approx: Σε <= ε, Σδ <= `selection_delta`.
    /// * zcdp: Σδ <= `selection_delta`, and Σρ <= the largest ρ that implies (ε, `delta` - `selection_delta`)-DP.
    pub fn new(
        notion: Notion,
        epsilon: &Ratio,
        delta: &Ratio,
        selection_delta: &Ratio,
    ) -> Result<Self, DpError> {
        if [epsilon, delta, selection_delta].iter().any(|r| *r.denom() == 0) || *epsilon.numer() == 0 {
            return Err(DpError::Epsilon);
        }
        if selection_delta > delta || *delta >= Ratio::from_integer(1) {
            return Err(DpError::Budget("a budget's delta is below 1, and selection_delta is at most delta"));
        }
        let loss = match notion {
            Notion::Pure if *delta.numer() != 0 => {
                return Err(DpError::Budget("a pure budget has delta = 0"));
            }
            Notion::Pure | Notion::Approx => units_down(epsilon),
            Notion::Zcdp => zcdp::limit(epsilon, delta, selection_delta)
                .ok_or(DpError::Budget("a zcdp budget needs a delta above its selection_delta"))?,
        };
        Ok(Self { notion, limit: Cost { loss, delta: units_down(selection_delta) } })
    }

    /// The sum after `price` is added to `spent`, if that is within the limit.
    pub fn admit(&self, spent: Cost, price: Cost) -> Result<Cost, Shortfall> {
        let short = |of_delta, limit: u128, spent, needed| Shortfall {
            of_delta,
            needed,
            left: limit.saturating_sub(spent),
        };
        let after = |limit: u128, spent: u128, price: u128| {
            // A charge of nothing is admitted even where a limit was lowered below what is spent.
            spent.checked_add(price).filter(|&sum| price == 0 || sum <= limit)
        };
        let loss = after(self.limit.loss, spent.loss, price.loss)
            .ok_or_else(|| short(false, self.limit.loss, spent.loss, price.loss))?;
        let delta = after(self.limit.delta, spent.delta, price.delta)
            .ok_or_else(|| short(true, self.limit.delta, spent.delta, price.delta))?;
        Ok(Cost { loss, delta })
    }

    /// How many charges of `price` still fit, one after the other.
    pub fn fits(&self, spent: Cost, price: Cost) -> u128 {
        let room = |limit: u128, spent: u128, price: u128| {
            limit.saturating_sub(spent).checked_div(price).unwrap_or(u128::MAX)
        };
        room(self.limit.loss, spent.loss, price.loss).min(room(self.limit.delta, spent.delta, price.delta))
    }
}

/// A rational in units, rounded up. None if it does not fit.
fn units_up(r: &Ratio) -> Option<u128> {
    let n = BigUint::from(*r.numer()) * UNITS_PER_ONE;
    (*r.denom() != 0).then(|| super::exp::div_ceil(n, &BigUint::from(*r.denom())))?.to_u128()
}

/// A rational in units, rounded down, and to the largest number of units where it does not fit.
fn units_down(r: &Ratio) -> u128 {
    let n = BigUint::from(*r.numer()) * UNITS_PER_ONE;
    (n / BigUint::from(*r.denom()).max(1u8.into())).to_u128().unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests;
