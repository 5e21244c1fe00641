#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::{Lanes, Narrow, enumerate};
use crate::exp::exp_neg;
use crate::testing::SeededRng;

fn expansion(form: Form, n: u64, d: u64, count: u32) -> Expansion {
    let (n, d) = (BigUint::from(n), BigUint::from(d));
    let x = exp_neg(&n, &d);
    Expansion::from_bounds(form, n, d, &x, count)
}

const FORMS: [Form; 3] = [Form::Exp, Form::Logistic, Form::Zero];

/// 40 digits after the point, truncated: e^-1/(1+e^-1), (1-e^-1)/(1+e^-1) = tanh(1/2), and e^-1.
const KNOWN: [(Form, &str); 3] = [
    (Form::Exp, "3678794411714423215955237701614608674458"),
    (Form::Logistic, "2689414213699951207488407581781637256348"),
    (Form::Zero, "4621171572600097585023184836436725487302"),
];

#[test]
fn digits_are_those_of_the_number() {
    for (form, decimal) in KNOWN {
        let scale = BigUint::from(10u8).pow(40);
        let value: BigUint = decimal.parse().unwrap();
        // value <= p·10^40 < value + 1, and digits <= p·2^120 < digits + 1.
        let digits = expansion(form, 1, 1, 120).digits(120);
        assert!(&digits * &scale < (&value + 1u8) << 120u8, "{form:?}");
        assert!((digits + 1u8) * &scale > value << 120u8, "{form:?}");
    }
}

/// However many digits are asked for, they are a prefix of more; those computed ahead and one by one are the same.
#[test]
fn digits_are_prefixes_of_one_number() {
    for form in FORMS {
        for (n, d) in [(1u64, 1u64), (1, 3), (1, 1_000_000), (8, 1), (89, 1), (200, 3), (300, 1)] {
            let e = expansion(form, n, d, READY);
            let long = e.digits(600);
            assert_eq!(BigUint::from(e.ready), &long >> (600 - READY), "{form:?} of {n}/{d}");
            for index in [0u32, 1, 7, 127, 128, 129, 300, 599] {
                assert_eq!(e.digit(index), long.bit(u64::from(599 - index)));
            }
        }
    }
}

/// A lane is true with mass at most p and, with what is open, at least p: with all digits ready, and with few, so that
/// the rest is computed on the way.
#[test]
fn planes_have_exactly_the_probability() {
    let depth = 20;
    for form in FORMS {
        for (n, d) in [(1u64, 1u64), (1, 3), (7, 2), (1, 100)] {
            let e = expansion(form, n, d, READY);
            let (low, high) = e.map(&exp_neg(&n.into(), &d.into()), PRECISION);
            let mut trees = Vec::new();
            for count in [READY, 3, 1] {
                let e = expansion(form, n, d, count);
                let (masses, open) = enumerate(depth, |rng| e.plane(u64::MAX, &mut Lanes(rng)));
                let hit = *masses.get(&u64::MAX).unwrap_or(&0);
                assert!(BigUint::from(hit) << PRECISION <= high.clone() << depth, "{form:?} of {n}/{d}");
                assert!(BigUint::from(hit + open) << PRECISION >= low.clone() << depth);
                assert_eq!(open, 1, "one path is open: the digits of p themselves");
                trees.push(masses);
            }
            for digits in [(0, 1), (2, 1), (3, 5), (4, 8), (12, 8), (65, 64)] {
                let e = expansion(form, n, d, READY);
                let (masses, open) = enumerate(depth, |rng| e.lanes(digits, 1, &mut Narrow(rng, 1)));
                let of = |key: u64| masses.get(&key).copied().unwrap_or_default();
                let plane = |key: u64| trees[0].get(&key).copied().unwrap_or_default();
                assert_eq!(
                    (of(1), of(0), open),
                    (plane(u64::MAX), plane(0), 1),
                    "{form:?} of {n}/{d} by {digits:?}"
                );
            }
            assert!(trees.iter().all(|t| *t == trees[0]));
        }
    }
}

/// Lanes outside of the mask are never true, those inside are independent of each other.
#[test]
fn lanes_are_independent() {
    let e = expansion(Form::Logistic, 1, 1, READY);
    let mut rng = SeededRng::new(6);
    let (mut ones, mut pairs) = ([0u32; 64], [0u32; 64]);
    let rounds = 20_000;
    for round in 0..rounds {
        let mut draw = |mask: u64| match round % 2 {
            0 => e.plane(mask, &mut rng).unwrap(),
            _ => e.lanes((3, 9), mask, &mut rng).unwrap(),
        };
        let word = draw(u64::MAX);
        assert_eq!(draw(0x00ff) & !0x00ff, 0);
        for lane in 0..64 {
            ones[lane] += (word >> lane & 1) as u32;
            pairs[lane] += (word >> lane & word >> ((lane + 1) % 64) & 1) as u32;
        }
    }
    let near = |count: u32, p: f64| {
        let n = f64::from(rounds);
        (f64::from(count) - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt()
    };
    let p = 0.268_941_421_369_995_1;
    assert!(ones.iter().all(|c| near(*c, p)), "{ones:?}");
    assert!(pairs.iter().all(|c| near(*c, p * p)), "{pairs:?}");
}
