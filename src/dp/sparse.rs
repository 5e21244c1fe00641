//! The sparse vector technique: many questions whether a number exceeds a threshold, of which only those that do are paid
//! for, and only the first c.
//!
//! [`Plan`] fixes everything from public data; [`Stream`] is one instance of it, whose threshold has been drawn.
//! Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), section 3.6; Lyu, Su and Li,
//! "Understanding the Sparse Vector Technique for Differential Privacy" (2017); Ding, Wang, Zhang and Kifer, "Free Gap
//! Information from the Differentially Private Sparse Vector and Noisy Max Mechanisms" (2019).
//!
//! All noise is discrete. The proofs carry over word for word: they shift noise by integers (the sensitivity and
//! differences of questions), and shifting discrete Laplace noise of scale b by s changes a probability by at most
//! e^(|s|/b), as for continuous noise.

pub mod accuracy;
mod plan;
mod question;

pub use plan::{Direction, Plan};
pub use question::{Question, SENSITIVITY, Test};

use super::{DiscreteLaplace, DpError, Entropy, EntropyError};

/// Evidence that is told of a number above its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The fact alone.
    Nothing,
    /// The number itself with fresh noise.
    Answer(i128),
    /// By how much the noisy number exceeded the noisy threshold.
    Gap(i128),
}

/// The answer to one question.
///
/// With the last number above its threshold the stream is gone: there is nothing left to ask.
pub enum Outcome {
    /// Below; the stream goes on.
    Below(Stream),
    /// Above; the stream goes on.
    Above(Stream, Evidence),
    /// Above, for the c-th time.
    Last(Evidence),
}

/// A stream of questions under one noisy threshold.
///
/// Guarantee: that of its [`Plan`], over all questions together, for add/remove neighbours, where each question's value
/// changes by at most the plan's sensitivity when one unit's rows come or go, whatever was answered before (questions may
/// be chosen by earlier answers). Where the plan is for monotone questions, one unit moves all values in the same
/// direction. Thresholds are public.
///
/// ```
/// # use noisegate_dp::{Ratio, SecureRng, sparse::{Direction, Outcome, Plan, Stream}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut rng = SecureRng::new()?;
/// let plan = Plan::improved(1, 3, &Ratio::from_integer(1), Direction::Monotone)?;
/// let mut stream = Stream::open(plan, &mut rng)?;
/// for (count, threshold) in [(7, 100), (2000, 100), (9, 100)] {
///     stream = match stream.ask(count, threshold, &mut rng)? {
///         Outcome::Below(stream) | Outcome::Above(stream, _) => stream,
///         Outcome::Last(_) => break,
///     };
/// }
/// # Ok(())
/// # }
/// ```
///
/// A stream is used up by asking, so it cannot answer after its c-th positive:
///
/// ```compile_fail,E0382
/// # use noisegate_dp::{Ratio, SecureRng, sparse::{Outcome, Plan, Stream}};
/// let mut rng = SecureRng::new().unwrap();
/// let plan = Plan::above_threshold(1, &Ratio::from_integer(1)).unwrap();
/// let stream = Stream::open(plan, &mut rng).unwrap();
/// let first = stream.ask(7, 5, &mut rng);
/// let second = stream.ask(7, 5, &mut rng); // used after it was moved
/// ```
///
/// It cannot be copied, which would be two answers under one threshold:
///
/// ```compile_fail,E0599
/// # use noisegate_dp::{Ratio, SecureRng, sparse::{Plan, Stream}};
/// # let mut rng = SecureRng::new().unwrap();
/// let plan = Plan::above_threshold(1, &Ratio::from_integer(1)).unwrap();
/// let stream = Stream::open(plan, &mut rng).unwrap();
/// let twin = stream.clone();
/// ```
///
/// And nothing is left of it after the last positive:
///
/// ```compile_fail,E0023
/// # use noisegate_dp::sparse::{Outcome, Stream};
/// fn go_on(outcome: Outcome) -> Option<Stream> {
///     match outcome {
///         Outcome::Below(stream) | Outcome::Above(stream, _) | Outcome::Last(stream, _) => Some(stream),
///     }
/// }
/// ```
pub struct Stream {
    plan: Plan,
    threshold: DiscreteLaplace,
    question: DiscreteLaplace,
    answer: Option<DiscreteLaplace>,
    state: State,
}

/// What a stream remembers.
#[derive(Clone, Copy)]
struct State {
    /// The noise on the threshold.
    noisy: i128,
    /// Positives left, at least 1.
    left: u32,
}

/// The noise of one question; all of it is drawn for each, whatever comes out.
struct Drawn {
    question: i128,
    threshold: i128,
    answer: Option<i128>,
}

/// Numbers beyond this are cut to it, so that sums of a few cannot overflow: a contraction, which makes no difference
/// between neighbours larger. Noise reaches it with probability e^(-2^29).
const END: i128 = 1 << 125;

impl State {
    /// The decision on a number that is `margin` above its threshold.
    fn next(self, plan: &Plan, margin: i128, drawn: &Drawn) -> (Option<Evidence>, Self) {
        let noisy = margin.clamp(-END, END) + drawn.question.clamp(-END, END);
        let gap = noisy - self.noisy.clamp(-END, END);
        if gap < 0 {
            return (None, self);
        }
        let evidence = match drawn.answer {
            Some(answer) => Evidence::Answer(answer),
            None if plan.tells_gaps() => Evidence::Gap(gap),
            None => Evidence::Nothing,
        };
        let noisy = if plan.renews() { drawn.threshold } else { self.noisy };
        (Some(evidence), Self { noisy, left: self.left.saturating_sub(1) })
    }
}

impl Stream {
    /// A new stream: its threshold is drawn, and its whole price is due, now. Opened again, it pays again.
    pub fn open(plan: Plan, rng: &mut impl Entropy) -> Result<Self, OpenError> {
        let threshold = DiscreteLaplace::new(plan.threshold_scale())?;
        let question = DiscreteLaplace::new(plan.question_scale())?;
        let answer = plan.answer_scale().map(DiscreteLaplace::new).transpose()?;
        let state = State { noisy: threshold.sample(rng)?, left: plan.positives() };
        Ok(Self { plan, threshold, question, answer, state })
    }

    /// Whether `value`, which one unit changes by at most the plan's sensitivity, exceeds the public `threshold`.
    ///
    /// As much noise is drawn whatever comes out. Where entropy fails, the stream is lost.
    pub fn ask(
        mut self,
        value: i128,
        threshold: i128,
        rng: &mut impl Entropy,
    ) -> Result<Outcome, EntropyError> {
        let drawn = Drawn {
            question: self.question.sample(rng)?,
            threshold: if self.plan.renews() { self.threshold.sample(rng)? } else { 0 },
            answer: match &self.answer {
                Some(noise) => Some(value.saturating_add(noise.sample(rng)?)),
                None => None,
            },
        };
        let (evidence, state) = self.state.next(&self.plan, value.saturating_sub(threshold), &drawn);
        self.state = state;
        Ok(match evidence {
            None => Outcome::Below(self),
            Some(evidence) if state.left == 0 => Outcome::Last(evidence),
            Some(evidence) => Outcome::Above(self, evidence),
        })
    }

    /// The plan of the stream.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of times that a number can still be found above. Public: it follows from the
    /// answers.
    pub fn left(&self) -> u32 {
        self.state.left
    }
}

/// Why a stream was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Noise cannot be drawn.
    #[error(transparent)]
    Noise(#[from] DpError),
    /// No entropy.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

#[cfg(test)]
mod audit;
#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;
