#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;

fn joint(l0: u32, linf: &[u128]) -> Joint {
    Joint::new(l0, linf.to_vec()).unwrap()
}

#[test]
fn joint_sensitivities_are_those_of_the_worst_unit() {
    let j = joint(3, &[2, 5, 0]);
    assert_eq!(j.l1(), 21u8.into());
    assert_eq!(j.l2_squared(), BigRatio::from_integer(87u8.into()));
    // Brute force: a unit changes at most 3 of 5 rows, each number by its bound at most.
    let mut worst = (0u64, 0u64);
    for rows in 0u32..32 {
        if rows.count_ones() <= 3 {
            let n = u64::from(rows.count_ones());
            worst = (worst.0.max(n * 7), worst.1.max(n * 29));
        }
    }
    assert_eq!((j.l1(), j.l2_squared().to_integer()), (worst.0.into(), worst.1.into()));
    let largest = joint(u32::MAX, &[u128::MAX; 3]);
    assert_eq!(largest.l1(), BigUint::from(u128::MAX) * 3u8 * u32::MAX);
    assert_eq!(Joint::new(0, vec![1]), Err(DpError::NoGroups));
    assert!(Joint::new(1, vec![0, 0]).is_err() && Joint::new(1, vec![]).is_err());
}

#[test]
fn noise_has_the_scale_of_the_joint_sensitivity() {
    let j = joint(2, &[3, 4]);
    let laplace = j.laplace(&Ratio::new(1, 10)).unwrap();
    assert_eq!(laplace.noise, Additive::Laplace(DiscreteLaplace::new(&Ratio::from_integer(140)).unwrap()));
    let gaussian = j.gaussian_for_rho(&Ratio::new(1, 2)).unwrap();
    assert_eq!(gaussian.noise, Additive::Gaussian(DiscreteGaussian::new(&Ratio::from_integer(50)).unwrap()));
    let Guarantee::Gaussian { square } = j.gaussian_for_mu(&Ratio::new(1, 10)).unwrap().guarantee else {
        panic!("rounded Gaussian noise is GDP")
    };
    assert!(square <= BigRatio::new(1u8.into(), 100u8.into()), "never more than μ²");
    // The analytic calibration states its μ, and it is the one that gives (ε, δ).
    let analytic = j.gaussian_for_epsilon_delta(&Ratio::from_integer(1), &Ratio::new(1, 1_000_000)).unwrap();
    let Guarantee::Gaussian { square } = analytic.guarantee else { panic!("GDP") };
    let mu = crate::certified::to_float(&square).sqrt();
    assert!((mu * 4.224678889326835 - 1.0).abs() < 1e-9);
    assert!(j.laplace(&Ratio::from_integer(0)).is_err());
}

/// The whole mechanism on a small case: for neighbours at the joint bound, log ratios of all outcomes are within ε, and ε is
/// reached. Mutation: noise for a sensitivity that is one too small is above.
#[test]
fn a_sensitivity_off_by_one_is_caught_by_enumeration() {
    let epsilon = 1.0f64;
    let worst = |l1: f64| {
        let b = l1 / epsilon;
        let mass = |x: i64| -(x.abs() as f64) / b;
        let mut worst = 0.0f64;
        for x in -12i64..=12 {
            for y in -12i64..=12 {
                // One row, two columns, changed by 2 and 1.
                worst = worst.max((mass(x) + mass(y) - mass(x - 2) - mass(y - 1)).abs());
            }
        }
        worst
    };
    let l1 = joint(1, &[2, 1]).l1().to_string().parse::<f64>().unwrap();
    assert!((worst(l1) - epsilon).abs() < 1e-12);
    assert!(worst(l1 - 1.0) > epsilon + 0.4);
}

#[test]
fn draws_are_added_once_and_saturate() {
    let noise = joint(1, &[1, 1]).laplace(&Ratio::new(1, 1000)).unwrap();
    let mut rng = SeededRng::new(1);
    let exact = [i128::MAX, i128::MIN, i128::MAX, i128::MIN, 0, 7];
    let released = noise.draw(3, &mut rng).unwrap().release(&exact).unwrap();
    let mut same = SeededRng::new(1);
    let values = noise.draw(3, &mut same).unwrap().values;
    for ((out, x), noise) in released.iter().zip(exact).zip(&values) {
        assert_eq!(*out, x.saturating_add(*noise));
    }
    assert!(noise.draw(3, &mut rng).unwrap().release(&exact[..5]).is_none());
}

struct Counting(SeededRng, usize);

impl Entropy for Counting {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// What is drawn does not depend on the values: they are not there yet. A release in constant time takes the same number of
/// words whatever the seed.
#[test]
fn the_cost_of_a_release_does_not_depend_on_its_values() {
    let noise = DiscreteLaplace::new(&Ratio::from_integer(100)).unwrap();
    let words = |seed| {
        let mut rng = Counting(SeededRng::new(seed), 0);
        let mut out = [0; 100];
        noise.fill_in_constant_time(&mut out, &mut rng).unwrap();
        rng.1
    };
    let first = words(0);
    assert!((1..200).all(|seed| words(seed) == first));
}
