//! Accuracy of streams: the theorems of Dwork and Roth (2014), section 3.6, and the numbers behind
//! them as floats. For display and planning only; nothing is charged or drawn by them.
//!
//! α and scales are in units of the sensitivity. The theorems are for continuous noise; discrete
//! noise of scale b keeps P(|X| > t) <= e^(-t/b) for whole t, so they hold for it with every share
//! of α rounded up to a whole number.

/// σ(ε) of Algorithms 2 and 3: `2c/ε`, or √(32·c·ln(`over`/δ))/ε.
fn sigma(c: f64, epsilon: f64, delta: f64, over: f64) -> f64 {
    if delta > 0.0 { (32.0 * c * libm::log(over / delta)).sqrt() / epsilon } else { 2.0 * c / epsilon }
}

/// Scale of the threshold's noise in Sparse (Algorithm 2); that of questions is twice as much.
pub fn sparse_sigma(c: u32, epsilon: f64, delta: f64) -> f64 {
    sigma(c.into(), epsilon, delta, 1.0)
}

/// ε₁ and ε₂ of NumericSparse (Algorithm 3): 8/9 and 2/9 of ε for δ = 0, else √512/(√512+1) and 2/(√512+1).
pub fn numeric_split(epsilon: f64, delta: f64) -> (f64, f64) {
    if delta > 0.0 {
        let root = 512f64.sqrt();
        (root / (root + 1.0) * epsilon, 2.0 / (root + 1.0) * epsilon)
    } else {
        (8.0 / 9.0 * epsilon, 2.0 / 9.0 * epsilon)
    }
}

/// Scales of NumericSparse's noise on threshold, questions and answers.
pub fn numeric_scales(c: u32, epsilon: f64, delta: f64) -> (f64, f64, f64) {
    let (first, second) = numeric_split(epsilon, delta);
    let threshold = sigma(c.into(), first, delta, 2.0);
    (threshold, 2.0 * threshold, sigma(c.into(), second, delta, 2.0))
}

/// ε₁ and ε₂ of the improved variant: 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone questions (Lyu, Su and Li 2017,
/// section 4.2).
pub fn optimal_split(c: u32, epsilon: f64, monotone: bool) -> (f64, f64) {
    let base = if monotone { f64::from(c) } else { 2.0 * f64::from(c) };
    let weight = libm::cbrt(base * base);
    (epsilon / (1.0 + weight), epsilon * weight / (1.0 + weight))
}

/// Theorem 3.24: of k questions AboveThreshold errs by more than α = 8(ln k + ln(2/β))/ε in one with probability at most
/// β, if only the last is near or above the threshold.
pub fn above_threshold(k: u64, beta: f64, epsilon: f64) -> f64 {
    8.0 * (libm::log(k as f64) + libm::log(2.0 / beta)) / epsilon
}

/// Theorem 3.26: the same of Sparse with at most c questions near or above: α = 8c(ln k + ln(2c/β))/ε, or
/// (ln k + ln(2c/β))·√(512·c·ln(1/δ))/ε for δ > 0.
pub fn sparse(k: u64, c: u32, beta: f64, epsilon: f64, delta: f64) -> f64 {
    let c = f64::from(c);
    let logs = libm::log(k as f64) + libm::log(2.0 * c / beta);
    if delta > 0.0 {
        logs * (512.0 * c * libm::log(1.0 / delta)).sqrt() / epsilon
    } else {
        8.0 * c * logs / epsilon
    }
}

/// Theorem 3.28: the same of NumericSparse, answers included: α = 9c(ln k + ln(4c/β))/ε, or
/// (ln k + ln(4c/β))·√(c·ln(2/δ))·(√512+1)/ε for δ > 0.
pub fn numeric_sparse(k: u64, c: u32, beta: f64, epsilon: f64, delta: f64) -> f64 {
    let c = f64::from(c);
    let logs = libm::log(k as f64) + libm::log(4.0 * c / beta);
    if delta > 0.0 {
        logs * (c * libm::log(2.0 / delta)).sqrt() * (512f64.sqrt() + 1.0) / epsilon
    } else {
        9.0 * c * logs / epsilon
    }
}

/// The same of streams with one threshold for all positives (the improved variant), from the scales of their noise: with
/// probability 1-β the threshold's noise is within `threshold`·ln(2/β) and that of k questions within
/// `question`·ln(2k/β), each at half of β; α is their sum. The gap that is told of a positive is within α, too.
pub fn one_threshold(k: u64, beta: f64, threshold: f64, question: f64) -> f64 {
    let half = libm::log(2.0 / beta);
    threshold * half + question * (libm::log(k as f64) + half)
}
