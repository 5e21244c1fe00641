//! The range of a column whose bounds nobody declared, on a logarithmic grid.
//!
//! From each end of the grid inwards goes a stream of questions whether at most a few rows lie beyond a point
//! (AboveThreshold; Durfee, "Unbounded Differentially Private Quantile and Maximum Estimation", 2023).

use super::sparse::{Direction, OpenError, Outcome, Plan, Stream};
use super::{DpError, Entropy, EntropyError, Guarantee, Ratio, split};

/// …, -4, -2, -1, 0, 1, 2, 4, … up to ±2^`exponent`, in rising order; `exponent` is at most 126.
pub fn logarithmic(exponent: u32) -> Result<Vec<i128>, DpError> {
    if exponent > 126 {
        return Err(DpError::OutOfRange("a grid beyond 2^126"));
    }
    let powers = |sign: i128| (0..=exponent).map(move |e| sign << e);
    let mut grid: Vec<i128> = powers(-1).rev().collect();
    grid.push(0);
    grid.extend(powers(1));
    Ok(grid)
}

/// Finds two points of a public grid between which nearly all rows lie.
///
/// For the upper end the points are visited in rising order, and each is asked whether the rows above it are no more than
/// `stray`; the first of which this is said is taken, or the last of all. For the lower end the same from above. The
/// questions are monotone: a unit of weight w adds at most w rows above or below any point.
///
/// Guarantee: ε-DP for add/remove neighbours, as two streams of ε/2 with one positive each (Lyu, Su and Li 2017, Algorithm
/// 1, monotone). The grid and `stray` are public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeFinder {
    plan: Plan,
    epsilon: Ratio,
    stray: u64,
}

impl RangeFinder {
    /// For a unit of weight at most `weight` >= 1; `stray` rows may be left outside at either end.
    pub fn new(weight: u32, epsilon: &Ratio, stray: u64) -> Result<Self, DpError> {
        let plan = Plan::improved(weight.into(), 1, &split(epsilon, 2)?, Direction::Monotone)?;
        Ok(Self { plan, epsilon: *epsilon, stray })
    }

    /// What it costs, both ends together.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// A `stray` with which, with probability 1-β, neither end stops later than at the first point that all rows are within,
    /// on a grid of so many points; then at most twice as many rows are outside. From public data, for accuracy alone.
    pub fn stray_for(points: usize, weight: u32, epsilon: &Ratio, beta: f64) -> u64 {
        // Both scales are 4w/ε; each end errs with probability β/2, its threshold with half of that.
        let scale = 4.0 * f64::from(weight) * *epsilon.denom() as f64 / *epsilon.numer() as f64;
        let rows = scale * (libm::log(4.0 / beta) + libm::log(4.0 * points as f64 / beta));
        // The cast turns NaN into 0 and cuts at the ends.
        libm::ceil(rows) as u64
    }

    /// The indices of the lower and the upper point. `below[j]` and `above[j]` are the numbers of rows below and above point
    /// j; both have an entry for each point, and there is a point.
    pub fn find(
        &self,
        below: &[u64],
        above: &[u64],
        rng: &mut impl Entropy,
    ) -> Result<(usize, usize), OpenError> {
        if below.is_empty() || below.len() != above.len() {
            return Err(DpError::OutOfRange("a grid without points").into());
        }
        let upper = self.walk(above.iter().copied(), rng)?;
        let lower = below.len() - 1 - self.walk(below.iter().rev().copied(), rng)?;
        // Few rows, much noise: the ends may cross.
        Ok((lower.min(upper), lower.max(upper)))
    }

    /// How many points are passed before one has no more than `stray` rows outside.
    fn walk(
        &self,
        outside: impl ExactSizeIterator<Item = u64>,
        rng: &mut impl Entropy,
    ) -> Result<usize, OpenError> {
        let last = outside.len().saturating_sub(1);
        let mut stream = Stream::open(self.plan.clone(), rng)?;
        for (passed, rows) in outside.enumerate() {
            stream = match self.ask(stream, rows, rng)? {
                Outcome::Below(stream) | Outcome::Above(stream, _) => stream,
                Outcome::Last(_) => return Ok(passed),
            };
        }
        Ok(last)
    }

    fn ask(&self, stream: Stream, rows: u64, rng: &mut impl Entropy) -> Result<Outcome, EntropyError> {
        stream.ask(-i128::from(rows), -i128::from(self.stray), rng)
    }
}

#[cfg(test)]
mod tests;
