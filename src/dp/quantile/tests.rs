#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::many::Part;
use super::selector::factor;
use super::*;
use crate::testing::SeededRng;
use crate::{Entropy, EntropyError, Guarantee, Ratio};
use std::collections::BTreeMap;

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

/// The exponential mechanism's probabilities.
fn exponential(scores: &[i64], factor: &Ratio) -> Vec<f64> {
    let best = *scores.iter().max().unwrap();
    let mass: Vec<f64> = scores.iter().map(|s| (float(factor) * (s - best) as f64).exp()).collect();
    let total: f64 = mass.iter().sum();
    mass.iter().map(|m| m / total).collect()
}

/// The least and the greatest log ratio.
fn range(p: &[f64], q: &[f64]) -> (f64, f64) {
    let all = p.iter().zip(q).map(|(a, b)| (a / b).ln());
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)))
}

fn ranks(mass: &[u64]) -> Ranks {
    Ranks::from_histogram(mass.to_vec()).unwrap()
}

/// All histograms of at most `rows` rows on `points` points.
fn histograms(points: usize, rows: u64) -> Vec<Vec<u64>> {
    (0..points).fold(vec![vec![]], |done, _| {
        done.iter()
            .flat_map(|v: &Vec<u64>| {
                let left = rows - v.iter().sum::<u64>();
                (0..=left).map(move |m| v.iter().copied().chain([m]).collect())
            })
            .collect()
    })
}

/// Every neighbour pair on four points: loss within ±ε, range within ε, and both nearly reached.
fn audit(weight: u32, scores_of: impl Fn(&Ranks) -> (Vec<i64>, Ratio)) -> (f64, f64) {
    let (mut loss, mut width) = (0.0f64, 0.0f64);
    for here in histograms(4, 6) {
        for unit in histograms(4, weight.into()) {
            let there: Vec<u64> = here.iter().zip(&unit).map(|(a, b)| a + b).collect();
            let of = |mass: &[u64]| {
                let (scores, factor) = scores_of(&ranks(mass));
                exponential(&scores, &factor)
            };
            let (low, high) = range(&of(&here), &of(&there));
            loss = loss.max(high.max(-low));
            width = width.max(high - low);
        }
    }
    (loss, width)
}

#[test]
fn every_neighbour_is_within_epsilon_and_bounded_range() {
    let epsilon = Ratio::new(3, 2);
    for weight in [1u32, 3] {
        for (p, r) in [(1u128, 2u128), (1, 4), (9, 10), (0, 1), (1, 1)] {
            let q = Quantile::new(&Ratio::new(p, r), weight, &epsilon, Selector::Exponential).unwrap();
            let (loss, width) = audit(weight, |ranks| (q.scores(ranks), q.factor));
            assert!(loss <= 1.5 + 1e-9 && width <= 1.5 + 1e-9, "{p}/{r}, w = {weight}: {loss}, {width}");
            assert!(width > 0.7, "{p}/{r}, w = {weight}: {width} is far from ε");
        }
        for (p, r, side, beta) in [
            (1u128, 2u128, Side::Below, 0.9),
            (1, 2, Side::Above, 0.9),
            (1, 4, Side::Below, 0.5),
            (9, 10, Side::Above, 0.99),
        ] {
            let grid = (4, beta);
            let end =
                Bound::new(&Ratio::new(p, r), side, grid, weight, &epsilon, Selector::Exponential).unwrap();
            let (loss, width) = audit(weight, |ranks| (end.scores(ranks), end.of.factor));
            assert!(loss <= 1.5 + 1e-9 && width <= 1.5 + 1e-9, "{end:?}: {loss}, {width}");
            assert_eq!(end.guarantee(), Guarantee::BoundedRange { epsilon });
        }
        for extreme in [
            Extreme::least(2, weight, &epsilon, Selector::Exponential).unwrap(),
            Extreme::greatest(2, weight, &epsilon, Selector::Exponential).unwrap(),
        ] {
            let (loss, width) = audit(weight, |ranks| (extreme.scores(ranks), extreme.factor));
            assert!(loss <= 1.5 + 1e-9 && width <= 1.5 + 1e-9, "{extreme:?}: {loss}, {width}");
            assert_eq!(extreme.guarantee(), Guarantee::BoundedRange { epsilon });
        }
    }
}

/// Mutations: the median's sensitivity for another quantile, and a unit's weight forgotten.
#[test]
fn a_sensitivity_too_small_for_a_quantile_is_caught() {
    let epsilon = Ratio::from_integer(1);
    let right = Quantile::new(&Ratio::new(9, 10), 1, &epsilon, Selector::Exponential).unwrap();
    // 1/2 in units of 1/10.
    let median = factor(&epsilon, 5).unwrap();
    let (loss, width) = audit(1, |ranks| (right.scores(ranks), median));
    assert!(loss.max(width) > 1.1, "{loss}, {width}");
    let (loss, width) = audit(3, |ranks| (right.scores(ranks), right.factor));
    assert!(loss.max(width) > 1.5, "{loss}, {width}");
}

/// Mutation: ε²/8 for permute-and-flip (its numbers are in `rule_20_permute_and_flip_is_not_bounded_range`).
#[test]
fn rule_20_only_the_exponential_mechanism_is_charged_as_bounded_range() {
    let (half, epsilon) = (Ratio::new(1, 2), Ratio::from_integer(1));
    let by = |selector| Quantile::new(&half, 1, &epsilon, selector).unwrap();
    assert_eq!(by(Selector::Exponential).guarantee(), Guarantee::BoundedRange { epsilon });
    assert_eq!(by(Selector::PermuteAndFlip).guarantee(), Guarantee::Pure { epsilon });
    // The case of the rule, by this very code: ranks 4 and 6 of 10, and one row more below.
    let (before, after) = (
        by(Selector::PermuteAndFlip).scores(&ranks(&[4, 2, 4])),
        by(Selector::PermuteAndFlip).scores(&ranks(&[5, 2, 4])),
    );
    assert_eq!((before[1], after[1]), (0, 0));
    assert!((before[0] - before[2], after[0] - after[2]) == (0, 2), "{before:?} {after:?}");
}

/// The golden cases: intervals between data points, as cells of a grid.
#[test]
fn probabilities_are_those_of_the_golden_table() {
    // Rows, q, ε, and per interval its end and its probability.
    type Case<'a> = (&'a [u64], Ratio, Ratio, &'a [(usize, f64)]);
    let cases: [Case; 2] = [
        (
            &[1, 2, 5],
            Ratio::new(1, 2),
            Ratio::new(1, 2),
            &[
                (1, 0.079_397_310_370_508_5),
                (2, 0.130_904_034_444_237_23),
                (5, 0.392_712_103_332_711_7),
                (10, 0.396_986_551_852_542_5),
            ],
        ),
        (
            &[3, 3, 7, 9],
            Ratio::new(1, 4),
            Ratio::new(3, 2),
            &[
                (3, 0.381_141_419_078_382_56),
                (7, 0.508_188_558_776_504_7),
                (9, 0.093_476_061_506_210_61),
                (10, 0.017_193_960_634_906_066),
            ],
        ),
    ];
    for (data, q, epsilon, expected) in cases {
        // Between the cells 0..10 there is a point for each row; rows have a place of their own, which cells do not.
        let mut mass = Vec::new();
        let mut cells = Vec::new();
        for cell in 0..10u64 {
            for x in data.iter().filter(|x| **x == cell) {
                mass.push(1);
                cells.push((None, *x));
            }
            mass.push(0);
            cells.push((Some(cell), cell));
        }
        let quantile = Quantile::new(&q, 1, &epsilon, Selector::Exponential).unwrap();
        let scores = quantile.scores(&ranks(&mass));
        let open: Vec<i64> =
            scores.iter().zip(&cells).filter(|(_, c)| c.0.is_some()).map(|(s, _)| *s).collect();
        let p = exponential(&open, &quantile.factor);
        let mut from = 0;
        for (to, golden) in expected {
            let sum: f64 = p[from..*to].iter().sum();
            assert!((sum / golden - 1.0).abs() < 1e-9, "{from}..{to}: {sum} against {golden}");
            from = *to;
        }
    }
}

/// The exact distribution of several quantiles, by the parts and scores of the product.
fn distribution(quantiles: &Quantiles, mass: &[u64]) -> BTreeMap<Vec<usize>, f64> {
    fn visit(
        q: &Quantiles,
        mut parts: Vec<Part>,
        chosen: Vec<usize>,
        p: f64,
        out: &mut BTreeMap<Vec<usize>, f64>,
    ) {
        let Some(part) = parts.pop() else {
            *out.entry(chosen).or_insert(0.0) += p;
            return;
        };
        let copy = |p: &Part| Part { mass: p.mass.clone(), ..*p };
        let Some((middle, scores, factor)) = q.question(&part) else {
            return visit(q, parts, chosen, p, out);
        };
        for (place, share) in exponential(&scores, &factor).into_iter().enumerate() {
            let mut chosen = chosen.clone();
            chosen[middle] = part.start + place;
            let mut parts: Vec<Part> = parts.iter().map(copy).collect();
            parts.extend(q.divide(&part, middle, place));
            visit(q, parts, chosen, p * share, out);
        }
    }
    let mut out = BTreeMap::new();
    visit(quantiles, vec![quantiles.whole(&ranks(mass))], vec![0; quantiles.ranks.len()], 1.0, &mut out);
    out
}

/// Both parts of the second level together, whatever the first chose: within the level's ε. Mutation: rows at the dividing
/// point that count whole in both parts are caught here.
#[test]
fn the_parts_of_a_level_share_its_epsilon() {
    let quarters = [Ratio::new(1, 4), Ratio::new(1, 2), Ratio::new(3, 4)];
    let q = Quantiles::new(&quarters, 1, &Ratio::from_integer(2), Selector::Exponential).unwrap();
    let parts = |mass: &[u64], place: usize| {
        let whole = q.whole(&ranks(mass));
        let (middle, ..) = q.question(&whole).unwrap();
        q.divide(&whole, middle, place).map(|part| {
            let (_, scores, factor) = q.question(&part).unwrap();
            exponential(&scores, &factor)
        })
    };
    let mut worst = 0.0f64;
    for here in histograms(4, 6) {
        for (place, unit) in (0..4).flat_map(|place| (0..4).map(move |unit| (place, unit))) {
            let mut there = here.clone();
            there[unit] += 1;
            let pairs = parts(&here, place).into_iter().zip(parts(&there, place));
            let loss: f64 = pairs.map(|(p, q)| range(&p, &q)).map(|(low, high)| high.max(-low)).sum();
            worst = worst.max(loss);
        }
    }
    assert!(worst <= 1.0 + 1e-9 && worst > 0.6, "{worst}");
}

/// Three quantiles on two levels: every outcome is within ε for all neighbours.
#[test]
fn many_quantiles_are_within_epsilon() {
    let epsilon = Ratio::from_integer(2);
    let quarters = [Ratio::new(1, 4), Ratio::new(1, 2), Ratio::new(3, 4)];
    for weight in [1u32, 2] {
        let q = Quantiles::new(&quarters, weight, &epsilon, Selector::Exponential).unwrap();
        assert_eq!((q.levels(), q.level), (2, Ratio::from_integer(1)));
        let mut worst = 0.0f64;
        for here in histograms(4, 4) {
            let p = distribution(&q, &here);
            assert!((p.values().sum::<f64>() - 1.0).abs() < 1e-9);
            for unit in histograms(4, weight.into()) {
                let there: Vec<u64> = here.iter().zip(&unit).map(|(a, b)| a + b).collect();
                for (key, b) in distribution(&q, &there) {
                    worst = worst.max((p[&key] / b).ln().abs());
                }
            }
        }
        assert!(worst <= 2.0 + 1e-9, "w = {weight}: {worst}");
        assert!(worst > 1.0, "w = {weight}: {worst}, one level alone would cover it");
    }
}

#[test]
fn many_quantiles_are_near_and_in_order() {
    let tenths: Vec<Ratio> = (1..10).map(|i| Ratio::new(i, 10)).collect();
    let mut rng = SeededRng::new(6);
    // 20 rows at each of 100 points.
    let data = ranks(&vec![20; 100]);
    for selector in [Selector::Exponential, Selector::PermuteAndFlip] {
        let q = Quantiles::new(&tenths, 1, &Ratio::from_integer(2), selector).unwrap();
        assert_eq!(q.levels(), 4);
        let chosen = q.choose(&data, &mut rng).unwrap();
        assert!(chosen.windows(2).all(|w| w[0] <= w[1]), "{chosen:?}");
        for (i, place) in chosen.iter().enumerate() {
            assert!(place.abs_diff(10 * (i + 1)) <= 6, "{chosen:?}");
        }
        // A value that all rows share is every quantile.
        let mut same = vec![0; 50];
        same[17] = 3000;
        assert_eq!(q.choose(&ranks(&same), &mut rng).unwrap(), vec![17; 9]);
    }
}

/// The product's draws have the enumerated distribution.
#[test]
fn many_quantiles_have_the_exact_probabilities() {
    let thirds = [Ratio::new(1, 3), Ratio::new(2, 3)];
    let q = Quantiles::new(&thirds, 1, &Ratio::from_integer(3), Selector::Exponential).unwrap();
    let mass = [1, 4, 0, 2];
    let expected = distribution(&q, &mass);
    let mut rng = SeededRng::new(2);
    let rounds = 8000;
    let mut counts: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for _ in 0..rounds {
        *counts.entry(q.choose(&ranks(&mass), &mut rng).unwrap()).or_default() += 1.0;
    }
    for (key, p) in expected {
        let (n, seen) = (p * f64::from(rounds), counts.get(&key).copied().unwrap_or_default());
        assert!((seen - n).abs() <= 5.0 * n.sqrt() + 2.0, "{key:?}: {seen} against {n}");
    }
}

#[test]
fn extremes_are_near_the_ends() {
    let mut rng = SeededRng::new(9);
    let epsilon = Ratio::from_integer(1);
    let mut mass = vec![0; 200];
    mass[40..160].iter_mut().for_each(|m| *m = 10);
    let t = inset(200, 1, &epsilon, 0.01);
    assert_eq!(t, 20);
    for selector in [Selector::Exponential, Selector::PermuteAndFlip] {
        let least = Extreme::least(t, 1, &epsilon, selector).unwrap();
        let greatest = Extreme::greatest(t, 1, &epsilon, selector).unwrap();
        for _ in 0..20 {
            let (low, high) = (
                least.choose(&ranks(&mass), &mut rng).unwrap(),
                greatest.choose(&ranks(&mass), &mut rng).unwrap(),
            );
            assert!((38..48).contains(&low) && (152..162).contains(&high), "{low} {high}");
        }
    }
    // A few rows only: the median, which is in the data.
    let few = ranks(&[0, 0, 3, 0, 0]);
    let sure = Extreme::greatest(1000, 1, &Ratio::from_integer(100), Selector::Exponential).unwrap();
    assert_eq!(sure.choose(&few, &mut rng).unwrap(), 2);
}

struct Counting(SeededRng, usize);

impl Entropy for Counting {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// The exponential mechanism draws the same random words whatever the rows are.
#[test]
fn the_cost_of_a_quantile_does_not_depend_on_the_rows() {
    let q = Quantile::new(&Ratio::new(1, 2), 1, &Ratio::new(1, 10), Selector::Exponential).unwrap();
    for seed in 0..50 {
        let words = |mass: &[u64]| {
            let mut rng = Counting(SeededRng::new(seed), 0);
            q.choose(&ranks(mass), &mut rng).unwrap();
            rng.1
        };
        let all = [vec![0; 8], vec![1; 8], vec![u64::MAX; 8], vec![9, 0, 0, 1, 7, 0, 0, 1]];
        assert!(all.iter().all(|mass| words(mass) == 2));
    }
}

#[test]
fn ranks_at_the_edge_do_not_overflow() {
    let mut rng = SeededRng::new(3);
    let large = ranks(&[u64::MAX, u64::MAX, u64::MAX]);
    let q = Quantile::new(&Ratio::new(1, 2), u32::MAX, &Ratio::from_integer(1000), Selector::Exponential)
        .unwrap();
    assert!(q.choose(&large, &mut rng).unwrap() < 3);
    let m = Quantiles::new(
        &[Ratio::new(1, 3), Ratio::new(1, 2)],
        1,
        &Ratio::from_integer(1),
        Selector::Exponential,
    );
    assert!(m.unwrap().choose(&large, &mut rng).unwrap().iter().all(|i| *i < 3));
    let cumulative = Ranks::from_cumulative(&[3, 2, 5, 5]).unwrap();
    assert_eq!(cumulative.mass, [3, 0, 2, 0]);
    assert_eq!(cumulative.points(), 4);
    // No rows: every point alike.
    assert_eq!(q.scores(&ranks(&[0; 4])), [0; 4]);
}

#[test]
fn nonsense_is_refused() {
    let (half, one) = (Ratio::new(1, 2), Ratio::from_integer(1));
    let by = Selector::Exponential;
    assert!(Ranks::from_histogram(vec![]).is_err() && Ranks::from_cumulative(&[]).is_err());
    assert!(Quantile::new(&Ratio::new(3, 2), 1, &one, by).is_err());
    assert!(Quantile::new(&half, 0, &one, by).is_err());
    assert!(Quantile::new(&half, 1, &Ratio::from_integer(0), by).is_err());
    assert!(Quantile::new(&Ratio::new(1, 1 << 40), 1, &one, by).is_err());
    assert!(Quantiles::new(&[], 1, &one, by).is_err());
    assert!(Quantiles::new(&[half, half], 1, &one, by).is_err());
    assert!(Quantiles::new(&[Ratio::from_integer(0)], 1, &one, by).is_err());
    assert!(Quantiles::new(&[half, one], 1, &one, by).is_err());
    assert!(Quantiles::new(&[half], 0, &one, by).is_err());
    assert!(Extreme::least(1, 0, &one, by).is_err());
}

/// Each end holds the quantile as often as it says, by the very probabilities, on histograms of every shape: few rows and many,
/// ties, all at one end. The quantile is every value that `percentile_disc` or `percentile_cont` may give.
#[test]
fn ends_hold_the_quantile_as_often_as_they_say() {
    let shapes: Vec<Vec<u64>> = vec![
        vec![0; 20],
        vec![1; 20],
        vec![40; 20],
        (0..20).map(|i| i * i).collect(),
        (0..20).map(|i| if i == 7 { 500 } else { 0 }).collect(),
        (0..20).map(|i| if i == 0 || i == 19 { 60 } else { 1 }).collect(),
        (0..20).map(|i| u64::from(i == 12) * 2).collect(),
    ];
    let epsilon = Ratio::new(1, 2);
    let mut least = 1.0f64;
    for (p, r) in [(1u128, 2u128), (1, 10), (9, 10), (333, 1000)] {
        for (mass, beta) in shapes.iter().flat_map(|m| [(m, 0.025), (m, 0.25)]) {
            let rows: Vec<usize> =
                mass.iter().enumerate().flat_map(|(i, m)| std::iter::repeat_n(i, *m as usize)).collect();
            let place = p as f64 / r as f64 * (rows.len() as f64 - 1.0).max(0.0);
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            let disc = ((p * rows.len() as u128).div_ceil(r) as usize).max(1) - 1;
            for side in [Side::Below, Side::Above] {
                let end = Bound::new(&Ratio::new(p, r), side, (20, beta), 1, &epsilon, Selector::Exponential)
                    .unwrap();
                let chances = exponential(&end.scores(&ranks(mass)), &end.of.factor);
                let holds = |point: usize| match side {
                    _ if rows.is_empty() => true,
                    Side::Below => point <= rows[low].min(rows[disc]),
                    Side::Above => point >= rows[high].max(rows[disc]),
                };
                let held: f64 = chances.iter().enumerate().filter(|(i, _)| holds(*i)).map(|(_, p)| p).sum();
                assert!(held >= 1.0 - beta, "{p}/{r} of {mass:?}, {side:?}: {held} of {beta}");
                least = least.min(held - (1.0 - beta));
            }
        }
    }
    // The bound is one of all histograms at once, so that it holds more.
    assert!(least > 0.0);
}
