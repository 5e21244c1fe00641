//! Noise, mechanisms and accounting. Pure: no I/O, no SQL, no async, no clocks; imports nobody.
//!
//! Neighbouring databases differ by all rows of one unit (add or remove). Everything here is decided from public
//! data: sensitivities, scales and prices are integers and rationals, samplers are exact, and where a number must
//! be rounded it is rounded to the side that costs the analyst (charges up, limits down).
//!
//! What a sampler's time tells: nothing of the values that noise is added to, because noise is drawn before they are
//! looked at. Something of the noise itself: single draws and batches of discrete Laplace, discrete Gaussian and rounded
//! Gaussian noise reject and compare until they are decided, which takes longer for some outcomes than for others. Only
//! [`DiscreteLaplace::fill_in_constant_time`] draws the same number of random words whatever comes out. The choice among
//! [`Candidates`] looks at every candidate, whichever is chosen; how long each takes depends a little on its score.

#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod accounting;
mod bernoulli;
pub mod cdp;
mod certified;
mod choice;
pub mod composition;
#[cfg(test)]
mod decision_tree;
mod exp;
mod expansion;
mod exponential;
mod gaussian;
pub mod gdp;
mod guarantee;
pub mod interval;
mod laplace;
pub mod loss;
mod noise;
mod outline;
pub mod pld;
mod points;
pub mod quantile;
pub mod randomised;
pub mod rdp;
mod rng;
mod selection;
mod sensitivity;
pub mod shuffle;
pub mod sparse;
mod spec;
pub mod special;
pub mod suspicion;
#[cfg(test)]
pub mod testing;
pub mod topk;
pub mod tradeoff;

pub use accounting::{
    Cost, Envelope, Filter, Kind, Notion, ORDERS, PRICING, Rule, Shortfall, Tokens, UNITS_PER_ONE, Unpriced,
    rule,
};
pub use choice::{Choice, ChoiceError, Preference, Why, choose};
pub use exponential::Candidates;
pub use gaussian::DiscreteGaussian;
pub use guarantee::Guarantee;
pub use laplace::DiscreteLaplace;
pub use noise::{Distribution, Noise, Sampler};
pub use outline::{Form, Outline, ROUNDS, WEIGHT_OF_ONE, WHOLE};
pub use points::{Pick, Points, PointsError};
pub use rng::{Entropy, EntropyError, KeyedRng, SecureRng};
pub use sensitivity::Sensitivity;
pub use spec::{BigRatio, Charge, Event, Mechanism, Selection, Share, Spec, Weights, split};

/// Exact non-negative rationals: scales, ε, δ.
pub type Ratio = num_rational::Ratio<u128>;

/// Why a parameter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DpError {
    /// ε is zero (or not a number).
    #[error("epsilon must be greater than zero")]
    Epsilon,
    /// δ of group selection is out of range.
    #[error("delta of group selection must be between 2^-96 and 1/2")]
    SelectionDelta,
    /// A unit touches no group.
    #[error("a release must allow at least one group per unit")]
    NoGroups,
    /// A numerator or denominator does not fit 96 bits.
    #[error("noise scale or price is out of range: {0}")]
    OutOfRange(&'static str),
    /// The specifications cost another ε than the one that names the price.
    #[error("the releases of a statement do not cost the epsilon that names its price")]
    Mispriced,
    /// A budget's δ does not fit its notion.
    #[error("{0}")]
    Budget(&'static str),
}

/// A decimal as an exact rational; None if it is negative or has more than 38 digits before or after the point.
pub fn ratio(decimal: &bigdecimal::BigDecimal) -> Option<Ratio> {
    let (digits, scale) = decimal.normalized().into_bigint_and_exponent();
    let digits = u128::try_from(digits).ok()?;
    let power = 10u128.checked_pow(u32::try_from(scale.unsigned_abs()).ok()?);
    match scale {
        0.. => Some(Ratio::new(digits, power?)),
        _ if digits == 0 => Some(Ratio::from_integer(0)),
        _ => digits.checked_mul(power?).map(Ratio::from_integer),
    }
}
