#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::dp::testing::SeededRng;
use proptest::prelude::*;

fn total(spec: &Spec) -> Ratio {
    spec.events().iter().map(|e| e.epsilon().unwrap()).sum()
}

proptest! {
    /// Σ times·Δ/b is ε exactly, whatever is split, also over several releases.
    #[test]
    fn rule_23_shares_add_up_to_epsilon_exactly(
        n in 1u128..1_000_000,
        d in 1u128..1_000_000_000,
        l0 in 1u32..10_000,
        linf in proptest::collection::vec(0u128..1 << 40, 1..8),
        private in any::<bool>(),
        releases in 1usize..5,
    ) {
        prop_assume!(private || linf.iter().any(|l| *l > 0));
        let epsilon = Ratio::new(n, d);
        let share = split(&epsilon, releases).unwrap();
        let delta = Ratio::new(1, 1_000_000);
        // Thresholds are another test's matter, and slow.
        let mut spec = Spec::laplace(&share, l0, &linf, None).or_else(|e| if private { Spec::laplace(&share, l0, &[1], None) } else { Err(e) }).unwrap();
        if private && l0 < 100 {
            spec = Spec::laplace(&share, l0, &linf, Some(&delta)).unwrap();
        }
        prop_assume!(!spec.events().is_empty());
        prop_assert_eq!(total(&spec), share);
        let specs = vec![spec; releases];
        let charge = Charge::of(&epsilon, &specs).unwrap();
        prop_assert_eq!(charge.events.iter().map(|e| e.epsilon().unwrap()).sum::<Ratio>(), epsilon);
        prop_assert_eq!(charge.events.len(), specs.iter().map(|s| s.events().len()).sum::<usize>());
    }
}

#[test]
fn scales_are_the_textbook_ones() {
    // ε = 0.1 over a count and a sum of at most 60 per row, 8 rows, 4 groups.
    let spec = Spec::laplace(&Ratio::new(1, 10), 4, &[8, 480], None).unwrap();
    assert_eq!(spec.aggregates[0].scale, Ratio::from_integer(8 * 4 * 2 * 10));
    assert_eq!(spec.aggregates[1].scale, Ratio::from_integer(480 * 4 * 2 * 10));
    // The selection takes a share, at sensitivity 1 per group.
    let spec = Spec::laplace(&Ratio::new(1, 10), 4, &[8], Some(&Ratio::new(1, 1_000_000_000))).unwrap();
    assert_eq!(spec.selection.as_ref().unwrap().scale, Ratio::from_integer(4 * 2 * 10));
    assert_eq!(spec.events().len(), 2);
    let charge = Charge::of(&Ratio::new(1, 10), std::slice::from_ref(&spec)).unwrap();
    assert_eq!(charge.selection_delta, spec.selection.unwrap().delta);
}

#[test]
fn a_constant_gets_no_noise_and_no_share() {
    let spec = Spec::laplace(&Ratio::from_integer(1), 1, &[0, 5], None).unwrap();
    assert_eq!(spec.aggregates[0].scale, Ratio::from_integer(0));
    assert_eq!(spec.aggregates[1].scale, Ratio::from_integer(5));
    assert_eq!(spec.aggregates[0].error95(), 0.0);
    assert_eq!(total(&spec), Ratio::from_integer(1));
}

/// Mutation: less noise than the price pays for.
#[test]
fn rule_23_too_little_noise_is_no_charge() {
    let epsilon = Ratio::from_integer(1);
    let mut spec = Spec::laplace(&epsilon, 4, &[1, 1], None).unwrap();
    assert!(Charge::of(&epsilon, std::slice::from_ref(&spec)).is_ok());
    assert_eq!(Charge::of(&epsilon, &[spec.clone(), spec.clone()]), Err(DpError::Mispriced));
    spec.aggregates[1].scale /= 2;
    assert_eq!(Charge::of(&epsilon, &[spec.clone()]), Err(DpError::Mispriced));
    spec.aggregates[1].scale = Ratio::from_integer(0);
    assert!(matches!(Charge::of(&epsilon, &[spec]), Err(DpError::OutOfRange(_))));
}

#[test]
fn nonsense_is_refused() {
    let one = Ratio::from_integer(1);
    assert_eq!(Spec::laplace(&Ratio::from_integer(0), 1, &[1], None), Err(DpError::Epsilon));
    assert_eq!(Spec::laplace(&Ratio::new_raw(1, 0), 1, &[1], None), Err(DpError::Epsilon));
    assert_eq!(Spec::laplace(&one, 0, &[1], None), Err(DpError::NoGroups));
    assert!(matches!(Spec::laplace(&one, 2, &[u128::MAX], None), Err(DpError::OutOfRange(_))));
    assert!(matches!(Spec::laplace(&one, 1, &[1 << 96], None), Err(DpError::OutOfRange(_))));
    assert!(split(&one, 0).is_err());
    assert_eq!(Charge::of(&Ratio::new_raw(1, 0), &[]), Err(DpError::Epsilon));
}

#[test]
fn the_error_covers_95_percent_of_the_noise() {
    let mut rng = SeededRng::new(4);
    for (n, d) in [(1u128, 3u128), (1, 1), (7, 2), (320, 1), (100_000, 1)] {
        let noise = Noise { linf: 1, scale: Ratio::new(n, d) };
        let laplace = DiscreteLaplace::new(&noise.scale).unwrap();
        let draws: Vec<i128> = (0..100_000).map(|_| laplace.sample(&mut rng).unwrap()).collect();
        let within = |w: f64| draws.iter().filter(|x| x.unsigned_abs() as f64 <= w).count() as f64 / 1e5;
        let width = noise.error95();
        assert!(within(width) > 0.947, "scale {n}/{d}: {}", within(width));
        // And it is the least such: a twentieth less (or one less) does not.
        assert!(width == 0.0 || within((width * 0.95).min(width - 1.0)) < 0.95, "scale {n}/{d}");
    }
}
