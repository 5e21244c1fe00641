#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::EntropyError;
use crate::randomised::audit::{self, agrees, laws, loss, near, ratio};
use crate::testing::SeededRng;

fn mean(kind: MeanKind, steps: u32, n: u128, d: u128) -> Mean {
    Mean::new(kind, steps, &Ratio::new(n, d)).unwrap()
}

/// A piecewise mechanism of few symbols, which can be enumerated.
fn coarse(steps: u32, others: u32, window: u32, epsilon: &Ratio) -> Mean {
    let form = Form::Odds { near: u64::from(window), far: u64::from(others) };
    let outside = Expansion::of(form, epsilon);
    Mean { steps, epsilon: *epsilon, scheme: Scheme::Piecewise { window, others, outside } }
}

fn enumerated(mean: &Mean, depth: u32) -> Vec<audit::Law<u32>> {
    laws(depth, mean.steps + 1, |value, rng| {
        mean.randomise_from(audit::FEW, value, rng).map_err(|_| EntropyError)
    })
}

/// P(symbol | value) by definition.
fn defined(mean: &Mean, value: u32, symbol: u32) -> f64 {
    let e = libm::exp(float(&mean.epsilon));
    match &mean.scheme {
        Scheme::Rounding(_) => {
            let (up, p) = (f64::from(value) / f64::from(mean.steps), e / (e + 1.0));
            let one = up * p + (1.0 - up) * (1.0 - p);
            if symbol == 1 { one } else { 1.0 - one }
        }
        Scheme::Piecewise { window, others, .. } => {
            let start = value * others / mean.steps;
            let weight = if (start..start + window).contains(&symbol) { e } else { 1.0 };
            weight / (f64::from(*window) * e + f64::from(*others))
        }
    }
}

#[test]
fn small_grids_are_within_epsilon_by_enumeration() {
    for (n, d) in [(1u128, 2u128), (1, 1), (2, 1)] {
        let epsilon = Ratio::new(n, d);
        for (mean, depth) in [
            (mean(MeanKind::Rounding, 1, n, d), 14),
            (mean(MeanKind::Rounding, 4, n, d), 16),
            (coarse(2, 4, 2, &epsilon), 18),
            (coarse(4, 8, 4, &epsilon), 18),
            (coarse(3, 3, 1, &epsilon), 18),
        ] {
            let laws = enumerated(&mean, depth);
            for (value, law) in (0u32..).zip(&laws) {
                assert!(agrees(law, depth, |y| defined(&mean, value, *y)), "{mean:?}: {value}");
                assert!(law.0.keys().all(|symbol| mean.accepts(*symbol)));
            }
            let found = loss(&laws, &epsilon);
            assert!(
                found.within && found.near > (0.7 * n as f64 / d as f64).exp() * 0.7,
                "{mean:?}: {}",
                found.near
            );
            assert_eq!(mean.guarantee(), Guarantee::Pure { epsilon });
        }
    }
}

/// Mutations: ε is used twice; a window that grows by one symbol for some numbers, so that weights do not add up to the same.
#[test]
fn enumeration_catches_twice_the_epsilon_and_a_window_off_by_one() {
    let (one, two) = (Ratio::from_integer(1), Ratio::from_integer(2));
    for twice in [mean(MeanKind::Rounding, 2, 2, 1), coarse(2, 4, 2, &two)] {
        assert!(!loss(&enumerated(&twice, 18), &one).within, "{twice:?}");
    }
    let (narrow, wide) = (coarse(2, 2, 1, &one), coarse(2, 2, 2, &one));
    let mixed: Vec<_> = enumerated(&narrow, 18)
        .into_iter()
        .take(1)
        .chain(enumerated(&wide, 18).into_iter().skip(2))
        .collect();
    assert!(!loss(&mixed, &one).within);
}

#[test]
fn scales_offsets_and_variances_are_those_of_the_golden_table() {
    let rows = audit::golden("mean");
    assert_eq!(rows.len(), 18);
    for row in rows {
        let kind = MeanKind::parse(row[1]).unwrap();
        let mean = Mean::new(kind, row[2].parse().unwrap(), &ratio(row[3])).unwrap();
        let variance = mean.variance(row[4].parse().unwrap());
        assert!(
            near(mean.scale(), row[5]) && near(mean.offset(), row[6]) && near(variance, row[7]),
            "{row:?}"
        );
    }
}

/// On a fine grid variances are those of the papers, for numbers from -1 to 1: Duchi, Jordan and Wainwright's
/// ((e^ε+1)/(e^ε-1))² - t², and t²/(e^(ε/2)-1) + (e^(ε/2)+3)/(3(e^(ε/2)-1)²) (Wang et al. 2019, Lemma 1).
#[test]
fn variances_are_those_of_the_papers() {
    let m = 1u32 << 20;
    for (n, d) in [(1u128, 2u128), (1, 1), (3, 1), (6, 1)] {
        let e = n as f64 / d as f64;
        let (one, half) = (libm::exp(e), libm::exp(e / 2.0));
        for value in [0, m / 4, m / 2, m] {
            let t = 2.0 * f64::from(value) / f64::from(m) - 1.0;
            let unit = f64::from(m) * f64::from(m) / 4.0;
            let rounding = ((one + 1.0) / (one - 1.0)).powi(2) - t * t;
            let ours = mean(MeanKind::Rounding, m, n, d).variance(value) / unit;
            assert!((ours / rounding - 1.0).abs() < 1e-6, "{e} {t}: {ours} for {rounding}");
            let piecewise = t * t / (half - 1.0) + (half + 3.0) / (3.0 * (half - 1.0).powi(2));
            let ours = mean(MeanKind::Piecewise, m, n, d).variance(value) / unit;
            assert!((ours / piecewise - 1.0).abs() < 1e-4, "{e} {t}: {ours} for {piecewise}");
        }
    }
}

/// Estimates are right on average, and as far off as is said.
#[test]
fn estimates_have_the_stated_error() {
    let mut rng = SeededRng::new(5);
    let n = 20_000;
    for kind in MeanKind::ALL {
        for (steps, value) in [(1, 0), (1, 1), (10, 3), (100_000, 99_999), (Mean::MAX_STEPS, 12_345_678)] {
            let mean = mean(kind, steps, 2, 1);
            let draws: Vec<f64> =
                (0..n).map(|_| mean.estimate(mean.randomise(value, &mut rng).unwrap())).collect();
            let (count, variance) = (f64::from(n), mean.variance(value));
            let average = draws.iter().sum::<f64>() / count;
            let off = (average - f64::from(value)) / (variance / count).sqrt();
            assert!(off.abs() < 5.0, "{kind:?} {steps} {value}: {off}");
            let square = draws.iter().map(|x| (x - f64::from(value)).powi(2)).sum::<f64>() / count;
            assert!(
                (square / variance - 1.0).abs() < 0.08,
                "{kind:?} {steps} {value}: {}",
                square / variance
            );
        }
    }
}

#[test]
fn auto_takes_the_least_worst_variance() {
    let kind = |n, d| Mean::auto(1000, &Ratio::new(n, d)).unwrap().kind();
    // Equal at ε = 1.29 (Wang et al. 2019, section 3.3).
    assert_eq!((kind(12, 10), kind(14, 10)), (MeanKind::Rounding, MeanKind::Piecewise));
}

#[test]
fn edges() {
    let one = Ratio::from_integer(1);
    let mut rng = SeededRng::new(9);
    for kind in MeanKind::ALL {
        assert_eq!(MeanKind::parse(kind.word()), Some(kind));
        assert!(Mean::new(kind, 0, &one).is_err() && Mean::new(kind, Mean::MAX_STEPS + 1, &one).is_err());
        assert!(Mean::new(kind, 1, &Ratio::from_integer(0)).is_err());
        let mean = Mean::new(kind, 7, &one).unwrap();
        assert_eq!(mean.randomise(8, &mut rng), Err(RandomiseError::Outside));
        assert!(!mean.accepts(mean.symbols()) && i32::try_from(mean.symbols()).is_ok());
        let largest = Mean::new(kind, Mean::MAX_STEPS, &Ratio::new(1, 1000)).unwrap();
        assert!(i32::try_from(largest.symbols()).is_ok() && largest.variance(0).is_finite());
        // With a huge ε the truth is told.
        let sure = Mean::new(kind, 7, &Ratio::from_integer(300)).unwrap();
        assert!((sure.estimate(sure.randomise(7, &mut rng).unwrap()) - 7.0).abs() < 0.01);
    }
}
