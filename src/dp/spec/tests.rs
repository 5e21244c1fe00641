#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::{Notion, UNITS_PER_ONE};
use proptest::prelude::*;

fn total(spec: &Spec) -> Ratio {
    spec.events().iter().map(|e| e.epsilon().unwrap()).sum()
}

fn scales(spec: &Spec) -> Vec<Ratio> {
    let scale = |n: &Noise| match n.distribution {
        Distribution::Laplace { scale } => Some(scale),
        _ => None,
    };
    spec.aggregates.iter().filter_map(scale).collect()
}

fn variances(spec: &Spec) -> Vec<Ratio> {
    let variance = |n: &Noise| match n.distribution {
        Distribution::Gaussian { variance } => Some(variance),
        _ => None,
    };
    spec.aggregates.iter().filter_map(variance).collect()
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
    assert_eq!(scales(&spec), [8 * 4 * 2 * 10, 480 * 4 * 2 * 10].map(Ratio::from_integer));
    // The selection takes a share, at sensitivity 1 per group.
    let spec = Spec::laplace(&Ratio::new(1, 10), 4, &[8], Some(&Ratio::new(1, 1_000_000_000))).unwrap();
    assert_eq!(
        spec.selection.as_ref().unwrap().noise,
        Distribution::Laplace { scale: Ratio::new(4 * 13 * 10, 5) }
    );
    assert_eq!(scales(&spec), [Ratio::new(8 * 4 * 13 * 10, 8)]);
    assert_eq!(spec.events().len(), 2);
    let charge = Charge::of(&Ratio::new(1, 10), std::slice::from_ref(&spec)).unwrap();
    assert_eq!(charge.selection_delta, spec.selection.unwrap().delta);
}

#[test]
fn a_constant_gets_no_noise_and_no_share() {
    let spec = Spec::laplace(&Ratio::from_integer(1), 1, &[0, 5], None).unwrap();
    assert_eq!(spec.aggregates[0].distribution, Distribution::None);
    assert_eq!(scales(&spec), [Ratio::from_integer(5)]);
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
    spec.aggregates[1].distribution = Distribution::Laplace { scale: scales(&spec)[1] / 2 };
    assert_eq!(Charge::of(&epsilon, &[spec.clone()]), Err(DpError::Mispriced));
    spec.aggregates[1].distribution = Distribution::Laplace { scale: Ratio::from_integer(0) };
    assert!(matches!(Charge::of(&epsilon, &[spec.clone()]), Err(DpError::OutOfRange(_))));
    spec.aggregates[1].distribution = Distribution::None;
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

/// σ² = l0·linf²·k/ε² for each of k aggregates: Σεᵢ² = ε².
#[test]
fn rule_23_gaussian_shares_are_squares() {
    let laplace = Spec::laplace(&Ratio::new(1, 10), 4, &[8, 0, 480], None).unwrap();
    let spec = laplace.gaussian(&exact(&Ratio::new(1, 100)), &Outline::even(4, &[8, 0, 480], None)).unwrap();
    assert_eq!(spec.aggregates[1].distribution, Distribution::None);
    assert_eq!(variances(&spec), [4 * 8 * 8 * 2 * 100, 4 * 480 * 480 * 2 * 100].map(Ratio::from_integer));
    let charge = Charge::of(&Ratio::new(1, 10), std::slice::from_ref(&spec)).unwrap();
    // ρ = ε²/2 exactly.
    assert_eq!(Notion::Zcdp.price(&charge).unwrap().loss, UNITS_PER_ONE / 200);
    // Joint over groups: one use on all that a unit may touch.
    let groups = |e: &Event| match &e.mechanism {
        Mechanism::DiscreteGaussian { sensitivity, .. } => sensitivity.groups,
        _ => 0,
    };
    assert!(charge.events.iter().all(|e| e.times == 1 && groups(e) == 4));
}

proptest! {
    /// The squares of the shares add up to the square exactly, and no more is charged than ε²/2.
    #[test]
    fn rule_23_squares_add_up_to_epsilon_squared_exactly(
        n in 1u128..1_000_000,
        d in 1u128..1_000_000,
        l0 in 1u32..10_000,
        linf in proptest::collection::vec(0u128..1 << 25, 1..8),
        releases in 1usize..5,
    ) {
        prop_assume!(linf.iter().any(|l| *l > 0));
        let epsilon = Ratio::new(n, d);
        let square = exact(&epsilon) * exact(&epsilon) / exact_integer(releases);
        let spec = Spec::laplace(&epsilon, l0, &linf, None).unwrap();
        let spec = spec.gaussian(&square, &Outline::even(l0, &linf, None)).unwrap();
        let specs = vec![spec; releases];
        let charge = Charge::of(&epsilon, &specs).unwrap();
        let squares = charge.events.iter().map(|e| match e.share().unwrap() {
            Share::Square(s) => s,
            Share::Epsilon(_) => panic!(),
        });
        prop_assert_eq!(squares.fold(exact_integer(0u8), |a, b| a + b), exact(&epsilon) * exact(&epsilon));
        // n²/(2d²), rounded up.
        let two = Ratio::from_integer(2u128);
        if let Ok(cost) = Notion::Zcdp.price(&charge) {
            let half = exact(&epsilon) * exact(&epsilon) / exact(&two) * exact_integer(UNITS_PER_ONE);
            prop_assert_eq!(exact_integer(cost.loss), half.ceil());
        }
    }
}

/// Mutations: l0 forgotten, Δ₁ in place of Δ₂, noise for one aggregate where there are two. All are caught, because a
/// charge is computed from what will be drawn.
#[test]
fn rule_23_too_little_gaussian_noise_is_no_charge() {
    let epsilon = Ratio::from_integer(1);
    let outline = Outline::even(4, &[3, 3], None);
    let honest = Spec::of(&epsilon, &outline).unwrap().gaussian(&exact(&epsilon), &outline).unwrap();
    assert_eq!(variances(&honest), [Ratio::from_integer(4 * 9 * 2); 2]);
    assert!(Charge::of(&epsilon, std::slice::from_ref(&honest)).is_ok());
    let with = |variance: u128| {
        let mut spec = honest.clone();
        for a in &mut spec.aggregates {
            a.distribution = Distribution::Gaussian { variance: Ratio::from_integer(variance) };
        }
        Charge::of(&epsilon, &[spec])
    };
    assert_eq!(with(9 * 2), Err(DpError::Mispriced), "l0 forgotten");
    assert_eq!(with(4 * 9), Err(DpError::Mispriced), "one share for two aggregates");
    assert_eq!(with(4 * 3 * 2), Err(DpError::Mispriced), "linf in place of its square");
    assert_eq!(with(4 * 9 * 2 - 1), Err(DpError::Mispriced));
    assert!(with(4 * 9 * 2).is_ok());
    // Δ₁ = l0·linf would be safe and wasteful: l0 times the variance.
    let wasteful = with(4 * 4 * 9 * 2).unwrap();
    let cost = |c: &Charge| Notion::Zcdp.price(c).unwrap().loss;
    assert_eq!(cost(&wasteful) * 4, cost(&with(4 * 9 * 2).unwrap()));
    assert!(matches!(with(0), Err(DpError::OutOfRange(_))));
    assert_eq!(Charge::of(&epsilon, &[honest.clone(), honest]), Err(DpError::Mispriced));
}

/// E² + G <= ε²: Laplace shares add up, Gaussian ones by their squares, and both together by squares.
#[test]
fn rule_23_mixed_statements_are_charged_their_vector() {
    let epsilon = Ratio::from_integer(1);
    let delta = Ratio::new(1, 1_000_000);
    let half = Spec::laplace(&Ratio::new(1, 2), 2, &[1], None).unwrap();
    // The one has ε/2; three quarters of ε² are left for the other.
    let outline = Outline::even(2, &[1], Some(&delta));
    let other = Spec::of(&epsilon, &outline).unwrap();
    let gaussian = |square| other.gaussian(&exact(&square), &outline).unwrap();
    let charge = Charge::of(&epsilon, &[half.clone(), gaussian(Ratio::new(3, 4))]).unwrap();
    let rho = Notion::Zcdp.price(&charge).unwrap().loss;
    let of_gaussian = UNITS_PER_ONE * 3 / 8;
    // Two groups at ε = 1/4: 2·(1/4)·tanh(1/8).
    let of_half = 62_176_000_000_000_000_000_000..62_178_000_000_000_000_000_000;
    assert!(of_half.contains(&(rho - of_gaussian)));
    assert!(rho < UNITS_PER_ONE / 2);
    assert_eq!(Charge::of(&epsilon, &[half, gaussian(Ratio::new(76, 100))]), Err(DpError::Mispriced));
}

/// Of three halves the count has two and the selection one, and both together the whole square.
#[test]
fn rule_23_a_gaussian_selection_has_half_a_share() {
    let (epsilon, delta) = (Ratio::from_integer(1), Ratio::new(1, 1_000_000));
    let outline = Outline::even(24, &[5], Some(&delta));
    let laplace = Spec::of(&epsilon, &outline).unwrap();
    let spec = laplace.gaussian(&exact(&epsilon), &outline).unwrap();
    assert_eq!(variances(&spec), [Ratio::new(24 * 25 * 3, 2)]);
    let selection = spec.selection.clone().unwrap();
    assert_eq!(selection.noise, Distribution::Gaussian { variance: Ratio::from_integer(24 * 3) });
    assert!(selection.holds(24) && selection.threshold < laplace.selection.unwrap().threshold / 10);
    let charge = Charge::of(&epsilon, std::slice::from_ref(&spec)).unwrap();
    assert_eq!(Notion::Zcdp.price(&charge).unwrap().loss, UNITS_PER_ONE / 2);
    assert_eq!(charge.selection_delta, selection.delta);
    // Keys alone have it all.
    let outline = Outline::even(24, &[], Some(&delta));
    let keys = Spec::of(&epsilon, &outline).unwrap();
    let keys = keys.gaussian(&exact(&epsilon), &outline).unwrap().selection.unwrap();
    assert_eq!(keys.noise, Distribution::Gaussian { variance: Ratio::from_integer(24) });
    // Noise of the selection for one group where a unit is in 24.
    let low = Selection { noise: Distribution::Gaussian { variance: Ratio::from_integer(3) }, ..selection };
    assert_eq!(Charge::of(&epsilon, &[Spec { selection: Some(low), ..spec }]), Err(DpError::Mispriced));
}

/// The choice and the counts have half of ε each, and the counts noise for k groups.
#[test]
fn the_choice_of_groups_and_their_counts_share_epsilon() {
    let one = Ratio::from_integer(1);
    let spec = Spec::top(&one, 4, 20, crate::quantile::Selector::Exponential).unwrap();
    let top = spec.top.as_ref().unwrap();
    assert_eq!((spec.l0, top.choices(), top.sensitivity()), (4, 4, 20));
    assert_eq!(spec.aggregates[0].distribution, Distribution::Laplace { scale: Ratio::from_integer(160) });
    let events = spec.events();
    let shares: Vec<Option<Ratio>> = events.iter().map(Event::epsilon).collect();
    assert_eq!(shares, [Some(Ratio::new(1, 2)); 2]);
    assert!(Charge::of(&one, std::slice::from_ref(&spec)).is_ok());
    assert!(Charge::of(&Ratio::new(99, 100), &[spec]).is_err());
    // In squares the counts have the half of ε², for a norm of √4·20, and each of four choices an eighth of it.
    let squares = Spec::top_in_squares(&exact_integer(1u8), 4, 20).unwrap();
    assert_eq!(
        squares.aggregates[0].distribution,
        Distribution::Gaussian { variance: Ratio::from_integer(3200) }
    );
    assert_eq!(squares.top.as_ref().unwrap().level(), Ratio::new(707_106, 1_000_000));
    assert!(Charge::of(&one, std::slice::from_ref(&squares)).is_ok());
    assert!(Charge::of(&Ratio::new(999, 1000), &[squares]).is_err());
    assert!(Spec::top(&one, 0, 20, crate::quantile::Selector::Exponential).is_err());
    assert!(Spec::top(&one, 4, 0, crate::quantile::Selector::Exponential).is_err());
}

/// The number of units that is released is the one that is compared: one draw, paid for once, at the whole price.
#[test]
fn rule_23_a_count_that_selects_is_paid_for_once() {
    let (epsilon, delta) = (Ratio::from_integer(1), Ratio::new(1, 1_000_000));
    let outline = Outline { counted: Some(0), ..Outline::even(24, &[1], Some(&delta)) };
    let laplace = Spec::of(&epsilon, &outline).unwrap();
    assert_eq!(scales(&laplace), [Ratio::from_integer(24)]);
    let gaussian = laplace.gaussian(&exact(&epsilon), &outline).unwrap();
    assert_eq!(variances(&gaussian), [Ratio::from_integer(24)]);
    for spec in [laplace, gaussian] {
        assert_eq!(spec.aggregates[0].distribution, spec.selection.as_ref().unwrap().noise);
        assert_eq!(spec.events().len(), 1);
        assert!(Charge::of(&epsilon, std::slice::from_ref(&spec)).is_ok());
        // Were it drawn twice, it would cost twice.
        assert_eq!(Charge::of(&epsilon, &[Spec { counted: None, ..spec }]), Err(DpError::Mispriced));
    }
}

/// Gaussian noise is calibrated to the norm that is said of it, where that is another.
#[test]
fn noise_has_the_norm_that_it_is_for() {
    let epsilon = Ratio::from_integer(1);
    let squares = Some([2_000, 200_000].map(Sensitivity::in_squares).to_vec());
    let sums = [100, 1000].map(|n| Sensitivity::in_all(n, n)).to_vec();
    let outline = Outline { sums, squares, ..Outline::even(1, &[], None) };
    let laplace = Spec::of(&epsilon, &outline).unwrap();
    assert_eq!(scales(&laplace), [200, 2000].map(Ratio::from_integer).to_vec());
    let gaussian = laplace.gaussian(&exact(&epsilon), &outline).unwrap();
    assert_eq!(variances(&gaussian), [2_000 * 2, 200_000 * 2].map(Ratio::from_integer));
}
