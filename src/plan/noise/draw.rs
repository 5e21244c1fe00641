//! Draws of noise: of which released integer they are, and how large.

/// A released integer that noise in a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Place of the release.
    pub release: usize,
    /// Place of the integer in it.
    pub part: usize,
    /// Of which rows.
    pub rows: Rows,
}

/// Rows of a relation, as one row of it sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rows {
    /// The row itself.
    Own,
    /// The row that is this many rows before, or behind.
    Shifted(i64),
    /// Any.
    Any,
}

impl Part {
    /// Whether this has other noise than that.
    pub fn is_apart(&self, other: &Self) -> bool {
        let rows = self.rows != other.rows && self.rows != Rows::Any && other.rows != Rows::Any;
        rows || (self.release, self.part) != (other.release, other.part)
    }
}

/// The noise of a released integer, in the unit of what it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartNoise {
    /// Variance.
    pub variance: f64,
    /// Fourth cumulant.
    pub fourth: f64,
    /// Distance between values.
    pub step: f64,
}

/// The variance and the fourth cumulant of integer noise.
///
/// The discrete Laplace distribution P(x) ∝ q^|x| is that of the difference of two geometric variables, whose cumulants add up:
/// with p = 1 - q the second is 2q/p², the fourth 2q(p² + 6q)/p⁴. The discrete Gaussian has at most the variance σ² (Canonne,
/// Kamath and Steinke 2020, Corollary 9), and is as good as normal from σ = 1 on.
pub fn cumulants(distribution: &dp::Distribution) -> (f64, f64) {
    let float = |x: &dp::Ratio| *x.numer() as f64 / *x.denom() as f64;
    match distribution {
        dp::Distribution::Laplace { scale } => {
            let q = libm::exp(-1.0 / float(scale));
            let p = -libm::expm1(-1.0 / float(scale));
            (2.0 * q / (p * p), 2.0 * q * (p * p + 6.0 * q) / p.powi(4))
        }
        dp::Distribution::Gaussian { variance } => (float(variance), 0.0),
        dp::Distribution::None => (0.0, 0.0),
    }
}
