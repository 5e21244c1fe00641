//! Many uses: powers by squaring, in integers.

use super::PldError;
use super::base::Base;
use super::ntt;
use crate::interval::Interval;

/// Masses are counted in units of 2^-60.
const BITS: u32 = 60;
const UNIT: f64 = 1.0 / (1u64 << BITS) as f64;

/// Cumulant generating functions of all bases at an exponent, from above: ln Σ p·e^(t·loss).
struct Exponent {
    t: f64,
    cumulants: Vec<f64>,
}

/// Windows in which sums of losses lie, but for a given probability.
pub(super) struct Windows {
    rising: Vec<Exponent>,
    /// Empty where all sums fit as they are.
    falling: Vec<Exponent>,
    uses: Vec<u32>,
    step: f64,
    ln_beyond: f64,
    beyond: f64,
}

/// Sums with fewer entries are not cut.
const FITS: f64 = 262_144.0;

/// ln Σ p·e^(t·loss), from above. Fewer than 2^22 products of rounded factors: a relative 2^-30 covers them a hundred times.
fn cumulant(base: &Base, step: f64, t: f64) -> f64 {
    let ratio = libm::exp(t * step);
    let mut factor = libm::exp(t * base.first as f64 * step);
    let mut sum = 0.0;
    for p in &base.masses {
        sum += p * factor;
        factor *= ratio;
    }
    (Interval::from(sum) * (1.0 + libm::exp2(-30.0))).ln().hi()
}

impl Windows {
    pub(super) fn new(bases: &[(Base, u32)], step: f64, beyond: f64) -> Self {
        let longest = bases.iter().map(|(b, _)| b.masses.len()).max().unwrap_or(1);
        let uses: f64 = bases.iter().map(|(_, n)| f64::from(*n)).sum();
        let entries: f64 = bases.iter().map(|(b, n)| b.masses.len() as f64 * f64::from(*n)).sum();
        // Exponents from that of the widest sum to that of one use: e^(t·loss) between e^(1/√uses) and e^100.
        let reach = longest as f64 * step;
        let (mut t, mut ts) = (0.1 / (reach * uses.sqrt()), vec![]);
        while t < 200.0 / reach || ts.is_empty() {
            ts.push(t);
            t *= 1.3;
        }
        let at =
            |t: f64| Exponent { t, cumulants: bases.iter().map(|(b, _)| cumulant(b, step, t)).collect() };
        let rising = ts.iter().map(|&t| at(t)).collect();
        let falling = if entries > FITS { ts.iter().map(|&t| at(-t)).collect() } else { vec![] };
        let uses = bases.iter().map(|(_, n)| *n).collect();
        Self { rising, falling, uses, step, ln_beyond: Interval::from(beyond).ln().lo(), beyond }
    }

    /// ln E e^(t·S) for so many uses of each, from above.
    fn total(exponent: &Exponent, uses: &[u32]) -> Interval {
        exponent.cumulants.iter().zip(uses).map(|(c, n)| Interval::from(*c) * f64::from(*n)).sum()
    }

    /// First and last index of the window of a sum of so many uses; P(S below) and P(S above) are at most `beyond` each:
    /// P(S >= c) <= E e^(tS)·e^-tc for every t > 0.
    fn window(&self, uses: &[u32]) -> (i64, i64) {
        if self.falling.is_empty() {
            return (i64::MIN, i64::MAX);
        }
        let bound = |exponents: &[Exponent]| {
            let at = |e: &Exponent| ((Self::total(e, uses) - self.ln_beyond) / e.t.abs()).hi();
            let least = exponents.iter().map(at).fold(f64::INFINITY, f64::min);
            // Conversion saturates; indices that far away cut nothing off.
            (least / self.step).ceil() as i64
        };
        (-bound(&self.falling).saturating_add(1), bound(&self.rising).saturating_add(1))
    }

    /// The tilt that brings most mass to where δ(ε) is `delta`: the exponent that makes Chernoff's ε least.
    pub(super) fn tilt_for_delta(&self, delta: f64) -> f64 {
        let epsilon = |e: &Exponent| (Self::total(e, &self.uses).hi() - libm::log(delta)) / e.t;
        self.best(epsilon)
    }

    fn best(&self, f: impl Fn(&Exponent) -> f64) -> f64 {
        let best = self.rising.iter().min_by(|a, b| f(a).total_cmp(&f(b)));
        best.map_or(0.0, |e| e.t)
    }
}

/// Tilted masses: the mass of loss l is units·2^-60·e^(scale - θ·l), or less.
#[derive(Clone)]
pub(super) struct Tilted {
    first: i64,
    units: Vec<u64>,
    scale: Interval,
    uses: Vec<u32>,
    /// Probability, from above, of what windows cut off anywhere below.
    lost: f64,
}

impl Tilted {
    fn of(base: &Base, step: f64, theta: f64, part: usize, parts: usize) -> Self {
        // Any number would do as the scale; this one makes the sum of masses 1.
        let scale = cumulant(base, step, theta);
        let unit = |(i, p): (usize, &f64)| {
            let loss = (base.first + i as i64) as f64 * step;
            let tilted = (Interval::from(theta) * loss - scale).exp() * *p / UNIT;
            // The cast truncates.
            if *p == 0.0 { 0 } else { tilted.hi().ceil() as u64 }
        };
        let units = base.masses.iter().enumerate().map(unit).collect();
        let uses = (0..parts).map(|i| u32::from(i == part)).collect();
        Self { first: base.first, units, scale: scale.into(), uses, lost: 0.0 }
    }

    fn times(&self, other: &Self, windows: &Windows) -> Result<Self, PldError> {
        let product = if std::ptr::eq(self, other) {
            ntt::convolve(&self.units, &self.units)
        } else {
            ntt::convolve(&self.units, &other.units)
        };
        let product = product.ok_or(PldError::TooFine)?;
        let uses: Vec<u32> = self.uses.iter().zip(&other.uses).map(|(a, b)| a + b).collect();
        let first = self.first + other.first;
        let last = first + product.len() as i64 - 1;
        let (low, high) = windows.window(&uses);
        let (low, high) = (low.clamp(first, last), high.clamp(first, last).max(low.clamp(first, last)));
        let mut lost = self.lost + other.lost;
        if low > first {
            lost += windows.beyond;
        }
        if high < last {
            lost += windows.beyond;
        }
        // Rounded up to units again.
        let up = |x: u128| ((x + (1 << BITS) - 1) >> BITS) as u64;
        let kept = product.into_iter().skip((low - first) as usize).take((high - low + 1) as usize);
        let units = kept.map(up).collect();
        Ok(Self {
            first: low,
            units,
            scale: self.scale + other.scale,
            uses,
            lost: lost * (1.0 + f64::EPSILON),
        })
    }

    fn power(&self, n: u32, windows: &Windows) -> Result<Self, PldError> {
        let mut result: Option<Self> = None;
        let (mut base, mut left) = (self.clone(), n);
        loop {
            if left % 2 == 1 {
                result = Some(match result {
                    None => base.clone(),
                    Some(r) => r.times(&base, windows)?,
                });
            }
            left /= 2;
            if left == 0 {
                return result.ok_or(PldError::Unsuitable);
            }
            base = base.times(&base, windows)?;
        }
    }

    /// All uses of all bases, and the probability of what was cut off: in every use of an intermediate product.
    pub(super) fn product(
        bases: &[(Base, u32)],
        step: f64,
        theta: f64,
        windows: &Windows,
    ) -> Result<(Self, f64), PldError> {
        let mut all: Option<Self> = None;
        for (part, (base, n)) in bases.iter().enumerate() {
            let power = Self::of(base, step, theta, part, bases.len()).power(*n, windows)?;
            all = Some(match all {
                None => power,
                Some(so_far) => so_far.times(&power, windows)?,
            });
        }
        let all = all.ok_or(PldError::Unsuitable)?;
        let lost = all.lost;
        Ok((all, lost))
    }

    /// Losses and masses.
    pub(super) fn untilted(&self, step: f64, theta: f64) -> Vec<(f64, Interval)> {
        let atom = |(i, units): (usize, &u64)| {
            let loss = (self.first + i as i64) as f64 * step;
            // Units below 2^62 are wrong by 2^-53 of themselves as floats.
            let mass = Interval::widened(*units as f64, *units as f64, f64::EPSILON) * UNIT;
            (loss, mass.at_least(0.0) * (self.scale - Interval::from(theta) * loss).exp())
        };
        self.units.iter().enumerate().map(atom).collect()
    }
}
