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
mod mechanism;
mod noise;
mod outline;
pub mod pld;
mod points;
pub mod profile;
pub mod quantile;
pub mod randomised;
mod ratio;
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
    Conversion, Cost, Envelope, Filter, Kind, Notion, ORDERS, PRICING, Rule, Shortfall, Tokens,
    UNITS_PER_ONE, Unpriced, mechanisms, rule, sums,
};
pub use choice::{Choice, ChoiceError, Preference, Why, choose};
pub use exponential::Candidates;
pub use gaussian::DiscreteGaussian;
pub use guarantee::Guarantee;
pub use laplace::DiscreteLaplace;
pub use mechanism::{Event, Mechanism, Share};
pub use noise::{Distribution, Noise, Sampler};
pub use outline::{Outline, ROUNDS, WEIGHT_OF_ONE, WHOLE};
pub use points::{Pick, Points, PointsError};
pub use ratio::{BigRatio, DpError, Ratio, ratio, split};
pub use rng::{Entropy, EntropyError, KeyedRng, SecureRng};
pub use sensitivity::Sensitivity;
pub use spec::{Charge, Selection, Spec, Used, Weights};
