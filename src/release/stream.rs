//! Questions to a sparse vector stream: exact integers in, and of each group only whether it passed its threshold, with
//! what the stream tells of a number that did.

use crate::error::ReleaseError;
use crate::exact::Exact;
use crate::noisy::{Noisy, pick};
use dp::sparse::{Evidence, OpenError, Outcome, Plan, Question, SENSITIVITY, Stream, Test};
use dp::{DpError, Entropy};
use kernel::Part;
use ledger::Receipt;
use price::Proven;

/// An instance of a stream: its noisy threshold, in memory only, and what is left of it.
///
/// It cannot be printed, copied or serialised: to know the noise is to know exact values.
pub struct Instance {
    stream: Option<Stream>,
    positives: u32,
    /// Its noise is for questions that one unit moves one way.
    monotone: bool,
}

/// Facts that one statement learned from a stream. Public: they follow from the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Groups that passed.
    pub above: usize,
    /// Groups that did not.
    pub below: usize,
    /// Groups that came after the last positive, and were not asked.
    pub unasked: usize,
}

impl Instance {
    /// Opens an instance of a stream for the receipt of its whole price. The receipt is used up: another instance has
    /// to be paid for (soundness rule 28).
    pub fn open(plan: Plan, receipt: Receipt, rng: &mut impl Entropy) -> Result<Self, ReleaseError> {
        if Proven::of_stream(&plan)?.charge() != receipt.charge() {
            return Err(ReleaseError::Receipt);
        }
        // Margins of questions have this sensitivity, and the noise must be made for it.
        if plan.sensitivity() != SENSITIVITY {
            return Err(DpError::OutOfRange("a stream for questions of another sensitivity").into());
        }
        let (positives, monotone) = (plan.positives(), plan.is_monotone());
        let stream = Stream::open(plan, rng).map_err(|e| match e {
            OpenError::Noise(e) => ReleaseError::Spec(e),
            OpenError::Entropy(e) => ReleaseError::Entropy(e),
        })?;
        Ok(Self { stream: Some(stream), positives, monotone })
    }

    /// The number of groups that may still pass; 0 where nothing can be asked any more.
    pub fn left(&self) -> u32 {
        self.stream.as_ref().map_or(0, Stream::left)
    }

    /// c: how many could pass when it was opened.
    pub fn positives(&self) -> u32 {
        self.positives
    }

    /// Asks the same question of each row, in their order, which is that of the domain.
    ///
    /// Guarantee: that of the stream's plan, over all questions of the instance together, if one unit changes each
    /// row's integer by at most the question's sensitivity; and, in a plan for monotone questions, all of them in one
    /// direction. Both are compared with what the kernel proved of the fetch (soundness rule 49). Each question draws the same noise whatever comes out (soundness rule 29).
    ///
    /// Rows that passed come back with their keys and, where the stream tells numbers, the noisy one, else 0. Without
    /// entropy the stream is lost and nothing comes back.
    pub fn ask(
        &mut self,
        exact: Exact,
        question: &Question,
        rng: &mut impl Entropy,
    ) -> Result<(Noisy, Told), ReleaseError> {
        // What the plan's noise is for is compared with what was proven of the text.
        let rises = matches!(question.test(), Test::Above | Test::AtLeast);
        let proven =
            |part: &Part| part.linf <= question.sensitivity() && (!self.monotone || part.rises && rises);
        if !matches!(exact.proven.parts(), [part] if proven(part)) || !exact.proven.public() {
            return Err(ReleaseError::Uncertified);
        }
        let Exact { keys, units, values, rows, .. } = exact;
        let [values] = values.as_slice() else { return Err(ReleaseError::Shape) };
        if units.is_some() || values.len() != rows || keys.iter().any(|column| column.len() != rows) {
            return Err(ReleaseError::Shape);
        }
        let mut told = Told::default();
        let (mut passed, mut numbers) = (Vec::new(), Vec::new());
        for (row, value) in values.iter().enumerate() {
            let Some(stream) = self.stream.take() else {
                told.unasked += 1;
                continue;
            };
            let evidence = match stream.ask(question.margin(*value), 0, rng)? {
                Outcome::Below(stream) => {
                    self.stream = Some(stream);
                    told.below += 1;
                    continue;
                }
                Outcome::Above(stream, evidence) => {
                    self.stream = Some(stream);
                    evidence
                }
                Outcome::Last(evidence) => evidence,
            };
            told.above += 1;
            passed.push(row);
            numbers.push(match evidence {
                Evidence::Nothing => 0,
                // A margin and a gap above the threshold's margin, which is 0, are read alike.
                Evidence::Answer(margin) | Evidence::Gap(margin) => question.value(margin),
            });
        }
        let keys = keys.iter().map(|column| pick(column, &passed)).collect();
        Ok((Noisy { keys, rows: passed.len(), values: vec![numbers] }, told))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::SeededRng;
    use answer::Identity;
    use bytes::Bytes;
    use dp::sparse::Direction;
    use dp::{EntropyError, Guarantee, Ratio};
    use ledger::{Ledger, Terms};
    use policy::{Accounting, Budget, LedgerLocation, Scope};

    async fn receipt(charge: &dp::Charge) -> Receipt {
        let folder = tempfile::tempdir().unwrap();
        let place = LedgerLocation::Sqlite(folder.path().join("books.db").into());
        let budget = Budget {
            delta: "0.6".parse().unwrap(),
            selection_delta: "0.5".parse().unwrap(),
            ..Budget::new(
                "everyone",
                Scope::Dataset,
                Accounting::Notion(dp::Notion::Approx),
                1_000_000.into(),
                0.into(),
            )
        };
        let terms = Terms::unchecked(&[budget], "t.u");
        Ledger::create(&place, &terms).unwrap();
        let ledger = Ledger::open(&place, &terms).unwrap();
        let who = Identity { user: "ada".into(), role: None };
        ledger.debit(&who, [0; 32], &Proven::unproven(charge.clone())).await.unwrap()
    }

    async fn open(plan: Plan, seed: u64) -> Instance {
        let paid = receipt(&dp::Charge::guaranteed(&plan.guarantee()).unwrap()).await;
        Instance::open(plan, paid, &mut SeededRng::new(seed)).unwrap_or_else(|e| panic!("{e}"))
    }

    fn groups(values: &[i128]) -> Exact {
        let keys = (0..values.len()).map(|i| Some(Bytes::from(format!("k{i}")))).collect();
        Exact {
            keys: vec![keys],
            units: None,
            values: vec![values.to_vec()],
            rows: values.len(),
            proven: price::Proof::unproven(
                1,
                kernel::Weights::Units,
                vec![Part::in_each(1, None).rising(true)],
                true,
                false,
            ),
            selected: None,
            within: None,
        }
    }

    fn question(sensitivity: u128, threshold: i64) -> Question {
        Question::new(sensitivity, threshold.into(), 1u8.into(), Test::Above).unwrap()
    }

    struct NoEntropy;

    impl Entropy for NoEntropy {
        fn next_u64(&mut self) -> Result<u64, EntropyError> {
            Err(EntropyError)
        }
    }

    fn one() -> Ratio {
        Ratio::from_integer(1)
    }

    /// Mutation: groups after the last positive are answered, or asked in another order.
    #[tokio::test]
    async fn rule_28_groups_are_asked_in_order_until_the_last_positive() {
        let plan = Plan::numeric_sparse(SENSITIVITY, 2, &one(), &Ratio::from_integer(0)).unwrap();
        let mut instance = open(plan, 3).await;
        let values = [0, 1_000_000, 0, 2_000_000, 3_000_000, 0];
        let mut rng = SeededRng::new(5);
        let (noisy, told) = instance.ask(groups(&values), &question(1, 500_000), &mut rng).unwrap();
        assert_eq!(told, Told { above: 2, below: 2, unasked: 2 });
        assert_eq!(noisy.keys, [[Some(Bytes::from("k1")), Some(Bytes::from("k3"))]]);
        assert!(noisy.values[0][0].abs_diff(1_000_000) < 1000, "{noisy:?}");
        assert!(noisy.values[0][0] != 1_000_000 && noisy.values[0][1].abs_diff(2_000_000) < 1000);
        assert_eq!((instance.left(), instance.positives()), (0, 2));
        let (noisy, told) = instance.ask(groups(&values), &question(1, 500_000), &mut rng).unwrap();
        assert_eq!((noisy.rows, told.unasked), (0, 6));
    }

    /// Without numbers a positive comes with none, whatever it was.
    #[tokio::test]
    async fn a_stream_without_numbers_tells_none() {
        let plan = Plan::sparse(SENSITIVITY, 3, &one(), &Ratio::from_integer(0)).unwrap();
        let mut instance = open(plan, 3).await;
        let asked = instance.ask(groups(&[9_999_999]), &question(1, 5), &mut SeededRng::new(1)).unwrap();
        assert_eq!((asked.0.rows, &asked.0.values), (1, &vec![vec![0]]));
        assert_eq!(instance.left(), 2);
    }

    /// The gap tells the number within the noise of the comparison, and costs nothing.
    #[tokio::test]
    async fn a_gap_is_the_number_with_the_noise_of_the_comparison() {
        let plan = Plan::improved(SENSITIVITY, 1, &one(), Direction::Any).unwrap().with_gaps().unwrap();
        let mut instance = open(plan, 3).await;
        let asked = instance.ask(groups(&[40_000]), &question(20, 1000), &mut SeededRng::new(1)).unwrap();
        let number = asked.0.values[0][0];
        assert!(number.abs_diff(40_000) < 2000 && number != 40_000, "{number}");
    }

    /// A receipt for anything else opens nothing, and noise for another sensitivity neither.
    #[tokio::test]
    async fn rule_28_an_instance_needs_the_receipt_of_its_own_price() {
        let plan = || Plan::above_threshold(SENSITIVITY, &one()).unwrap();
        for guarantee in [
            Guarantee::Pure { epsilon: Ratio::new(1, 2) },
            Guarantee::BoundedRange { epsilon: one() },
            Guarantee::Approximate { epsilon: one(), delta: Ratio::new(1, 1000) },
        ] {
            let paid = receipt(&dp::Charge::guaranteed(&guarantee).unwrap()).await;
            let opened = Instance::open(plan(), paid, &mut SeededRng::new(1));
            assert_eq!(opened.err(), Some(ReleaseError::Receipt));
        }
        let narrow = Plan::above_threshold(1, &one()).unwrap();
        let paid = receipt(&dp::Charge::guaranteed(&narrow.guarantee()).unwrap()).await;
        assert!(matches!(
            Instance::open(narrow, paid, &mut SeededRng::new(1)).err(),
            Some(ReleaseError::Spec(_))
        ));
    }

    /// Mutations: noise that is not scaled by the sensitivity, a threshold drawn for each question.
    #[test]
    fn far_questions_are_decided_rightly_and_near_ones_by_noise() {
        let (mut near, mut runs) = (0, 0);
        for seed in 0..300 {
            let plan = Plan::above_threshold(SENSITIVITY, &one()).unwrap();
            let mut rng = SeededRng::new(seed);
            let mut instance =
                Instance { stream: Stream::open(plan, &mut rng).ok(), positives: 1, monotone: false };
            // Noise has scales of 2·20 and 4·20 rows: ten thousand rows are far.
            let far = instance.ask(groups(&[0, 0, 0]), &question(20, 10_000), &mut rng).unwrap();
            assert_eq!(far.1, Told { below: 3, ..Told::default() });
            near += instance.ask(groups(&[10_000]), &question(20, 10_000), &mut rng).unwrap().1.above;
            runs += 1;
        }
        // Half of them, within six standard deviations.
        assert!((100..=200).contains(&near), "{near} of {runs}");
    }

    /// What the plan's noise is for is what was proven, or nothing is asked. Mutations: another Δ than the text's, a question that
    /// one unit moves either way in a plan for one way.
    #[tokio::test]
    async fn rule_49_a_question_is_what_was_proven() {
        let plan = || Plan::improved(SENSITIVITY, 3, &one(), Direction::Monotone).unwrap();
        let mut rng = SeededRng::new(1);
        let ask = |part: Part| {
            let proven = price::Proof::unproven(1, kernel::Weights::Units, vec![part], true, false);
            Exact { proven, ..groups(&[7]) }
        };
        for (part, sensitivity, test, fits) in [
            (Part::in_each(3, None).rising(true), 3, Test::Above, true),
            (Part::in_each(3, None).rising(true), 2, Test::Above, false),
            (Part::in_each(3, None), 3, Test::Above, false),
            (Part::in_each(3, None).rising(true), 3, Test::Below, false),
        ] {
            let mut instance = open(plan(), 3).await;
            let question = Question::new(sensitivity, 5.into(), 1u8.into(), test).unwrap();
            let asked = instance.ask(ask(part), &question, &mut rng);
            assert_eq!(asked.is_ok(), fits, "{part:?} {sensitivity} {test:?}: {:?}", asked.err());
            assert_eq!(instance.left(), if fits { 2 } else { 3 }.max(instance.left()), "nothing was asked");
        }
        // Where questions may go either way, they may.
        let either = Plan::improved(SENSITIVITY, 3, &one(), Direction::Any).unwrap();
        let mut instance = open(either, 3).await;
        let question = Question::new(3, 5.into(), 1u8.into(), Test::Below).unwrap();
        assert!(instance.ask(ask(Part::in_each(3, None)), &question, &mut rng).is_ok());
    }

    /// Entropy that ends: nothing is told, and the stream is gone.
    #[tokio::test]
    async fn without_entropy_the_stream_is_lost() {
        let plan = Plan::sparse(SENSITIVITY, 3, &one(), &Ratio::from_integer(0)).unwrap();
        let mut instance = open(plan, 3).await;
        let asked = instance.ask(groups(&[1, 2]), &question(1, 5), &mut NoEntropy);
        assert!(matches!(asked, Err(ReleaseError::Entropy(_))));
        assert_eq!(instance.left(), 0);
    }
}
