//! Ranges of columns that follow from conditions.

use crate::algebra::equivalence_classes::Col;
use crate::expr::interval::Interval;
use crate::expr::{Node, Param, Scalar, is_utc};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use schema::SqlType;
use schema::time::{self, DAY, MICROS_PER_SECOND};
use sql::ast::BinaryOp;
use std::collections::BTreeMap;

/// Ranges of columns in all rows that meet the conditions. Dates and timestamps are microseconds
/// since 2000-01-01.
pub(super) type Ranges = BTreeMap<Col, Interval>;

/// An offset of a time zone is less than this (soundness rule 37).
const ZONE: i64 = 16 * 3_600 * MICROS_PER_SECOND;

/// `utc`: moments without a zone are UTC's.
pub(super) fn ranges(conditions: &[Scalar], utc: bool) -> Ranges {
    let mut all = Ranges::new();
    for c in conditions {
        both(&mut all, of(c, utc));
    }
    all
}

/// Both hold. Of two that contradict each other, one is kept: no row meets them.
fn both(all: &mut Ranges, more: Ranges) {
    for (col, range) in more {
        let have = all.entry(col).or_default();
        if let Some(narrower) = have.intersect(&range) {
            *have = narrower;
        }
    }
}

fn of(condition: &Scalar, utc: bool) -> Ranges {
    match condition.node() {
        Node::Logic(BinaryOp::And, a, b) => {
            let mut all = of(a, utc);
            both(&mut all, of(b, utc));
            all
        }
        Node::Logic(BinaryOp::Or, a, b) => either([of(a, utc), of(b, utc)]),
        Node::Compare(op, a, b) => {
            let mut all = compared(a, *op, b, utc);
            if let Some(op) = turned(*op) {
                both(&mut all, compared(b, op, a, utc));
            }
            all
        }
        // NULL among the items makes nothing true.
        Node::In(x, items, false) => {
            let items = items.iter().filter(|i| !matches!(i.node(), Node::Null));
            either(items.map(|i| compared(x, BinaryOp::Eq, i, utc)))
        }
        _ => Ranges::new(),
    }
}

/// One of them holds.
fn either(list: impl IntoIterator<Item = Ranges>) -> Ranges {
    let join = |a: Ranges, b: Ranges| {
        a.into_iter().filter_map(|(col, range)| Some((col.clone(), range.hull(b.get(&col)?)))).collect()
    };
    list.into_iter().reduce(join).unwrap_or_default()
}

/// `a op b` as `b op' a`.
fn turned(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        BinaryOp::Eq => op,
        _ => return None,
    })
}

/// What `x op c` says of the column that `x` is a function of.
fn compared(x: &Scalar, op: BinaryOp, c: &Scalar, utc: bool) -> Ranges {
    let c = known(c, utc);
    let (Interval { lo, hi }, step) = (c, step(x.ty()));
    let above = |x: BigDecimal| Some(x + &step);
    let below = |x: BigDecimal| Some(x - &step);
    let range = match op {
        BinaryOp::Eq => Interval { lo, hi },
        BinaryOp::Ge => Interval { lo, hi: None },
        BinaryOp::Gt => Interval { lo: lo.and_then(above), hi: None },
        BinaryOp::Le => Interval { lo: None, hi },
        BinaryOp::Lt => Interval { lo: None, hi: hi.and_then(below) },
        _ => return Ranges::new(),
    };
    match behind(x, range, utc) {
        Some((col, range)) if range != Interval::default() => Ranges::from([(col, range)]),
        _ => Ranges::new(),
    }
}

/// Where a constant, or any other value, surely lies.
fn known(c: &Scalar, utc: bool) -> Interval {
    match c.node() {
        // A moment that is written without a zone is one of the session's.
        Node::Text(text) if *c.ty() == SqlType::Timestamptz && c.span().finite().is_none() => {
            match policy::from_iso(text) {
                Some(at) if utc => Interval::point(at.into()),
                Some(at) => Interval::new(at.saturating_sub(ZONE), at.saturating_add(ZONE)),
                None => Interval::default(),
            }
        }
        Node::Cast(inner) if utc && c.ty().is_datetime() && *inner.ty() != SqlType::Timestamptz => {
            known(inner, utc)
        }
        _ => c.span().interval().clone(),
    }
}

/// What is between a value of a type and the next one. Of numbers that may have any number of digits, one so small that no
/// bin ends between the two: a row there is in the bin that the narrower range has, too.
fn step(ty: &SqlType) -> BigDecimal {
    match ty {
        t if t.is_integer() => 1.into(),
        SqlType::Date => DAY.into(),
        t if t.is_datetime() => 1.into(),
        SqlType::Numeric { scale: Some(s) } => BigDecimal::new(1.into(), i64::from(*s)),
        _ => BigDecimal::new(1.into(), 30),
    }
}

/// The column that `x` is a monotone function of, and where it lies if `x` lies in the range.
fn behind(x: &Scalar, range: Interval, utc: bool) -> Option<(Col, Interval)> {
    match x.node() {
        Node::Column { binding, name } => Some(((*binding, name.clone()), on_grid(x.ty(), range))),
        // What is moved into a range lies there where the value itself does, once that is moved there, too.
        Node::Clamp(inner) | Node::Guard(inner) | Node::Short(inner) => behind(inner, range, utc),
        Node::Cast(inner) if x.ty().is_datetime() && inner.ty().is_datetime() => {
            let zoned = *x.ty() == SqlType::Timestamptz || *inner.ty() == SqlType::Timestamptz;
            let day = if *x.ty() == SqlType::Date { DAY - 1 } else { 0 };
            let zone = if zoned && !utc { DAY } else { 0 };
            behind(inner, moved(range, -zone, day + zone), utc)
        }
        Node::Apply(f, args, Param::Field(field, _)) => {
            let inner = args.first()?;
            let zone = if *inner.ty() == SqlType::Timestamp || utc { 0 } else { DAY };
            let range = match (f.name, *field) {
                ("date_trunc", unit) => {
                    let hi = range.hi.and_then(|hi| end_of(unit, &hi)).map(BigDecimal::from);
                    moved(Interval { hi, ..range }, -zone, zone)
                }
                ("extract", "year") => moved(years(range)?, -zone, zone),
                ("extract", "epoch") if inner.ty().is_datetime() => of_seconds(range, x.ty()),
                _ => return None,
            };
            behind(inner, range, utc)
        }
        Node::Apply(f, args, Param::Zone(zone)) if f.name == "timezone" => {
            let away = if is_utc(zone) { 0 } else { ZONE };
            behind(args.first()?, moved(range, -away, away), utc)
        }
        _ => None,
    }
}

/// Whole numbers and days within a range.
fn on_grid(ty: &SqlType, range: Interval) -> Interval {
    let step = match ty {
        t if t.is_integer() => BigDecimal::from(1),
        SqlType::Date => BigDecimal::from(DAY),
        _ => return range,
    };
    let to = |x: BigDecimal, mode| (x / &step).with_scale_round(0, mode) * &step;
    Interval {
        lo: range.lo.map(|x| to(x, RoundingMode::Ceiling)),
        hi: range.hi.map(|x| to(x, RoundingMode::Floor)),
    }
}

fn moved(range: Interval, lo: i64, hi: i64) -> Interval {
    Interval {
        lo: range.lo.map(|x| x + BigDecimal::from(lo)),
        hi: range.hi.map(|x| x + BigDecimal::from(hi)),
    }
}

/// The moments of seconds since 1970, which are the same in all zones; of double precision a millisecond more.
fn of_seconds(range: Interval, ty: &SqlType) -> Interval {
    let slack = if ty.is_float() { 1_000 } else { 0 };
    let at = |x: BigDecimal, mode, slack: i64| {
        let micros = (x - BigDecimal::from(946_684_800)) * BigDecimal::from(MICROS_PER_SECOND);
        micros.with_scale_round(0, mode) + BigDecimal::from(slack)
    };
    Interval {
        lo: range.lo.map(|x| at(x, RoundingMode::Ceiling, -slack)),
        hi: range.hi.map(|x| at(x, RoundingMode::Floor, slack)),
    }
}

/// The last moment of the unit that holds this one, in UTC.
fn end_of(unit: &str, at: &BigDecimal) -> Option<i64> {
    const HOUR: i64 = 3_600 * MICROS_PER_SECOND;
    let at = at.to_i64().filter(|at| (time::FIRST..=time::LAST).contains(at))?;
    let next = |length: i64, from: i64| Some(at - (at - from).rem_euclid(length) + length - 1);
    let (year, month, _) = time::civil(at.div_euclid(DAY));
    let begins = |year: i64, month: i64| Some(time::days(year, month, 1) * DAY - 1);
    match unit {
        "minute" => next(60 * MICROS_PER_SECOND, 0),
        "hour" => next(HOUR, 0),
        "day" => next(DAY, 0),
        // 2000-01-03 was a Monday.
        "week" => next(7 * DAY, 2 * DAY),
        "month" if month < 12 => begins(year, month + 1),
        "quarter" if month < 10 => begins(year, (month - 1) / 3 * 3 + 4),
        "month" | "quarter" | "year" => begins(year + 1, 1),
        _ => None,
    }
}

/// From the beginning of the first year to the end of the last one.
fn years(range: Interval) -> Option<Interval> {
    let at = |year: BigDecimal, mode, next: i64| {
        let year = year.with_scale_round(0, mode).to_i64().filter(|y| (1..=9_999).contains(y))?;
        Some(time::days(year + next, 1, 1) * DAY - next)
    };
    Some(Interval {
        lo: range.lo.and_then(|y| at(y, RoundingMode::Ceiling, 0)).map(BigDecimal::from),
        hi: range.hi.and_then(|y| at(y, RoundingMode::Floor, 1)).map(BigDecimal::from),
    })
}
