//! The normal distribution, between bounds.
//!
//! Built on erfc of libm, because that of statrs is wrong from the tenth digit on (a test shows both); far from zero on a
//! continued fraction, whose truncations are bounds. Prices of `gdp` budgets are quantiles, and ledgers store them: they are
//! found by bisection between fixed ends, so that there is no guess whose last digit could decide one.

use super::interval::{Interval, least};

/// libm's erfc is taken to be right to this part of itself: ten times the worst that was seen against fifty digits.
const ERFC: f64 = 16.0 * f64::EPSILON;

/// From here on the continued fraction is used.
const FAR: f64 = 4.0;

/// erfc(x) = 2/√π ∫_x^∞ e^(-t²) dt.
pub fn erfc(x: Interval) -> Interval {
    // Beyond 26 the result may be subnormal, where relative errors say nothing.
    let low = if x.hi() > 26.0 { 0.0 } else { libm::erfc(x.hi()) };
    let high = libm::erfc(x.lo()).max(f64::MIN_POSITIVE);
    Interval::widened(low, high, ERFC).at_least(0.0).at_most(2.0)
}

/// The standard normal density φ(x) = e^(-x²/2)/√(2π).
pub fn density(x: Interval) -> Interval {
    let square =
        if x.lo() <= 0.0 && x.hi() >= 0.0 { x.square().hull(Interval::from(0.0)) } else { x.square() };
    (-square / 2.0).exp() / (Interval::PI * 2.0).sqrt()
}

/// Mills' ratio (1 - Φ(t))/φ(t) for t >= 0: what is left of the normal tail when its exponential is taken out. It falls.
pub fn mills(t: Interval) -> Interval {
    let (low, high) = (t.lo().max(0.0), t.hi().max(0.0));
    let lower = if high >= FAR { convergent(high, true) } else { mills_near(high) };
    let upper = if low >= FAR { convergent(low, false) } else { mills_near(low) };
    Interval::new(lower.lo(), upper.hi())
}

/// Laplace's continued fraction 1/(t + 1/(t + 2/(t + …))) at t >= 4, cut off so that it is below or above: convergents lie on
/// alternate sides. At 4, 32 terms leave less than e^-60; further out fewer do.
fn convergent(t: f64, below: bool) -> Interval {
    let terms = if t >= 16.0 {
        8
    } else if t >= 8.0 {
        16
    } else {
        32
    };
    // After an odd number of steps what was left out would have made the denominator larger.
    let terms = terms + u32::from(below);
    let tail = (1..=terms).rev().fold(Interval::from(t), |v, j| Interval::from(f64::from(j)) / v + t);
    Interval::from(1.0) / tail
}

fn mills_near(t: f64) -> Interval {
    let t = Interval::from(t);
    let half = Interval::from(0.5).sqrt();
    (Interval::PI / 2.0).sqrt() * (t.square() / 2.0).exp() * erfc(t * half)
}

/// Φ(x), the standard normal distribution function.
pub fn normal(x: Interval) -> Interval {
    normal_at(x.lo()).hull(normal_at(x.hi()))
}

fn normal_at(x: f64) -> Interval {
    if x < -FAR {
        return density(x.into()) * mills((-x).into());
    }
    (erfc(Interval::from(-x) * Interval::from(0.5).sqrt()) / 2.0).at_most(1.0)
}

/// Φ is below every float above zero at minus this, and as near to 1 as a float can be at this.
const END: f64 = 40.0;

/// Φ⁻¹(p): the ends are numbers at which Φ was seen to be at most p and at least p.
pub fn normal_quantile(p: f64) -> Interval {
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return match p {
            0.0 => Interval::from(f64::NEG_INFINITY),
            1.0 => Interval::from(f64::INFINITY),
            _ => Interval::ALL,
        };
    }
    let low = least(-END, END, |x| normal((-x).into()).hi() <= p).map_or(f64::NEG_INFINITY, |x| -x);
    let high = least(-END, END, |x| normal(x.into()).lo() >= p).unwrap_or(f64::INFINITY);
    Interval::new(low, high)
}

#[cfg(test)]
mod tests;
