#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::audit::{Auditor, Machine, Real, Said, all};
use super::*;
use crate::testing::SeededRng;
use crate::{Guarantee, Ratio};
use std::collections::BTreeMap;

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

const BASES: [[i128; 4]; 3] = [[0, 0, 0, 0], [2, -1, 1, -2], [-3, 0, 4, 0]];

/// The greatest loss over all neighbours of a few streams of four questions.
fn worst<M: Machine>(machine: &M, steps: &[Vec<i128>]) -> f64 {
    let mut auditor = Auditor::new(machine);
    BASES.iter().map(|base| auditor.worst(base, steps)).fold(0.0, f64::max)
}

fn any() -> Vec<Vec<i128>> {
    all(4, &[-1, 0, 1])
}

fn same_direction() -> Vec<Vec<i128>> {
    [all(4, &[0, 1]), all(4, &[-1, 0])].concat()
}

/// No transcript's probability differs by more than e^ε between neighbours, in any variant; and the audit is not blind: it
/// finds a good part of ε.
#[test]
fn every_transcript_is_within_epsilon() {
    let two = Ratio::from_integer(2);
    let zero = Ratio::from_integer(0);
    let improved = |c, d| Plan::improved(1, c, &two, d).unwrap();
    let plans = [
        ("above threshold", Plan::above_threshold(1, &two).unwrap(), any()),
        ("sparse", Plan::sparse(1, 2, &two, &zero).unwrap(), any()),
        ("improved", improved(1, Direction::Any), any()),
        ("improved", improved(2, Direction::Any), any()),
        ("improved, monotone", improved(1, Direction::Monotone), same_direction()),
        ("improved, monotone", improved(3, Direction::Monotone), same_direction()),
        ("improved, with gaps", improved(1, Direction::Any).with_gaps().unwrap(), any()),
    ];
    for (name, plan, steps) in plans {
        let c = plan.positives();
        let loss = worst(&Real(plan), &steps);
        assert!(loss <= 2.0 + 1e-3, "{name}, c = {c}: {loss}");
        assert!(loss >= 0.8, "{name}, c = {c}: the audit finds {loss} only");
    }
}

/// NumericSparse decides with ε₁ and answers with the rest: 8/9 and 1/9 of ε.
#[test]
fn numeric_sparse_costs_epsilon_in_all() {
    let epsilon = Ratio::from_integer(2);
    let plan = Plan::numeric_sparse(1, 2, &epsilon, &Ratio::from_integer(0)).unwrap();
    // c answers, each Δ/scale.
    let answers = 2.0 / float(plan.answer_scale().unwrap());
    assert!((answers - 2.0 / 9.0).abs() < 1e-12);
    assert!(worst(&Real(plan.clone()), &any()) + answers <= 2.0 + 1e-3);
    assert_eq!(plan.guarantee(), Guarantee::Pure { epsilon });
    // With ε₂ and not ε₂/2 in the sum the answers would have twice the noise: it is not needed.
    let (first, second) = accuracy::numeric_split(2.0, 0.0);
    assert!((first + second / 2.0 - 2.0).abs() < 1e-12 && first + second > 2.0);
}

/// Mutation: the noise for monotone questions where one unit moves them both ways.
#[test]
fn monotone_noise_for_mixed_questions_is_caught() {
    let plan = Plan::improved(1, 3, &Ratio::from_integer(1), Direction::Monotone).unwrap();
    let mixed = vec![vec![1, 1, 1, 1, -1, -1, -1]];
    let loss = Auditor::new(&Real(plan)).worst(&[0; 7], &mixed);
    assert!(loss > 1.05, "{loss}");
    let right = Plan::improved(1, 3, &Ratio::from_integer(1), Direction::Any).unwrap();
    assert!(Auditor::new(&Real(right)).worst(&[0; 7], &mixed) <= 1.0 + 1e-3);
}

/// Mutation: a sensitivity off by one.
#[test]
fn a_sensitivity_off_by_one_in_a_stream_is_caught() {
    let steps = all(4, &[-2, 0, 2]);
    let epsilon = Ratio::from_integer(4);
    let wrong = worst(&Real(Plan::improved(1, 1, &epsilon, Direction::Any).unwrap()), &steps);
    assert!(wrong > 4.4, "{wrong}");
    let right = worst(&Real(Plan::improved(2, 1, &epsilon, Direction::Any).unwrap()), &steps);
    assert!(right <= 4.0 + 1e-3, "{right}");
}

/// One stream to its end, or through all questions.
fn run(plan: &Plan, values: &[i128], rng: &mut SeededRng) -> Vec<Option<Evidence>> {
    let mut stream = Stream::open(plan.clone(), rng).unwrap();
    let mut said = Vec::new();
    for value in values {
        match stream.ask(*value, 10, rng).unwrap() {
            Outcome::Below(next) => {
                said.push(None);
                stream = next;
            }
            Outcome::Above(next, evidence) => {
                said.push(Some(evidence));
                stream = next;
            }
            Outcome::Last(evidence) => {
                said.push(Some(evidence));
                return said;
            }
        }
    }
    said
}

/// The stream itself says what the audit says it does, as often.
#[test]
fn streams_have_the_audited_distribution() {
    let two = Ratio::from_integer(2);
    let plans = [
        Plan::sparse(1, 2, &two, &Ratio::from_integer(0)).unwrap(),
        Plan::numeric_sparse(1, 2, &two, &Ratio::from_integer(0)).unwrap(),
        Plan::improved(1, 2, &two, Direction::Any).unwrap(),
    ];
    for (seed, plan) in plans.into_iter().enumerate() {
        let mut rng = SeededRng::new(seed as u64);
        let expected = Auditor::new(&Real(plan.clone())).transcripts(&[1, -2, 3, 0]);
        let rounds = 40_000;
        let mut counts: BTreeMap<Vec<Said>, f64> = BTreeMap::new();
        for _ in 0..rounds {
            let said = run(&plan, &[11, 8, 13, 10], &mut rng);
            let key = said.iter().map(|s| if s.is_some() { Said::Above } else { Said::Below }).collect();
            *counts.entry(key).or_default() += 1.0;
        }
        assert!(counts.keys().all(|k| expected.contains_key(k)), "never more than c positives");
        for (key, p) in expected {
            let (n, seen) = (p * f64::from(rounds), counts.get(&key).copied().unwrap_or_default());
            assert!((seen - n).abs() <= 5.0 * n.sqrt() + 2.0, "{key:?}: {seen} against {n}");
        }
    }
}

/// Answers and gaps are what they say: the value with noise of the stated scale, and a number that is not negative.
#[test]
fn evidence_is_near_the_value() {
    let tenth = Ratio::from_integer(1);
    let mut rng = SeededRng::new(8);
    let answers = Plan::numeric_sparse(1, 3, &tenth, &Ratio::from_integer(0)).unwrap();
    let gaps = Plan::improved(1, 3, &tenth, Direction::Any).unwrap().with_gaps().unwrap();
    let (mut sum, mut gap_sum, rounds) = (0i128, 0i128, 2000);
    for _ in 0..rounds {
        for evidence in run(&answers, &[1000; 3], &mut rng) {
            let Some(Evidence::Answer(x)) = evidence else { panic!("{evidence:?}") };
            sum += x;
        }
        for evidence in run(&gaps, &[1010; 3], &mut rng) {
            let Some(Evidence::Gap(x)) = evidence else { panic!("{evidence:?}") };
            assert!(x >= 0);
            gap_sum += x;
        }
    }
    let mean = |sum: i128| sum as f64 / f64::from(3 * rounds);
    assert!((mean(sum) - 1000.0).abs() < 4.0, "{}", mean(sum));
    assert!((mean(gap_sum) - 1000.0).abs() < 4.0, "{}", mean(gap_sum));
    let extra =
        Plan::improved(1, 3, &tenth, Direction::Any).unwrap().with_answers(&Ratio::new(1, 2)).unwrap();
    assert_eq!(extra.answer_scale(), Some(&Ratio::from_integer(6)));
    assert_eq!(extra.guarantee(), Guarantee::Pure { epsilon: Ratio::new(3, 2) });
    assert!(extra.clone().with_gaps().is_err() && extra.with_answers(&tenth).is_err());
}

/// k, c, β, ε, δ and what the theorems say, by mpmath.
#[test]
fn accuracies_are_those_of_the_theorems() {
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} against {b}");
    near(accuracy::above_threshold(1000, 0.05, 1.0), 84.773_077_864_768_58);
    near(accuracy::above_threshold(10, 0.1, 0.5), 84.773_077_864_768_58);
    near(accuracy::sparse_sigma(10, 1.0, 0.0), 20.0);
    near(accuracy::sparse(1000, 10, 0.05, 1.0, 0.0), 1_031.937_586_087_209_4);
    near(accuracy::sparse_sigma(10, 1.0, 1e-6), 66.490_325_450_764_4);
    near(accuracy::sparse(1000, 10, 0.05, 1.0, 1e-6), 3_430.693_297_190_738);
    near(accuracy::numeric_sparse(1000, 10, 0.05, 1.0, 0.0), 1_223.313_030_598_505_7);
    let (threshold, question, answer) = accuracy::numeric_scales(10, 1.0, 0.0);
    near(threshold, 22.5);
    near(question, 45.0);
    near(answer, 90.0);
    near(accuracy::numeric_sparse(1000, 10, 0.05, 1.0, 1e-6), 3_868.342_831_635_217_4);
    let (threshold, question, answer) = accuracy::numeric_scales(10, 1.0, 1e-6);
    near(threshold, 71.149_175_668_642_39);
    near(question, 142.298_351_337_284_77);
    near(answer, 804.961_033_458_079_1);
    let (first, second) = accuracy::numeric_split(1.0, 1e-6);
    near(first, 0.957_676_287_675_206_4);
    near(second, 0.084_647_424_649_587_16);
    let (first, second) = accuracy::optimal_split(10, 1.0, false);
    near(first, 0.119_501_968_415_504_63);
    near(second, 0.880_498_031_584_495_4);
    near(accuracy::optimal_split(10, 1.0, true).0, 0.177_255_030_363_426_32);
}

/// The exact scales of plans are the book's, and never below them.
#[test]
fn scales_are_those_of_the_book_rounded_up() {
    let (epsilon, delta, zero) = (ratio("0.5"), ratio("1e-6"), Ratio::from_integer(0));
    let plan = Plan::sparse(3, 10, &epsilon, &zero).unwrap();
    assert_eq!(
        (plan.threshold_scale(), plan.question_scale()),
        (&Ratio::from_integer(120), &Ratio::from_integer(240))
    );
    let plan = Plan::above_threshold(3, &epsilon).unwrap();
    assert_eq!(
        (plan.threshold_scale(), plan.question_scale()),
        (&Ratio::from_integer(12), &Ratio::from_integer(24))
    );
    let plan = Plan::numeric_sparse(1, 10, &epsilon, &zero).unwrap();
    assert_eq!(
        (plan.threshold_scale(), plan.question_scale()),
        (&Ratio::from_integer(45), &Ratio::from_integer(90))
    );
    assert_eq!(plan.answer_scale(), Some(&Ratio::from_integer(180)));
    let above = |r: &Ratio, formula: f64| {
        let x = float(r) / formula;
        assert!((1.0 - 1e-14..1.0 + 1e-11).contains(&x), "{x}");
    };
    let plan = Plan::sparse(3, 10, &epsilon, &delta).unwrap();
    above(plan.threshold_scale(), 3.0 * accuracy::sparse_sigma(10, 0.5, 1e-6));
    above(plan.question_scale(), 6.0 * accuracy::sparse_sigma(10, 0.5, 1e-6));
    assert_eq!(plan.guarantee(), Guarantee::Approximate { epsilon, delta });
    let plan = Plan::numeric_sparse(3, 10, &epsilon, &delta).unwrap();
    let (threshold, question, answer) = accuracy::numeric_scales(10, 0.5, 1e-6);
    above(plan.threshold_scale(), 3.0 * threshold);
    above(plan.question_scale(), 3.0 * question);
    above(plan.answer_scale().unwrap(), 3.0 * answer);
    for (monotone, direction) in [(false, Direction::Any), (true, Direction::Monotone)] {
        let plan = Plan::improved(7, 10, &epsilon, direction).unwrap();
        let (first, second) = accuracy::optimal_split(10, 0.5, monotone);
        let shifts = if monotone { 10.0 } else { 20.0 };
        assert!((float(plan.threshold_scale()) / (7.0 / first) - 1.0).abs() < 1e-9);
        assert!((float(plan.question_scale()) / (7.0 * shifts / second) - 1.0).abs() < 1e-9);
        // Whatever the split's rounding, the shares are ε exactly.
        let spent = Ratio::from_integer(7) / plan.threshold_scale()
            + Ratio::from_integer(if monotone { 70 } else { 140 }) / plan.question_scale();
        assert_eq!(spent, epsilon);
    }
}

/// Theorem 3.24, seen: of a thousand streams no more err by α than β allows.
#[test]
fn streams_are_as_accurate_as_the_theorem_says() {
    let plan = Plan::above_threshold(1, &Ratio::from_integer(1)).unwrap();
    let alpha = accuracy::above_threshold(20, 0.1, 1.0).ceil() as i128;
    let mut rng = SeededRng::new(5);
    let values: Vec<i128> = (0..19).map(|_| 10 - alpha).chain([10 + alpha]).collect();
    let wrong = (0..2000)
        .filter(|_| {
            let said = run(&plan, &values, &mut rng);
            said.len() != 20 || said[19].is_none()
        })
        .count();
    assert!(wrong <= 200, "{wrong} of 2000, where 200 are allowed");
}

struct Counting(SeededRng, usize);

impl Entropy for Counting {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// The same random words are drawn whatever the values are.
#[test]
fn the_cost_of_a_question_does_not_depend_on_its_value() {
    let zero = Ratio::from_integer(0);
    for plan in [
        Plan::numeric_sparse(1, 2, &ratio("0.1"), &zero).unwrap(),
        Plan::improved(1, 2, &ratio("0.1"), Direction::Any).unwrap(),
    ] {
        for seed in 0..100 {
            let words = |value: i128| {
                let mut rng = Counting(SeededRng::new(seed), 0);
                let stream = Stream::open(plan.clone(), &mut rng).unwrap();
                let _ = stream.ask(value, 0, &mut rng).unwrap();
                rng.1
            };
            let all = [i128::MIN, -5, 0, 7, 100_000, i128::MAX].map(words);
            assert!(all.iter().all(|w| *w == all[0]), "{all:?}");
        }
    }
}

#[test]
fn values_at_the_edge_do_not_overflow() {
    let mut rng = SeededRng::new(2);
    let plan = || Plan::improved(1, 2, &Ratio::from_integer(1), Direction::Any).unwrap().with_gaps().unwrap();
    for (value, threshold, above) in [
        (i128::MAX, i128::MIN, true),
        (i128::MIN, i128::MAX, false),
        (i128::MAX, 0, true),
        (i128::MIN, 0, false),
    ] {
        let stream = Stream::open(plan(), &mut rng).unwrap();
        let outcome = stream.ask(value, threshold, &mut rng).unwrap();
        assert_eq!(matches!(outcome, Outcome::Above(_, Evidence::Gap(_))), above);
        assert_eq!(matches!(outcome, Outcome::Below(_)), !above);
    }
    let wide = Plan::improved(1 << 90, 2, &Ratio::from_integer(1), Direction::Monotone);
    assert!(wide.is_err(), "scales beyond 96 bits are refused");
}

#[test]
fn rule_28_nonsense_is_refused() {
    let (one, zero, delta) = (Ratio::from_integer(1), Ratio::from_integer(0), ratio("1e-6"));
    assert!(matches!(Plan::sparse(1, 2, &one, &delta), Err(DpError::Budget(_))), "δ > 0 needs ε < 1");
    assert!(matches!(Plan::numeric_sparse(1, 2, &one, &delta), Err(DpError::Budget(_))));
    assert!(Plan::sparse(1, 2, &ratio("0.999"), &delta).is_ok());
    assert!(Plan::sparse(1, 0, &one, &zero).is_err() && Plan::sparse(0, 1, &one, &zero).is_err());
    assert!(Plan::improved(1, 0, &one, Direction::Any).is_err());
    assert!(Plan::improved(1, 1, &zero, Direction::Any).is_err());
    assert!(
        Plan::above_threshold(1, &zero).is_err() && Plan::above_threshold(1, &Ratio::new_raw(1, 0)).is_err()
    );
    assert!(Plan::sparse(1, 1, &ratio("0.5"), &ratio("0.6")).is_err());
    assert!(Plan::sparse(1, 1, &ratio("0.5"), &Ratio::new_raw(1, 0)).is_err());
}
