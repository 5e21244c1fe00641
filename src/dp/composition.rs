//! Composition of (ε, δ)-DP mechanisms, when their parameters are fixed in advance.
//!
//! Data may flow from one answer to the next question, parameters may not: for parameters that
//! depend on answers see the filters ([`super::Filter`]). Everything is rounded up. Neighbours are
//! those of the ε and δ.

use super::interval::Interval;
use super::loss::PrivacyLoss;

/// ε of `k` uses of an ε-DP mechanism at slack δ′ (Dwork and Roth 2014, Theorem 3.20, from Dwork, Rothblum and Vadhan
/// 2010): √(2k ln(1/δ′))·ε + kε(e^ε - 1).
pub fn advanced(epsilon: f64, k: u32, slack: f64) -> f64 {
    let (e, k) = (Interval::from(epsilon), Interval::from(f64::from(k)));
    ((k * 2.0 * -Interval::from(slack).ln()).sqrt() * e + k * e * e.exp_m1()).hi()
}

/// ε of mechanisms whose Σε² is `squares`, at slack δ′ (Whitehouse, Ramdas, Rogers and Wu 2023, Theorem 2):
/// √(2 ln(1/δ′)·Σε²) + Σε²/2. Holds for εᵢ chosen from earlier answers too, which [`advanced`] does not.
pub fn adaptive(squares: Interval, slack: f64) -> Interval {
    (-Interval::from(slack).ln() * squares * 2.0).sqrt() + squares / 2.0
}

/// Σε² from above, for [`adaptive`].
pub fn squares(epsilons: impl IntoIterator<Item = f64>) -> Interval {
    epsilons.into_iter().map(|e| Interval::from(e).square()).sum()
}

/// The least δ for which `k` uses of any (ε₀, δ₀)-DP mechanism are (ε, δ)-DP, rounded up: exact (Kairouz, Oh and
/// Viswanath 2015, Theorem 3.3).
pub fn optimal_delta(epsilon: f64, delta: f64, k: u32, at: f64) -> f64 {
    let pure = PrivacyLoss::repeated_response(epsilon.into(), k).profile(at);
    // 1 - (1 - δ₀)^k·(1 - δ) = (1 - (1 - δ₀)^k) + (1 - δ₀)^k·δ.
    let ln_kept = kept(delta, k);
    (ln_kept.exp() * pure - ln_kept.exp_m1()).hi().clamp(0.0, 1.0)
}

/// The ε for which `k` uses of any (ε₀, δ₀)-DP mechanism are (ε, `within`)-DP, rounded up; infinite if there is none.
/// Exact (Kairouz, Oh and Viswanath 2015, Theorem 3.3).
pub fn optimal_epsilon(epsilon: f64, delta: f64, k: u32, within: f64) -> f64 {
    let pure = PrivacyLoss::repeated_response(epsilon.into(), k);
    // What is left of δ for the pure part: 1 - (1 - within)/(1 - δ₀)^k.
    let ln_kept = kept(delta, k);
    let left = if delta == 0.0 { within } else { ((ln_kept.exp_m1() + within) / ln_kept.exp()).lo() };
    if left < 0.0 {
        return f64::INFINITY;
    }
    pure.epsilon(left).min((Interval::from(epsilon) * f64::from(k)).hi())
}

/// ln (1 - δ)^k.
fn kept(delta: f64, k: u32) -> Interval {
    if delta == 0.0 { Interval::from(0.0) } else { (-Interval::from(delta)).ln_1p() * f64::from(k) }
}

/// ε of mechanisms that are εᵢ-DP, at slack δ′, rounded up: the least of three bounds (Kairouz, Oh and Viswanath 2015,
/// Theorem 3.5). The exact answer is hard to compute (Murtagh and Vadhan 2016); composing numerically comes as near as
/// wanted.
pub fn optimal_heterogeneous(epsilons: &[f64], slack: f64) -> f64 {
    let all = epsilons.iter().map(|&e| Interval::from(e));
    let sum: Interval = all.clone().sum();
    let drift: Interval = all.clone().map(|e| e * (e / 2.0).tanh()).sum();
    let squares: Interval = all.map(Interval::square).sum();
    let deviation = |ln: Interval| drift + (squares * 2.0 * ln).sqrt();
    let e = Interval::from(1.0).exp();
    let second = deviation((e + squares.sqrt() / slack).ln());
    let third = deviation(-Interval::from(slack).ln());
    sum.min(second).min(third).hi()
}

/// (ε, δ) for groups of `k` units: kε and δ·(e^kε - 1)/(e^ε - 1), rounded up (Vadhan 2017, Lemma 2.2). At ε = 0, kδ.
pub fn group(epsilon: f64, delta: f64, k: u32) -> (f64, f64) {
    let e = Interval::from(epsilon);
    let whole = e * f64::from(k);
    let factor = if epsilon > 0.0 { whole.exp_m1() / e.exp_m1() } else { Interval::from(f64::from(k)) };
    (whole.hi(), (factor * delta).hi().min(1.0))
}

#[cfg(test)]
mod tests;
