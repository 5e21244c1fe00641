#![allow(clippy::unwrap_used)]
use super::*;
use dp::{Distribution, Noise, Notion, Sensitivity};
use kernel::Part;

fn proof(parts: Vec<Part>, l0: u64) -> Proof {
    Proof { l0, weights: kernel::Weights::Units, parts, public: true, selects: false, keys: 1 }
}

fn spec(sensitivity: Sensitivity, scale: u128) -> Spec {
    let distribution = Distribution::Laplace { scale: Ratio::from_integer(scale) };
    Spec { l0: 1, aggregates: vec![Noise::new(sensitivity, distribution)], ..Spec::default() }
}

/// What is booked is what the certificate costs, whatever was planned: a plan that says that a unit has one row in each of 500
/// groups books nothing for a text in which all 500 may be in one. Mutation: `covers` that compares l₁ alone.
#[test]
fn rule_47_what_is_booked_is_what_was_proven() {
    let one = Ratio::from_integer(1);
    let planned = spec(Sensitivity::in_all(500, 1), 500);
    let all = proof(vec![Part::in_all(500)], u64::MAX);
    assert!(!covers(&all, &planned, true));
    assert_eq!(Proven::of(&one, &[(all.clone(), &planned)]), Err(DpError::Mispriced));
    // Planned as what it is, it costs that.
    let rho = |proof: &Proof, spec: &Spec| {
        Notion::Zcdp.price(Proven::of(&one, &[(proof.clone(), spec)]).unwrap().charge()).unwrap().loss
    };
    let honest = spec(Sensitivity::in_all(500, 500), 500);
    assert!(rho(&all, &honest) > 400 * rho(&proof(vec![in_both(500, 1)], u64::MAX), &planned));
    // And where less was proven than planned, less is booked.
    assert_eq!(
        rho(&proof(vec![in_both(500, 1)], u64::MAX), &honest),
        rho(&proof(vec![in_both(500, 1)], u64::MAX), &planned)
    );
}

/// The greatest are chosen by what a unit's rows raise in each group, or not at all. Mutation: `covers` that does not look.
#[test]
fn rule_49_a_choice_is_of_what_rises() {
    let one = Ratio::from_integer(1);
    let spec = Spec::top(&one, 2, 3, dp::quantile::Selector::Exponential).unwrap();
    let of = |rises| proof(vec![Part::in_each(3, None).rising(rises)], u64::MAX);
    assert!(Proven::of(&one, &[(of(true), &spec)]).is_ok());
    assert_eq!(Proven::of(&one, &[(of(false), &spec)]), Err(DpError::Mispriced));
}

/// A part whose norms nobody knows has no price.
#[test]
fn rule_47_norms_that_nothing_bounds_have_no_price() {
    let one = Ratio::from_integer(1);
    let unbounded = Sensitivity { groups: u64::MAX, linf: 1, l1: u128::MAX, l2_squared: u128::MAX };
    let part = Part { linf: 1, l1: None, l2_squared: None, rises: false };
    let charge = Proven::of(&one, &[(proof(vec![part], u64::MAX), &spec(unbounded, 500))]);
    assert!(charge.is_err(), "{charge:?}");
}

/// Groups that a unit touches are those that were proven, where they are selected.
#[test]
fn rule_47_a_selection_is_charged_for_the_groups_that_were_proven() {
    let (one, delta) = (Ratio::from_integer(1), Ratio::new(1, 1_000_000));
    let spec = Spec::laplace(&one, 8, &[], Some(&delta)).unwrap();
    let of = |l0| Proof { selects: true, public: false, ..proof(Vec::new(), l0) };
    let price = |l0| {
        let charge = Proven::of(&one, &[(of(l0), &spec)]);
        charge.map(|c| Notion::Zcdp.price(c.charge()).unwrap().loss)
    };
    assert!(price(4).unwrap() < price(8).unwrap());
    assert_eq!(price(9), Err(DpError::Mispriced), "the threshold is for 8");
}

/// A part that changes by at most `l1` in all groups together, and by at most `linf` in each.
fn in_both(l1: u128, linf: u128) -> Part {
    Part { linf, l2_squared: Some(linf * l1), ..Part::in_all(l1) }
}
