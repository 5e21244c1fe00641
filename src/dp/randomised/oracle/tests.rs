#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::Narrow;
use crate::randomised::audit::{self, agrees, laws, loss, near, ratio};
use crate::testing::SeededRng;

fn oracle(kind: OracleKind, values: u32, n: u128, d: u128) -> Oracle {
    Oracle::new(kind, values, &Ratio::new(n, d)).unwrap()
}

/// Every report that it can give for each value.
fn enumerated(oracle: &Oracle, depth: u32) -> Vec<audit::Law<Report>> {
    laws(depth, oracle.values(), |value, rng| {
        let report = oracle.randomise_from(audit::FEW, value, &mut Narrow(rng, oracle.values()));
        report.map_err(|_| EntropyError)
    })
}

/// P(report | value) by the definition of each oracle.
fn defined(oracle: &Oracle, value: u32, report: &Report) -> f64 {
    let (p, q) = oracle.probabilities();
    match (oracle.kind(), oracle.symbols()) {
        (OracleKind::Response, _) => {
            if oracle.supports(report, value) {
                p
            } else {
                q
            }
        }
        (OracleKind::Hadamard, Some(symbols)) => {
            let half = f64::from(symbols) / 2.0;
            (if oracle.supports(report, value) { p } else { 1.0 - p }) / half
        }
        _ => (0..oracle.values())
            .map(|v| (if v == value { p } else { q }, oracle.supports(report, v)))
            .map(|(p, one)| if one { p } else { 1.0 - p })
            .product(),
    }
}

const SMALL: [(OracleKind, u32, u32); 7] = [
    (OracleKind::Response, 2, 14),
    (OracleKind::Response, 3, 16),
    (OracleKind::Response, 5, 16),
    (OracleKind::Unary, 2, 16),
    (OracleKind::Unary, 3, 22),
    (OracleKind::Hadamard, 3, 14),
    (OracleKind::Hadamard, 6, 16),
];

/// All reports of all values of small domains: their masses are those of the definition, no two are further apart than e^ε,
/// and some are as far apart.
#[test]
fn small_domains_are_within_epsilon_by_enumeration() {
    for (kind, values, depth) in SMALL {
        for (n, d) in [(1u128, 2u128), (1, 1), (2, 1)] {
            let oracle = oracle(kind, values, n, d);
            let laws = enumerated(&oracle, depth);
            for (value, law) in (0u32..).zip(&laws) {
                assert!(
                    agrees(law, depth, |y| defined(&oracle, value, y)),
                    "{kind:?} {values} {n}/{d}: {value}"
                );
                assert!(law.0.keys().all(|report| oracle.accepts(report)));
            }
            let epsilon = Ratio::new(n, d);
            let found = loss(&laws, &epsilon);
            assert!(found.within, "{kind:?} {values} {n}/{d}");
            // As much of ε as the open mass lets see.
            assert!(
                found.near > (0.8 * n as f64 / d as f64).exp() * 0.7,
                "{kind:?} {values} {n}/{d}: {}",
                found.near
            );
            assert_eq!(oracle.guarantee(), Guarantee::Pure { epsilon });
        }
    }
}

/// Mutations: ε is used twice, and a domain that is one value too small leaves a value that can be told from others.
#[test]
fn enumeration_catches_twice_the_epsilon_and_a_domain_off_by_one() {
    for (kind, values, depth) in SMALL {
        let twice = oracle(kind, values, 2, 1);
        assert!(!loss(&enumerated(&twice, depth), &Ratio::from_integer(1)).within, "{kind:?} {values}");
    }
    // Other answers drawn among k-2 in the place of k-1: one of them is never given.
    let short = RandomisedResponse::new(3, &Ratio::from_integer(1)).unwrap();
    let of = laws(16, 4, |value, rng| {
        let offset = short.draw_from(audit::FEW, rng)?.report(0).unwrap();
        Ok((value + offset) % 4)
    });
    assert!(!loss(&of, &Ratio::from_integer(1)).within);
}

/// Golden values: probabilities from distributions that were written out, and deviations from them.
#[test]
fn probabilities_and_deviations_are_those_of_the_golden_table() {
    let rows = audit::golden("oracle");
    assert_eq!(rows.len(), 18);
    for row in rows {
        let oracle =
            Oracle::new(OracleKind::parse(row[1]).unwrap(), row[2].parse().unwrap(), &ratio(row[3])).unwrap();
        let (p, q) = oracle.probabilities();
        assert!(
            near(p, row[4]) && near(q, row[5]) && near(oracle.deviation(1000, 300), row[6]),
            "{row:?}: {p} {q}"
        );
    }
}

/// Larger domains, by what is seen of many reports: the value is supported with p, another one with q, and the estimate of each
/// is within five of its stated deviations.
#[test]
fn large_domains_have_the_stated_probabilities() {
    let mut rng = SeededRng::new(17);
    let n = 20_000u64;
    for (kind, values) in [
        (OracleKind::Response, 37),
        (OracleKind::Unary, 64),
        (OracleKind::Unary, 65),
        (OracleKind::Unary, 200),
        (OracleKind::Hadamard, 63),
        (OracleKind::Hadamard, 64),
        (OracleKind::Hadamard, 1000),
        (OracleKind::Hadamard, Oracle::MAX_VALUES),
    ] {
        let oracle = oracle(kind, values, 1, 1);
        for value in [0, values / 2, values - 1] {
            let asked = [value, 0, values - 1, 1, 31];
            let mut seen = [0u64; 5];
            for _ in 0..n {
                let report = oracle.randomise(value, &mut rng).unwrap();
                assert!(oracle.accepts(&report));
                for (count, asked) in seen.iter_mut().zip(asked) {
                    *count += u64::from(oracle.supports(&report, asked));
                }
            }
            for (asked, seen) in asked.into_iter().zip(seen) {
                let truth = if asked == value { n } else { 0 };
                let off = (oracle.estimate(seen, n) - truth as f64) / oracle.deviation(n, truth);
                assert!(off.abs() < 5.0, "{kind:?} {values}, {asked} of {value}: {off}");
            }
        }
    }
}

/// Each pair of bits of a unary report is independent: 64 come from the same words.
#[test]
fn unary_bits_are_independent() {
    let oracle = oracle(OracleKind::Unary, 70, 1, 1);
    let (_, q) = oracle.probabilities();
    let mut rng = SeededRng::new(3);
    let n = 40_000;
    let pairs = [(0, 1), (1, 63), (5, 69), (63, 64), (64, 65)];
    let mut both = [0u32; 5];
    for _ in 0..n {
        let report = oracle.randomise(30, &mut rng).unwrap();
        for (count, (a, b)) in both.iter_mut().zip(pairs) {
            *count += u32::from(oracle.supports(&report, a) && oracle.supports(&report, b));
        }
    }
    let (mean, n) = (q * q, f64::from(n));
    for (count, pair) in both.into_iter().zip(pairs) {
        let off = (f64::from(count) / n - mean) / (mean * (1.0 - mean) / n).sqrt();
        assert!(off.abs() < 5.0, "{pair:?}: {off}");
    }
}

/// As many random words whatever the value is: what the time of a report depends on is drawn before the value is used.
#[test]
fn the_cost_of_a_report_does_not_depend_on_the_value() {
    struct Counted(SeededRng, u32);
    impl Entropy for Counted {
        fn next_u64(&mut self) -> Result<u64, EntropyError> {
            self.1 += 1;
            self.0.next_u64()
        }
    }
    for kind in OracleKind::ALL {
        let oracle = oracle(kind, 100, 1, 2);
        for seed in 0..20 {
            let words: Vec<u32> = (0..100)
                .map(|value| {
                    let mut rng = Counted(SeededRng::new(seed), 0);
                    oracle.randomise(value, &mut rng).unwrap();
                    rng.1
                })
                .collect();
            assert!(words.iter().all(|w| *w == words[0]), "{kind:?}: {words:?}");
        }
    }
}

#[test]
fn auto_takes_the_least_error_and_then_the_shortest_report() {
    let kind = |values, n, d| Oracle::auto(values, &Ratio::new(n, d)).unwrap().kind();
    // k < 3e^ε + 2 = 10.2
    assert_eq!(kind(2, 1, 1), OracleKind::Response);
    assert_eq!(kind(10, 1, 1), OracleKind::Response);
    assert_eq!(kind(100, 1, 1), OracleKind::Unary);
    // (e^ε+1)/(2e^(ε/2)) = cosh(1/8) = 1.008 of the error, in 7 bits for 100.
    assert_eq!(kind(100, 1, 4), OracleKind::Hadamard);
    assert_eq!(kind(1_000_000, 3, 1), OracleKind::Hadamard);
}

#[test]
fn edges() {
    let mut rng = SeededRng::new(1);
    let one = Ratio::from_integer(1);
    for kind in OracleKind::ALL {
        assert_eq!(OracleKind::parse(kind.word()), Some(kind));
        let oracle = oracle(kind, 9, 1, 1);
        assert_eq!(oracle.randomise(9, &mut rng), Err(RandomiseError::Outside));
        let report = oracle.randomise(8, &mut rng).unwrap();
        assert!(!oracle.supports(&report, 9) && !oracle.supports(&report, u32::MAX));
        assert!(Oracle::new(kind, 1, &one).is_err() && Oracle::new(kind, 1 << 31, &one).is_err());
        assert!(Oracle::new(kind, 2, &Ratio::from_integer(0)).is_err());
        // With a huge ε the truth is told, or half of the time where that is the most.
        let sure = Oracle::new(kind, 9, &Ratio::from_integer(500)).unwrap();
        let report = (0..20).map(|_| sure.randomise(8, &mut rng).unwrap());
        let wrong = report.filter(|r| sure.supports(r, 3)).count();
        assert_eq!(wrong > 0, kind == OracleKind::Hadamard, "{kind:?}");
    }
    assert_eq!(OracleKind::parse("unar"), None);
    assert!(Oracle::new(OracleKind::Unary, Oracle::MAX_BITS + 1, &one).is_err());
    let bits = |bytes: &[u8]| Report::Bits(bytes.into());
    let unary = oracle(OracleKind::Unary, 9, 1, 1);
    assert!(unary.accepts(&bits(&[255, 1])) && unary.supports(&bits(&[0, 1]), 8));
    assert!(
        !unary.accepts(&bits(&[255, 2]))
            && !unary.accepts(&bits(&[255]))
            && !unary.accepts(&Report::Symbol(0))
    );
    let hadamard = oracle(OracleKind::Hadamard, 9, 1, 1);
    assert_eq!((hadamard.symbols(), hadamard.bits()), (Some(16), 4));
    assert!(hadamard.accepts(&Report::Symbol(15)) && !hadamard.accepts(&Report::Symbol(16)));
    assert!(!hadamard.accepts(&bits(&[0])));
    assert_eq!(oracle(OracleKind::Hadamard, 8, 1, 1).symbols(), Some(16));
    assert_eq!(oracle(OracleKind::Hadamard, 7, 1, 1).symbols(), Some(8));
}
