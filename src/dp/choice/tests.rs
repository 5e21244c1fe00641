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

/// Choices divide ρ where every budget counts it, by the exponential mechanism: of k each is 2ε/√k-bounded-range, and all cost
/// the ρ that the same name costs with Gaussian noise.
#[test]
fn rule_23_choices_divide_rho() {
    let quantile = |p| crate::Pick::Quantile(Ratio::new(p, 100));
    let fails = |side| crate::Pick::End { of: Ratio::new(1, 2), side, fails: 25_000, beyond: 0 };
    let ends = [fails(crate::quantile::Side::Below), fails(crate::quantile::Side::Above)];
    let picks = [&ends[..], &[quantile(50)]].concat();
    let points =
        |picks: &[crate::Pick]| Outline { points: Some((picks.to_vec(), 4)), ..outline(1, &[], false) };
    let tenth = Ratio::new(1, 10);
    let rho = |c: &Choice| Notion::Zcdp.price(&c.charge).unwrap().loss as f64 / UNITS_PER_ONE as f64;
    let level = |c: &Choice| c.specs[0].points.as_ref().unwrap().level();
    for notions in [&[Notion::Zcdp][..], &[Notion::Rdp, Notion::Zcdp]] {
        let choice = auto(tenth, &[points(&picks)], notions);
        // 0.2/√3 is 0.11547005…
        assert_eq!((level(&choice), choice.why), (Ratio::new(115_470, 1_000_000), Why::NothingToChoose));
        assert!(rho(&choice) <= 0.005 && rho(&choice) > 0.004_999);
        // As many rows from the rank, whatever the price is divided by: 3·√4/√3 times fewer.
        let asked = choose(&tenth, &[points(&picks)], Preference::Laplace, notions).unwrap();
        assert_eq!(level(&asked), Ratio::new(1, 30));
    }
    // Beside noise, both are parts of ε²; and no more is paid than the name says.
    let both = [points(&picks), outline(2, &[5, 5], false)];
    let choice = auto(tenth, &both, &[Notion::Zcdp]);
    assert!(is_gaussian(&Choice { specs: choice.specs[1..].to_vec(), ..choice.clone() }));
    assert!(level(&choice) > Ratio::new(1, 30) && rho(&choice) <= 0.005 && rho(&choice) > 0.004_999);
    // One budget that adds up ε, or one that counts something else, keeps the shares of ε.
    for other in [Notion::Pure, Notion::Approx, Notion::Advanced, Notion::Gdp] {
        let choice = auto(tenth, &[points(&picks)], &[Notion::Zcdp, other]);
        assert_eq!(level(&choice), Ratio::new(1, 30));
    }
    // Permute-and-flip is not bounded-range (soundness rule 20): no share of squares is for it.
    let square = crate::Share::Square(exact_integer(1u8));
    assert!(Selector::PermuteAndFlip.level(&square, 1).is_err());
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
    // Three releases share ε² as their errors at all of it, √(3·3·(1/2 + 2.5²)), √(2·2) and √(2·2.5²), about as 12 to 3 to 5:
    // the first in three halves, the second by two aggregates, the third has its selection alone.
    let of = |s: &Spec, i: usize| variance(&s.aggregates[i].distribution);
    assert_eq!(of(&gaussian.specs[0], 0), Ratio::new(3 * 25 * 3 * 20, 2 * 12));
    assert_eq!(of(&gaussian.specs[1], 1), Ratio::new(49 * 2 * 20, 3));
    assert_eq!(variance(&gaussian.specs[2].selection.as_ref().unwrap().noise), Ratio::new(2 * 20, 5));
    assert_eq!(Charge::of(&epsilon, &gaussian.specs).unwrap(), gaussian.charge);
    // Keys alone have it where it lets more groups through.
    let many = auto(epsilon, &[outline(24, &[], true)], &[Notion::Zcdp]);
    assert!(matches!(many.why, Why::Compared { .. }));
    assert!(matches!(many.specs[0].selection.as_ref().unwrap().noise, Distribution::Gaussian { .. }));
}

/// Prices near those that releases are given make the sum of squared errors, relative to a group's part of the rows, no less.
#[test]
fn releases_divide_a_price_so_that_errors_are_least() {
    let months = Outline { groups: 6, ..outline(3, &[1, 5], false) };
    let whole = Outline { weights: vec![160], ..outline(2, &[5], false) };
    let cities = Outline { groups: 2, ..outline(1, &[5], true) };
    let outlines = [months, whole, cities];
    let variance = |noise: &Distribution| match noise {
        Distribution::Laplace { scale } => 2.0 * (*scale.numer() as f64 / *scale.denom() as f64).powi(2),
        Distribution::Gaussian { variance } => *variance.numer() as f64 / *variance.denom() as f64,
        Distribution::None => 0.0,
    };
    for (preference, power) in [(Preference::Laplace, 2), (Preference::Gaussian, 1)] {
        let portions = match preference {
            Preference::Gaussian => releases_by_squares(&outlines, true),
            _ => releases_by_epsilon(&outlines),
        };
        let choice = choose(&Ratio::from_integer(1), &outlines, preference, &[Notion::Zcdp]).unwrap();
        let all: u32 = portions.iter().sum();
        // What each release's errors would be at all of the price.
        let errors: Vec<f64> = (choice.specs.iter().zip(&outlines).zip(&portions))
            .map(|((spec, o), portion)| {
                let own = spec.aggregates.iter().enumerate().map(|(i, noise)| {
                    let weight = o.weights.get(i).map_or(1.0, |w| f64::from(*w) / 16.0);
                    (weight / noise.sensitivity.linf as f64).powi(2) * variance(&noise.distribution)
                });
                let far: f64 = if preference == Preference::Gaussian { 2.5 } else { 4.0 };
                let selection = spec.selection.iter().map(|s| far * far * variance(&s.noise));
                let sum: f64 = own.chain(selection).sum();
                sum * (o.groups as f64).powi(2) * (f64::from(*portion) / f64::from(all)).powi(power)
            })
            .collect();
        let sum = |portions: &[f64]| -> f64 {
            let all: f64 = portions.iter().sum();
            errors.iter().zip(portions).map(|(e, p)| e / (p / all).powi(power)).sum()
        };
        let own: Vec<f64> = portions.iter().map(|p| f64::from(*p)).collect();
        assert!(own[0] > own[1] && own[0] > own[2], "{own:?}");
        assert!(sum(&own) < 0.97 * sum(&[1.0; 3]), "{preference:?}: {own:?}, {errors:?}");
        // What has the least that any has, may have more than its part.
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        for i in (0..own.len()).filter(|i| own[*i] > least) {
            for factor in [0.7, 1.4] {
                let mut other = own.clone();
                other[i] *= factor;
                assert!(sum(&own) < sum(&other), "{preference:?}: {own:?}, {other:?}");
            }
        }
    }
}

/// Nothing is left for the smallest, and nothing is given to what draws nothing.
#[test]
fn portions_have_a_floor() {
    let wide = Outline { groups: 1_000_000, ..outline(500, &[1], false) };
    let constant = outline(1, &[0], false);
    let outlines = [wide, constant, outline(1, &[1], false)];
    for portions in [releases_by_epsilon(&outlines), releases_by_squares(&outlines, true)] {
        assert_eq!(portions, [4, 0, 1]);
    }
    let choice = choose(&Ratio::from_integer(5), &outlines, Preference::Laplace, &[]).unwrap();
    let scale = |i: usize| choice.specs[i].aggregates[0].distribution;
    assert_eq!(scale(0), Distribution::Laplace { scale: Ratio::new(500, 4) });
    assert_eq!(scale(1), Distribution::None);
    assert_eq!(scale(2), Distribution::Laplace { scale: Ratio::from_integer(1) });
    let huge = Outline { groups: usize::MAX, ..outline(u32::MAX, &[u128::MAX >> 8], false) };
    assert_eq!(releases_by_epsilon(&[huge.clone(), huge]), [1, 1]);
    assert_eq!(releases_by_epsilon(&[outline(1, &[0], false)]), [0]);
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
        outlines in proptest::collection::vec((1u32..20, proptest::collection::vec(0u128..1 << 20, 0..4), any::<bool>(), 0u128..4), 1..4),
    ) {
        let epsilon = Ratio::new(n, d);
        let outlines: Vec<Outline> = outlines
            .into_iter()
            .map(|(l0, linf, private, picks)| match picks {
                0 => outline(l0, &linf, private || linf.is_empty()),
                _ => {
                    let picks = (1..=picks).map(|p| crate::Pick::Quantile(Ratio::new(p, 4))).collect();
                    Outline { points: Some((picks, l0)), ..outline(l0, &[], false) }
                }
            })
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
