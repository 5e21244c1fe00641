//! For tests: the exact probabilities of everything a stream can say, and how far they are apart for neighbours.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{Drawn, Evidence, Plan, State};
use std::collections::BTreeMap;

/// A sparse vector algorithm, one decision at a time: the real one, or a broken one.
pub(super) trait Machine {
    type Said: Ord + Clone;
    fn threshold_scale(&self) -> f64;
    /// 0: no noise.
    fn question_scale(&self) -> f64;
    fn positives(&self) -> u32;
    /// What is said of a number `margin` above its threshold, and what is left (0: nothing can be asked). `renewed` takes
    /// the place of the noise on the threshold where the algorithm draws it again.
    fn step(
        &self,
        noisy: i128,
        left: u32,
        margin: i128,
        noise: i128,
        renewed: i128,
    ) -> (Self::Said, u32, i128);
}

/// Said of one question by the real machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Said {
    Below,
    Above,
    Gap(i128),
}

/// The product's own decision.
pub(super) struct Real(pub(super) Plan);

fn float(r: &crate::Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

impl Machine for Real {
    type Said = Said;
    fn threshold_scale(&self) -> f64 {
        float(self.0.threshold_scale())
    }
    fn question_scale(&self) -> f64 {
        float(self.0.question_scale())
    }
    fn positives(&self) -> u32 {
        self.0.positives()
    }
    fn step(&self, noisy: i128, left: u32, margin: i128, noise: i128, renewed: i128) -> (Said, u32, i128) {
        // Answers have noise of their own and say nothing of the decision: they are audited by their scale.
        let drawn = Drawn { question: noise, threshold: renewed, answer: None };
        let (evidence, state) = State { noisy, left }.next(&self.0, margin, &drawn);
        let said = match evidence {
            None => Said::Below,
            Some(Evidence::Gap(gap)) => Said::Gap(gap),
            Some(_) => Said::Above,
        };
        (said, state.left, state.noisy)
    }
}

/// Discrete Laplace on -reach..=reach, with the tails (below 1e-10) at the ends.
fn masses(scale: f64) -> (i128, Vec<f64>) {
    if scale <= 0.0 {
        return (0, vec![1.0]);
    }
    let q = (-1.0 / scale).exp();
    let reach = (scale * 23.0).ceil() as i128 + 1;
    let mut all: Vec<f64> =
        (-reach..=reach).map(|x| (1.0 - q) / (1.0 + q) * q.powi(i32::try_from(x.abs()).unwrap())).collect();
    let tail = q.powi(i32::try_from(reach).unwrap() + 1) / (1.0 + q);
    let last = all.len() - 1;
    all[0] += tail;
    all[last] += tail;
    (reach, all)
}

/// Transcripts about the numbers in turn, with their probabilities.
pub(super) type Transcripts<S> = BTreeMap<Vec<S>, f64>;

/// (said, left, renewed) with probability, for each noise on the threshold.
type Table<S> = Vec<BTreeMap<(S, u32, bool), f64>>;

pub(super) struct Auditor<'a, M: Machine> {
    machine: &'a M,
    reach: i128,
    threshold: Vec<f64>,
    question: (i128, Vec<f64>),
    tables: BTreeMap<(u32, i128), Table<M::Said>>,
}

impl<'a, M: Machine> Auditor<'a, M> {
    pub(super) fn new(machine: &'a M) -> Self {
        let (reach, threshold) = masses(machine.threshold_scale());
        let question = masses(machine.question_scale());
        Self { machine, reach, threshold, question, tables: BTreeMap::new() }
    }

    /// One question, for all noise there is.
    fn table(&mut self, left: u32, margin: i128) -> Table<M::Said> {
        let (machine, reach) = (self.machine, self.reach);
        let (far, noise) = (self.question.0, &self.question.1);
        let make = || {
            (-reach..=reach)
                .map(|noisy| {
                    let mut row = BTreeMap::new();
                    for (x, p) in (-far..=far).zip(noise) {
                        // Noise that cannot be there, to see whether it is taken.
                        let marker = 1 << 100;
                        let (said, left, next) = machine.step(noisy, left, margin, x, marker);
                        assert!(next == noisy || next == marker);
                        *row.entry((said, left, next == marker)).or_insert(0.0) += p;
                    }
                    row
                })
                .collect::<Vec<_>>()
        };
        self.tables.entry((left, margin)).or_insert_with(make).clone()
    }

    /// The exact distribution of transcripts, but for tails of 1e-10.
    pub(super) fn transcripts(&mut self, margins: &[i128]) -> Transcripts<M::Said> {
        let mut out = BTreeMap::new();
        let start = self.threshold.clone();
        self.follow(margins, &mut Vec::new(), start, self.machine.positives(), &mut out);
        out
    }

    fn follow(
        &mut self,
        margins: &[i128],
        said: &mut Vec<M::Said>,
        weights: Vec<f64>,
        left: u32,
        out: &mut Transcripts<M::Said>,
    ) {
        let Some((margin, rest)) = margins.split_first().filter(|_| left > 0) else {
            *out.entry(said.clone()).or_insert(0.0) += weights.iter().sum::<f64>();
            return;
        };
        let mut branches: BTreeMap<(M::Said, u32, bool), Vec<f64>> = BTreeMap::new();
        for (index, row) in self.table(left, *margin).into_iter().enumerate() {
            for (key, p) in row {
                branches.entry(key).or_insert_with(|| vec![0.0; weights.len()])[index] += weights[index] * p;
            }
        }
        for ((word, left, renewed), mut weights) in branches {
            if renewed {
                let total: f64 = weights.iter().sum();
                weights = self.threshold.iter().map(|p| p * total).collect();
            }
            said.push(word);
            self.follow(rest, said, weights, left, out);
            said.pop();
        }
    }

    /// The greatest privacy loss of any transcript of probability above 1e-6, over neighbours of the given values that
    /// differ by the given steps.
    pub(super) fn worst(&mut self, base: &[i128], steps: &[Vec<i128>]) -> f64 {
        let here = self.transcripts(base);
        let mut worst = 0.0f64;
        for step in steps {
            let moved: Vec<i128> = base.iter().zip(step).map(|(a, b)| a + b).collect();
            let there = self.transcripts(&moved);
            for key in here.keys().chain(there.keys()) {
                let (p, q) = (here.get(key).unwrap_or(&0.0), there.get(key).unwrap_or(&0.0));
                if p.max(*q) > 1e-6 {
                    worst = worst.max((p.max(*q) / p.min(*q).max(1e-12)).ln());
                }
            }
        }
        worst
    }
}

/// All vectors of `n` numbers of `from`.
pub(super) fn all(n: usize, from: &[i128]) -> Vec<Vec<i128>> {
    (0..n).fold(vec![vec![]], |done, _| {
        done.iter()
            .flat_map(|v| from.iter().map(move |x| v.iter().copied().chain([*x]).collect::<Vec<_>>()))
            .collect()
    })
}
