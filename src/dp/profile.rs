//! Profiles of how many rows units have: a noisy histogram, and what it says of its tail.
//!
//! A unit is in one bin of the histogram, so that its sensitivity is 1. All below is
//! post-processing of a release, and public: bounds that follow from it make bias where the profile
//! is wrong, and never a leak. What bounds are chosen by is computed by IEEE 754 operations and
//! libm alone, in one order, since plans and their prices follow from it and are the same on every
//! machine (soundness rule 43).
//!
//! Bins are (e₋, e] of the ends e = 1, 2, 3, 4, 6, 8, 12, …, 524,288, two per octave, and one of
//! all that have more. Finer bins are a trap: where each bin of a tail holds fewer units than its
//! noise, the top is found too low.

use super::{DiscreteGaussian, DiscreteLaplace, Distribution, DpError, Ratio};

/// Ends of the bins that have one, in rows.
pub const ENDS: [u64; 38] = [
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048, 3_072,
    4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144,
    393_216, 524_288,
];

/// Number of bins: the last is of units with more rows than any end.
pub const BINS: usize = ENDS.len() + 1;

/// Standard errors of a sum over bins that B⁺ and B⁻ allow for: 2.24 are 97.5 %.
const Z: f64 = 2.24;
/// Standard errors that κ allows for: 1.645 are 95 % on one side.
const Z_BEYOND: f64 = 1.645;
/// Units that a bin holds beyond its noise, in σ of Gaussian noise.
const SEEN_GAUSSIAN: f64 = 3.3;
/// Units that a bin holds beyond its noise, in scales of Laplace noise.
const SEEN_LAPLACE: f64 = 6.9;
/// The part of that from which a bin belongs to what is seen, once one below does.
const STEP: f64 = 0.75;
/// Multiple of that which a bin holds that belongs to what is seen whatever is below: a gap may part few units from all others. Of all
/// bins noise reaches it once in some thousand profiles.
const CERTAIN: f64 = 2.0;
/// Bins that are looked at for the next one.
const REACH: usize = 3;

/// A noisy histogram of units by their numbers of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<i64>,
    noise: Distribution,
    epsilon: Ratio,
}

impl Histogram {
    /// The histogram of these bins, in the order of [`ENDS`] and the open one last, each with
    /// independent `noise`; `epsilon` names its price.
    pub fn new(bins: Vec<i64>, noise: Distribution, epsilon: Ratio) -> Result<Self, DpError> {
        match &noise {
            Distribution::None => return Err(DpError::OutOfRange("a histogram without noise")),
            Distribution::Laplace { scale } => drop(DiscreteLaplace::new(scale)?),
            Distribution::Gaussian { variance } => drop(DiscreteGaussian::new(variance)?),
        }
        if bins.len() != BINS {
            return Err(DpError::OutOfRange("the number of bins of a profile"));
        }
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        Ok(Self { bins, noise, epsilon })
    }

    /// Noisy numbers of units, one for each bin.
    pub fn bins(&self) -> &[i64] {
        &self.bins
    }

    /// Noise of each bin.
    pub fn noise(&self) -> &Distribution {
        &self.noise
    }

    /// The ε that names the price.
    pub fn epsilon(&self) -> &Ratio {
        &self.epsilon
    }

    /// Standard deviation of a bin's noise, and the number of units from which a bin is seen for
    /// certain: both from the parameter of the continuous distribution.
    fn spread(&self) -> (f64, f64) {
        let float = |r: &Ratio| *r.numer() as f64 / *r.denom() as f64;
        match &self.noise {
            Distribution::None => (0.0, 0.0),
            Distribution::Laplace { scale } => (libm::sqrt(2.0) * float(scale), SEEN_LAPLACE * float(scale)),
            Distribution::Gaussian { variance } => {
                let deviation = libm::sqrt(float(variance));
                (deviation, SEEN_GAUSSIAN * deviation)
            }
        }
    }

    /// The tail of the histogram. `most`: public knowledge of the most that a unit can have, which
    /// then is where the tail ends.
    pub fn tail(&self, most: Option<u64>) -> Tail {
        let (deviation, seen) = self.spread();
        let most = most.map(|n| n.max(1));
        // Starts, ends and numbers of the bins that a unit can be in.
        let starts = std::iter::once(0).chain(ENDS);
        let ends = ENDS.into_iter().map(Some).chain([None]);
        let bins: Vec<_> = starts.zip(ends).zip(&self.bins).map(|((from, to), n)| (from, to, *n)).collect();
        let possible = bins.iter().take_while(|(from, ..)| most.is_none_or(|most| *from < most)).count();
        let (bins, _) = bins.split_at(possible);
        let top = top(bins.iter().map(|(.., n)| *n as f64), STEP * seen);
        let last = ENDS.last().copied().unwrap_or(1);
        let h = most.unwrap_or_else(|| ENDS.get(top + 1).copied().unwrap_or(last));
        let within = bins.iter().enumerate().filter(|(_, (from, to, _))| *from < h && to.or(most).is_some());
        let terms = within.map(|(k, (from, to, n))| Term {
            from: *from as f64,
            to: to.unwrap_or(h).min(h) as f64,
            units: *n as f64,
            seen: k <= top,
        });
        let terms: Vec<Term> = terms.collect();
        let beyond = bins.iter().skip(terms.len());
        let kappa = match most {
            Some(_) => 0.0,
            None => {
                let (units, bins) = beyond.fold((0.0, 0.0), |(sum, m), (.., n)| (sum + *n as f64, m + 1.0));
                units.max(0.0) + Z_BEYOND * deviation * libm::sqrt(bins)
            }
        };
        Tail { terms, deviation, h, kappa }
    }
}

/// Place of the last bin that is seen: from the fullest upward, or from the highest that noise next to
/// never reaches, the next above `threshold` while one is within reach.
fn top(units: impl Iterator<Item = f64>, threshold: f64) -> usize {
    let units: Vec<f64> = units.collect();
    let fullest = units.iter().enumerate().reduce(|a, b| if b.1 >= a.1 { b } else { a });
    let certain = units.iter().rposition(|n| *n > CERTAIN * threshold);
    let mut top = fullest.map_or(0, |(k, _)| k).max(certain.unwrap_or_default());
    loop {
        let next = units.iter().enumerate().skip(top + 1).take(REACH).find(|(_, n)| **n > threshold);
        match next {
            Some((k, _)) => top = k,
            None => return top,
        }
    }
}

/// A bin up to H.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    from: f64,
    to: f64,
    units: f64,
    /// The bin is no higher than the top.
    seen: bool,
}

/// The tail of a profile: what a bound on each unit's rows cuts.
///
/// With ν_u rows of unit u and a bound C, a group lacks at most B(C) = Σ_u max(ν_u - C, 0) rows,
/// whatever the groups are and whatever rows of the table a statement reads. B⁺ is above that of
/// rows up to H, and B⁻ below it, both but for a chance of 2.5 % over the noise of the profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    terms: Vec<Term>,
    deviation: f64,
    h: u64,
    kappa: f64,
}

impl Tail {
    /// H: the number of rows of each unit up to which all this is said.
    pub fn h(&self) -> u64 {
        self.h
    }

    /// κ: at most so many units have more than H rows (95 %), whose further rows are counted
    /// nowhere.
    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// Ends that a bound is chosen from: those of bins up to H, and H.
    pub fn ends(&self) -> impl Iterator<Item = u64> {
        ENDS.into_iter().filter(|end| *end < self.h).chain([self.h])
    }

    /// B⁺(C), in rows: Σ max(ĥ, 0)(e - C) + z·s·√Σ(e - C)² over bins with C < e <= H. 0 from H on.
    ///
    /// B⁺ falls as C rises, so that at a C which is no end it is at most that of the end below.
    pub fn b_plus(&self, c: u64) -> f64 {
        let c = c as f64;
        let cut = |t: &&Term| t.to > c;
        let units: f64 = self.terms.iter().filter(cut).map(|t| t.units.max(0.0) * (t.to - c)).sum();
        units + self.root(c)
    }

    /// B⁻(C), in rows: Σ ĥ·max(e₋ - C, 0), over bins up to the top, less the same root; at least 0.
    pub fn b_minus(&self, c: u64) -> f64 {
        let c = c as f64;
        let cut = |t: &&Term| t.seen && t.from > c;
        let units: f64 = self.terms.iter().filter(cut).map(|t| t.units * (t.from - c)).sum();
        (units - self.root(c)).max(0.0)
    }

    fn root(&self, c: f64) -> f64 {
        let cut = self.terms.iter().filter(|t| t.to > c);
        let squares: f64 = cut.map(|t| (t.to - c) * (t.to - c)).sum();
        Z * self.deviation * libm::sqrt(squares)
    }

    /// Width of the interval of a count whose units have at most C rows each: 2·`q1`·C + B⁺(C),
    /// with `q1` half the width of the noise for each row of C.
    pub fn width(&self, q1: f64, c: u64) -> f64 {
        2.0 * q1 * c as f64 + self.b_plus(c)
    }

    /// The C of [`Self::ends`] of the least width; of equals, the least.
    pub fn choose(&self, q1: f64) -> u64 {
        let ends = self.ends().map(|c| (c, self.width(q1, c)));
        ends.reduce(|a, b| if b.1 < a.1 { b } else { a }).map_or(self.h, |(c, _)| c)
    }
}

#[cfg(test)]
mod tests;
