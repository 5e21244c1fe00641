//! Variances, covariances and regressions: counts, sums and sums of products, each deviation taken from the middle of its
//! range, and the rest after the noise.
//!
//! With deviations d in \[-h, h\] from the centre, the mean of d² lies in \[0, h²\]: its sum is centred too, which halves
//! what one row can change. From n, Σd and Σd² follow var = Σd²/n - (Σd/n)², cut to \[0, h²\]; and likewise, over rows
//! where both are there, Σdₓ·d_y with products in \[-hₓ·h_y, hₓ·h_y\].

mod asked;
mod estimator;
mod interval;
mod moment;
mod statistic;
mod texts;

pub use moment::{Moment, Variable};
pub use statistic::Statistic;

pub(super) use statistic::ENTRIES;
