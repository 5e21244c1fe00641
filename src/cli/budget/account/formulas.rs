//! Textbook formulas that a file of cases may ask for, and that nothing else here uses: continuous counterparts of what is
//! drawn and charged as discrete, and the auditor's bound.

use super::computed::Computed;
use statrs::distribution::{Beta, ContinuousCDF};

/// Probabilities at 0 and 1 and the variance of discrete Gaussian noise of parameter σ² (Canonne, Kamath and Steinke 2020,
/// Definition 1).
pub(super) fn discrete_gaussian(variance: f64) -> Computed {
    let reach = (variance.sqrt() * 40.0).ceil() as i64 + 1;
    let weight = |x: i64| (-(x as f64).powi(2) / (2.0 * variance)).exp();
    let total: f64 = (-reach..=reach).map(weight).sum();
    let squares: f64 = (-reach..=reach).map(|x| weight(x) * (x as f64).powi(2)).sum();
    moments(1.0 / total, weight(1) / total, squares / total)
}

/// The same of discrete Laplace noise of scale b: with q = e^(-1/b), (1-q)/(1+q), that times q, and 2q/(1-q)².
pub(super) fn discrete_laplace(scale: f64) -> Computed {
    let (q, rest) = ((-1.0 / scale).exp(), -(-1.0 / scale).exp_m1());
    let centre = rest / (1.0 + q);
    moments(centre, centre * q, 2.0 * q / rest.powi(2))
}

fn moments(pmf0: f64, pmf1: f64, variance: f64) -> Computed {
    Computed::Fields(vec![("pmf0", pmf0.into()), ("pmf1", pmf1.into()), ("variance", variance.into())])
}

/// The threshold of group selection by *continuous* Laplace noise: 1 - (l0/ε)·ln(2 - 2(1-δ)^(1/l0)) (Wilson et al. 2020). What is
/// used instead is [`dp::Selection`].
pub(super) fn laplace_threshold(epsilon: f64, delta: f64, l0: f64) -> f64 {
    1.0 - l0 / epsilon * (-2.0 * ((-delta).ln_1p() / l0).exp_m1()).ln()
}

/// The probability that the best selection of groups of one unit each keeps one of n units (Desfontaines, Voss and Gipson 2022,
/// Theorem 1): π(0) = 0 and π(n+1) = min(e^ε·π(n) + δ, 1 - e^-ε·(1 - π(n) - δ), 1). A threshold asks for about one unit more;
/// what is used is [`dp::Selection`], whose groups may share units.
pub(super) fn optimal_keep_probability(epsilon: f64, delta: f64, n: u32) -> f64 {
    let (grow, rate) = (epsilon.exp_m1(), delta / epsilon.exp_m1());
    // Up to here π grows by its first branch.
    let crossover = 1.0 + (((grow + 2.0 * delta) / ((grow + 2.0) * delta)).ln() / epsilon).floor();
    let first = |n: f64| rate * (n * epsilon).exp_m1();
    match f64::from(n) - crossover {
        after if after > 0.0 => {
            1.0 - ((-after * epsilon).exp() * (1.0 - first(crossover)) + (-after * epsilon).exp_m1() * rate)
                .max(0.0)
        }
        _ => first(f64::from(n)),
    }
}

/// Probabilities of the intervals between sorted data, `lower` and `upper`, of the exponential mechanism for a quantile with
/// utility -|i - q·n| and factor ε/2 (Smith 2011).
pub(super) fn quantile_intervals(
    mut data: Vec<f64>,
    (lower, upper): (f64, f64),
    q: f64,
    epsilon: f64,
) -> Vec<f64> {
    data.sort_by(f64::total_cmp);
    let target = q * data.len() as f64;
    let clamped = data.iter().map(|x| x.clamp(lower, upper));
    let edges: Vec<f64> = std::iter::once(lower).chain(clamped).chain(std::iter::once(upper)).collect();
    let weight = |(i, pair): (usize, &[f64])| match pair {
        [a, b] => (b - a) * (-epsilon * (i as f64 - target).abs() / 2.0).exp(),
        _ => 0.0,
    };
    let weights: Vec<f64> = edges.windows(2).enumerate().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}

/// Bounds on ε from `n` runs on each of two neighbouring databases, at confidence 1 - α: Clopper
/// and Pearson's bounds, α/2 on each side, and ε >= ln(lower/upper). None where the counts make no
/// sense.
pub(super) fn audit(hits: f64, hits_of_neighbour: f64, n: f64, alpha: f64) -> Option<(f64, f64, f64)> {
    let counts = 0.0 <= hits && hits <= n && 0.0 <= hits_of_neighbour && hits_of_neighbour <= n && n > 0.0;
    if !(counts && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let quantile = |a: f64, b: f64, p: f64| Some(bisect(&Beta::new(a, b).ok()?, p));
    let lower = if hits == 0.0 { 0.0 } else { quantile(hits, n - hits + 1.0, alpha / 2.0)? };
    let upper = if hits_of_neighbour == n {
        1.0
    } else {
        quantile(hits_of_neighbour + 1.0, n - hits_of_neighbour, 1.0 - alpha / 2.0)?
    };
    Some((lower, upper, (lower / upper).ln().max(0.0)))
}

fn bisect(beta: &Beta, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if beta.cdf(middle) < p { low = middle } else { high = middle }
    }
    high
}
