//! When reports go out.

use dp::interval::Interval;
use dp::{DiscreteLaplace, DpError, Entropy, EntropyError, Ratio};

/// When a group has hidden enough, and a batch is one.
#[derive(Clone, Debug)]
pub struct Rules {
    min_batch: u64,
    max_delay: u64,
    min_group: u64,
    counted_per_writer: u64,
    epsilon: Ratio,
    noise: DiscreteLaplace,
}

/// Rules of collections.
pub trait Ruling {
    /// Those of the collection with this digest; None leaves its reports where they are.
    fn of(&self, collection: &[u8]) -> Option<&Rules>;
}

/// The same for all.
impl Ruling for Rules {
    fn of(&self, _: &[u8]) -> Option<&Rules> {
        Some(self)
    }
}

/// Each has its own, by its digest.
impl Ruling for Vec<(Vec<u8>, Rules)> {
    fn of(&self, collection: &[u8]) -> Option<&Rules> {
        self.iter().find(|(digest, _)| digest == collection).map(|(_, rules)| rules)
    }
}

/// Promise of the threshold of groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// ε.
    pub epsilon: Ratio,
    /// δ, from above.
    pub delta: f64,
}

impl Rules {
    /// A batch has at least `min_batch` reports, or the first of them has waited `max_delay` seconds since its group was large
    /// enough. A group is large enough from about `min_group` reports on, of which as many as `counted_per_writer` of one
    /// writer count; the threshold has discrete Laplace noise of scale 1/`epsilon`.
    ///
    /// # Errors
    /// ε is not above zero, or `min_batch` or `counted_per_writer` is 0.
    pub fn new(
        min_batch: u64,
        max_delay: u64,
        min_group: u64,
        counted_per_writer: u64,
        epsilon: &Ratio,
    ) -> Result<Self, DpError> {
        if min_batch == 0 || counted_per_writer == 0 {
            return Err(DpError::OutOfRange("min_batch and counted_per_writer are at least 1"));
        }
        if *epsilon.numer() == 0 {
            return Err(DpError::Epsilon);
        }
        let noise = DiscreteLaplace::new(&epsilon.recip())?;
        Ok(Self { min_batch, max_delay, min_group, counted_per_writer, epsilon: *epsilon, noise })
    }

    /// Reports of a batch that is not small.
    pub fn min_batch(&self) -> u64 {
        self.min_batch
    }

    /// Seconds.
    pub fn max_delay(&self) -> u64 {
        self.max_delay
    }

    /// Reports of one writer that count in a group.
    pub fn counted_per_writer(&self) -> u64 {
        self.counted_per_writer
    }

    /// About the number of writers of a group that it takes until any of it goes out.
    pub fn writers_of_a_group(&self) -> u64 {
        self.min_group.div_ceil(self.counted_per_writer)
    }

    /// (ε, δ)-DP of which groups go out and when, for neighbours that differ by one report of one writer; None where groups are
    /// not held back.
    ///
    /// A group has one threshold T = min_group + X from its first report until it goes out, which it does when T reports of it
    /// count; X is discrete Laplace of scale 1/ε. With one more report the group goes out at the same moment under T+1, whose
    /// probability is within a factor of e^ε; what comes after does not depend on the report. T is no less than 2 but with
    /// probability δ = P(X <= 1 - min_group): then a group of one report goes out, which without it would not be there.
    /// (Prochlo's randomised thresholding, section 3.5, drops a random number of reports instead, at the same price.)
    /// What is counted of one writer is bounded, so that further reports of theirs change nothing.
    pub fn promise(&self) -> Option<Promise> {
        if self.min_group < 2 {
            return None;
        }
        let epsilon = Interval::ratio(&self.epsilon);
        let tail = (-(epsilon * ((self.min_group - 1) as f64))).exp();
        let delta = tail / ((-epsilon).exp() + 1.0);
        Some(Promise { epsilon: self.epsilon, delta: delta.hi() })
    }

    /// The threshold of a group that is new.
    pub(crate) fn threshold(&self, rng: &mut impl Entropy) -> Result<i64, EntropyError> {
        if self.min_group < 2 {
            return Ok(1);
        }
        let threshold = i128::from(self.min_group).saturating_add(self.noise.sample(rng)?);
        Ok(i64::try_from(threshold.max(1)).unwrap_or(i64::MAX))
    }
}
