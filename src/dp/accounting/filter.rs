//! A budget as a privacy filter: a notion, and the limit that its (ε, δ) implies.

use super::cost::{Cost, add, units_down};
use super::notions::Notion;
use crate::{DpError, Ratio};

/// A sum that a charge does not fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// True where δ of selection runs out, false where ε or ρ does.
    pub of_delta: bool,
    /// Units that the charge needs.
    pub needed: u128,
    /// Units that are left.
    pub left: u128,
    /// All that there was, in units.
    pub limit: u128,
}

/// A budget's notion and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The notion.
    pub notion: Notion,
    /// No sum may exceed it; of orders, not all.
    pub limit: Cost,
}

impl Filter {
    /// The filter that guarantees (`epsilon`, `delta`)-differential privacy in all, of which `selection_delta` pays for
    /// private groups (soundness rule 22).
    ///
    /// * pure: δ = 0, and Σε <= ε.
    /// * approx: Σε <= ε, Σδ <= `selection_delta`.
    /// * others: Σδ <= `selection_delta`, and sums up to the largest that imply (ε, `delta` - `selection_delta`)-DP.
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
        if !notion.has_delta() && *delta.numer() != 0 {
            return Err(DpError::Budget("a pure budget has delta = 0"));
        }
        let limit = notion.limit(epsilon, delta, selection_delta).map_err(DpError::Budget)?;
        Ok(Self { notion, limit: Cost { delta: units_down(selection_delta), ..limit } })
    }

    /// A filter whose limit is one number of its own notion, without δ.
    pub fn of_loss(notion: Notion, limit: u128) -> Self {
        Self { notion, limit: Cost::of_loss(limit) }
    }

    /// The sum after `price` is added to `spent`, if that is within the limit: in every coordinate, also in those that the price
    /// adds nothing to. A limit that was lowered below what is spent admits nothing but a charge of nothing at all, because
    /// what other coordinates have left was left under a limit that the sums do not keep (soundness rule 52).
    pub fn admit(&self, spent: Cost, price: Cost) -> Result<Cost, Shortfall> {
        let short = |of_delta, limit: u128, spent, needed| Shortfall {
            of_delta,
            needed,
            left: limit.saturating_sub(spent),
            limit,
        };
        if price == Cost::default() {
            return Ok(spent);
        }
        let after =
            |limit: u128, spent: u128, price: u128| spent.checked_add(price).filter(|&sum| sum <= limit);
        let loss = after(self.limit.loss, spent.loss, price.loss)
            .ok_or_else(|| short(false, self.limit.loss, spent.loss, price.loss))?;
        let delta = after(self.limit.delta, spent.delta, price.delta)
            .ok_or_else(|| short(true, self.limit.delta, spent.delta, price.delta))?;
        let mut fits = self.branches(spent, price).map(|(l, s, p)| after(l, s, p).is_some());
        if self.notion.counts_orders() && !fits.any(|fits| fits) {
            let (limit, spent, price) = self.nearest(spent, price).unwrap_or_default();
            return Err(short(false, limit, spent, price));
        }
        Ok(Cost { loss, delta, orders: add(spent.orders, price.orders) })
    }

    /// Number of charges of `price` that still fit, one after the other.
    pub fn fits(&self, spent: Cost, price: Cost) -> u128 {
        if price == Cost::default() {
            return u128::MAX;
        }
        let mut fits = room(self.limit.loss, spent.loss, price.loss);
        if self.notion.counts_orders() {
            fits = self.branches(spent, price).map(|(l, s, p)| room(l, s, p)).max().unwrap_or(0);
        }
        fits.min(room(self.limit.delta, spent.delta, price.delta))
    }

    /// Spending and limit, in one number each: of the order that has the largest part left in rdp.
    pub fn reading(&self, spent: Cost) -> (u128, u128) {
        if !self.notion.counts_orders() {
            return (spent.loss, self.limit.loss);
        }
        let left = |(limit, spent, _): &(u128, u128, u128)| match limit {
            0 => 0.0,
            _ => limit.saturating_sub(*spent) as f64 / *limit as f64,
        };
        let widest = self.branches(spent, Cost::default()).max_by(|a, b| left(a).total_cmp(&left(b)));
        widest.map_or((0, 0), |(limit, spent, _)| (spent, limit))
    }

    /// The part of the limit that a price takes; in rdp at the order that `nearest` says. For display.
    pub fn share(&self, spent: Cost, price: Cost) -> f64 {
        let (limit, price) = match self.nearest(spent, price) {
            Some((limit, _, price)) if self.notion.counts_orders() => (limit, price),
            _ => (self.limit.loss, price.loss),
        };
        part(limit, price)
    }

    /// Limit, sum and price at the order at which the price is nearest to fit, or leaves most.
    fn nearest(&self, spent: Cost, price: Cost) -> Option<(u128, u128, u128)> {
        let after = |(limit, spent, price): &(u128, u128, u128)| part(*limit, *spent) + part(*limit, *price);
        self.branches(spent, price).min_by(|a, b| after(a).total_cmp(&after(b)))
    }

    /// Limit, sum and price at each order.
    fn branches(&self, spent: Cost, price: Cost) -> impl Iterator<Item = (u128, u128, u128)> {
        self.limit.orders.into_iter().zip(spent.orders).zip(price.orders).map(|((l, s), p)| (l, s, p))
    }
}

/// Of nothing, anything is all.
fn part(limit: u128, units: u128) -> f64 {
    if limit == 0 { 1.0 } else { units as f64 / limit as f64 }
}

fn room(limit: u128, spent: u128, price: u128) -> u128 {
    limit.checked_sub(spent).map_or(0, |left| left.checked_div(price).unwrap_or(u128::MAX))
}
