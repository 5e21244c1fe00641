//! Plans of streams: their noise, and its price.

use crate::certified::{is_usual_delta, ln_inverse_up, round_up, sqrt_up};
use crate::ratio::narrow;
use crate::ratio::{BigRatio, exact, exact_integer};
use crate::{DiscreteLaplace, DpError, Guarantee, Ratio};
use num_bigint::BigUint;
use num_traits::{CheckedAdd, One};

/// Directions in which one unit moves the values of a stream's questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Up in some and down in others.
    Any,
    /// All up, or all down: counts and non-negative sums, each asked whether it *exceeds* its threshold.
    Monotone,
}

/// A stream's public parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    positives: u32,
    threshold: Ratio,
    question: Ratio,
    answer: Option<Ratio>,
    sensitivity: u128,
    /// Whether each positive is followed by a new noisy threshold.
    renewed: bool,
    gaps: bool,
    /// One unit moves all questions one way.
    monotone: bool,
    epsilon: Ratio,
    delta: Ratio,
}

/// Fractional bits of the split of the improved variant. Any split is private; this one is the best but for 2^-32.
const SPLIT: u32 = 32;

/// For δ > 0 the scales of the book are one root times sums of roots; each is rounded up.
struct Advanced {
    /// Δ·√(c·ln(1/δ))/ε, from above.
    root: BigRatio,
    /// √2, from above.
    two: BigRatio,
}

impl Plan {
    /// AboveThreshold (Dwork and Roth, Algorithm 1): one positive; threshold noise 2Δ/ε, question noise 4Δ/ε.
    ///
    /// Guarantee: ε-DP (Theorem 3.23).
    pub fn above_threshold(sensitivity: u128, epsilon: &Ratio) -> Result<Self, DpError> {
        Self::sparse(sensitivity, 1, epsilon, &Ratio::from_integer(0))
    }

    /// Sparse (Algorithm 2): c positives, each followed by a new threshold; threshold noise σΔ, question noise 2σΔ, with
    /// σ = 2c/ε for δ = 0, and σ = √(32·c·ln(1/δ))/ε, rounded up, for δ > 0.
    ///
    /// Guarantee: (ε, δ)-DP (Theorem 3.25). For δ > 0 it comes from advanced composition in the form of Corollary 3.21,
    /// which needs ε < 1; 2^-96 <= δ <= 1/2.
    pub fn sparse(
        sensitivity: u128,
        positives: u32,
        epsilon: &Ratio,
        delta: &Ratio,
    ) -> Result<Self, DpError> {
        let sigma = if is_pure(delta)? {
            pure(sensitivity, positives, epsilon, 2, 1)?
        } else {
            // √32 = 4·√2.
            let a = Advanced::new(sensitivity, positives, epsilon, delta, 1)?;
            a.times(4, BigRatio::from_integer(0u8.into()))
        };
        Self::new(
            sensitivity,
            positives,
            &sigma,
            &(&sigma * BigUint::from(2u8)),
            None,
            true,
            (epsilon, delta),
        )
    }

    /// NumericSparse (Algorithm 3): Sparse with ε₁, and each positive answered with noise σ(ε₂)Δ. For δ = 0, ε₁ = 8ε/9
    /// and ε₂ = 2ε/9 with σ(ε) = 2c/ε; for δ > 0, ε₁ = √512·ε/(√512+1) and ε₂ = 2ε/(√512+1) with
    /// σ(ε) = √(32·c·ln(2/δ))/ε. All scales are rounded up.
    ///
    /// ε₁ + ε₂ is above ε, and that is right: answers with noise σ(ε₂) cost only ε₂/2.
    ///
    /// Guarantee: (ε, δ)-DP (Theorem 3.27); for δ > 0 under the conditions of [`Self::sparse`].
    pub fn numeric_sparse(
        sensitivity: u128,
        positives: u32,
        epsilon: &Ratio,
        delta: &Ratio,
    ) -> Result<Self, DpError> {
        let (sigma, answer) = if is_pure(delta)? {
            // 2c/(8ε/9) and 2c/(2ε/9).
            (pure(sensitivity, positives, epsilon, 9, 4)?, pure(sensitivity, positives, epsilon, 9, 1)?)
        } else {
            // √32·(√512+1)/√512 = 4√2 + 1/4, and √32·(√512+1)/2 = 64 + 2√2.
            let a = Advanced::new(sensitivity, positives, epsilon, delta, 2)?;
            (
                a.times(4, BigRatio::new(1u8.into(), 4u8.into())),
                a.times(2, BigRatio::from_integer(64u8.into())),
            )
        };
        let question = &sigma * BigUint::from(2u8);
        Self::new(sensitivity, positives, &sigma, &question, Some(&answer), true, (epsilon, delta))
    }

    /// The improved variant (Lyu, Su and Li 2017, Algorithm 1): one threshold for all c positives. Threshold noise Δ/ε₁,
    /// question noise 2cΔ/ε₂, or cΔ/ε₂ where questions are monotone, with ε₁ + ε₂ = ε in the ratio 1 : (2c)^(2/3), or
    /// 1 : c^(2/3), which makes the variance of the comparison least (section 4.2).
    ///
    /// Guarantee: ε-DP. Noise on the threshold that is Δ more makes up for every negative at once, for ε₁; noise on a positive
    /// that is up to 2Δ more makes up for it and its own change, c times for ε₂. Where all questions fall or all rise, one of
    /// the two is enough: Δ.
    pub fn improved(
        sensitivity: u128,
        positives: u32,
        epsilon: &Ratio,
        direction: Direction,
    ) -> Result<Self, DpError> {
        positive(epsilon)?;
        let shifts = match direction {
            Direction::Any => 2 * u64::from(positives),
            Direction::Monotone => u64::from(positives),
        };
        // (2c)^(2/3)·2^32, rounded down; at least 2^32 for c >= 1.
        let part = ((BigUint::from(shifts) * shifts) << (3 * SPLIT)).nth_root(3);
        let unit = BigUint::one() << SPLIT;
        let whole = &part + &unit;
        let base = exact_integer(sensitivity) / exact(epsilon);
        let threshold = &base * BigRatio::new(whole.clone(), unit);
        let question = match positives {
            0 => exact_integer(0u8),
            _ => base * BigRatio::new(whole * shifts, part),
        };
        let zero = Ratio::from_integer(0);
        let plan = Self::new(sensitivity, positives, &threshold, &question, None, false, (epsilon, &zero))?;
        Ok(Self { monotone: direction == Direction::Monotone, ..plan })
    }

    /// The noise is for questions that one unit moves one way, each of which asks whether a number
    /// exceeds its threshold.
    pub fn is_monotone(&self) -> bool {
        self.monotone
    }

    /// The same, telling for each positive by how much the noisy value exceeds the noisy threshold: the gap is free (Ding
    /// et al. 2019): the shifts of the proof leave it as it is. Not for a plan that answers.
    pub fn with_gaps(self) -> Result<Self, DpError> {
        if self.answer.is_some() {
            return Err(DpError::OutOfRange("a stream tells a gap or an answer, not both"));
        }
        Ok(Self { gaps: true, ..self })
    }

    /// The same, answering each positive with fresh noise of scale cΔ/ε₃ (Lyu, Su and Li 2017, Algorithm 1): ε
    /// grows by ε₃. Not for a plan that tells gaps or answers already.
    pub fn with_answers(self, epsilon: &Ratio) -> Result<Self, DpError> {
        positive(epsilon)?;
        if self.gaps || self.answer.is_some() {
            return Err(DpError::OutOfRange("a stream tells a gap or an answer, not both"));
        }
        let answer = fit(&pure(self.sensitivity, self.positives, epsilon, 1, 1)?)?;
        let sum = self.epsilon.checked_add(epsilon).ok_or(DpError::OutOfRange("the price of a stream"))?;
        Ok(Self { answer: Some(answer), epsilon: sum, ..self })
    }

    fn new(
        sensitivity: u128,
        positives: u32,
        threshold: &BigRatio,
        question: &BigRatio,
        answer: Option<&BigRatio>,
        renewed: bool,
        (epsilon, delta): (&Ratio, &Ratio),
    ) -> Result<Self, DpError> {
        if sensitivity == 0 || positives == 0 {
            return Err(DpError::OutOfRange("a stream has a sensitivity and at least one positive"));
        }
        Ok(Self {
            positives,
            threshold: fit(threshold)?,
            question: fit(question)?,
            answer: answer.map(fit).transpose()?,
            sensitivity,
            renewed,
            gaps: false,
            monotone: false,
            epsilon: *epsilon,
            delta: *delta,
        })
    }

    /// c: the number of times that a number can be found above its threshold.
    pub fn positives(&self) -> u32 {
        self.positives
    }

    /// The most that one unit may change a question's value by.
    pub fn sensitivity(&self) -> u128 {
        self.sensitivity
    }

    /// Scale of the noise on the threshold.
    pub fn threshold_scale(&self) -> &Ratio {
        &self.threshold
    }

    /// Scale of the noise on each question's value.
    pub fn question_scale(&self) -> &Ratio {
        &self.question
    }

    /// Scale of the noise on each answer, where there are answers.
    pub fn answer_scale(&self) -> Option<&Ratio> {
        self.answer.as_ref()
    }

    pub(super) fn renews(&self) -> bool {
        self.renewed
    }

    pub(super) fn tells_gaps(&self) -> bool {
        self.gaps
    }

    /// Guarantee of a stream, all of which is charged when it is opened.
    pub fn guarantee(&self) -> Guarantee {
        match *self.delta.numer() {
            0 => Guarantee::Pure { epsilon: self.epsilon },
            _ => Guarantee::Approximate { epsilon: self.epsilon, delta: self.delta },
        }
    }
}

impl Advanced {
    /// Δ·√(c·ln(`over`/δ))/ε, from above.
    fn new(
        sensitivity: u128,
        positives: u32,
        epsilon: &Ratio,
        delta: &Ratio,
        over: u8,
    ) -> Result<Self, DpError> {
        positive(epsilon)?;
        if *epsilon >= Ratio::from_integer(1) {
            return Err(DpError::Budget("a stream with delta above zero needs an epsilon below 1"));
        }
        let ln = ln_inverse_up(&(exact(delta) / BigUint::from(over))).ok_or(DpError::SelectionDelta)?;
        let (s, e) = (exact_integer(sensitivity), exact(epsilon));
        let square = &s * &s * ln * BigUint::from(positives) / (&e * &e);
        Ok(Self { root: sqrt_up(&square), two: sqrt_up(&exact_integer(2u8)) })
    }

    /// root·(`roots`·√2 + `rest`), rounded up.
    fn times(&self, roots: u8, rest: BigRatio) -> BigRatio {
        round_up(&(&self.root * (&self.two * BigUint::from(roots) + rest)))
    }
}

fn positive(epsilon: &Ratio) -> Result<(), DpError> {
    if *epsilon.numer() == 0 || *epsilon.denom() == 0 { Err(DpError::Epsilon) } else { Ok(()) }
}

/// Whether δ = 0; an error where it is neither that nor in range.
fn is_pure(delta: &Ratio) -> Result<bool, DpError> {
    let pure = *delta.numer() == 0 && *delta.denom() != 0;
    if pure || is_usual_delta(delta) { Ok(pure) } else { Err(DpError::SelectionDelta) }
}

/// (n/d)·cΔ/ε.
fn pure(sensitivity: u128, positives: u32, epsilon: &Ratio, n: u8, d: u8) -> Result<BigRatio, DpError> {
    positive(epsilon)?;
    let factor = BigRatio::new(n.into(), d.into());
    Ok(exact_integer(sensitivity) * exact_integer(positives) * factor / exact(epsilon))
}

fn fit(r: &BigRatio) -> Result<Ratio, DpError> {
    let scale = narrow(r).ok_or(DpError::OutOfRange("a noise scale"))?;
    DiscreteLaplace::new(&scale).map(|_| scale)
}
