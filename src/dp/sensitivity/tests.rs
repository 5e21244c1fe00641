#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::{Charge, Envelope, Event, Mechanism, Notion, ORDERS, UNITS_PER_ONE, gdp};

fn laplace(sensitivity: Sensitivity, scale: Ratio) -> Charge {
    let mechanism = Mechanism::DiscreteLaplace { sensitivity, scale };
    let zero = Ratio::from_integer(0);
    Charge {
        epsilon: Ratio::from_integer(1),
        events: vec![Event { mechanism, times: 1 }],
        selection_delta: zero,
    }
}

/// The Rényi divergence of discrete Laplace noise on an integer that is shifted: by its sum, and by nothing that prices use.
fn divergence(shift: usize, b: f64, order: f64) -> f64 {
    let (q, reach) = ((-1.0 / b).exp(), 60 + (45.0 * b) as i64);
    let shift = shift as i64;
    let mass = |x: i64| -(x.abs() as f64) / b + ((1.0 - q) / (1.0 + q)).ln();
    let terms = |x: i64| order * mass(x) + (1.0 - order) * mass(x - shift);
    let top = (-reach..=reach + shift).map(terms).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (-reach..=reach + shift).map(|x| (terms(x) - top).exp()).sum();
    (sum.ln() + top) / (order - 1.0)
}

/// The most that Σ f(vᵢ) can be over whole numbers vᵢ of at most `linf` that add up to at most `l1`: all of them are looked at, by
/// what is best for each sum.
fn worst(linf: usize, l1: usize, f: impl Fn(usize) -> f64) -> f64 {
    let prices: Vec<f64> = (0..=linf).map(f).collect();
    let mut best = vec![0.0f64; l1 + 1];
    for sum in 1..=l1 {
        for part in 1..=linf.min(sum) {
            best[sum] = best[sum].max(best[sum - part] + prices[part]);
        }
    }
    best[l1]
}

const GRID: [(usize, usize); 7] = [(1, 6), (2, 6), (3, 7), (4, 6), (6, 6), (12, 30), (30, 30)];
const SCALES: [(u128, u128); 5] = [(1, 3), (1, 1), (3, 1), (10, 1), (40, 1)];

/// What is charged is not below what the worst vector costs within the norms, in any notion. Mutant for each notion whose price
/// grows faster than the change: l₁/l∞ uses of the least change that the l₁ norm had room for, which is what was charged once.
#[test]
fn rule_47_a_charge_is_that_of_the_worst_vector() {
    let mut caught = [0; 4];
    for (linf, l1) in GRID {
        for (n, d) in SCALES {
            let b = n as f64 / d as f64;
            let of = |linf: usize, l1: usize| {
                laplace(Sensitivity::in_all(l1 as u128, linf as u128), Ratio::new(n, d))
            };
            let charge = of(linf, l1);
            // As many uses as there are rows, each of one row.
            let by_rows = of(1, l1);
            let at = |notion: Notion, charge: &Charge| {
                notion.price(charge).unwrap().loss as f64 / UNITS_PER_ONE as f64
            };
            let (pure, epsilon) = (worst(linf, l1, |v| v as f64 / b), at(Notion::Pure, &charge));
            assert!((pure / epsilon - 1.0).abs() < 1e-12);
            let squares = worst(linf, l1, |v| (v as f64 / b).powi(2));
            let mu = worst(linf, l1, |v| gdp::of_pure(v as f64 / b).powi(2));
            for (i, (notion, least)) in
                [(Notion::Advanced, squares), (Notion::Gdp, mu)].into_iter().enumerate()
            {
                assert!(at(notion, &charge) >= least * (1.0 - 1e-12), "{notion:?} {linf} {l1} {b}");
                caught[i] += usize::from(at(notion, &by_rows) < least * 0.999);
            }
            let orders = [1.001, 1.5, 2.0, 4.0, 10.0, 80.0];
            for order in orders {
                let least = worst(linf, l1, |v| divergence(v, b, order));
                assert!(at(Notion::Zcdp, &charge) * order >= least * (1.0 - 1e-9), "{linf} {l1} {b} {order}");
                caught[2] += usize::from(at(Notion::Zcdp, &by_rows) * order < least * 0.999);
            }
            let (booked, other) =
                (Notion::Rdp.price(&charge).unwrap().orders, Notion::Rdp.price(&by_rows).unwrap().orders);
            for (i, order) in ORDERS.into_iter().enumerate().filter(|(_, order)| order.is_finite()) {
                let least = worst(linf, l1, |v| divergence(v, b, order));
                let price = |orders: [u128; ORDERS.len()]| orders[i] as f64 / UNITS_PER_ONE as f64;
                assert!(price(booked) >= least * (1.0 - 1e-9), "{linf} {l1} {b} {order}");
                caught[3] += usize::from(price(other) < least * 0.999);
            }
        }
    }
    assert!(
        caught.iter().all(|n| *n > 10),
        "the price of one row for each is seen to be too low: {caught:?}"
    );
}

/// f(x)/x does not fall for any price f that charges rest on, on a grid from small to large.
#[test]
fn rule_47_prices_grow_at_least_as_fast_as_the_change() {
    for (n, d) in SCALES.into_iter().chain([(1_000, 1), (1, 20)]) {
        let price = |shift: u128, notion: Notion| {
            notion.price(&laplace(Sensitivity::of_one(shift), Ratio::new(n, d)))
        };
        for shift in (1..60u128).chain([100, 1_000, 10_000]) {
            let next = shift + shift.div_ceil(10);
            for notion in [Notion::Advanced, Notion::Zcdp, Notion::Gdp] {
                // Beyond what a price can be, it is more than any limit.
                let of = |shift| price(shift, notion).map_or(f64::INFINITY, |p| p.loss as f64 / shift as f64);
                assert!(of(next) >= of(shift) * (1.0 - 1e-12), "{notion:?} {n}/{d} {shift}");
            }
            let (a, b) =
                (price(shift, Notion::Rdp).unwrap().orders, price(next, Notion::Rdp).unwrap().orders);
            for (a, b) in a.iter().zip(&b) {
                let (a, b) = (*a as f64 / shift as f64, *b as f64 / next as f64);
                assert!(b >= a * (1.0 - 1e-9), "{n}/{d} {shift}: {a} and {b}");
            }
        }
    }
}

/// The extreme points of the norms are not the worst: two shifts of 3b cost more than one of 4b and one of 2b.
#[test]
fn rule_47_extreme_points_are_not_the_worst() {
    let rho = |x: f64| x * (x / 2.0).tanh();
    let (extreme, even) = (rho(4.0) + rho(2.0), 2.0 * rho(3.0));
    assert!((extreme - 5.379).abs() < 1e-3 && (even - 5.431).abs() < 1e-3);
    let booked = Notion::Zcdp.price(&laplace(Sensitivity::in_all(6, 4), Ratio::from_integer(1))).unwrap();
    assert!((booked.loss as f64 / UNITS_PER_ONE as f64 - 5.784).abs() < 1e-3);
}

/// What Laplace noise over all groups costs, where one row counts in each of 500 groups, or all 500 in one (the numbers of a
/// session that was sold the one for the price of the other).
#[test]
fn rule_47_one_use_of_all_rows_is_not_many_of_one() {
    let all = Ratio::from_integer(500);
    let each = Notion::Zcdp.price(&laplace(Sensitivity::in_all(500, 1), all)).unwrap().loss;
    let one = Notion::Zcdp.price(&laplace(Sensitivity::in_all(500, 500), all)).unwrap().loss;
    let float = |n: u128| n as f64 / UNITS_PER_ONE as f64;
    assert!((float(each) - 0.001).abs() < 1e-6 && (float(one) - 0.4621).abs() < 1e-4);
}

/// Whatever vector a unit has, the tokens that are taken for it dominate it: hockey-stick divergences of convolved losses.
#[test]
fn rule_47_tokens_dominate_every_vector() {
    // P(loss = l/b) for the loss of a shift, between -shift and shift.
    let loss = |shift: i64, b: f64| -> Vec<(i64, f64)> {
        let q = (-1.0 / b).exp();
        let between = (1..shift).map(|x| (shift - 2 * x, (1.0 - q) / (1.0 + q) * q.powi(x as i32)));
        let ends = [(shift, 1.0 / (1.0 + q)), (-shift, q.powi(shift as i32) / (1.0 + q))];
        between.chain(ends).collect()
    };
    let convolved = |shifts: &[i64], b: f64| {
        let mut all = std::collections::BTreeMap::from([(0, 1.0)]);
        for shift in shifts {
            let mut next = std::collections::BTreeMap::new();
            for (a, p) in &all {
                for (l, w) in loss(*shift, b) {
                    *next.entry(a + l).or_insert(0.0) += p * w;
                }
            }
            all = next;
        }
        all
    };
    let delta = |of: &std::collections::BTreeMap<i64, f64>, at: f64, b: f64| -> f64 {
        of.iter().map(|(l, p)| p * (1.0 - ((at - *l as f64) / b).exp()).max(0.0)).sum()
    };
    for b in [0.4, 1.0, 5.0, 40.0] {
        for (linf, vectors) in [
            (3i64, vec![vec![3, 3], vec![2, 2, 2], vec![1, 2, 3], vec![1; 6], vec![3, 2], vec![1, 1, 2, 2]]),
            (6, vec![vec![6], vec![3, 3], vec![5, 1], vec![1; 6], vec![2, 2, 1]]),
        ] {
            let tokens = convolved(&vec![linf; (6 / linf) as usize], b);
            for v in vectors {
                let real = convolved(&v, b);
                for at in -26..=26 {
                    let at = f64::from(at) / 2.0;
                    assert!(delta(&real, at, b) <= delta(&tokens, at, b) + 1e-12, "{v:?} {b} {at}");
                }
            }
        }
    }
    // So they are what is taken: 6 of one row, 2 of three, 1 of six, and of what is larger than any class none.
    let class = |linf: u128| {
        let sensitivity = Sensitivity::of_one(linf);
        (Mechanism::DiscreteLaplace { sensitivity, scale: Ratio::from_integer(40) }, 100)
    };
    let taken =
        |class, of| Envelope::new(vec![class], 1e-6).unwrap().price(&laplace(of, Ratio::from_integer(40)));
    let tokens = |class, of| taken(class, of).unwrap().counts()[0];
    assert_eq!(tokens(class(1), Sensitivity::in_all(6, 1)), 6);
    assert_eq!(tokens(class(3), Sensitivity::in_all(6, 3)), 2);
    assert_eq!(tokens(class(6), Sensitivity::in_all(6, 6)), 1);
    assert_eq!(tokens(class(4), Sensitivity::in_all(6, 3)), 2);
    assert!(taken(class(1), Sensitivity::in_all(6, 6)).is_err(), "six in one group are not six of one");
    // Squares alone say no number of groups.
    let class = Mechanism::DiscreteGaussian {
        sensitivity: Sensitivity::of_one(3),
        variance: Ratio::from_integer(90),
    };
    let gaussian = |sensitivity| Charge {
        events: vec![Event {
            mechanism: Mechanism::DiscreteGaussian { sensitivity, variance: Ratio::from_integer(90) },
            times: 1,
        }],
        ..laplace(Sensitivity::of_one(1), Ratio::from_integer(1))
    };
    let envelope = Envelope::new(vec![(class, 100)], 1e-6).unwrap();
    assert_eq!(envelope.price(&gaussian(Sensitivity::in_each(3, 5))).unwrap().counts(), [5]);
    assert!(envelope.price(&gaussian(Sensitivity::in_squares(9))).is_err());
}

/// Norms hold for each vector of whole numbers that they are said of.
#[test]
fn norms_bound_what_they_are_of() {
    let fits = |v: &[u128], s: Sensitivity| {
        let squares: u128 = v.iter().map(|x| x * x).sum();
        v.iter().all(|x| *x <= s.linf) && v.iter().sum::<u128>() <= s.l1 && squares <= s.l2_squared
    };
    assert!(fits(&[7, 7, 7], Sensitivity::in_each(7, 3)) && !fits(&[7, 7, 7, 1], Sensitivity::in_each(7, 3)));
    for v in [vec![4, 4, 2], vec![3, 3, 3, 1], vec![1; 10]] {
        assert!(fits(&v, Sensitivity::in_all(10, 4)), "{v:?}");
    }
    for v in [vec![5], vec![3, 4], vec![1; 25]] {
        assert!(fits(&v, Sensitivity::in_squares(25)), "{v:?}");
    }
    assert!(
        fits(&[15], Sensitivity::in_squares(25).times(3))
            && fits(&[9, 12], Sensitivity::in_squares(25).times(3))
    );
    assert!(Sensitivity::in_each(u128::MAX, 2).l1 == u128::MAX);
    let huge = laplace(Sensitivity::in_each(u128::MAX, 2), Ratio::from_integer(1));
    assert!(Notion::Pure.price(&huge).is_err());
}
