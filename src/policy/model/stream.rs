//! Sparse vector streams: what an instance draws, costs, and is worth: `[[stream]]`.

use bigdecimal::{BigDecimal, ToPrimitive};
use dp::sparse::{Direction, Plan, SENSITIVITY, accuracy};
use dp::{Charge, DpError, Ratio, ratio};

/// `[[stream]]`: one threshold noise for many questions, of which the first few that exceed are
/// answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Name of the stream, unique.
    pub name: String,
    /// The algorithm.
    pub variant: Variant,
    /// ε of all questions together, paid when it is opened.
    pub epsilon: BigDecimal,
    /// δ of all questions together; above zero only for [`Variant::Sparse`] and [`Variant::NumericSparse`], and only with
    /// ε < 1 (soundness rule 28).
    pub delta: BigDecimal,
    /// c: the number of questions that can be answered with yes.
    pub positives: u32,
    /// Rows that one unit may bring to a question, where the session chooses nothing.
    pub max_rows: Option<u32>,
    /// Users who may open it, by login name.
    pub users: Vec<String>,
    /// Users who may open it, by role.
    pub roles: Vec<String>,
}

/// The algorithm of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// A single positive (Dwork and Roth 2014, Algorithm 1).
    AboveThreshold,
    /// c positives, each followed by a new threshold (Algorithm 2).
    Sparse,
    /// The same, each positive with its noisy number (Algorithm 3).
    NumericSparse,
    /// c positives under one threshold (Lyu, Su and Li 2017, Algorithm 1).
    Improved,
    /// The same, each positive with the number that the comparison itself implies (Ding et al. 2019).
    Gap,
    /// As improved, with less noise: for counts and non-negative sums that are asked whether they exceed.
    Monotone,
    /// As gap, likewise.
    MonotoneGap,
}

impl Variant {
    /// All, in the order of the document.
    pub const ALL: [Self; 7] = [
        Self::AboveThreshold,
        Self::Sparse,
        Self::NumericSparse,
        Self::Improved,
        Self::Gap,
        Self::Monotone,
        Self::MonotoneGap,
    ];

    /// The word of policies.
    pub fn word(self) -> &'static str {
        match self {
            Self::AboveThreshold => "above_threshold",
            Self::Sparse => "sparse",
            Self::NumericSparse => "numeric_sparse",
            Self::Improved => "improved",
            Self::Gap => "gap",
            Self::Monotone => "monotone",
            Self::MonotoneGap => "monotone_gap",
        }
    }

    /// Whether a positive comes with a number.
    pub fn tells_numbers(self) -> bool {
        matches!(self, Self::NumericSparse | Self::Gap | Self::MonotoneGap)
    }

    /// Whether every question must ask whether a count or a non-negative sum exceeds.
    pub fn is_monotone(self) -> bool {
        matches!(self, Self::Monotone | Self::MonotoneGap)
    }

    pub(crate) fn takes_delta(self) -> bool {
        matches!(self, Self::Sparse | Self::NumericSparse)
    }
}

impl Stream {
    /// Draws and price of an instance. Questions are divided by their own sensitivity: one unit
    /// changes each by at most [`SENSITIVITY`].
    pub fn plan(&self) -> Result<Plan, DpError> {
        let out = || DpError::OutOfRange("too many digits");
        let (e, d) = (ratio(&self.epsilon).ok_or_else(out)?, ratio(&self.delta).ok_or_else(out)?);
        let (s, c) = (SENSITIVITY, self.positives);
        match self.variant {
            Variant::AboveThreshold => Plan::above_threshold(s, &e),
            Variant::Sparse => Plan::sparse(s, c, &e, &d),
            Variant::NumericSparse => Plan::numeric_sparse(s, c, &e, &d),
            Variant::Improved => Plan::improved(s, c, &e, Direction::Any),
            Variant::Gap => Plan::improved(s, c, &e, Direction::Any)?.with_gaps(),
            Variant::Monotone => Plan::improved(s, c, &e, Direction::Monotone),
            Variant::MonotoneGap => Plan::improved(s, c, &e, Direction::Monotone)?.with_gaps(),
        }
    }

    /// The price, all of it when it is opened.
    pub fn charge(&self) -> Result<Charge, DpError> {
        Charge::guaranteed(&self.plan()?.guarantee())
    }

    /// α: of `k` questions none errs by more than this, but with probability `beta`, if at most c of them are near or
    /// beyond their thresholds. In units of what one unit can change. For display.
    pub fn alpha(&self, k: u64, beta: f64) -> f64 {
        let float = |x: &BigDecimal| x.to_f64().unwrap_or(f64::NAN);
        let (e, d, c) = (float(&self.epsilon), float(&self.delta), self.positives);
        match self.variant {
            Variant::AboveThreshold => accuracy::above_threshold(k, beta, e),
            Variant::Sparse => accuracy::sparse(k, c, beta, e, d),
            Variant::NumericSparse => accuracy::numeric_sparse(k, c, beta, e, d),
            _ => {
                let scale = |r: &Ratio| *r.numer() as f64 / *r.denom() as f64 / SENSITIVITY as f64;
                self.plan().map_or(f64::NAN, |p| {
                    accuracy::one_threshold(k, beta, scale(p.threshold_scale()), scale(p.question_scale()))
                })
            }
        }
    }

    /// Source of α.
    pub fn theorem(&self) -> &'static str {
        match self.variant {
            Variant::AboveThreshold => "Dwork and Roth, Theorem 3.24",
            Variant::Sparse => "Dwork and Roth, Theorem 3.26",
            Variant::NumericSparse => "Dwork and Roth, Theorem 3.28",
            _ => "the tails of its noise",
        }
    }

    /// Whether this user may open it.
    pub fn admits(&self, user: &str, role: Option<&str>) -> bool {
        let everybody = self.users.is_empty() && self.roles.is_empty();
        everybody
            || self.users.iter().any(|u| u == user)
            || role.is_some_and(|role| self.roles.iter().any(|r| r == role))
    }
}
