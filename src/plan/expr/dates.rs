//! Arithmetic of dates and timestamps: differences, shifts by constant intervals and by days, ages, time zones.
//!
//! An interval that is the difference of two moments has no months. Its text is its length in seconds, a numeric with six
//! digits after the point, which compares and adds up as PostgreSQL's intervals of days and hours do.

use super::facts::{Declared, Facts, Phys, Proven};
use super::print::{Print, string};
use super::refusal::{Result, refusal, refused};
use super::rounding::{Rounding, rounding};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use super::times::{bounded_constant, micros, years};
use super::{casts, numbers};
use crate::expr::constant;
use crate::expr::interval::Interval;
use crate::refusals::moment::Moment;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, RoundingMode};
use schema::SqlType;
use schema::time::{DAY, MICROS_PER_SECOND};
use sql::ast::{BinaryOp, Pos};
use std::sync::Arc;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "a - b",
        types: "dates → integer; dates and timestamps → interval, which may be compared, added, subtracted, multiplied and divided by numbers, summed and averaged, and taken apart by extract(epoch | day | hour | minute | second FROM …)",
        total: "a moment with a declared range is moved into it; without one it is NULL outside the years 1 to 9999",
        range: "the differences of the ends; NULL where a side is",
        cost: "300",
        samples: &[
            "({t}::date - {t}::date)",
            "extract(epoch FROM {t}::timestamp - {t}::timestamp)",
            "extract(epoch FROM {t}::timestamptz - {t}::timestamptz)",
            "extract(day FROM {t}::timestamp - {m})",
            "extract(hour FROM {t}::timestamp - {t}::timestamp)",
            "extract(minute FROM {t}::timestamptz - {m})",
            "extract(second FROM {t}::timestamp - {m})",
            "({t}::timestamp - {t}::timestamp < interval '30 days')",
            "(({t}::timestamptz - {m}) / 3 > interval '1 mon 02:00')",
            "extract(epoch FROM COALESCE({t}::timestamp - {t}::timestamp, interval '1 day'))",
        ],
    },
    Entry {
        form: "t + interval 'constant', t - interval 'constant', d + days, d - days",
        types: "date or timestamp → timestamp; date and integer → date",
        total: "as for a - b; an interval of at most a million days, an integer that is proven to be within a million",
        range: "the shifted ends, within five days where the zone decides",
        cost: "200",
        samples: &[
            "extract(epoch FROM {t} + interval '1 day')",
            "extract(year FROM {t}::timestamp - interval '13 months 2 days 03:30:00')",
            "extract(year FROM {t}::timestamp - interval '1 mon -1000 days')",
            "extract(hour FROM {t}::timestamptz + interval '1 mon -1 day 02:00')",
            "extract(epoch FROM {t}::timestamptz + interval '1 mon')",
            "({t}::timestamptz - interval '2 hours' < {m})",
            "extract(doy FROM {t}::date + 30)",
            "extract(epoch FROM {t}::date - LEAST(GREATEST({i}, 0), 100))",
        ],
    },
    Entry {
        form: "extract(year | month | day | hour | minute | second FROM age(a, b)), avg(age(a, b)), sum(age(a, b))",
        types: "dates or timestamps → numeric; averages and sums are intervals, of months and of the rest",
        total: "as for a - b",
        range: "years from the ends, other fields within theirs",
        cost: "500",
        samples: &[
            "extract(year FROM age({t}, {t}))",
            "extract(year FROM age({t}, {m}))",
            "extract(month FROM age({m}, {t}))",
        ],
    },
    Entry {
        form: "t AT TIME ZONE 'zone', t AT TIME ZONE interval '-08:00'",
        types: "timestamp → timestamp with time zone, and back; dates as timestamps with time zone",
        total: "the zone is a constant name or an offset below 16 hours (`'+05:30'`, which PostgreSQL counts to the west, as POSIX does): a name that the server does not know fails for every row, and is found before anything is paid",
        range: "that of t, within a day",
        cost: "200",
        samples: &[
            "extract(hour FROM {t} AT TIME ZONE 'Europe/Amsterdam')",
            "extract(epoch FROM {t}::timestamp AT TIME ZONE 'UTC')",
            "extract(year FROM {t}::timestamptz AT TIME ZONE 'Pacific/Apia')",
            "extract(hour FROM {t}::timestamptz AT TIME ZONE '+05:30')",
            "extract(hour FROM {t}::timestamp AT TIME ZONE interval '-08:00')",
        ],
    },
];

const SHIFT: Function = Function::plain("shift", shift_rule, shift_text);
const DAYS: Function = Function::plain("add_days", days_rule, days_text);
const BETWEEN: Function = Function::plain("days_between", between_rule, between_text);
const LENGTH: Function = Function::plain("seconds_between", length_rule, length_text);
const AGE: Function = Function::plain("age", age_rule, age_text);
const AGE_FIELD: Function = Function::plain("extract_age", age_field_rule, age_field_text);

/// Days that each part of an interval may have.
const MOST_DAYS: i64 = 1_000_000;

/// Days that a shift may have in all: so many leave every year from 1 to 9999 in PostgreSQL's calendar, which begins
/// 1,721,425 days before the year 1.
const MOST_IN_ALL: i64 = 1_700_000;

/// `l + r` or `l - r`, where one is a date, a timestamp or an interval.
pub(super) fn arithmetic(op: BinaryOp, l: Scalar, r: Scalar, pos: Pos) -> Result<Scalar> {
    use SqlType as T;
    let moved = |x: Scalar, by: &Scalar| {
        let Node::Text(text) = &by.node else {
            return refused(Moment::Inconstant, pos);
        };
        let sign = if op == BinaryOp::Sub { -1 } else { 1 };
        let parts = constant_parts(text, pos)?.map(|n| sign * n);
        Scalar::apply(&SHIFT, vec![bounded_constant(x, pos)?], Param::Interval(parts)).map_err(|e| e.at(pos))
    };
    match (op, &l.facts.ty, &r.facts.ty) {
        (BinaryOp::Sub, T::Date, T::Date) => {
            let both = vec![bounded_constant(l, pos)?, bounded_constant(r, pos)?];
            Scalar::apply(&BETWEEN, both, Param::None).map_err(|e| e.at(pos))
        }
        (BinaryOp::Sub, a, b) if a.is_datetime() && b.is_datetime() => {
            let (l, r) = of_one_type(l, r, pos)?;
            let both = vec![bounded_constant(l, pos)?, bounded_constant(r, pos)?];
            Scalar::apply(&LENGTH, both, Param::None).map_err(|e| e.at(pos))
        }
        (BinaryOp::Add | BinaryOp::Sub, a, T::Interval) if a.is_datetime() => moved(l, &r),
        (BinaryOp::Add, T::Interval, b) if b.is_datetime() => moved(r, &l),
        (BinaryOp::Add | BinaryOp::Sub, T::Date, b) if b.is_integer() => by_days(op, l, r, pos),
        (BinaryOp::Add, a, T::Date) if a.is_integer() => by_days(op, r, l, pos),
        (BinaryOp::Add | BinaryOp::Sub, T::Interval, T::Interval) => {
            let (l, r) = (number_of(seconds(l, pos)?), number_of(seconds(r, pos)?));
            Ok(interval_of(numbers::arithmetic(op, l, r, pos)?))
        }
        (BinaryOp::Mul | BinaryOp::Div, T::Interval, b) if b.is_number() => {
            let (l, r) = (number_of(seconds(l, pos)?), numbers::ready(r, pos)?);
            let product = numbers::arithmetic(op, l, r, pos)?;
            Ok(interval_of(rounding(Rounding::Round, product, 6, pos)?))
        }
        _ => refused(Moment::Arithmetic, pos),
    }
}

/// Two moments in the wider of their types.
pub(super) fn of_one_type(l: Scalar, r: Scalar, pos: Pos) -> Result<(Scalar, Scalar)> {
    let zoned = [&l, &r].iter().any(|x| x.facts.ty == SqlType::Timestamptz);
    let to = if zoned { SqlType::Timestamptz } else { SqlType::Timestamp };
    Ok((casts::to_time(l, to.clone(), pos)?, casts::to_time(r, to, pos)?))
}

/// Months, days and microseconds of a constant.
pub(super) fn constant_parts(text: &str, pos: Pos) -> Result<[i64; 3]> {
    let parts = constant::interval(text).filter(|[months, days, micros]| {
        let most = |n: &i64, limit: i64| n.unsigned_abs() <= limit.unsigned_abs();
        most(months, MOST_DAYS / 31) && most(days, MOST_DAYS) && most(micros, MOST_DAYS * DAY)
    });
    parts.ok_or_else(|| refusal(Moment::Length, pos))
}

/// A constant interval as it is printed: with a sign for each part, so that no style reads that of the first for all.
pub(super) fn spelled(text: &str) -> String {
    match constant::interval(text) {
        Some([months, days, micros]) => format!("{months:+} mons {days:+} days {micros:+} microseconds"),
        None => text.to_owned(),
    }
}

/// The length of a constant in microseconds, by which PostgreSQL compares intervals: a month has 30 days.
fn length([months, days, micros]: [i64; 3]) -> i128 {
    (i128::from(months) * 30 + i128::from(days)) * i128::from(DAY) + i128::from(micros)
}

/// An interval as its length in seconds.
pub(super) fn seconds(x: Scalar, pos: Pos) -> Result<Scalar> {
    match &x.node {
        _ if x.facts.phys == Phys::Num => Ok(x),
        Node::Null => Ok(interval_of(Scalar {
            facts: Arc::new(Facts {
                phys: Phys::Num,
                ..Arc::unwrap_or_clone(Scalar::null(SqlType::Int4).facts)
            }),
            node: Node::Null,
        })),
        Node::Text(text) => {
            let value = BigDecimal::new(length(constant_parts(text, pos)?).into(), 6).normalized();
            Ok(interval_of(numbers::literal(&value.to_plain_string(), None, pos)?))
        }
        _ => refused(Moment::Stored, pos),
    }
}

/// Whether an interval's text is its length in seconds.
pub(super) fn is_length(x: &Scalar) -> bool {
    x.facts.ty == SqlType::Interval && x.facts.phys == Phys::Num
}

/// Seconds that the analyst sees as an interval.
fn interval_of(x: Scalar) -> Scalar {
    let facts =
        Facts { ty: SqlType::Interval, phys: Phys::Num, domain: None, ..Arc::unwrap_or_clone(x.facts) };
    Scalar::of(x.node, facts)
}

/// The length of an interval as a number.
fn number_of(x: Scalar) -> Scalar {
    let facts = Facts { ty: SqlType::Numeric { scale: None }, ..Arc::unwrap_or_clone(x.facts) };
    Scalar::of(x.node, facts)
}

/// EXTRACT from an interval, giving a number of type `ty`.
pub(super) fn extract(field: &str, x: Scalar, ty: SqlType, pos: Pos) -> Result<Scalar> {
    if matches!(&x.node, Node::Apply(f, ..) if f.name == AGE.name) {
        let Some((field, ..)) = AGE_FIELDS.iter().find(|(f, ..)| *f == field) else {
            return refused(Moment::AgeField(field.to_owned()), pos);
        };
        return Scalar::apply(&AGE_FIELD, vec![x], Param::Field(field, ty)).map_err(|e| e.at(pos));
    }
    let x = number_of(seconds(x, pos)?);
    let constant = |n: i64| numbers::literal(&n.to_string(), None, pos);
    let rest = |x: Scalar, n: i64| numbers::arithmetic(BinaryOp::Mod, x, constant(n)?, pos);
    let whole = |x: Scalar, n: i64| {
        let quotient = numbers::arithmetic(BinaryOp::Div, x, constant(n)?, pos)?;
        rounding(Rounding::Trunc, quotient, 0, pos)
    };
    // A difference has days of 24 hours, and the rest below a day; both have its sign.
    let out = match field {
        "epoch" => x,
        "day" | "days" => whole(x, 86_400)?,
        "hour" | "hours" => whole(rest(x, 86_400)?, 3_600)?,
        "minute" | "minutes" => whole(rest(x, 3_600)?, 60)?,
        "second" | "seconds" => rest(x, 60)?,
        _ => {
            return refused(Moment::IntervalField(field.to_owned()), pos);
        }
    };
    Ok(numbers::retyped(out, ty))
}

fn by_days(op: BinaryOp, x: Scalar, n: Scalar, pos: Pos) -> Result<Scalar> {
    let n = numbers::ready(n, pos)?;
    let n = if op == BinaryOp::Sub { numbers::negative(n, pos)? } else { n };
    Scalar::apply(&DAYS, vec![bounded_constant(x, pos)?, n], Param::None).map_err(|e| e.at(pos))
}

/// `age(a, b)`
pub(super) fn age(a: Scalar, b: Scalar, pos: Pos) -> Result<Scalar> {
    if !a.facts.ty.is_datetime() || !b.facts.ty.is_datetime() {
        return refused(Moment::AgeOf, pos);
    }
    let local = |x: &Scalar| x.facts.ty == SqlType::Timestamp;
    // PostgreSQL reads two dates as timestamps with time zone.
    let to = if local(&a) && local(&b) { SqlType::Timestamp } else { SqlType::Timestamptz };
    let a = bounded_constant(casts::to_time(a, to.clone(), pos)?, pos)?;
    let b = bounded_constant(casts::to_time(b, to, pos)?, pos)?;
    Scalar::apply(&AGE, vec![a, b], Param::None).map_err(|e| e.at(pos))
}

/// Moments that functions can take, of one type.
pub(super) fn moments(args: &[Scalar]) -> bool {
    let safe = |x: &Scalar| {
        x.facts.ty.is_datetime() && (x.facts.span.inside(&years()) || matches!(x.node, Node::Null))
    };
    args.iter().all(safe)
}

fn nullable(args: &[Scalar]) -> bool {
    args.iter().any(|x| x.facts.nullable)
}

/// Ends of an interval, both moved by a function that keeps their order.
pub(super) fn moved(i: &Interval, f: impl Fn(i64) -> Option<i64>, by: i64) -> Interval {
    let ends = micros(i).and_then(|(lo, hi)| Some((f(lo)?.checked_sub(by)?, f(hi)?.checked_add(by)?)));
    ends.map_or_else(Interval::default, |(lo, hi)| Interval::new(lo, hi))
}

fn shift_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Interval(parts), true) = (args, param, moments(args)) else {
        return Err(Unfit::Shift.into());
    };
    if length(parts.map(i64::abs)) > i128::from(MOST_IN_ALL) * i128::from(DAY) {
        return Err(Moment::Shift.into());
    }
    // In a zone, days and months are those of its clock, which is within a day of UTC and may change.
    let either_side = match (&x.facts.ty, parts) {
        (SqlType::Timestamptz, [0, 0, _]) => 0,
        (SqlType::Timestamptz, _) => 5 * DAY,
        _ => 0,
    };
    let ty = if x.facts.ty == SqlType::Date { SqlType::Timestamp } else { x.facts.ty.clone() };
    let f = |i: &Interval| moved(i, |at| constant::shifted(at, *parts), either_side);
    let facts = Facts::of_type(ty, x.facts.nullable);
    Ok(Facts { span: x.facts.span.one(f), bound: x.facts.bound.one(f), cost: 200, ..facts })
}

fn shift_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Interval([months, days, micros])) = (args.first(), param) else {
        return "NULL".into();
    };
    let interval = |text: String| format!("{}::pg_catalog.interval", string(&text));
    if x.facts.ty != SqlType::Timestamptz {
        let text = format!("{months:+} mons {days:+} days {micros:+} microseconds");
        return format!("({} + {})", print(x), interval(text));
    }
    // As PostgreSQL does it: months by the zone's clock, then days by it, then the rest, which no clock changes.
    let mut text = print(x);
    for (n, unit) in [(months, "mons"), (days, "days")] {
        if *n != 0 {
            let moved = format!("({} + {})", casts::zoned(&text), interval(format!("{n:+} {unit}")));
            text = casts::zoned(&moved);
        }
    }
    format!("({text} + {})", interval(format!("{micros:+} microseconds")))
}

fn days_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let ([x, n], true) = (args, moments(args.get(..1).unwrap_or_default())) else {
        return Err(Unfit::Days.into());
    };
    if x.facts.ty != SqlType::Date || !n.facts.span.within(&MOST_DAYS.into()) {
        return Err(Moment::Days.into());
    }
    let add = |a: &Interval, b: &Interval| a.add(&b.mul(&Interval::point(DAY.into())));
    let facts = Facts::of_type(SqlType::Date, nullable(args));
    Ok(Facts {
        span: x.facts.span.two(&n.facts.span, add),
        bound: x.facts.bound.two(&n.facts.bound, add),
        cost: 200,
        ..facts
    })
}

fn days_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [x, n] = args else { return "NULL".into() };
    format!("({} + ({})::pg_catalog.int4)", print(x), print(n))
}

/// What lies between two moments, in units of so many microseconds.
fn between(args: &[Scalar], unit: i64) -> (Proven, Declared) {
    let [a, b] = args else { return (Proven::default(), Declared::default()) };
    let typed = |x: &Scalar| matches!(x.node, Node::Null).then(|| Interval::point(0.into()));
    let f = |x: &Interval, y: &Interval| {
        let (x, y) = (typed(a).unwrap_or_else(|| x.clone()), typed(b).unwrap_or_else(|| y.clone()));
        x.sub(&y).div(&Interval::point(unit.into()), &unit.into())
    };
    (a.facts.span.two(&b.facts.span, f), a.facts.bound.two(&b.facts.bound, f))
}

fn between_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    if !moments(args) || args.iter().any(|x| x.facts.ty != SqlType::Date) {
        return Err(Unfit::Difference.into());
    }
    let whole = |i: &Interval| i.round(0, RoundingMode::HalfUp);
    let (span, bound) = between(args, DAY);
    Ok(Facts {
        phys: Phys::Int,
        span: span.one(whole),
        bound: bound.one(whole),
        lattice: Some(1.into()),
        binned: true,
        cost: 100,
        ..Facts::of_type(SqlType::Int4, nullable(args))
    })
}

fn between_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [a, b] = args else { return "NULL".into() };
    format!("({} - {})", print(a), print(b))
}

fn length_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    if !moments(args) || args.iter().any(|x| x.facts.ty == SqlType::Date) {
        return Err(Unfit::Difference.into());
    }
    // Double precision before PostgreSQL 14: fifteen digits as numeric.
    let wide = |i: &Interval| {
        let i = i.widened(14);
        Interval { lo: i.round(6, RoundingMode::Floor).lo, hi: i.round(6, RoundingMode::Ceiling).hi }
    };
    let (span, bound) = between(args, MICROS_PER_SECOND);
    Ok(Facts {
        phys: Phys::Num,
        span: span.one(wide),
        bound,
        lattice: Some(BigDecimal::new(1.into(), 6)),
        scale: 6,
        cost: 300,
        ..Facts::of_type(SqlType::Interval, nullable(args))
    })
}

fn length_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [a, b] = args else { return "NULL".into() };
    format!("pg_catalog.round((EXTRACT(epoch FROM ({} - {})))::pg_catalog.numeric, 6)", print(a), print(b))
}

fn age_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    if !moments(args) || args.len() != 2 {
        return Err(Unfit::Age.into());
    }
    // What is known of it is known of its moments.
    Ok(Facts { cost: 300, ..Facts::of_type(SqlType::Interval, nullable(args)) })
}

fn age_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [a, b] = args else { return "NULL".into() };
    format!("pg_catalog.age({}, {})", casts::local(a, print), casts::local(b, print))
}

/// Fields of an age, their largest magnitude (that of years follows from the moments), and whether they are whole.
const AGE_FIELDS: &[(&str, i64, bool)] = &[
    ("year", 0, true),
    ("month", 11, true),
    ("day", 31, true),
    ("hour", 23, true),
    ("minute", 59, true),
    ("second", 60, false),
];

fn age_field_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([Scalar { node: Node::Apply(_, of, _), facts }], Param::Field(field, ty)) = (args, param) else {
        return Err(Unfit::AgeField.into());
    };
    let Some((_, most, whole)) = AGE_FIELDS.iter().find(|(f, ..)| f == field) else {
        return Err(Unfit::ExtractField.into());
    };
    // A year has 365 or 366 days; two days more on either side for the zone.
    let years = |i: &Interval| {
        let (short, long) = (BigDecimal::from(365 * DAY), BigDecimal::from(366 * DAY));
        let wide = i.add(&Interval::new(-2 * DAY, 2 * DAY));
        let in_years = |year: &BigDecimal| wide.div(&Interval::point(year.clone()), year);
        in_years(&short).hull(&in_years(&long)).round(0, RoundingMode::Down)
    };
    let (span, bound) = match *field {
        "year" => {
            let (span, bound) = between(of, 1);
            (span.one(years), bound.one(years))
        }
        _ => {
            let span = Proven::by_text(Interval::new(-most, *most));
            let bound = Declared::of(&span);
            (span, bound)
        }
    };
    Ok(Facts {
        phys: Phys::Num,
        span,
        bound,
        lattice: Some(if *whole { BigDecimal::from(1) } else { BigDecimal::new(1.into(), 6) }),
        binned: *whole,
        scale: if *whole { 0 } else { 20 },
        cost: 200,
        ..Facts::of_type(ty.clone(), facts.nullable)
    })
}

fn age_field_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Field(field, _)) = (args.first(), param) else { return "NULL".into() };
    format!("(EXTRACT({field} FROM {}))::pg_catalog.numeric", print(x))
}
