#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::{Distribution, UNITS_PER_ONE};
use proptest::prelude::*;

fn outline(l0: u32, linf: &[u128], private: bool) -> Outline {
    Outline::even(l0, linf, private.then(|| Ratio::new(1, 1_000_000)).as_ref())
}

fn is_gaussian(choice: &Choice) -> bool {
    let of = |s: &Spec| s.noisy().all(|n| matches!(n.distribution, Distribution::Gaussian { .. }));
    choice.specs.iter().all(of) && choice.specs.iter().any(|s| s.noisy().next().is_some())
}

fn auto(epsilon: Ratio, outlines: &[Outline], notions: &[Notion]) -> Choice {
    choose(&epsilon, outlines, Preference::Auto, notions).unwrap()
}

#[test]
fn rule_21_gaussian_noise_needs_a_price_in_every_budget() {
    let tenth = Ratio::new(1, 10);
    let outlines = [outline(4, &[8, 480], false)];
    assert!(is_gaussian(&auto(tenth, &outlines, &[Notion::Zcdp, Notion::Zcdp])));
    for other in [Notion::Pure, Notion::Approx] {
        let notions = [Notion::Zcdp, other];
        let choice = auto(tenth, &outlines, &notions);
        assert!(!is_gaussian(&choice));
        assert_eq!(choice.why, Why::Unpriced(1));
        let asked = choose(&tenth, &outlines, Preference::Gaussian, &notions);
        assert_eq!(asked.unwrap_err(), ChoiceError::Unpriced(1));
        assert!(other.price(&choice.charge).is_ok());
    }
    let asked = choose(&tenth, &outlines, Preference::Laplace, &[Notion::Zcdp]).unwrap();
    assert!(!is_gaussian(&asked) && asked.why == Why::Asked);
}

/// Errors at the same name, and what the name costs.
#[test]
fn gaussian_noise_is_taken_where_it_errs_less() {
    let zcdp = [Notion::Zcdp];
    let why = |choice: &Choice| match choice.why {
        Why::Compared { at_epsilon, at_rho } => (at_epsilon, at_rho),
        other => panic!("{other:?}"),
    };
    // One aggregate, one group: 1.96 against 3.00 at the same ε, which is nearly the same ρ.
    let choice = auto(Ratio::new(1, 100), &[outline(1, &[100], false)], &zcdp);
    let (at_epsilon, at_rho) = why(&choice);
    assert!(is_gaussian(&choice) && (at_epsilon - 0.654).abs() < 1e-3 && (at_rho - 0.654).abs() < 1e-3);
    // Two aggregates in four groups: a root of eight less, for eight times the ρ.
    let choice = auto(Ratio::new(1, 100), &[outline(4, &[100, 100], false)], &zcdp);
    let (at_epsilon, at_rho) = why(&choice);
    assert!(is_gaussian(&choice) && (at_epsilon - 0.654 / 8f64.sqrt()).abs() < 1e-3);
    assert!((at_rho - 0.654).abs() < 1e-3);
    // At a high price Laplace noise errs less for the same ρ, whatever the name says.
    let choice = auto(Ratio::from_integer(8), &[outline(1, &[1_000_000], false)], &zcdp);
    let (at_epsilon, at_rho) = why(&choice);
    assert!(!is_gaussian(&choice) && at_epsilon < 1.0 && at_rho > 1.0);
    // Where neither errs, Laplace costs less.
    let choice = auto(Ratio::from_integer(100), &[outline(1, &[1], false)], &zcdp);
    assert!(!is_gaussian(&choice));
}

#[test]
fn selections_have_the_noise_of_the_statement() {
    let epsilon = Ratio::from_integer(1);
    let outlines = [outline(3, &[5], true), outline(1, &[7, 7], false), outline(2, &[], true)];
    let laplace = choose(&epsilon, &outlines, Preference::Laplace, &[Notion::Zcdp]).unwrap();
    let gaussian = choose(&epsilon, &outlines, Preference::Gaussian, &[Notion::Zcdp]).unwrap();
    let variance = |noise: &Distribution| match noise {
        Distribution::Gaussian { variance } => *variance,
        other => panic!("{other:?}"),
    };
    for (l, g) in laplace.specs.iter().zip(&gaussian.specs) {
        let (Some(l), Some(g)) = (&l.selection, &g.selection) else { continue };
        assert!(
            matches!(l.noise, Distribution::Laplace { .. }) && variance(&g.noise) > Ratio::from_integer(0)
        );
    }
    // Three releases share ε²: the first in three halves, the second by two aggregates, the third has its selection alone.
    let of = |s: &Spec, i: usize| variance(&s.aggregates[i].distribution);
    assert_eq!(of(&gaussian.specs[0], 0), Ratio::new(3 * 25 * 3 * 3, 2));
    assert_eq!(of(&gaussian.specs[1], 1), Ratio::from_integer(49 * 2 * 3));
    assert_eq!(variance(&gaussian.specs[2].selection.as_ref().unwrap().noise), Ratio::from_integer(2 * 3));
    assert_eq!(Charge::of(&epsilon, &gaussian.specs).unwrap(), gaussian.charge);
    // Keys alone have it where it lets more groups through.
    let many = auto(epsilon, &[outline(24, &[], true)], &[Notion::Zcdp]);
    assert!(matches!(many.why, Why::Compared { .. }));
    assert!(matches!(many.specs[0].selection.as_ref().unwrap().noise, Distribution::Gaussian { .. }));
}

#[test]
fn nothing_to_choose() {
    for preference in [Preference::Auto, Preference::Gaussian] {
        let nothing = [outline(3, &[0], false)];
        let constants = choose(&Ratio::from_integer(1), &nothing, preference, &[Notion::Approx]);
        assert_eq!(constants.unwrap().why, Why::NothingToChoose);
    }
    let unpaid = auto(Ratio::new(1, 10), &[outline(1, &[1], false)], &[]);
    assert!(!is_gaussian(&unpaid) && unpaid.why == Why::NoBudget);
    // Too fine for Gaussian noise, not for Laplace.
    let wide = [outline(1, &[1 << 70], false)];
    let choice = auto(Ratio::from_integer(1), &wide, &[Notion::Zcdp]);
    assert_eq!(choice.why, Why::OutOfRange);
    let asked = choose(&Ratio::from_integer(1), &wide, Preference::Gaussian, &[Notion::Zcdp]);
    assert!(matches!(asked, Err(ChoiceError::Dp(DpError::OutOfRange(_)))));
}

#[test]
fn words_are_read_in_any_case() {
    for word in Preference::WORDS {
        assert_eq!(Preference::parse(&word.to_uppercase()).unwrap().word(), word);
    }
    assert_eq!(Preference::parse("normal"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    /// Whatever is chosen costs no more than its name: ρ <= ε²/2, and Gaussian noise never less than Laplace noise.
    #[test]
    fn rule_23_no_choice_costs_more_than_its_name(
        n in 1u128..2000,
        d in 1u128..1000,
        outlines in proptest::collection::vec((1u32..20, proptest::collection::vec(0u128..1 << 20, 0..4), any::<bool>()), 1..4),
    ) {
        let epsilon = Ratio::new(n, d);
        let outlines: Vec<Outline> = outlines
            .into_iter()
            .map(|(l0, linf, private)| outline(l0, &linf, private || linf.is_empty()))
            .collect();
        let by = |p| choose(&epsilon, &outlines, p, &[Notion::Zcdp]).unwrap();
        let (laplace, gaussian, auto) = (by(Preference::Laplace), by(Preference::Gaussian), by(Preference::Auto));
        let rho = |c: &Choice| Notion::Zcdp.price(&c.charge).unwrap().loss;
        let name = (n * n * UNITS_PER_ONE).div_ceil(2 * d * d);
        prop_assert!(rho(&laplace) <= name && rho(&gaussian) <= name);
        prop_assert!(rho(&laplace) <= rho(&gaussian));
        prop_assert!(auto.charge == laplace.charge || auto.charge == gaussian.charge);
    }
}
