//! Ends of intervals around quantiles: choices of their own, which share the price with what they stand around.
//!
//! How far a quantile is off in its own unit follows from the rows, of which no release has told. So `noisegate.low(median(x))`
//! is no expression over the released median, but one more aggregate over the private rows: a point that lies at or below it, so
//! often as is wanted ([`dp::quantile::Bound`]).

use dp::Ratio;
use dp::quantile::Side;
use sql::ast::*;

/// A session's wish for ends of intervals around quantiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Confidence of an interval, in millionths.
    confidence: u32,
    /// Quantiles of the outermost SELECT have their ends beside them.
    beside: bool,
    /// The outermost SELECT, once it is known.
    outermost: Option<SelectId>,
}

impl Default for Ends {
    fn default() -> Self {
        Self::new(Reach::USUAL, false)
    }
}

impl Ends {
    /// Ends of intervals that hold `confidence` times in a million; `beside`: `noisegate.intervals`
    /// is on.
    pub fn new(confidence: u32, beside: bool) -> Self {
        Self { confidence, beside, outermost: None }
    }

    /// Of this statement.
    pub(crate) fn of(self, query: &Query) -> Self {
        let outermost = match &query.body {
            Body::Select(s) if self.beside && s.distinct == Distinct::No => s.id,
            _ => None,
        };
        Self { outermost, ..self }
    }

    /// Whether quantiles that this SELECT has as items get them.
    pub(crate) fn stand_beside(&self, select: &Select) -> bool {
        self.outermost.is_some() && self.outermost == select.id
    }

    /// The choice of an end.
    pub(crate) fn pick(&self, of: Ratio, side: Side) -> dp::Pick {
        // Both ends together fail as often as an interval may.
        let fails = 1_000_000u32.saturating_sub(self.confidence) / 2;
        dp::Pick::End { of, side, fails: fails.clamp(1, 499_999), beyond: 0 }
    }
}

/// The aggregate that stands for an end of the interval of an expression, and which end: of a quantile that is no array.
pub fn end(what: Reach, e: &Expr) -> Option<(Aggregate, Side)> {
    let ExprKind::Aggregate(a) = &e.kind else { return None };
    let (name, side) = match what {
        Reach::Low => ("noisegate.low", Side::Below),
        Reach::High => ("noisegate.high", Side::Above),
        _ => return None,
    };
    let one = match (a.name, a.args.as_slice()) {
        ("median", [_]) => true,
        ("percentile_cont" | "percentile_disc", [fraction]) => !matches!(fraction.kind, ExprKind::Array(_)),
        _ => false,
    };
    one.then(|| (Aggregate { name, ..(**a).clone() }, side))
}

/// Whether an aggregate of a release is such an end.
pub fn is_end(a: &Aggregate) -> bool {
    a.name.starts_with("noisegate.")
}
