//! The normal distribution, between bounds.
//!
//! Built on erfc of libm, because that of statrs is wrong from the tenth digit on (a test shows both); far from zero on a
//! continued fraction, whose truncations are bounds. statrs' quantile is used as a guess only, and then bounded by Φ.

use super::interval::Interval;
use statrs::distribution::{ContinuousCDF, Normal};

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

/// Φ⁻¹(p): the ends are numbers at which Φ was seen to be at most p and at least p.
pub fn normal_quantile(p: f64) -> Interval {
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return match p {
            0.0 => Interval::from(f64::NEG_INFINITY),
            1.0 => Interval::from(f64::INFINITY),
            _ => Interval::ALL,
        };
    }
    let guess = Normal::standard().inverse_cdf(p);
    let mut step = guess.abs().max(1.0) * f64::EPSILON;
    let mut low = guess;
    while normal(low.into()).hi() > p {
        low -= step;
        step *= 2.0;
    }
    step = guess.abs().max(1.0) * f64::EPSILON;
    let mut high = guess;
    while normal(high.into()).lo() < p {
        high += step;
        step *= 2.0;
        // Φ does not reach a p this near 1.
        if high > 40.0 {
            high = f64::INFINITY;
            break;
        }
    }
    Interval::new(low, high)
}

#[cfg(test)]
mod tests;
