#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::gdp;

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * b.abs().max(1e-300)
}

/// δ(ε) = Σ (P - e^ε·Q)₊, from the two mass functions themselves.
fn plainly(p: impl Fn(i64) -> f64, shift: i64, reach: i64, epsilon: f64) -> f64 {
    (-reach..=reach).map(|x| (p(x) - epsilon.exp() * p(x - shift)).max(0.0)).sum()
}

#[test]
fn profiles_are_those_of_the_mass_functions() {
    for (scale, shift) in [(1.0f64, 1i64), (2.0, 1), (3.0, 4), (0.5, 2), (20.0, 7)] {
        let loss = PrivacyLoss::discrete_laplace(shift as u128, Interval::from(1.0) / scale).unwrap();
        let q = (-1.0 / scale).exp();
        let p = |x: i64| (1.0 - q) / (1.0 + q) * (-(x.abs() as f64) / scale).exp();
        for i in 0..12 {
            let e = shift as f64 / scale * f64::from(i) / 10.0;
            let expected = plainly(p, shift, 2000, e);
            let ours = loss.profile(e);
            assert!(ours.hi() >= expected - 1e-14 && ours.hi() <= expected + 1e-12, "{scale} {shift} {e}");
            assert!(ours.lo() <= expected + 1e-14);
        }
        let total: Interval = loss.atoms().iter().map(|a| a.mass).sum();
        assert!(total.lo() <= 1.0 && total.hi() >= 1.0 && total.hi() < 1.0 + 1e-10);
    }
    for (variance, shift) in [(0.25f64, 1i64), (1.0, 1), (4.0, 3), (100.0, 11)] {
        let loss = PrivacyLoss::discrete_gaussian(shift as u128, variance.into()).unwrap();
        let weight = |x: i64| (-(x as f64).powi(2) / (2.0 * variance)).exp();
        let total: f64 = (-500..=500).map(weight).sum();
        for i in 0..12 {
            let e = f64::from(i) / 4.0;
            let expected = plainly(|x| weight(x) / total, shift, 500, e);
            assert!(near(loss.delta(e), expected, 1e-10) || expected < 1e-14, "{variance} {shift} {e}");
        }
    }
}

/// Soundness rule 21: μ is a name for discrete Gaussian noise, whose δ(ε) can lie above that of the true Gaussian.
#[test]
fn rule_21_discrete_gaussian_noise_is_not_gdp() {
    let loss = PrivacyLoss::discrete_gaussian(1, Interval::from(0.25)).unwrap();
    let above =
        (0..400).map(|i| f64::from(i) / 50.0).any(|e| loss.profile(e).lo() > gdp::delta(2.0, e) * 1.001);
    assert!(above);
}

#[test]
fn randomised_response_composes_as_binomials() {
    // Two uses: losses 2ε, 0, -2ε.
    let e = 0.7f64;
    let (p, q) = (e.exp() / (1.0 + e.exp()), 1.0 / (1.0 + e.exp()));
    let two = PrivacyLoss::repeated_response(e.into(), 2);
    let at = 0.3f64;
    let expected = p * p * (1.0 - (at - 2.0 * e).exp());
    assert!(near(two.delta(at), expected, 1e-12), "{} {expected}", two.delta(at));
    assert!(near(two.delta(0.0), p * p - q * q, 1e-12));
    let total: Interval =
        PrivacyLoss::repeated_response(0.1.into(), 5000).atoms().iter().map(|a| a.mass).sum();
    assert!(total.lo() <= 1.0 && total.hi() >= 1.0 && total.hi() < 1.0 + 1e-7, "{total:?}");
}

/// k-ary response of ε is ε-DP, and dominated by the binary one.
#[test]
fn k_ary_response_is_dominated_by_the_binary_one() {
    for k in [2u32, 3, 10, 1000] {
        let ours = PrivacyLoss::k_ary_response(1.0.into(), k);
        let binary = PrivacyLoss::randomised_response(1.0.into());
        for i in 0..=10 {
            let e = f64::from(i) / 10.0;
            assert!(ours.profile(e).lo() <= binary.delta(e));
            assert!(k > 2 || near(ours.delta(e), binary.delta(e), 1e-12) || e == 1.0);
        }
        assert!(ours.delta(1.0) < 1e-14);
    }
}

#[test]
fn roots_hold() {
    let loss = PrivacyLoss::repeated_response(0.1.into(), 100);
    let e = loss.epsilon(1e-6);
    assert!(loss.delta(e) <= 1e-6 && loss.delta(e * (1.0 - 1e-9)) > 1e-6);
    let leaky = PrivacyLoss::approximate(1.0.into(), 0.01.into());
    assert_eq!(leaky.epsilon(0.005), f64::INFINITY);
    assert!(near(leaky.delta(2.0), 0.01, 1e-12));
    assert_eq!(leaky.kl().hi(), f64::INFINITY);
    assert!(near(PrivacyLoss::randomised_response(1.0.into()).kl().hi(), 0.462_117_157_260_009_76, 1e-13));
}

#[test]
fn too_many_outcomes_are_refused() {
    assert!(PrivacyLoss::discrete_laplace(1 << 21, Interval::from(1e-3)).is_none());
    assert!(PrivacyLoss::discrete_gaussian(1, Interval::from(1e20)).is_none());
    assert!(PrivacyLoss::discrete_gaussian(1, Interval::from(f64::NAN)).is_none());
    assert!(PrivacyLoss::discrete_laplace(0, Interval::from(0.0)).unwrap().delta(0.0) < 1e-300);
}

/// Mutation: PLD as a filter. Budget (1, 10^-6). Randomised response with ε = 0.1 first; then, after one outcome, a response
/// that uses up δ at the loss so far, and after the other something that fails with probability δ. Each branch composes
/// to δ = 10^-6 when its two mechanisms are taken as fixed, so a rule that composes after the fact lets both pass. What
/// is done in truth exceeds it by almost half.
#[test]
fn rule_pld_as_a_filter_is_unsound() {
    let (epsilon, delta) = (1.0f64, 1e-6);
    let first = PrivacyLoss::randomised_response(0.1.into());
    let p = first.atoms()[0].mass.lo();
    // δ of the second response at 1 - 0.1 is δ/p.
    let wanted = delta / p;
    let second = crate::interval::least(0.9, 1.0, |e| {
        PrivacyLoss::randomised_response(e.into()).profile(0.9).lo() >= wanted
    });
    let response = PrivacyLoss::randomised_response(second.unwrap().into());
    let leak = PrivacyLoss::approximate(0.0.into(), delta.into());
    for fixed in [&response, &leak] {
        let composed = first.then(|_| fixed.clone()).delta(epsilon);
        assert!(near(composed, delta, 1e-9), "a rule that composes after the fact admits it: {composed}");
    }
    let truth = first.then(|outcome| if outcome == 0 { response.clone() } else { leak.clone() });
    let (spent, expected) = (truth.profile(epsilon).lo(), (2.0 - p) * delta);
    assert!(near(spent, expected, 1e-9) && spent > 1.47 * delta, "{spent}");
}
