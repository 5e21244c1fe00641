//! Public domains of group keys: what follows from the policy or the statement's text.

use super::interval::Interval;
use crate::expr::{Node, Scalar};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use schema::SqlType;
use schema::time::{DAY, MICROS_PER_SECOND};

/// The values that a key can have, NULL aside.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// TRUE and FALSE.
    Bool,
    /// Constants, as text that casts to the key's type.
    Values(Vec<String>),
    /// The values of a column of a public table, read in the fetch's own snapshot.
    Table {
        /// Index of the table in the policy.
        table: usize,
        /// Its column.
        column: String,
    },
    /// lo, lo + step, … up to hi.
    Series {
        /// First value.
        lo: BigDecimal,
        /// Last value.
        hi: BigDecimal,
        /// Distance.
        step: BigDecimal,
    },
    /// date_trunc(unit, x) for every x from lo to hi (microseconds), enumerated by PostgreSQL under the session's
    /// time zone.
    DateTrunc {
        /// The unit.
        unit: &'static str,
        /// First moment.
        lo: i64,
        /// Last moment.
        hi: i64,
        /// Type of x.
        from: SqlType,
    },
    /// Every day from lo to hi (microseconds).
    Days {
        /// First day.
        lo: i64,
        /// Last day.
        hi: i64,
    },
}

/// Units of date_trunc whose groups can be enumerated, with a lower bound of their length: zones have skipped two
/// hours of a day (Troll) and whole days (Apia, 30 December 2011).
pub const TRUNC_UNITS: &[(&str, i64)] = &[
    ("minute", 60 * MICROS_PER_SECOND),
    ("hour", 3_600 * MICROS_PER_SECOND),
    ("day", 20 * 3_600 * MICROS_PER_SECOND),
    ("week", 5 * DAY),
    ("month", 26 * DAY),
    ("quarter", 88 * DAY),
    ("year", 363 * DAY),
    ("decade", 3_650 * DAY),
    ("century", 36_500 * DAY),
];

impl Domain {
    /// An upper bound of the number of values; None for a public table, whose size is not known here.
    pub fn size(&self) -> Option<usize> {
        match self {
            Domain::Bool => Some(2),
            Domain::Values(v) => Some(v.len()),
            Domain::Table { .. } => None,
            Domain::Series { lo, hi, step } => {
                let n = ((hi - lo) / step).with_scale_round(0, RoundingMode::Floor) + BigDecimal::from(1);
                Some(n.to_usize().unwrap_or(usize::MAX))
            }
            Domain::DateTrunc { unit, lo, hi, .. } => {
                let length = TRUNC_UNITS.iter().find(|(u, _)| u == unit).map_or(1, |(_, l)| *l);
                Some(usize::try_from(hi.saturating_sub(*lo) / length + 2).unwrap_or(usize::MAX))
            }
            Domain::Days { lo, hi } => {
                Some(usize::try_from(hi.saturating_sub(*lo) / DAY + 1).unwrap_or(usize::MAX))
            }
        }
    }
}

impl Domain {
    /// The number of values where the text alone fixes it, or an upper bound of it: not for the values of a public table,
    /// which may change, nor for series of times, whose number follows the zone (soundness rule 37).
    pub fn exact_size(&self) -> Option<usize> {
        match self {
            Domain::Bool | Domain::Values(_) | Domain::Series { .. } => self.size(),
            Domain::Table { .. } | Domain::DateTrunc { .. } | Domain::Days { .. } => None,
        }
    }
}

/// The domain of a binned number: multiples of its lattice within its bounds.
pub fn of_lattice(bound: &Interval, lattice: Option<&BigDecimal>) -> Option<Domain> {
    let (lo, hi) = bound.finite()?;
    let step = lattice?;
    let lo = (lo / step).with_scale_round(0, RoundingMode::Ceiling) * step;
    let hi = (hi / step).with_scale_round(0, RoundingMode::Floor) * step;
    (lo <= hi).then(|| Domain::Series { lo: lo.normalized(), hi: hi.normalized(), step: step.normalized() })
}

/// The domain of a CASE or COALESCE: the union of its branches', where each is public and listable.
pub fn of_branches<'a>(branches: impl Iterator<Item = &'a Scalar>) -> Option<Domain> {
    let mut values: Vec<String> = Vec::new();
    let mut add = |v: String| {
        if !values.contains(&v) {
            values.push(v);
        }
    };
    for b in branches {
        match (b.node(), b.domain()) {
            (Node::Null, _) => {}
            (Node::Number(n), _) => add(n.to_plain_string()),
            (Node::Text(t), _) => add(t.clone()),
            (Node::Bool(b), _) => add(b.to_string()),
            (_, Some(Domain::Values(list))) => list.iter().cloned().for_each(&mut add),
            (_, Some(Domain::Bool)) => ["true", "false"].into_iter().for_each(|v| add(v.to_owned())),
            _ => return None,
        }
    }
    Some(Domain::Values(values))
}
