#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::{Charge, Event, Mechanism, Ratio, Spec};

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

fn laplace(sensitivity: u128, scale: Ratio, times: u32) -> Event {
    Event {
        mechanism: Mechanism::DiscreteLaplace { sensitivity: crate::Sensitivity::of_one(sensitivity), scale },
        times,
    }
}

fn charge(events: Vec<Event>) -> Charge {
    Charge { epsilon: Ratio::from_integer(1), events, selection_delta: Ratio::from_integer(0) }
}

fn filter(notion: Notion, epsilon: &str, delta: &str, selection: &str) -> Filter {
    Filter::new(notion, &ratio(epsilon), &ratio(delta), &ratio(selection)).unwrap()
}

fn admitted(filter: &Filter, price: Cost) -> usize {
    let mut spent = Cost::default();
    let mut count = 0;
    while let Ok(sum) = filter.admit(spent, price) {
        spent = sum;
        count += 1;
    }
    count
}

/// Ten statements of ε = 0.1 fill a budget of 1, however each is split, and the eleventh is refused.
#[test]
fn tenths_fill_a_budget_of_one_exactly() {
    let budget = filter(Notion::Pure, "1", "0", "0");
    for parts in 1..8 {
        let spec = Spec::laplace(&Ratio::new(1, 10), 3, &vec![7; parts], None).unwrap();
        let charge = Charge::of(&Ratio::new(1, 10), &[spec]).unwrap();
        assert_eq!(admitted(&budget, Notion::Pure.price(&charge).unwrap()), 10, "{parts} parts");
    }
}

/// Mutation: a charge that is rounded down would fit three times into less than it costs.
#[test]
fn charges_are_rounded_up_and_limits_down() {
    let third = Notion::Pure.price(&charge(vec![laplace(1, Ratio::from_integer(3), 1)])).unwrap();
    assert_eq!(third.loss, UNITS_PER_ONE / 3 + 1);
    // A limit just below one third takes not even one of them.
    let below = Filter::of_loss(Notion::Pure, UNITS_PER_ONE / 3);
    assert_eq!(admitted(&below, third), 0);
    assert_eq!(Filter::new(Notion::Pure, &Ratio::new(1, 3), &ratio("0"), &ratio("0")).unwrap(), below);
    // The least charge there is costs something in every notion.
    let tiny = charge(vec![laplace(1, Ratio::from_integer((1 << 96) - 1), 1)]);
    for notion in [Notion::Pure, Notion::Approx, Notion::Zcdp] {
        assert_eq!(notion.price(&tiny).unwrap().loss, 1, "{notion:?}");
    }
    let mut with_delta = tiny;
    with_delta.selection_delta = Ratio::new(1, 1 << 90);
    assert_eq!(Notion::Zcdp.price(&with_delta).unwrap().delta, 1);
}

/// KL divergence of discrete Laplace from itself shifted by Δ, summed term by term.
fn kl(b: f64, sensitivity: i64) -> f64 {
    let q = (-1.0 / b).exp();
    let reach = (b * 60.0) as i64 + sensitivity + 60;
    let norm = (1.0 - q) / (1.0 + q);
    let loss = |x: i64| ((x - sensitivity).abs() - x.abs()) as f64 / b;
    (-reach..=reach).map(|x| norm * (-(x.abs() as f64) / b).exp() * loss(x)).sum()
}

/// Mutation: discrete noise priced by the formula of continuous noise.
#[test]
fn rule_19_discrete_laplace_is_priced_as_discrete() {
    for b in [0.25f64, 0.5, 1.0, 2.0, 10.0, 100.0] {
        let scale = Ratio::new((b * 4.0) as u128, 4);
        let rho = Notion::Zcdp.price(&charge(vec![laplace(1, scale, 1)])).unwrap().loss as f64 / 1e24;
        // ρ is at least the KL divergence (Rényi order 1); at Δ = 1 that is where the supremum lies.
        assert!((rho / kl(b, 1) - 1.0).abs() < 1e-9, "b = {b}: {rho} against {}", kl(b, 1));
        let e = 1.0 / b;
        let continuous = e + (-e).exp() - 1.0;
        assert!(continuous < kl(b, 1) * 0.999, "the continuous formula undercharges at b = {b}");
    }
    let one = Notion::Zcdp.price(&charge(vec![laplace(1, Ratio::from_integer(1), 1)])).unwrap();
    assert_eq!(one.loss, 462_117_157_260_009_758_502_319); // tanh(1/2), rounded up
}

/// At any Δ and Rényi order α, D_α <= ρ·α.
#[test]
fn rule_19_rho_bounds_every_renyi_order() {
    for (b, sensitivity) in [(1.0f64, 1i64), (2.0, 3), (0.5, 2), (10.0, 3), (10.0, 40), (3.0, 1)] {
        let event = laplace(sensitivity as u128, Ratio::new((b * 2.0) as u128, 2), 1);
        let rho = Notion::Zcdp.price(&charge(vec![event])).unwrap().loss as f64 / 1e24;
        assert!(rho >= kl(b, sensitivity) * (1.0 - 1e-12));
        let q = (-1.0 / b).exp();
        let norm = (1.0 - q) / (1.0 + q);
        for alpha in [1.001f64, 1.5, 2.0, 4.0, 10.0, 50.0] {
            let reach = (b * 80.0) as i64 + sensitivity;
            // Σ P^α Q^(1-α) with everything in the exponent.
            let sum: f64 = (-reach..=reach)
                .map(|x| {
                    let (p, r) = (-(x.abs() as f64) / b, -((x - sensitivity).abs() as f64) / b);
                    norm * (alpha * p + (1.0 - alpha) * r).exp()
                })
                .sum();
            let renyi = sum.ln() / (alpha - 1.0);
            assert!(renyi <= rho * alpha * (1.0 + 1e-9), "b = {b}, Δ = {sensitivity}, α = {alpha}");
        }
    }
}

fn gaussian(sensitivity: u128, variance: Ratio, times: u32) -> Event {
    Event {
        mechanism: Mechanism::DiscreteGaussian {
            sensitivity: crate::Sensitivity::of_one(sensitivity),
            variance,
        },
        times,
    }
}

/// Mutations: ρ rounded down, l0 forgotten, Δ in place of its square.
#[test]
fn rule_21_rho_of_discrete_gaussian() {
    let rho = |events| Notion::Zcdp.price(&charge(events)).unwrap().loss;
    // Δ²/(2σ²): 9/(2·7), for each of four groups.
    assert_eq!(rho(vec![gaussian(3, Ratio::from_integer(7), 1)]), (UNITS_PER_ONE * 9).div_ceil(14));
    assert_eq!(rho(vec![gaussian(3, Ratio::from_integer(7), 4)]), (UNITS_PER_ONE * 36).div_ceil(14));
    assert_ne!((UNITS_PER_ONE * 9) % 14, 0, "rounding is seen");
    // Sums are exact before they are rounded: three thirds are one.
    let third = gaussian(1, Ratio::new(3, 2), 1);
    assert_eq!(rho(vec![third.clone(); 3]), UNITS_PER_ONE);
    assert_eq!(rho(vec![third.clone(), third.clone()]), (2 * UNITS_PER_ONE).div_ceil(3));
    // Beside Laplace noise: both.
    let one = laplace(1, Ratio::from_integer(1), 1);
    let both = rho(vec![third.clone(), one.clone()]);
    assert!(both.abs_diff(rho(vec![third]) + rho(vec![one])) <= 1);
    assert_eq!(rho(vec![gaussian(0, Ratio::from_integer(0), 1)]), 0);
    assert_eq!(
        Notion::Zcdp.price(&charge(vec![gaussian(1, Ratio::from_integer(0), 1)])),
        Err(Unpriced::Unbounded)
    );
    let huge = charge(vec![gaussian(u128::MAX, Ratio::new(1, u128::MAX), u32::MAX); 3]);
    assert_eq!(Notion::Zcdp.price(&huge), Err(Unpriced::Unbounded));
}

/// D_α <= ρ·α at every order, and D_1 (the KL divergence) is ρ itself: no smaller ρ would do.
#[test]
fn rule_21_rho_bounds_every_renyi_order() {
    for (variance, shift) in [(0.25f64, 1i64), (1.0, 1), (1.0, 3), (4.5, 2), (100.0, 25)] {
        let event = gaussian(shift as u128, Ratio::new((variance * 4.0) as u128, 4), 1);
        let rho = Notion::Zcdp.price(&charge(vec![event])).unwrap().loss as f64 / 1e24;
        let exponent = |x: i64| -(x as f64).powi(2) / (2.0 * variance);
        let reach = (variance.sqrt() * 40.0) as i64 + 200 * shift;
        let total: f64 = (-reach..=reach).map(|x| exponent(x).exp()).sum();
        let kl: f64 =
            (-reach..=reach).map(|x| exponent(x).exp() / total * (exponent(x) - exponent(x - shift))).sum();
        assert!((kl / rho - 1.0).abs() < 1e-9, "σ² = {variance}, Δ = {shift}: {kl} against {rho}");
        for alpha in [1.001f64, 1.5, 2.0, 4.0, 10.0, 50.0] {
            let terms = |x: i64| alpha * exponent(x) + (1.0 - alpha) * exponent(x - shift);
            let top = (-reach..=reach).map(terms).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = (-reach..=reach).map(|x| (terms(x) - top).exp()).sum();
            let renyi = (sum.ln() + top - total.ln()) / (alpha - 1.0);
            assert!(
                renyi <= rho * alpha * (1.0 + 1e-9),
                "σ² = {variance}, Δ = {shift}, α = {alpha}: {renyi}"
            );
        }
    }
}

#[test]
fn rule_21_gaussian_noise_is_priced_where_the_table_says() {
    let noise = charge(vec![laplace(1, Ratio::from_integer(1), 1), gaussian(1, Ratio::from_integer(1), 1)]);
    for notion in Notion::ALL {
        match rule(Kind::DiscreteGaussian, notion) {
            Rule::Charged(_) => {
                assert!([Notion::Zcdp, Notion::Rdp].contains(&notion) && notion.price(&noise).is_ok());
            }
            Rule::Refused(why) => {
                assert_eq!(notion.price(&noise), Err(Unpriced::Mechanism(why)), "{notion:?}");
            }
        }
    }
}

/// The guarantees document has the tables that the code has: one row per mechanism, one cell per notion; and what each notion sums.
/// `UPDATE=1 cargo test --test golden policy_reference` prints them.
#[test]
fn rule_21_the_document_and_the_code_agree() {
    let document = include_str!("../../../docs/guarantees.md");
    for table in [mechanisms(), sums()] {
        assert!(document.contains(&table), "{table}");
    }
}

#[test]
fn events_add_up_per_group() {
    for notion in [Notion::Pure, Notion::Approx, Notion::Zcdp] {
        let one = notion.price(&charge(vec![laplace(2, Ratio::from_integer(8), 1)])).unwrap();
        let four = notion.price(&charge(vec![laplace(2, Ratio::from_integer(8), 4)])).unwrap();
        let list = notion.price(&charge(vec![laplace(2, Ratio::from_integer(8), 1); 4])).unwrap();
        assert_eq!(four, list);
        assert!(four.loss <= 4 * one.loss && four.loss > 4 * one.loss - 4, "rounded once");
    }
}

#[test]
fn rule_22_pure_budgets_refuse_private_groups() {
    let mut private = charge(vec![laplace(1, Ratio::from_integer(8), 1)]);
    private.selection_delta = ratio("1e-9");
    assert_eq!(Notion::Pure.price(&private), Err(Unpriced::PrivateGroups));
    assert!(Unpriced::PrivateGroups.to_string().contains("private groups"));
    assert_eq!(Notion::Approx.price(&private).unwrap().delta, UNITS_PER_ONE / 1_000_000_000);
}

#[test]
fn rule_22_selection_draws_on_its_own_part_of_delta() {
    let budget = filter(Notion::Zcdp, "8", "1e-6", "5e-7");
    let price = Cost { delta: UNITS_PER_ONE / 10_000_000 * 2, ..Cost::default() }; // 2e-7
    assert_eq!(admitted(&budget, price), 2);
    let spent = Cost { delta: price.delta * 2, ..Cost::default() };
    let refusal = budget.admit(spent, price).unwrap_err();
    assert_eq!(
        refusal,
        Shortfall { of_delta: true, needed: price.delta, left: price.delta / 2, limit: budget.limit.delta }
    );
    // What is set aside for selection is not used for conversion.
    assert!(budget.limit.loss < filter(Notion::Zcdp, "8", "1e-6", "0").limit.loss);
    let whole = filter(Notion::Zcdp, "8", "5e-7", "0").limit.loss;
    assert!(budget.limit.loss.abs_diff(whole) < whole >> 30);
}

#[test]
fn no_noise_has_no_price() {
    for notion in [Notion::Pure, Notion::Approx, Notion::Zcdp] {
        let exact = charge(vec![laplace(1, Ratio::from_integer(0), 1)]);
        assert_eq!(notion.price(&exact), Err(Unpriced::Unbounded));
        let constant = charge(vec![laplace(0, Ratio::from_integer(0), 1)]);
        assert_eq!(notion.price(&constant), Ok(Cost::default()));
        // So large that it does not fit: never wrapped around.
        let huge = charge(vec![laplace(u128::MAX, Ratio::new(1, u128::MAX), u32::MAX); 3]);
        assert_eq!(notion.price(&huge), Err(Unpriced::Unbounded));
    }
}

#[test]
fn sums_cannot_wrap_around() {
    let budget = Filter::of_loss(Notion::Pure, u128::MAX);
    let half = Cost::of_loss(u128::MAX / 2 + 1);
    assert_eq!(admitted(&budget, half), 1);
    assert_eq!(budget.fits(half, half), 0);
    assert_eq!(budget.fits(Cost::default(), half), 1);
}

#[test]
fn budgets_that_make_no_sense_are_refused() {
    let new = |n, e: &str, d: &str, s: &str| Filter::new(n, &ratio(e), &ratio(d), &ratio(s));
    assert!(new(Notion::Pure, "1", "1e-6", "0").is_err());
    assert!(new(Notion::Zcdp, "1", "0", "0").is_err());
    assert!(new(Notion::Zcdp, "1", "1e-6", "1e-6").is_err());
    assert!(new(Notion::Approx, "1", "1e-6", "2e-6").is_err());
    assert!(new(Notion::Approx, "1", "1", "0").is_err());
    assert!(new(Notion::Approx, "0", "1e-6", "0").is_err());
    assert!(new(Notion::Approx, "1", "1e-6", "1e-6").is_ok());
}

#[test]
fn decimals_are_exact() {
    assert_eq!(ratio("0.1"), Ratio::new(1, 10));
    assert_eq!(ratio("1e-9"), Ratio::new(1, 1_000_000_000));
    assert_eq!(ratio("25e2"), Ratio::from_integer(2500));
    assert_eq!(ratio("0e-400"), Ratio::from_integer(0));
    for bad in ["-1", "1e39", "1e-39", "1e-999999999999"] {
        assert_eq!(crate::ratio(&bad.parse().unwrap()), None, "{bad}");
    }
}

/// What states a guarantee costs what its guarantee costs, in every notion or in none, and adds to what is drawn.
/// Mutations: its δ forgotten, its uses counted once, noise beside it left out.
#[test]
fn rule_21_a_stated_guarantee_is_charged_by_the_table() {
    use crate::{Guarantee, ratio::exact};
    let (epsilon, delta) = (Ratio::new(1, 2), Ratio::new(1, 1_000_000));
    let square = exact(&Ratio::new(1, 4));
    let stated = [
        Guarantee::Pure { epsilon },
        Guarantee::BoundedRange { epsilon },
        Guarantee::Approximate { epsilon, delta },
        Guarantee::Concentrated { rho: square.clone() },
        Guarantee::Gaussian { square },
    ];
    let zero = Ratio::from_integer(0);
    let of = |events: Vec<Event>| Charge { epsilon, events, selection_delta: zero };
    let noise = laplace(1, Ratio::from_integer(4), 3);
    for notion in Notion::ALL {
        for guarantee in &stated {
            let used = Event { mechanism: Mechanism::Guaranteed(guarantee.clone()), times: 2 };
            let price = notion.price(&of(vec![used.clone()]));
            assert_eq!(price.ok(), notion.price_of(guarantee, 2, None).ok(), "{guarantee:?} in {notion:?}");
            let Ok(price) = price else { continue };
            let both = notion.price(&of(vec![used, noise.clone()])).unwrap();
            let alone = notion.price(&of(vec![noise.clone()])).unwrap();
            assert_eq!(Some(both), price.checked_add(alone), "{guarantee:?} in {notion:?}");
            assert_ne!(both, alone);
        }
    }
    let approximate = Charge::guaranteed(&stated[2]).unwrap();
    assert!(matches!(Notion::Pure.price(&approximate), Err(Unpriced::Mechanism(_))));
    assert_eq!(Notion::Zcdp.price(&approximate).unwrap().delta, UNITS_PER_ONE / 1_000_000);
    assert!(Charge::guaranteed(&stated[3]).is_err(), "no epsilon names it");
}
