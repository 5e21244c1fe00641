#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::Narrow;
use crate::randomised::OracleKind;
use crate::randomised::audit::{self, laws, loss};
use crate::testing::SeededRng;
use crate::{EntropyError, Ratio};

fn sets(kind: OracleKind, values: u32, most: u32, epsilon: u128) -> Sets {
    Sets::new(Oracle::new(kind, values + 1, &Ratio::from_integer(epsilon)).unwrap(), most).unwrap()
}

/// Enumerated reports of all sets of at most two of two values: no two are further apart than e^ε, and thrice the ε is caught.
#[test]
fn whole_sets_are_within_epsilon() {
    let all: [&[u32]; 4] = [&[], &[0], &[1], &[0, 1]];
    let one = Ratio::from_integer(1);
    for kind in OracleKind::ALL {
        let of = |epsilon| {
            let sets = sets(kind, 2, 2, epsilon);
            laws(19, 4, |which, rng| {
                // Coins by one draw of 64 digits would be too many paths: the value is drawn as a set's, and then randomised.
                let mut rng = Narrow(rng, 3);
                let set = all[which as usize];
                let place = uniform_below(2u64, &mut rng)?;
                let value = set.get(place as usize).copied().unwrap_or(2);
                sets.oracle.randomise_from(audit::FEW, value, &mut rng).map_err(|_| EntropyError)
            })
        };
        assert!(loss(&of(1), &one).within, "{kind:?}");
        assert!(!loss(&of(3), &one).within, "{kind:?}");
    }
}

/// Counts of values are right on average and as far off as is said, whatever the sizes of sets.
#[test]
fn estimates_have_the_stated_error() {
    let mut rng = SeededRng::new(11);
    let groups: [(&[u32], u64); 4] = [(&[], 3000), (&[4], 3000), (&[19, 4], 6000), (&[0, 7, 19], 9000)];
    let n: u64 = groups.iter().map(|g| g.1).sum();
    for kind in OracleKind::ALL {
        let sets = sets(kind, 20, 3, 2);
        let mut supports = [0u64; 20];
        for (set, count) in groups {
            for _ in 0..count {
                let report = sets.randomise(set, &mut rng).unwrap();
                for (value, seen) in (0u32..).zip(&mut supports) {
                    *seen += u64::from(sets.oracle().supports(&report, value));
                }
            }
        }
        for (value, seen) in (0u32..).zip(supports) {
            let truth = groups.iter().filter(|g| g.0.contains(&value)).map(|g| g.1).sum();
            let off = (sets.estimate(seen, n) - truth as f64) / sets.deviation(n, truth);
            assert!(off.abs() < 5.0, "{kind:?} {value}: {off}");
        }
    }
}

#[test]
fn edges() {
    let mut rng = SeededRng::new(2);
    let sets = sets(OracleKind::Response, 5, 2, 1);
    assert_eq!((sets.values(), sets.most()), (5, 2));
    assert_eq!(sets.randomise(&[0, 1, 2], &mut rng), Err(RandomiseError::TooMany));
    assert_eq!(sets.randomise(&[5], &mut rng), Err(RandomiseError::Outside));
    assert_eq!(sets.randomise(&[3, 3], &mut rng), Err(RandomiseError::Twice));
    assert!(sets.randomise(&[], &mut rng).is_ok());
    assert_eq!(sets.guarantee(), sets.oracle().guarantee());
    let oracle = sets.oracle().clone();
    assert!(Sets::new(oracle.clone(), 0).is_err() && Sets::new(oracle, (1 << 16) + 1).is_err());
}
