#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

fn square(delta: u128) -> BigRatio {
    BigRatio::from_integer(BigUint::from(delta) * delta)
}

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

/// ε, δ, Δ, σ: by mpmath to 50 digits, from the table of golden values.
const SIGMAS: [(&str, &str, u128, f64); 5] = [
    ("1", "1e-6", 1, 4.224_678_889_326_835),
    ("0.1", "1e-5", 1, 30.749_566_131_977_45),
    ("0.5", "1e-9", 10, 106.738_968_150_800_26),
    ("3", "1e-6", 1, 1.543_861_417_775_64),
    ("10", "1e-5", 2, 0.999_777_239_418_017),
];

#[test]
fn the_analytic_sigma_is_the_least_on_the_safe_side() {
    for (epsilon, delta, sensitivity, expected) in SIGMAS {
        let (epsilon, delta, square) = (ratio(epsilon), ratio(delta), square(sensitivity));
        let sigma = sigma_for_epsilon_delta(&square, &epsilon, &delta).unwrap();
        let value = float(&sigma);
        assert!(value >= expected * (1.0 - 1e-15) && value <= expected * (1.0 + 1e-10), "{value}");
        assert!(is_private(&square, &sigma, &epsilon, &delta).unwrap());
        // A billionth less does not hold.
        let less = sigma * Ratio::new((1 << 30) - 1, 1 << 30);
        assert!(!is_private(&square, &less, &epsilon, &delta).unwrap());
    }
}

/// The condition holds in floats as well, over a wide range of parameters.
#[test]
fn the_analytic_sigma_holds_everywhere() {
    let tail = |x: f64| libm::erfc(x / std::f64::consts::SQRT_2) / 2.0;
    for epsilon in ["1e-6", "0.01", "0.7", "4", "60", "512"] {
        for delta in ["0.5", "1e-3", "1e-9", "1e-25"] {
            let (e, d) = (ratio(epsilon), ratio(delta));
            let sigma = sigma_for_epsilon_delta(&square(7), &e, &d).unwrap();
            let (mu, e, d) = (7.0 / float(&sigma), float(&e), float(&d));
            let (first, second) = (tail(e / mu - mu / 2.0), e.exp() * tail(e / mu + mu / 2.0));
            let rounding = 1e-12 * first;
            assert!(second.is_nan() || first - second <= d * (1.0 + 1e-9) + rounding, "{epsilon} {delta}");
            let more = mu * 1.001;
            let spent = tail(e / more - more / 2.0) - e.exp() * tail(e / more + more / 2.0);
            assert!(spent.is_nan() || spent > d - rounding, "{epsilon} {delta} is loose");
        }
    }
}

/// What the classical formula costs where it is valid, and that it is not where it is refused.
#[test]
fn the_classical_formula_is_for_comparison_only() {
    for epsilon in ["0.01", "0.3", "0.9", "1"] {
        for delta in ["1e-3", "1e-6", "1e-12"] {
            let (e, d) = (ratio(epsilon), ratio(delta));
            let classical = classical_sigma(&square(1), &e, &d).unwrap();
            let analytic = sigma_for_epsilon_delta(&square(1), &e, &d).unwrap();
            assert!(analytic < classical && is_private(&square(1), &classical, &e, &d).unwrap());
            let formula = (2.0 * (1.25 / float(&d)).ln()).sqrt() / float(&e);
            assert!((float(&classical) / formula - 1.0).abs() < 1e-12);
        }
    }
    let refused = |e: &str| classical_sigma(&square(1), &ratio(e), &ratio("1e-6"));
    assert!(matches!(refused("1.000001"), Err(DpError::Budget(_))));
    assert!(matches!(refused("8"), Err(DpError::Budget(_))));
    // What it would give at ε = 20 is not private at all.
    let wrong = Ratio::new(((2.0 * 1.25e6f64.ln()).sqrt() / 20.0 * 1e9) as u128, 1_000_000_000);
    assert!(!is_private(&square(1), &wrong, &ratio("20"), &ratio("1e-6")).unwrap());
}

/// Mutation: a swapped δ. ε and δ are told apart: the calibration for (δ, ε) is not private at (ε, δ).
#[test]
fn a_swapped_delta_is_caught() {
    let (small, large) = (ratio("1e-6"), ratio("0.4"));
    let right = sigma_for_epsilon_delta(&square(1), &large, &small).unwrap();
    let swapped = sigma_for_epsilon_delta(&square(1), &small, &large).unwrap();
    assert!(is_private(&square(1), &right, &large, &small).unwrap());
    assert!(!is_private(&square(1), &swapped, &large, &small).unwrap());
}

/// Mutation: a sensitivity off by one.
#[test]
fn a_sensitivity_off_by_one_is_caught() {
    let (e, d) = (ratio("1"), ratio("1e-6"));
    for sensitivity in [1u128, 2, 100, 1_000_000] {
        let sigma = sigma_for_epsilon_delta(&square(sensitivity), &e, &d).unwrap();
        assert!(is_private(&square(sensitivity), &sigma, &e, &d).unwrap());
        assert!(!is_private(&square(sensitivity + 1), &sigma, &e, &d).unwrap(), "{sensitivity}");
    }
}

#[test]
fn rho_and_mu_give_the_textbook_noise() {
    // Two aggregates of Δ = 3 and 4 in two groups: Δ₂² = 50.
    let square = BigRatio::from_integer(50u8.into());
    assert_eq!(variance_for_rho(&square, &ratio("0.5")).unwrap(), Ratio::from_integer(50));
    assert_eq!(variance_for_rho(&square, &ratio("0.01")).unwrap(), Ratio::from_integer(2500));
    let sigma = sigma_for_mu(&square, &ratio("0.1")).unwrap();
    assert!(exact(&sigma) * exact(&sigma) >= BigRatio::from_integer(5000u16.into()));
    assert!((float(&sigma) / 5000f64.sqrt() - 1.0).abs() < 1e-13);
    // The same noise by either name: ρ = μ²/2.
    assert_eq!(variance_for_rho(&square, &Ratio::new(1, 200)).unwrap(), Ratio::from_integer(5000));
}

#[test]
fn edge_scales_are_calibrated_or_refused() {
    let (e, d) = (ratio("1"), ratio("1e-6"));
    let huge = BigRatio::from_integer(BigUint::from(u64::MAX) * u64::MAX);
    let sigma = sigma_for_epsilon_delta(&huge, &e, &d).unwrap();
    assert!((float(&sigma) / (u64::MAX as f64 * SIGMAS[0].3) - 1.0).abs() < 1e-9);
    let tiny = BigRatio::new(1u8.into(), BigUint::from(1u8) << 100u8);
    let sigma = sigma_for_epsilon_delta(&tiny, &e, &d).unwrap();
    assert!((float(&sigma) * (1u64 << 50) as f64 / SIGMAS[0].3 - 1.0).abs() < 1e-9);
    let zero = BigRatio::from_integer(0u8.into());
    let wide = BigRatio::from_integer(BigUint::from(1u8) << 600u32);
    for bad in [zero, wide] {
        assert!(sigma_for_epsilon_delta(&bad, &e, &d).is_err() && sigma_for_mu(&bad, &e).is_err());
        assert!(variance_for_rho(&bad, &e).is_err() && classical_sigma(&bad, &e, &d).is_err());
    }
    for bad in [ratio("0"), ratio("513"), Ratio::new_raw(1, 0)] {
        assert_eq!(sigma_for_epsilon_delta(&square(1), &bad, &d), Err(DpError::Epsilon));
    }
    for bad in [ratio("0"), ratio("0.6"), ratio("1e-30"), Ratio::new_raw(1, 0)] {
        assert!(matches!(sigma_for_epsilon_delta(&square(1), &e, &bad), Err(DpError::Budget(_))));
    }
    assert!(
        variance_for_rho(&square(1), &ratio("0")).is_err() && sigma_for_mu(&square(1), &ratio("0")).is_err()
    );
    // Too fine to write down.
    assert!(variance_for_rho(&square(1 << 64), &Ratio::new(1, u128::MAX)).is_err());
}
