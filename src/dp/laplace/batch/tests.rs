#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::Ratio;
use crate::decision_tree::{Lanes, Script, enumerate};
use crate::exp::one;
use crate::laplace::tests::{p_value, scales};
use crate::testing::SeededRng;

fn laplace(t: u128, s: u128) -> DiscreteLaplace {
    DiscreteLaplace::new(&Ratio::new(t, s)).unwrap()
}

/// One lane's decision tree: each outcome's decided mass is at most its probability, and open paths make up the rest.
/// The same where probabilities have three digits ready, so that most comparisons go beyond them.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    let depth = 17;
    for (t, s) in [(1u128, 2u128), (1, 1), (2, 3), (2, 1)] {
        for (ready, apart) in [(READY, false), (3, false), (3, true)] {
            let reach = if apart { 1 } else { 2 };
            let batch = Batch::with(&laplace(t, s), reach, ready, apart);
            let draw = |rng: &mut Script| {
                let mut out = [0];
                batch.fill(&mut out, &mut Lanes(rng))?;
                Ok(out[0])
            };
            let (masses, open) = enumerate(depth, draw);
            let (q_low, q_high) = exp_neg(&s.into(), &t.into());
            for (x, mass) in &masses {
                // P(x) = q^|x|·(1-q)/(1+q)
                let (tail_low, tail_high) = exp_neg(&(BigUint::from(x.unsigned_abs()) * s), &t.into());
                let high = tail_high * (one() - &q_low) / (one() + &q_low) + 1u8;
                let low = tail_low * (one() - &q_high) / (one() + &q_high);
                assert!(BigUint::from(*mass) * one() <= high << depth, "{x} at scale {t}/{s}, {ready} ready");
                assert!(
                    BigUint::from(mass + open) * one() >= low << depth,
                    "{x} at scale {t}/{s}, {ready} ready"
                );
            }
            assert!(masses.len() >= 3 && open < 1 << (depth - 3), "{t}/{s}, {ready} ready: {open} open");
        }
    }
}

#[test]
fn a_million_draws_have_the_exact_probabilities() {
    for (seed, scale) in scales().iter().enumerate() {
        let noise = DiscreteLaplace::new(scale).unwrap();
        let b = *scale.numer() as f64 / *scale.denom() as f64;
        let mut draws = vec![0; 1_000_000];
        Batch::new(&noise).fill(&mut draws, &mut SeededRng::new(seed as u64)).unwrap();
        assert!(p_value(b, &draws) > 1e-5, "scale {scale}");
        let mut draws = vec![0; 300_000];
        Batch::in_constant_time(&noise).fill(&mut draws, &mut SeededRng::new(seed as u64)).unwrap();
        assert!(p_value(b, &draws) > 1e-5, "scale {scale} in constant time");
    }
}

/// Mutation: a wrong probability of one digit is seen.
#[test]
fn a_wrong_digit_is_caught() {
    let noise = laplace(10, 1);
    // How far the number of odd draws is from its expectation, in standard deviations: P(odd) = 2q/(1+q)².
    let deviation = |batch: &Batch| {
        let mut draws = vec![0; 1_000_000];
        batch.fill(&mut draws, &mut SeededRng::new(1)).unwrap();
        let odd = draws.iter().filter(|x| **x % 2 != 0).count() as f64;
        let q = (-0.1f64).exp();
        let p = 2.0 * q / (1.0 + q).powi(2);
        (odd - 1e6 * p).abs() / (1e6 * p * (1.0 - p)).sqrt()
    };
    let mut batch = Batch::new(&noise);
    assert!(deviation(&batch) < 4.5);
    let (n, d) = (BigUint::from(1u8), BigUint::from(8u8));
    batch.digits[0] = Expansion::from_bounds(Form::Logistic, n.clone(), d.clone(), &exp_neg(&n, &d), READY);
    assert!(deviation(&batch) > 8.0);
}

/// The number of words is the same for every draw of a batch in constant time.
#[test]
fn constant_time_draws_constant_words() {
    struct Counting(SeededRng, u64);
    impl Entropy for Counting {
        fn next_u64(&mut self) -> Result<u64, EntropyError> {
            self.1 += 1;
            self.0.next_u64()
        }
    }
    for (t, s) in [(1u128, 10u128), (1, 1), (320, 1), (1_000_000, 3)] {
        let words = |batch: &Batch, seed| {
            let mut rng = Counting(SeededRng::new(seed), 0);
            batch.fill(&mut [0; 640], &mut rng).unwrap();
            rng.1
        };
        let constant = Batch::in_constant_time(&laplace(t, s));
        let expected = 10 * (1 + 128 * (constant.digits.len() as u64 + 2));
        assert!((0..20).all(|seed| words(&constant, seed) == expected), "scale {t}/{s}");
        let fast = Batch::new(&laplace(t, s));
        assert!((0..20).any(|seed| words(&fast, seed) != words(&fast, 99)), "the test can tell");
    }
}

#[test]
fn bits_are_transposed() {
    let mut rng = SeededRng::new(2);
    for planes in [0usize, 1, 5, 63, 64, 65, 103, 127] {
        let words: Vec<u64> = (0..planes).map(|_| rng.next_u64().unwrap()).collect();
        let numbers = columns(&words);
        for (lane, number) in numbers.iter().enumerate() {
            for (digit, word) in words.iter().enumerate() {
                assert_eq!(number >> digit & 1, u128::from(word >> lane & 1), "{planes} planes");
            }
            assert_eq!(number >> planes, 0);
        }
    }
}

#[test]
fn no_entropy_is_an_error() {
    let mut dry = Script { draws: &[], next: 0, asked: None };
    assert_eq!(Batch::new(&laplace(3, 1)).fill(&mut [0; 3], &mut Lanes(&mut dry)), Err(EntropyError));
}
