#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

fn golden(first: &str) -> Vec<Vec<&'static str>> {
    let rows = include_str!("golden.txt").lines().map(|line| line.split(' ').collect::<Vec<_>>());
    rows.filter(|row| row[0] == first).collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The bound is above the exact divergence, and near it. Mutation: as if reports were half as telling, it would be below.
#[test]
fn deltas_are_above_exact_sums_and_near() {
    let rows = golden("delta");
    assert_eq!(rows.len(), 8);
    for row in rows {
        let (n, local): (u64, Ratio) = (row[1].parse().unwrap(), row[2].parse().unwrap());
        let at: Ratio = row[3].parse().unwrap();
        let at = *at.numer() as f64 / *at.denom() as f64;
        let (ours, exact) = (delta(n, &local, at), number(row[4]));
        assert!(ours >= exact && ours <= exact * 1.05, "{row:?}: {ours}");
        assert!(delta(n, &(local / 2), at) < exact, "{row:?}");
        let back = epsilon(n, &local, exact);
        assert!(back >= at && back <= at * 1.03 + 1e-6, "{row:?}: {back}");
    }
}

#[test]
fn closed_forms_are_those_of_the_theorem() {
    let rows = golden("closed");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let (n, local): (u64, Ratio) = (row[1].parse().unwrap(), row[2].parse().unwrap());
        let (ours, exact) = (closed_form(n, &local, number(row[3])).unwrap(), number(row[4]));
        assert!(ours >= exact && ours <= exact * (1.0 + 1e-12), "{row:?}: {ours}");
        // The numerical bound is tighter.
        assert!(epsilon(n, &local, number(row[3])) < ours, "{row:?}");
    }
    // ε₀ is too large for so few.
    assert_eq!(closed_form(1000, &Ratio::from_integer(3), 1e-6), None);
    assert_eq!(closed_form(1000, &Ratio::from_integer(1), 0.0), None);
    assert_eq!(closed_form(0, &Ratio::from_integer(1), 0.1), None);
}

/// δ at ε between two laws of counts, in either direction.
fn apart(a: &[f64], b: &[f64], epsilon: f64) -> f64 {
    let one = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - epsilon.exp() * b).max(0.0)).sum()
    };
    one(a, b).max(one(b, a))
}

/// How many ones n reports have, of which each is one with its own probability.
fn ones(each: &[f64]) -> Vec<f64> {
    each.iter().fold(vec![1.0], |law, p| {
        let mut next = vec![0.0; law.len() + 1];
        for (k, mass) in law.iter().enumerate() {
            next[k] += mass * (1.0 - p);
            next[k + 1] += mass * p;
        }
        next
    })
}

/// What shuffled binary responses really tell, whatever the others say, is below the bound; and so is what one bit of a unary
/// encoding tells.
#[test]
fn real_randomisers_tell_less() {
    for (n, local) in
        [(4u64, Ratio::new(1, 1)), (25, Ratio::new(1, 2)), (25, Ratio::new(3, 1)), (400, Ratio::new(2, 1))]
    {
        let e0 = *local.numer() as f64 / *local.denom() as f64;
        let p = e0.exp() / (e0.exp() + 1.0);
        for others in [0, n / 2, n - 1] {
            let law = |own: f64| {
                let mut each: Vec<f64> = (1..n).map(|i| if i <= others { p } else { 1.0 - p }).collect();
                each.push(own);
                ones(&each)
            };
            for part in [0.0, 0.1, 0.3, 0.6, 0.9] {
                let truth = apart(&law(p), &law(1.0 - p), part * e0);
                let bound = delta(n, &local, part * e0);
                assert!(truth <= bound + 1e-15, "{n} {local} {others} {part}: {truth} above {bound}");
            }
        }
    }
}

#[test]
fn more_reports_and_less_epsilon_hide_more() {
    let of = |n, e: u128| epsilon(n, &Ratio::new(e, 4), 1e-8);
    assert!(of(100, 4) <= 1.0 && of(10_000, 4) < of(1000, 4) && of(100_000, 4) < of(20_000, 4));
    assert!(of(100_000, 2) < of(100_000, 4) && of(100_000, 4) < of(100_000, 16));
    let strictly = |n| delta(n, &Ratio::from_integer(2), 0.5);
    assert!(strictly(1000) < strictly(100) && strictly(100) < strictly(10));
}

/// Published in the paper's figure: at n = 10^4 and δ = 10^-6, ε₀ = 1 ends below 0.1, which the closed form cannot show.
#[test]
fn the_numerical_bound_is_several_times_better_than_the_closed_form() {
    let one = Ratio::from_integer(1);
    let (tight, closed) = (epsilon(10_000, &one, 1e-6), closed_form(10_000, &one, 1e-6).unwrap());
    assert!(tight < 0.1 && closed > 2.0 * tight, "{tight} and {closed}");
}

#[test]
fn edges() {
    let one = Ratio::from_integer(1);
    assert!((epsilon(0, &one, 1e-6) - 1.0).abs() < 1e-12 && (epsilon(1, &one, 1e-6) - 1.0).abs() < 1e-12);
    assert_eq!((delta(1, &one, 0.5), delta(1, &one, 1.1), delta(100, &one, 1.1)), (1.0, 0.0, 0.0));
    // Nobody hides an ε₀ like this.
    assert!(epsilon(1000, &Ratio::from_integer(100), 1e-6) > 99.9);
    assert!(epsilon(1000, &Ratio::from_integer(1000), 1e-6) >= 1000.0);
    // More than are counted on.
    assert!(delta(u64::MAX, &one, 0.01) <= delta(10_000_000, &one, 0.01));
    assert!(epsilon(1000, &one, 0.0) > 0.99);
}

/// Binomial tails against sums in floats, on both sides of where coefficients are multiplied out.
#[test]
fn tails_of_coins_are_enclosed() {
    for c in [1u64, 2, 7, 100, 999, 1000, 1001, 5000] {
        for k in [0, 1, c / 3, c / 2, c / 2 + 1, c / 2 + c / 20, c] {
            let k = k.min(c);
            let logs: f64 = (1..=c).map(|i| (i as f64).ln()).sum::<f64>()
                - (1..=k).map(|i| (i as f64).ln()).sum::<f64>()
                - (1..=c - k).map(|i| (i as f64).ln()).sum::<f64>();
            let expected = (logs - c as f64 * 2f64.ln()).exp();
            let ours = half(c, k);
            assert!(ours.lo() <= expected * (1.0 + 1e-9) && ours.hi() >= expected * (1.0 - 1e-9), "{c} {k}");
            assert!(ours.hi() - ours.lo() <= ours.hi() * 0.004 || expected < 1e-300, "{c} {k} is wide");
        }
        let (upper, lower) = (half_from(c, c / 2 + 1), half_from(c, c - c / 2));
        // P(B > c/2) and P(B >= c/2) add up to one.
        let sum = upper + lower;
        assert!(
            sum.lo() <= 1.0 + 1e-9 && sum.hi() >= 1.0 - 1e-9 && sum.hi() - sum.lo() < 1e-8,
            "{c}: {sum:?}"
        );
    }
}

/// Every order of two, three and four by enumeration: none is likelier than another.
#[test]
fn all_orders_are_as_likely() {
    for (n, orders, depth) in [(2u32, 2usize, 6), (3, 6, 16), (4, 24, 18)] {
        let (masses, open) = crate::decision_tree::enumerate(depth, |rng| {
            let mut items: Vec<u32> = (0..n).collect();
            permute(&mut items, rng)?;
            Ok(items)
        });
        assert_eq!(masses.len(), orders);
        let whole = (1u64 << depth) as f64;
        for (order, mass) in &masses {
            let (low, high) = (*mass as f64 / whole, (*mass + open) as f64 / whole);
            assert!(low <= 1.0 / orders as f64 && high >= 1.0 / orders as f64, "{order:?}");
            assert_eq!(mass, masses.values().next().unwrap(), "{order:?}");
        }
    }
    let mut none: [u8; 0] = [];
    permute(&mut none, &mut crate::testing::SeededRng::new(1)).unwrap();
}
