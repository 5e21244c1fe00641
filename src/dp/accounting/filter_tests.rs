#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! The limits of all notions, and the prices that are summed up to them.

use super::*;
use crate::interval::Interval;
use crate::loss::PrivacyLoss;
use crate::{BigRatio, Charge, Event, Guarantee, Mechanism, Ratio, Sensitivity, cdp, composition, gdp, rdp};
use num_bigint::BigUint;

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

fn filter(notion: Notion, epsilon: &str, delta: &str, selection: &str) -> Filter {
    Filter::new(notion, &ratio(epsilon), &ratio(delta), &ratio(selection)).unwrap()
}

fn one(units: u128) -> f64 {
    units as f64 / UNITS_PER_ONE as f64
}

fn laplace(sensitivity: u128, scale: &str, times: u32) -> Charge {
    let mechanism =
        Mechanism::DiscreteLaplace { sensitivity: Sensitivity::of_one(sensitivity), scale: ratio(scale) };
    charge(Event { mechanism, times })
}

fn gaussian(sensitivity: u128, variance: &str, times: u32) -> Charge {
    let mechanism = Mechanism::DiscreteGaussian {
        sensitivity: Sensitivity::of_one(sensitivity),
        variance: ratio(variance),
    };
    charge(Event { mechanism, times })
}

fn charge(event: Event) -> Charge {
    Charge { epsilon: ratio("1"), events: vec![event], selection_delta: ratio("0") }
}

const BUDGETS: [(&str, &str); 5] =
    [("1", "1e-6"), ("8", "1e-6"), ("0.1", "1e-9"), ("3", "0.01"), ("50", "1e-12")];

#[test]
fn rule_22_limits_imply_the_budget_and_are_tight() {
    for (epsilon, delta) in BUDGETS {
        let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let squares = one(filter(Notion::Advanced, epsilon, delta, "0").limit.loss);
        let reached = composition::adaptive(squares.into(), d).hi();
        assert!(reached <= e * (1.0 + 1e-12) && reached >= e * (1.0 - 1e-9), "{squares}: {reached} of {e}");
        let mu = one(filter(Notion::Gdp, epsilon, delta, "0").limit.loss).sqrt();
        let reached = gdp::delta(mu, e);
        assert!(reached <= d * (1.0 + 1e-9) && reached >= d * (1.0 - 1e-6), "{mu}: {reached} of {d}");
    }
    for notion in [Notion::Advanced, Notion::Gdp, Notion::Rdp, Notion::Zcdp] {
        assert!(Filter::new(notion, &ratio("1"), &ratio("1e-6"), &ratio("1e-6")).is_err());
        assert!(Filter::new(notion, &ratio("1"), &ratio("0"), &ratio("0")).is_err());
        // What pays for selection is not used twice.
        let (all, half) = (filter(notion, "1", "1e-6", "0"), filter(notion, "1", "1e-6", "5e-7"));
        assert_eq!(half.limit.delta, UNITS_PER_ONE / 2_000_000);
        assert!(half.limit.loss < all.limit.loss || notion == Notion::Rdp);
        assert!(half.limit.orders.iter().zip(all.limit.orders).all(|(h, a)| *h <= a));
    }
}

/// The portfolio: each order's limit implies (ε, share of δ), and the shares add up to no more than δ.
#[test]
fn rule_22_an_order_portfolio_spends_its_delta_once() {
    for (epsilon, delta) in BUDGETS {
        let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let limits = filter(Notion::Rdp, epsilon, delta, "0").limit.orders;
        let mut spent = 0.0;
        for (limit, order) in limits.into_iter().zip(ORDERS) {
            if order == f64::INFINITY {
                assert!(
                    (one(limit) - e).abs() <= 1e-12 * e,
                    "at order ∞ the divergence is ε, and there is no δ"
                );
            } else if limit > 0 {
                // δ of this order at its limit.
                spent += rdp::delta(order, one(limit).into(), e);
            }
        }
        assert!(spent <= d * (1.0 + 1e-9), "({epsilon}, {delta}): shares add up to {spent}");
        assert!(spent >= 0.85 * d, "({epsilon}, {delta}): {spent} is little");
        // Mutation: the whole δ at every order would spend it many times over.
        let whole =
            ORDERS.iter().filter(|a| a.is_finite() && e > rdp::epsilon(**a, Interval::from(0.0), d)).count();
        assert!(whole as f64 * d > 1.5 * d || e < 1.0);
    }
}

/// Adaptive, but within one order: an exact check that no set of charges admitted by the filter exceeds (ε, δ) when it was
/// fixed in advance, by the exact loss of randomised response.
#[test]
fn what_is_admitted_stays_within_epsilon_and_delta() {
    for (each, scale) in [(0.1f64, "10"), (0.5, "2"), (1.0, "1")] {
        for notion in Notion::ALL {
            let delta = if notion == Notion::Pure { "0" } else { "1e-6" };
            let budget = filter(notion, "8", delta, "0");
            let price = notion.price(&laplace(1, scale, 1)).unwrap();
            let fits = u32::try_from(budget.fits(Cost::default(), price)).unwrap();
            let exact = PrivacyLoss::repeated_response(each.into(), fits).profile(8.0 + 1e-9).lo();
            assert!(exact <= 1e-6 * (1.0 + 1e-9), "{notion:?} admits {fits} of {each}: δ = {exact}");
            assert!(fits >= 1, "{notion:?} admits none of {each}");
            // Sums decide alike, one by one.
            let mut spent = Cost::default();
            for _ in 0..fits {
                spent = budget.admit(spent, price).unwrap();
            }
            let refusal = budget.admit(spent, price).unwrap_err();
            assert!(!refusal.of_delta && refusal.needed > refusal.left, "{notion:?}: {refusal:?}");
            assert_eq!(budget.fits(spent, price), 0);
        }
    }
}

/// Few charges fit by ε itself, many by an order in the middle; the filter takes whichever holds.
#[test]
fn rdp_admits_by_any_order() {
    let few = filter(Notion::Rdp, "10", "1e-6", "0");
    let price = Notion::Rdp.price(&laplace(1, "1", 1)).unwrap();
    assert_eq!(few.fits(Cost::default(), price), 10);
    let many = Notion::Rdp.price(&laplace(1, "100", 1)).unwrap();
    assert!(few.fits(Cost::default(), many) > 5_000);
    // Gaussian noise closes the last order for good, and leaves the others.
    let noise = Notion::Rdp.price(&gaussian(1, "100", 1)).unwrap();
    assert_eq!(noise.orders[ORDERS.len() - 1], u128::MAX);
    let spent = few.admit(Cost::default(), noise).unwrap();
    assert!(few.fits(spent, price) < 10 && few.fits(spent, many) > 5_000);
    let (spent, limit) = few.reading(spent);
    assert!(spent < limit && limit > 0);
}

/// Mutation: a charge rounded down.
#[test]
fn a_charge_rounded_down_is_caught() {
    for (sensitivity, scale) in [(1u128, "3"), (7, "11"), (2, "0.7")] {
        let rate = Interval::from(1.0) / scale.parse::<f64>().unwrap();
        let width = Interval::from(sensitivity as f64);
        let price = Notion::Rdp.price(&laplace(sensitivity, scale, 3)).unwrap();
        for (units, order) in price.orders.into_iter().zip(ORDERS) {
            let exact = rdp::Curve::DiscreteLaplace { sensitivity: width, rate }.divergence(order) * 3.0;
            assert!(one(units) >= exact.lo() && one(units) <= exact.hi() * (1.0 + 1e-9), "at {order}");
        }
        let mu = gdp::of_pure((width * rate).lo());
        let square = Notion::Gdp.price(&laplace(sensitivity, scale, 3)).unwrap().loss;
        assert!(one(square) >= 3.0 * mu * mu * (1.0 - 1e-12));
    }
    // Thirds: exact sums, rounded up once.
    assert_eq!(Notion::Advanced.price(&laplace(1, "3", 2)).unwrap().loss, (2 * UNITS_PER_ONE).div_ceil(9));
    assert_eq!(Notion::Rdp.price(&laplace(1, "3", 2)).unwrap().orders[15], (2 * UNITS_PER_ONE).div_ceil(3));
}

fn big(n: u32, d: u32) -> BigRatio {
    BigRatio::new(BigUint::from(n), BigUint::from(d))
}

/// A guarantee costs what the same noise costs as an event, and each cell of the table is what it says.
#[test]
fn rule_21_guarantees_are_priced_by_the_table() {
    let pure = Guarantee::Pure { epsilon: ratio("0.5") };
    for notion in Notion::ALL {
        let (event, guarantee) = (notion.price(&laplace(1, "2", 3)), notion.price_of(&pure, 3, None));
        let (event, guarantee) = (event.unwrap(), guarantee.unwrap());
        assert!(event.loss.abs_diff(guarantee.loss) <= event.loss >> 40, "{notion:?}");
        let pairs = event.orders.iter().zip(guarantee.orders);
        assert!(pairs.clone().all(|(a, b)| a.abs_diff(b) <= a >> 40), "{notion:?}");
    }
    let range = Guarantee::BoundedRange { epsilon: ratio("1") };
    assert_eq!(Notion::Zcdp.price_of(&range, 1, None).unwrap().loss, UNITS_PER_ONE / 8);
    assert!((one(Notion::Rdp.price_of(&range, 1, None).unwrap().orders[1]) - 0.25).abs() < 1e-12);
    assert_eq!(Notion::Pure.price_of(&range, 2, None).unwrap().loss, 2 * UNITS_PER_ONE);
    let approximate = Guarantee::Approximate { epsilon: ratio("1"), delta: ratio("1e-9") };
    assert_eq!(Notion::Pure.price_of(&approximate, 1, None), Err(Unpriced::PrivateGroups));
    for notion in Notion::ALL.into_iter().filter(|n| *n != Notion::Pure) {
        assert_eq!(notion.price_of(&approximate, 2, None).unwrap().delta, UNITS_PER_ONE / 500_000_000);
    }
    let concentrated = Guarantee::Concentrated { rho: big(1, 8) };
    let normal = Guarantee::Gaussian { square: big(1, 4) };
    for notion in Notion::ALL {
        let priced = |g| notion.price_of(g, 1, Some(&ratio("1e-7"))).is_ok();
        assert_eq!(priced(&concentrated), matches!(rule(Kind::DiscreteGaussian, notion), Rule::Charged(_)));
        assert_eq!(priced(&normal), matches!(rule(Kind::RoundedGaussian, notion), Rule::Charged(_)));
    }
    assert_eq!(Notion::Zcdp.price_of(&normal, 1, None).unwrap().loss, UNITS_PER_ONE / 8);
    assert_eq!(Notion::Gdp.price_of(&normal, 4, None).unwrap().loss, UNITS_PER_ONE);
    // Analytic: without a δ′ there is no price; with one, ε′ is that of the profile.
    assert!(Notion::Approx.price_of(&normal, 1, None).is_err());
    let analytic = Notion::Approx.price_of(&normal, 1, Some(&ratio("1e-7"))).unwrap();
    assert_eq!(analytic.delta, UNITS_PER_ONE / 10_000_000);
    assert!(
        gdp::delta(0.5, one(analytic.loss)) <= 1e-7 && gdp::delta(0.5, one(analytic.loss) * 0.999) > 1e-7
    );
    let squared = Notion::Advanced.price_of(&normal, 1, Some(&ratio("1e-7"))).unwrap();
    assert!((one(squared.loss) / one(analytic.loss).powi(2) - 1.0).abs() < 1e-9);
}

/// Mutations: ε²/8 for permute-and-flip, and a continuous-Laplace price for discrete noise.
#[test]
fn rule_20_only_bounded_range_is_charged_as_such() {
    let rho = |g: Guarantee| one(Notion::Zcdp.price_of(&g, 1, None).unwrap().loss);
    let pure = rho(Guarantee::Pure { epsilon: ratio("1") });
    assert!(
        pure >= 0.255 && pure >= cdp::of_pure(1.0) * (1.0 - 1e-14) && pure > cdp::of_continuous_laplace(1.0)
    );
    assert!(rho(Guarantee::BoundedRange { epsilon: ratio("1") }) < 0.255);
}

/// Ledgers store costs as text, and read back the same.
#[test]
fn costs_survive_as_text() {
    let rdp = Cost { delta: 7, ..Notion::Rdp.price(&gaussian(2, "30", 3)).unwrap() };
    for cost in [Cost::default(), Cost::of_loss(12), Cost { delta: 3, ..Cost::of_loss(u128::MAX) }, rdp] {
        let read = Cost::from_text(&cost.loss_text(), &cost.delta.to_string());
        assert_eq!(read, Some(cost));
    }
    for bad in ["", "x", "1 2", "-1", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x"] {
        assert_eq!(Cost::from_text(bad, "0"), None, "{bad}");
    }
    let full = rdp.saturating_add(rdp);
    assert_eq!(full.orders[15], u128::MAX);
    assert_eq!(Cost::of_loss(u128::MAX).checked_add(Cost::of_loss(1)), None);
}

/// An envelope admits what was declared, to the last token, and nothing else.
#[test]
fn envelopes_count_declared_uses() {
    let mechanism = |c: &Charge| c.events[0].mechanism.clone();
    let (small, large) = (laplace(1, "10", 1), gaussian(1, "100", 1));
    let envelope = Envelope::new(vec![(mechanism(&small), 20), (mechanism(&large), 30)], 1e-6).unwrap();
    let (epsilon, delta) = envelope.guarantee();
    assert_eq!(delta, 1e-6);
    // Less than any filter would need for the same uses.
    let rho = 20.0 * cdp::of_pure(0.1) + 30.0 / 200.0;
    assert!(epsilon < cdp::epsilon(rho, 1e-6) && epsilon > gdp::epsilon((30.0f64 / 100.0).sqrt(), 1e-6));
    let mut spent = Tokens::default();
    for (charge, n) in [(&small, 20), (&large, 30)] {
        let price = envelope.price(charge).unwrap();
        for _ in 0..n {
            spent = envelope.admit(&spent, &price).unwrap();
        }
        assert_eq!(envelope.admit(&spent, &price), None);
    }
    let other = laplace(1, "9.999999", 1);
    assert!(matches!(envelope.price(&other), Err(Unpriced::Mechanism(_))), "parameters are those declared");
    let mut private = small.clone();
    private.selection_delta = ratio("1e-9");
    assert!(envelope.price(&private).is_err());
    let silent = laplace(1, "0", 1);
    assert!(Envelope::new(vec![(mechanism(&silent), 1)], 1e-6).is_err());
}

/// "Compose after the fact with PLD" has no way in: the two-step counterexample (see
/// `rule_pld_as_a_filter_is_unsound`) is refused by every filter at its second step.
#[test]
fn no_filter_admits_the_two_step_counterexample() {
    // Budget (1, 10^-6): RR(0.1), then RR(0.9000026…).
    let first = laplace(1, "10", 1);
    let second = Charge {
        events: vec![Event {
            mechanism: Mechanism::DiscreteLaplace {
                sensitivity: Sensitivity::of_one(1),
                scale: Ratio::new(10_000_000_000_000_000, 9_000_026_792_000_000),
            },
            times: 1,
        }],
        ..first.clone()
    };
    for notion in Notion::ALL.into_iter().filter(|n| *n != Notion::Pure) {
        let budget = filter(notion, "1", "1e-6", "0");
        let spent = budget.admit(Cost::default(), notion.price(&first).unwrap()).unwrap();
        assert!(budget.admit(spent, notion.price(&second).unwrap()).is_err(), "{notion:?}");
    }
}
