//! Budgets as privacy filters: a charge becomes an additive vector of integers in the budget's notion, and is admitted
//! only while the sum stays within the limit.
//!
//! A filter is valid however adaptively charges are chosen (each [`Notion`] says why) and however many sessions interleave
//! (Vadhan and Zhang 2023, Haney et al. 2023). δ of group selection is a sum of its own and never mixed into ρ, because no
//! filter for concurrent approximate zCDP is known. Numerical composition is no filter: see [`super::pld`] for why, and
//! [`Envelope`] for what can be had of it.
//!
//! Sums are integers, so they are exact, associative and can be replayed: each charge is rounded up once, each limit
//! down once.

mod envelope;
mod guarantee;
mod limits;
mod price;
mod table;

pub use envelope::{Envelope, Tokens};
pub use limits::ORDERS;
pub use table::{Kind, Rule, rule};

use super::{Charge, DpError, Mechanism, Ratio};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// Units that make one ε, one ρ or one δ: 10^24. A power of ten, so that ten charges of ε = 0.1 fill a budget of 1
/// exactly (in binary units each would be rounded up, and only nine would fit).
pub const UNITS_PER_ONE: u128 = 1_000_000_000_000_000_000_000_000;

/// The version of pricing: the same charge has the same price, to the last unit, wherever and whenever it is computed by one
/// version.
///
/// Ledgers store prices, and check them by computing them anew. So prices come from integers or from one pinned libm, which
/// is the same on every machine, and never from the platform's functions (clippy.toml refuses these by name). A price that
/// changes by a single unit, be it because a bound became tighter or because libm was updated, is another version: the
/// test `rule_43_prices_of_this_version` fails until this number is raised.
///
/// 1: Laplace noise was priced as so many uses of the change in one group, where what a unit changes over all groups was bounded.
/// 2: by the worst vector of changes ([`crate::Sensitivity`]).
pub const PRICING: u32 = 2;

/// What a budget counts in. Each is a privacy filter: a sum of charges fixed before each draw, and a limit that implies the
/// budget's (ε, δ) however charges are chosen from earlier answers and however sessions interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notion {
    /// Σε, with δ = 0: pure differential privacy.
    ///
    /// Why it holds: the loss of a run is at most the sum of its steps' ε, run by run (Rogers et al. 2016).
    Pure,
    /// Σε and Σδ: basic composition.
    ///
    /// Why it holds: as for pure, outside of events whose probabilities add up to at most Σδ (Rogers et al. 2016).
    Approx,
    /// Σε², and Σδ beside it: √(2 ln(1/δ′)·Σε²) + Σε²/2 <= ε.
    ///
    /// Why it holds: the loss less its drift is a martingale with increments of at most ε; a supermartingale bound holds at
    /// the time when Σε² would pass the limit, which is a stopping time (Whitehouse, Ramdas, Rogers and Wu 2023, Theorem 2).
    Advanced,
    /// Σρ: zero-concentrated differential privacy (Bun and Steinke 2016), with Σδ of selection beside it.
    ///
    /// Why it holds: it is the filter of every Rényi order at once, whose limits lie on one line (Feldman and Zrnic 2021).
    Zcdp,
    /// Σ of the Rényi divergence at each order of [`ORDERS`], with a share of δ for each; a charge is admitted while some
    /// order's sum stays within that order's limit.
    ///
    /// Why it holds: give each finished run to the first order whose limit holds at its end. Sums only grow, so on these runs
    /// the interaction is the same as the one that stops when that order's limit would be passed, and that one is (ε,
    /// δ_order)-DP: e^((α-1)·(loss so far) - (α-1)·Σ divergence) is a supermartingale (Feldman and Zrnic 2021; Lécuyer 2021).
    /// So P(S) <= e^ε·Q(S) + Σ δ_order. To convert with the whole δ at whichever order turns out best is not this filter.
    Rdp,
    /// Σμ²: Gaussian differential privacy, with Σδ of selection beside it.
    ///
    /// Why it holds: adaptively chosen μᵢ with Σμᵢ² <= μ² compose to μ-GDP, because the losses of Gaussians are those of a
    /// Brownian motion run for time Σμᵢ² (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022).
    Gdp,
}

/// A price or a sum of prices, in units of 10^-24: additive, whatever the notion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// ε (pure, approx), ε² (advanced), ρ (zcdp), μ² (gdp); 0 in rdp.
    pub loss: u128,
    /// δ of group selection, and of noise that a notion has a price for only with a δ.
    pub delta: u128,
    /// Rényi divergence at each of [`ORDERS`] (rdp); zeros elsewhere.
    pub orders: [u128; ORDERS.len()],
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
    /// All that there was, in units.
    pub limit: u128,
}

impl Cost {
    /// A loss that is one number, without δ.
    pub fn of_loss(loss: u128) -> Self {
        Self { loss, ..Self::default() }
    }

    /// The sum. None on overflow, which no limit admits; of orders, the largest number stands for more than any limit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (loss, delta) = (self.loss.checked_add(other.loss)?, self.delta.checked_add(other.delta)?);
        Some(Self { loss, delta, orders: add(self.orders, other.orders) })
    }

    /// The sum, where what does not fit is more than any limit.
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            loss: self.loss.saturating_add(other.loss),
            delta: self.delta.saturating_add(other.delta),
            orders: add(self.orders, other.orders),
        }
    }

    /// The loss as ledgers store it: one decimal integer, or one per order with blanks between.
    pub fn loss_text(&self) -> String {
        if self.orders.iter().all(|x| *x == 0) {
            return self.loss.to_string();
        }
        self.orders.map(|x| x.to_string()).join(" ")
    }

    /// From [`Self::loss_text`] and δ; None if they are something else.
    pub fn from_text(loss: &str, delta: &str) -> Option<Self> {
        let delta = delta.parse().ok()?;
        if !loss.contains(' ') {
            return Some(Self { loss: loss.parse().ok()?, delta, ..Self::default() });
        }
        let orders: Vec<u128> = loss.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { loss: 0, delta, orders: orders.try_into().ok()? })
    }
}

fn add(a: [u128; ORDERS.len()], b: [u128; ORDERS.len()]) -> [u128; ORDERS.len()] {
    let mut sums = a;
    for (sum, x) in sums.iter_mut().zip(b) {
        *sum = sum.saturating_add(x);
    }
    sums
}

impl Notion {
    /// The letter of its loss: ε, ρ, or what is summed.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Pure | Self::Approx => "ε",
            Self::Advanced => "ε²",
            Self::Zcdp => "ρ",
            Self::Rdp => "Rényi divergence",
            Self::Gdp => "μ²",
        }
    }

    /// The word of policies and ledgers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Approx => "approx",
            Self::Advanced => "advanced",
            Self::Zcdp => "zcdp",
            Self::Rdp => "rdp",
            Self::Gdp => "gdp",
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
        // What is drawn is priced by its noise, what is stated by its guarantee.
        let (mut drawn, mut stated) = (charge.events.clone(), Cost::default());
        drawn.retain(|e| !matches!(e.mechanism, Mechanism::Guaranteed(_)));
        for event in &charge.events {
            if let Mechanism::Guaranteed(guarantee) = &event.mechanism {
                let cost = self.price_of(guarantee, event.times, None).map_err(|e| match e {
                    // It is not private groups that bring this δ.
                    Unpriced::PrivateGroups => Unpriced::Mechanism(
                        "its delta is above zero, and a pure budget has none to pay it from",
                    ),
                    other => other,
                })?;
                stated = stated.checked_add(cost).ok_or(Unpriced::Unbounded)?;
            }
        }
        let cost = match self {
            _ if drawn.is_empty() => Cost::default(),
            Self::Pure | Self::Approx => Cost::of_loss(price::epsilon(&drawn)?),
            Self::Advanced => Cost::of_loss(price::square(&drawn)?),
            Self::Zcdp => Cost::of_loss(price::rho(&drawn)?),
            Self::Rdp => Cost { orders: price::orders(&drawn)?, ..Cost::default() },
            Self::Gdp => Cost::of_loss(price::mu_square(&drawn)?),
        };
        let selection = units_up(&charge.selection_delta).ok_or(Unpriced::Unbounded)?;
        Cost { delta: selection, ..cost }.checked_add(stated).ok_or(Unpriced::Unbounded)
    }
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
        let limit = match notion {
            Notion::Pure if *delta.numer() != 0 => {
                return Err(DpError::Budget("a pure budget has delta = 0"));
            }
            Notion::Pure | Notion::Approx => Some(Cost::of_loss(units_down(epsilon))),
            Notion::Zcdp => limits::zcdp(epsilon, delta, selection_delta).map(Cost::of_loss),
            Notion::Advanced => limits::advanced(epsilon, delta, selection_delta).map(Cost::of_loss),
            Notion::Gdp => limits::gdp(epsilon, delta, selection_delta).map(Cost::of_loss),
            Notion::Rdp => {
                limits::rdp(epsilon, delta, selection_delta).map(|orders| Cost { orders, ..Cost::default() })
            }
        };
        let limit = limit.ok_or(DpError::Budget(match notion {
            Notion::Zcdp => "a zcdp budget needs a delta above its selection_delta",
            _ => "a budget that converts to epsilon needs a delta above its selection_delta",
        }))?;
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
        if self.notion == Notion::Rdp && !fits.any(|fits| fits) {
            let (limit, spent, price) = self.nearest(spent, price).unwrap_or_default();
            return Err(short(false, limit, spent, price));
        }
        Ok(Cost { loss, delta, orders: add(spent.orders, price.orders) })
    }

    /// How many charges of `price` still fit, one after the other.
    pub fn fits(&self, spent: Cost, price: Cost) -> u128 {
        if price == Cost::default() {
            return u128::MAX;
        }
        let mut fits = room(self.limit.loss, spent.loss, price.loss);
        if self.notion == Notion::Rdp {
            fits = self.branches(spent, price).map(|(l, s, p)| room(l, s, p)).max().unwrap_or(0);
        }
        fits.min(room(self.limit.delta, spent.delta, price.delta))
    }

    /// What is spent and what the limit is, in one number each: of the order that has the largest part left in rdp.
    pub fn reading(&self, spent: Cost) -> (u128, u128) {
        if self.notion != Notion::Rdp {
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
            Some((limit, _, price)) if self.notion == Notion::Rdp => (limit, price),
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
mod filter_tests;
#[cfg(test)]
mod pinned_tests;
#[cfg(test)]
mod tests;
