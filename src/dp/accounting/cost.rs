//! Prices and sums of prices: additive vectors of integers, whatever the notion.

use crate::Ratio;
use crate::exp::div_ceil;
use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// Units that make one ε, one ρ or one δ: 10^24. A power of ten, so that ten charges of ε = 0.1 fill a budget of 1
/// exactly (in binary units each would be rounded up, and only nine would fit).
pub const UNITS_PER_ONE: u128 = 1_000_000_000_000_000_000_000_000;

/// The orders at which an rdp budget counts: fixed, because ledgers store a sum for each. The last is ε itself, without δ.
pub const ORDERS: [f64; 16] =
    [1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 13.0, 18.0, 26.0, 40.0, 80.0, 256.0, f64::INFINITY];

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

pub(super) fn add(a: [u128; ORDERS.len()], b: [u128; ORDERS.len()]) -> [u128; ORDERS.len()] {
    let mut sums = a;
    for (sum, x) in sums.iter_mut().zip(b) {
        *sum = sum.saturating_add(x);
    }
    sums
}

/// A rational in units, rounded up. None if it does not fit.
pub(super) fn units_up(r: &Ratio) -> Option<u128> {
    let n = BigUint::from(*r.numer()) * UNITS_PER_ONE;
    (*r.denom() != 0).then(|| div_ceil(n, &BigUint::from(*r.denom())))?.to_u128()
}

/// A rational in units, rounded down, and to the largest number of units where it does not fit.
pub(super) fn units_down(r: &Ratio) -> u128 {
    let n = BigUint::from(*r.numer()) * UNITS_PER_ONE;
    (n / BigUint::from(*r.denom()).max(1u8.into())).to_u128().unwrap_or(u128::MAX)
}
