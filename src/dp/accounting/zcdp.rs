//! How much ρ an (ε, δ) allows.

use super::UNITS_PER_ONE;
use crate::Ratio;

/// Relative slack on every float here. Each expression has fewer than 2^6 roundings of 2^-53 and library functions
/// that are right to a few 2^-53, so 2^-44 of the sum of the absolute terms covers them more than eight times over.
const SLACK: f64 = 1.0 / (1u64 << 44) as f64;

/// The largest ρ, in units and rounded down, such that ρ-zCDP implies (ε, `delta` - `spent_elsewhere`)-DP. None if that
/// δ is not above zero.
///
/// Canonne, Kamath and Steinke (2020), Corollary 13: ρ-zCDP implies (ε, δ)-DP with
/// δ = inf over a > 1 of e^((a-1)(aρ-ε))/(a-1)·(1-1/a)^a. Every a gives a valid δ, so solving for ρ at a single a is
/// sound whichever a it is; the search for the best one need not be trusted, only the arithmetic at the end.
pub(super) fn limit(epsilon: &Ratio, delta: &Ratio, spent_elsewhere: &Ratio) -> Option<u128> {
    let float = |r: &Ratio| *r.numer() as f64 / *r.denom() as f64;
    let epsilon = float(epsilon) * (1.0 - SLACK);
    let (total, elsewhere) = (float(delta), float(spent_elsewhere));
    // The difference of nearly equal numbers keeps the absolute error of its terms.
    let delta = total - elsewhere - (total + elsewhere) * SLACK;
    if delta.is_nan() || delta <= 0.0 {
        return None;
    }
    // ρ(a) rises, then falls, in ln(a-1).
    let (mut low, mut high) = (-40.0f64, 40.0f64);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        let (left, right) = (low + third, high - third);
        if rho(left, epsilon, delta, SLACK) < rho(right, epsilon, delta, SLACK) {
            low = left
        } else {
            high = right
        }
    }
    let best = f64::midpoint(low, high);
    let mut slack = SLACK;
    let mut limit = rho(best, epsilon, delta, slack);
    // What was solved for is checked by the formula as it stands in the paper.
    while limit > 0.0 && self::delta(limit, epsilon, best) > delta {
        slack *= 2.0;
        limit = rho(best, epsilon, delta, slack);
    }
    // The cast truncates; the product is rounded once.
    Some((limit.max(0.0) * (1.0 - SLACK) * UNITS_PER_ONE as f64) as u128)
}

/// The ρ at which a = 1 + e^`log` gives exactly δ, from below:
/// ρ = (ε + (ln δ + ln(a-1) - a·ln(1-1/a))/(a-1))/a.
fn rho(log: f64, epsilon: f64, delta: f64, slack: f64) -> f64 {
    let excess = libm::exp(log);
    let a = 1.0 + excess;
    // -a·ln(1-1/a) = a·ln(1 + 1/(a-1)) > 0.
    let last = a * libm::log1p(1.0 / excess);
    let ln_delta = libm::log(delta);
    let value = (epsilon + (ln_delta + log + last) / excess) / a;
    // `log` and ln(a-1) differ by the rounding of exp: an absolute error of a few 2^-53, covered by the 1.
    let magnitude = (epsilon + (ln_delta.abs() + log.abs() + last + 1.0) / excess) / a;
    value - magnitude * slack
}

/// δ of ρ-zCDP at ε by the order a = 1 + e^`log`, from below by no more than rounding.
fn delta(rho: f64, epsilon: f64, log: f64) -> f64 {
    let excess = libm::exp(log);
    let a = 1.0 + excess;
    libm::exp(excess * (a * rho - epsilon) - log - a * libm::log1p(1.0 / excess))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ratio(text: &str) -> Ratio {
        crate::ratio(&text.parse().unwrap()).unwrap()
    }

    /// The reported ρ is valid by the paper's formula minimised over a dense grid of a, and no ρ that is a millionth
    /// larger is.
    #[test]
    fn rule_22_the_limit_is_valid_and_tight() {
        for epsilon in ["0.01", "0.1", "1", "8", "50", "1000"] {
            for exponent in [1, 3, 6, 9, 15, 30] {
                let d = format!("1e-{exponent}");
                let units = limit(&ratio(epsilon), &ratio(&d), &ratio("0")).unwrap();
                let rho = units as f64 / UNITS_PER_ONE as f64;
                let (e, d): (f64, f64) = (epsilon.parse().unwrap(), d.parse().unwrap());
                let best = |rho: f64| {
                    (-40_000..40_000)
                        .map(|i| delta(rho, e, f64::from(i) / 1000.0))
                        .fold(f64::INFINITY, f64::min)
                };
                assert!(rho > 0.0, "({epsilon}, {d})");
                assert!(best(rho) <= d * (1.0 + 1e-4), "({epsilon}, {d}): {rho} gives {}", best(rho));
                assert!(best(rho * 1.000_01) > d, "({epsilon}, {d}): {rho} is too small");
            }
        }
    }

    #[test]
    fn no_delta_no_conversion() {
        assert_eq!(limit(&ratio("1"), &ratio("1e-6"), &ratio("1e-6")), None);
        assert_eq!(limit(&ratio("1"), &ratio("0"), &ratio("0")), None);
    }
}
