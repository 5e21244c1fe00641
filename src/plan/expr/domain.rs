//! Public domains of group keys: what follows from the policy or the statement's text.

use crate::expr::interval::Interval;
use crate::expr::{Node, Scalar};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use schema::SqlType;
use schema::time::{DAY, FIRST, MICROS_PER_SECOND};
use sql::ast::BindingId;

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
        /// Name of the column.
        column: String,
        /// Of these of its rows.
        only: Option<Rows>,
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
        /// The unit, one of [`TRUNC_UNITS`].
        unit: &'static str,
        /// First moment.
        lo: i64,
        /// Last moment.
        hi: i64,
        /// Type of x.
        from: SqlType,
    },
    /// x::date for every x from lo to hi (microseconds), under the session's time zone where that matters.
    Days {
        /// First moment.
        lo: i64,
        /// Last moment.
        hi: i64,
        /// Type of x.
        from: SqlType,
    },
    /// The values of an expression over the values of others, each with each, evaluated by PostgreSQL: `upper(plan)` where
    /// the values of plan are listed, `to_char(date_trunc('month', t), 'YYYY-MM')` where t has a declared range. Built by
    /// `groups` for any key whose columns all stand inside parts that have domains, so that a function of such a part
    /// needs no domain of its own.
    Image(Box<Image>),
    /// One place in tuples of which other keys have the other places.
    Tuple {
        /// All of it, the same for each of these keys.
        tuple: Box<Tuple>,
        /// The place; how many tuples there are is counted at the first one.
        at: usize,
    },
}

/// Values that come together.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuple {
    /// What there is a tuple of.
    pub from: TuplesOf,
    /// The values, over a row or a base.
    pub of: Vec<Scalar>,
    /// Conditions over the same row or base.
    pub only: Vec<Scalar>,
    /// The domain of each value by itself, and whether NULL belongs to it.
    pub each: Vec<(Domain, bool)>,
}

/// What there is a tuple of.
#[derive(Clone, Debug, PartialEq)]
pub enum TuplesOf {
    /// Each row of a public table.
    Rows {
        /// Index of the table in the policy.
        table: usize,
        /// The binding that stands for a row.
        binding: BindingId,
        /// And of no row: an outer join gives NULL for all of them.
        null: bool,
    },
    /// Each value of a base.
    Base(Base),
}

/// Rows of a public table, as the statement reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The binding that stands for a row.
    pub binding: BindingId,
    /// Conditions that look at this row alone.
    pub meets: Vec<Scalar>,
}

/// See [`Domain::Image`].
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Bases that the image is a function of.
    pub bases: Vec<Base>,
    /// The expression, with the column `y0.k`, `y1.k`, … in the place of each base ([`super::StandIn::Base`]).
    pub of: Scalar,
    /// Conditions over the same columns: values that come from none of those that meet them are left out.
    pub only: Vec<Scalar>,
    /// The number of its values, where more is known of it than how many its bases have.
    pub most: Option<usize>,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// Type of the base.
    pub ty: SqlType,
    /// Values of the base, NULL aside.
    pub domain: Domain,
    /// NULL is one of them.
    pub null: bool,
}

/// Units of date_trunc whose groups can be enumerated, with a lower bound of their length: zones have skipped two
/// hours of a day (Troll) and whole days (Apia, 30 December 2011). From weeks on they are counted by the calendar.
pub const TRUNC_UNITS: &[(&str, i64)] = &[
    ("second", MICROS_PER_SECOND),
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

/// Local time is nearer to UTC than this (soundness rule 37).
const ZONE: i64 = 16 * 3_600 * MICROS_PER_SECOND;

/// The number of the week, month or longer unit that holds a moment of UTC.
fn calendar(unit: &str, at: i64) -> Option<i64> {
    let days = at.div_euclid(DAY);
    let (year, month, _) = schema::time::civil(days);
    Some(match unit {
        // 2000-01-03 was a Monday.
        "week" => (days - 2).div_euclid(7),
        "month" => year * 12 + month - 1,
        "quarter" => year * 4 + (month - 1) / 3,
        "year" => year,
        "decade" => year.div_euclid(10),
        "century" => (year - 1).div_euclid(100),
        _ => return None,
    })
}

/// When the week, month or longer unit of this number begins.
fn start(unit: &str, number: i64) -> Option<i64> {
    let first = |year: i64, month: i64| schema::time::days(year, month, 1);
    let days = match unit {
        "week" => number.checked_mul(7)?.checked_add(2)?,
        "month" => first(number.div_euclid(12), number.rem_euclid(12) + 1),
        "quarter" => first(number.div_euclid(4), number.rem_euclid(4) * 3 + 1),
        "year" => first(number, 1),
        "decade" => first(number.checked_mul(10)?, 1),
        "century" => first(number.checked_mul(100)?.checked_add(1)?, 1),
        _ => return None,
    };
    days.checked_mul(DAY)
}

impl Domain {
    /// How many values NULL adds. Tuples have theirs.
    pub fn nulls(&self, with_null: bool) -> usize {
        usize::from(with_null && !matches!(self, Domain::Tuple { .. }))
    }

    /// An upper bound of the number of values, no more than a number can hold; `table` knows how many a column of a public table has,
    /// or how many rows it has.
    pub fn size(&self, table: &dyn Fn(usize, Option<&str>) -> usize) -> usize {
        match self {
            Domain::Tuple { at: 1.., .. } => 1,
            Domain::Tuple { tuple, .. } => {
                let each = tuple.each.iter().map(|(d, null)| d.size(table).saturating_add(d.nulls(*null)));
                let product = each.fold(1, usize::saturating_mul);
                product.min(match &tuple.from {
                    TuplesOf::Rows { table: t, null, .. } => {
                        table(*t, None).saturating_add(usize::from(*null))
                    }
                    TuplesOf::Base(b) => b.domain.size(table).saturating_add(usize::from(b.null)),
                })
            }
            Domain::Image(image) => {
                let each =
                    image.bases.iter().map(|b| b.domain.size(table).saturating_add(usize::from(b.null)));
                let all = each.fold(1, usize::saturating_mul);
                image.most.map_or(all, |most| most.min(all))
            }
            Domain::Table { table: t, column, .. } => table(*t, Some(column)),
            Domain::Bool
            | Domain::Values(_)
            | Domain::Series { .. }
            | Domain::DateTrunc { .. }
            | Domain::Days { .. } => self.enumerated().unwrap_or(usize::MAX),
        }
    }

    /// An upper bound of the number of values, of constants and series; None where no number holds it.
    fn enumerated(&self) -> Option<usize> {
        match self {
            Domain::Bool => Some(2),
            Domain::Values(v) => Some(v.len()),
            Domain::Table { .. } | Domain::Image(_) | Domain::Tuple { .. } => None,
            Domain::Series { lo, hi, step } => {
                let n = ((hi - lo) / step).with_scale_round(0, RoundingMode::Floor) + BigDecimal::from(1);
                n.to_usize()
            }
            Domain::DateTrunc { unit, lo, hi, from } if calendar(unit, 0).is_some() => {
                let zone = if *from == SqlType::Timestamptz { ZONE } else { 0 };
                let (first, last) =
                    (calendar(unit, lo.saturating_sub(zone)), calendar(unit, hi.saturating_add(zone)));
                let n = last.zip(first).and_then(|(last, first)| usize::try_from(last - first + 1).ok());
                Some(n.unwrap_or_default())
            }
            Domain::DateTrunc { unit, lo, hi, .. } => {
                let length = TRUNC_UNITS.iter().find(|(u, _)| u == unit).map_or(1, |(_, l)| *l);
                usize::try_from(hi.saturating_sub(*lo) / length + 2).ok()
            }
            Domain::Days { lo, hi, from } => {
                let zone = i64::from(*from == SqlType::Timestamptz);
                let days = hi.div_euclid(DAY) - lo.div_euclid(DAY) + 1 + zone;
                Some(usize::try_from(days).unwrap_or_default())
            }
        }
    }

    /// The number of values where the text alone fixes it, or an upper bound of it: not for the values of a public table,
    /// which may change, nor for series of times, whose number follows the zone (soundness rule 37).
    pub fn exact_size(&self) -> Option<usize> {
        match self {
            Domain::Bool | Domain::Values(_) | Domain::Series { .. } => self.enumerated(),
            Domain::Table { .. } | Domain::DateTrunc { .. } | Domain::Days { .. } => None,
            Domain::Tuple { at: 1.., .. } => Some(1),
            Domain::Tuple { tuple, .. } => match &tuple.from {
                TuplesOf::Rows { .. } => None,
                TuplesOf::Base(b) => b.domain.exact_size()?.checked_add(usize::from(b.null)),
            },
            Domain::Image(image) => image.most.or_else(|| {
                let each = |b: &Base| b.domain.exact_size()?.checked_add(usize::from(b.null));
                image.bases.iter().try_fold(1usize, |n, b| n.checked_mul(each(b)?))
            }),
        }
    }

    /// Number of values that the text lists one by one; the kernel counts them.
    pub fn listed(&self) -> Option<usize> {
        match self {
            Domain::Bool | Domain::Values(_) => self.enumerated(),
            Domain::Image(image) => match image.bases.as_slice() {
                [] => Some(1),
                [base] => base.domain.listed()?.checked_add(usize::from(base.null)),
                _ => None,
            },
            Domain::Tuple { at: 1.., .. } => Some(1),
            Domain::Tuple { tuple, .. } => match &tuple.from {
                TuplesOf::Rows { .. } => None,
                TuplesOf::Base(b) => b.domain.listed()?.checked_add(usize::from(b.null)),
            },
            _ => None,
        }
    }

    /// The same with the values of series written out, where the text alone says which they are: a list has a size that the
    /// kernel counts. `utc`: the session's time zone is. Series of more than `most` values stay what they are.
    #[must_use]
    pub fn written_out(self, utc: bool, most: usize) -> Self {
        match self {
            Domain::Image(mut image) => {
                for base in &mut image.bases {
                    base.domain = base.domain.clone().written_out(utc, most);
                }
                Domain::Image(image)
            }
            Domain::Tuple { mut tuple, at } => {
                if let TuplesOf::Base(base) = &mut tuple.from {
                    base.domain = base.domain.clone().written_out(utc, most);
                }
                Domain::Tuple { tuple, at }
            }
            other => other.members(utc, most).map_or(other, Domain::Values),
        }
    }

    /// The values of a series, of `most` at most.
    fn members(&self, utc: bool, most: usize) -> Option<Vec<String>> {
        let count = self.enumerated().filter(|n| *n <= most)?;
        let known = |from: &SqlType| utc || *from != SqlType::Timestamptz;
        let written = |first: i64, last: i64, start: &dyn Fn(i64) -> Option<i64>, text: fn(i64) -> String| {
            (first..=last).map(|n| start(n).filter(|at| *at >= FIRST).map(text)).collect()
        };
        match self {
            Domain::Series { lo, hi, step } if lo.is_integer() && step.is_integer() => {
                let each = (0..count as u64).map(|i| lo + step * BigDecimal::from(i)).filter(|v| v <= hi);
                Some(each.map(|v| v.normalized().to_plain_string()).collect())
            }
            Domain::DateTrunc { unit, lo, hi, from } if known(from) => {
                let (first, last) = (calendar(unit, *lo), calendar(unit, *hi));
                match first.zip(last) {
                    Some((first, last)) => written(first, last, &|n| start(unit, n), schema::time::timestamp),
                    None => {
                        let length = match *unit {
                            "day" => DAY,
                            "hour" => 3_600 * MICROS_PER_SECOND,
                            _ => return None,
                        };
                        let (first, last) = (lo.div_euclid(length), hi.div_euclid(length));
                        written(first, last, &|n| n.checked_mul(length), schema::time::timestamp)
                    }
                }
            }
            Domain::Days { lo, hi, from } if known(from) => {
                written(lo.div_euclid(DAY), hi.div_euclid(DAY), &|n| n.checked_mul(DAY), schema::time::date)
            }
            _ => None,
        }
    }

    /// Whether its values follow from what is released before them.
    pub fn is_given(&self) -> bool {
        match self {
            Domain::Image(image) => {
                let all = std::iter::once(&image.of).chain(&image.only);
                all.into_iter().any(Scalar::is_given) || image.bases.iter().any(|b| b.domain.is_given())
            }
            Domain::Table { only: Some(rows), .. } => rows.meets.iter().any(Scalar::is_given),
            Domain::Tuple { tuple, .. } => {
                let base = matches!(&tuple.from, TuplesOf::Base(b) if b.domain.is_given());
                base || tuple.of.iter().chain(&tuple.only).any(Scalar::is_given)
            }
            _ => false,
        }
    }

    /// The public tables that are read for its values.
    pub fn tables(&self) -> Vec<usize> {
        match self {
            Domain::Table { table, .. } => vec![*table],
            Domain::Image(image) => image.bases.iter().flat_map(|b| b.domain.tables()).collect(),
            Domain::Tuple { tuple, .. } => match &tuple.from {
                TuplesOf::Rows { table, .. } => vec![*table],
                TuplesOf::Base(b) => b.domain.tables(),
            },
            _ => Vec::new(),
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
    of_cases(branches.map(|b| (b, Vec::new())))
}

/// The same, where some of a branch's values cannot come: those that branches before it take.
pub fn of_cases<'a>(branches: impl Iterator<Item = (&'a Scalar, Vec<String>)>) -> Option<Domain> {
    let mut values: Vec<String> = Vec::new();
    for (b, taken) in branches {
        let mut add = |v: String| {
            if !values.contains(&v) && !taken.contains(&v) {
                values.push(v);
            }
        };
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_unit_of_the_calendar_begins_where_the_one_before_ends() {
        for unit in ["week", "month", "quarter", "year", "decade", "century"] {
            for at in (-700_000..2_900_000).step_by(911).map(|day| day * DAY) {
                let number = calendar(unit, at).unwrap();
                let begins = start(unit, number).unwrap();
                assert!(begins <= at, "{unit} {at}");
                assert_eq!(calendar(unit, begins), Some(number), "{unit} {at}");
                assert_eq!(calendar(unit, begins - 1), Some(number - 1), "{unit} {at}");
            }
        }
    }

    #[test]
    fn only_what_no_zone_moves_is_written_out() {
        let at = |day: i64| schema::time::days(2024, 1, 1) * DAY + day * DAY;
        let months = |from| Domain::DateTrunc { unit: "month", lo: at(20), hi: at(40), from };
        let listed = Domain::Values(vec!["2024-01-01 00:00:00".into(), "2024-02-01 00:00:00".into()]);
        assert_eq!(months(SqlType::Timestamp).written_out(false, 500), listed);
        assert_eq!(months(SqlType::Date).written_out(false, 500), listed);
        assert_eq!(months(SqlType::Timestamptz).written_out(true, 500), listed);
        assert_eq!(months(SqlType::Timestamptz).written_out(false, 500), months(SqlType::Timestamptz));
        let series = |step: &str| {
            let number = |s: &str| s.parse::<BigDecimal>().unwrap();
            Domain::Series { lo: number("0"), hi: number("25"), step: number(step) }
        };
        assert_eq!(
            series("10").written_out(false, 500),
            Domain::Values(["0", "10", "20"].map(String::from).into())
        );
        assert_eq!(series("0.5").written_out(false, 500), series("0.5"));
        assert_eq!(series("10").written_out(false, 2), series("10"));
        let hours = Domain::DateTrunc { unit: "hour", lo: at(0), hi: at(800_000), from: SqlType::Timestamp };
        assert_eq!(hours.clone().written_out(true, 1_000_000), hours);
        let early = Domain::DateTrunc { unit: "decade", lo: FIRST, hi: FIRST, from: SqlType::Timestamp };
        assert_eq!(early.clone().written_out(true, 500), early);
    }
}
