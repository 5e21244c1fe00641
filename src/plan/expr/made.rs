//! Moments made from numbers: a constant interval as many times as a number says, seconds since 1970, the parts of a
//! calendar, bins of a constant width.

use super::dates::constant_parts;
use super::facts::{Declared, Facts, Phys, Proven};
use super::print::{Print, float, operand, string};
use super::refusal::{Result, refused};
use super::rounding::{Rounding, rounding};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use super::times::{bounded_constant, held, years};
use super::{casts, dates, numbers};
use crate::expr::interval::Interval;
use crate::refusals::moment::Moment;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;
use schema::time::{DAY, MICROS_PER_SECOND};
use sql::ast::{BinaryOp, Pos};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "t + interval 'constant' * n, t + (n || ' minutes')::interval, t + make_interval(mins => n)",
        types: "date or timestamp, and number → timestamp",
        total: "as for a - b; n is refused where it is not proven to stay among PostgreSQL's years",
        range: "the shifted ends, within a month where months or days have fractions; a function of t and n, so that its groups are public where theirs are",
        cost: "400",
        samples: &[
            "extract(epoch FROM {t}::timestamp + interval '5 min' * LEAST(GREATEST({n}, 0), 1000))",
            "extract(epoch FROM {t}::timestamptz - LEAST(GREATEST({n}, -10), 10) * interval '1 mon 2 days')",
            "extract(doy FROM {t}::date + make_interval(years => LEAST(GREATEST({i}, -9), 9), secs => 2.5))",
            "extract(hour FROM {t}::timestamptz + (LEAST(GREATEST({i}, 0), 500) || ' minutes')::interval)",
        ],
    },
    Entry {
        form: "to_timestamp(n)",
        types: "number → timestamp with time zone",
        total: "n is refused where it is not proven to lie among PostgreSQL's years",
        range: "the ends, within a second; NULL where n is",
        cost: "300",
        samples: &[
            "extract(epoch FROM to_timestamp(floor(extract(epoch FROM {t}::timestamptz) / 300) * 300))",
            "extract(year FROM to_timestamp(LEAST(GREATEST({n}, 0), 4000000000)))",
        ],
    },
    Entry {
        form: "make_date(year, month, day), make_timestamp(year, month, day, hour, min, sec)",
        types: "integers, and a number of seconds → date, timestamp",
        total: "NULL where there is no such day or time, in the years 1 to 9999",
        range: "the ends of the years; NULL where an argument is",
        cost: "600, and three times what the arguments take",
        samples: &[
            "extract(doy FROM make_date({i}, LEAST(GREATEST({i}, 0), 13), {i}))",
            "extract(epoch FROM make_date(2024, 2, {i}))",
            "extract(epoch FROM make_timestamp(2024, 12, 31, {i}, {i}, {n}))",
        ],
    },
    Entry {
        form: "date_bin('stride', t, origin)",
        types: "constant interval, timestamp and constant timestamp → timestamp",
        total: "a stride of at most 10,000 days, without months; as for a - b",
        range: "the beginnings of the bins that t's declared range has, which are public groups; NULL where t is",
        cost: "800",
        samples: &[
            "extract(epoch FROM date_bin('15 minutes', {t}::timestamp, TIMESTAMP '2001-01-01'))",
            "extract(epoch FROM date_bin('7 days', {t}::timestamptz, TIMESTAMPTZ '2024-01-01 00:00:00+00'))",
        ],
    },
];

const MULTIPLE: Function = Function::plain("shift_by", multiple_rule, multiple_text);
const EPOCH: Function = Function::plain("to_timestamp", epoch_rule, epoch_text);
const MAKE: Function = Function::plain("make_date", make_rule, make_text);

/// Seconds from 1970 to 2000.
const EPOCH_OF_2000: i64 = 946_684_800;

/// An interval that is not a constant: parts of a constant, and how many times; all of it is added at once.
pub(super) type Multiple = Vec<([i64; 3], Scalar)>;

/// `text * n`
pub(super) fn multiple(text: &str, n: Scalar, pos: Pos) -> Result<Multiple> {
    Ok(vec![(constant_parts(text, pos)?, numbers::ready(n, pos)?)])
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`, of which the last may be missing.
pub(super) fn make_interval(args: Vec<Scalar>, pos: Pos) -> Result<Multiple> {
    let mut args = args.into_iter();
    let mut sum = |factors: &[i64]| -> Result<Option<Scalar>> {
        let mut all: Option<Scalar> = None;
        for factor in factors {
            let Some(x) = args.next() else { break };
            if matches!(&x.node, Node::Number(n) if *n == 0) {
                continue;
            }
            let factor = numbers::literal(&factor.to_string(), None, pos)?;
            let x = numbers::arithmetic(BinaryOp::Mul, numbers::ready(x, pos)?, factor, pos)?;
            all = Some(match all {
                Some(all) => numbers::arithmetic(BinaryOp::Add, all, x, pos)?,
                None => x,
            });
        }
        Ok(all)
    };
    let units =
        [(vec![12, 1], [1, 0, 0]), (vec![7, 1], [0, 1, 0]), (vec![3_600, 60, 1], [0, 0, MICROS_PER_SECOND])];
    let mut out = Vec::new();
    for (factors, parts) in units {
        out.extend(sum(&factors)?.map(|n| (parts, n)));
    }
    Ok(out)
}

/// A moment plus such intervals, or minus.
pub(super) fn shifted(op: BinaryOp, mut x: Scalar, by: Multiple, pos: Pos) -> Result<Scalar> {
    let sign = if op == BinaryOp::Sub { -1 } else { 1 };
    for (parts, n) in by {
        let param = Param::Interval(parts.map(|n| sign * n));
        x = Scalar::apply(&MULTIPLE, vec![bounded_constant(x, pos)?, n], param).map_err(|e| e.at(pos))?;
    }
    Ok(x)
}

/// `to_timestamp(n)`
pub(super) fn to_timestamp(n: Scalar, pos: Pos) -> Result<Scalar> {
    Scalar::apply(&EPOCH, vec![n], Param::None).map_err(|e| e.at(pos))
}

/// `make_date(year, month, day)`
pub(super) fn make_date(list: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    let limits = [(1, 9_999), (1, 12), (1, 31)];
    let list = list.into_iter().zip(limits).map(|(x, limit)| whole_part(x, limit, pos));
    Scalar::apply(&MAKE, list.collect::<Result<_>>()?, Param::None).map_err(|e| e.at(pos))
}

/// `make_timestamp(year, month, day, hour, min, sec)`
pub(super) fn make_timestamp(list: Vec<Scalar>, pos: Pos) -> Result<Scalar> {
    let Ok([y, m, d, hour, minute, second]) = <[Scalar; 6]>::try_from(list) else {
        return refused(Unfit::MakeTimestamp, pos);
    };
    let day = make_date(vec![y, m, d], pos)?;
    let day = casts::to_time(day, SqlType::Timestamp, pos)?;
    // Seconds are rounded as the time of day is.
    let second = rounding(Rounding::Round, numbers::ready(second, pos)?, 6, pos)?;
    let parts = [
        (whole_part(hour, (0, 23), pos)?, 3_600 * MICROS_PER_SECOND),
        (whole_part(minute, (0, 59), pos)?, 60 * MICROS_PER_SECOND),
        (within(second, (0, 60)), MICROS_PER_SECOND),
    ];
    let parts = parts.into_iter().map(|(n, unit)| ([0, 0, unit], n)).collect();
    shifted(BinaryOp::Add, day, parts, pos)
}

/// A part of a calendar.
fn whole_part(x: Scalar, limit: (i64, i64), pos: Pos) -> Result<Scalar> {
    if !x.facts.ty.is_integer() && !matches!(x.node, Node::Null) {
        return refused(Moment::Parts, pos);
    }
    Ok(within(numbers::ready(x, pos)?, limit))
}

/// NULL outside.
fn within(x: Scalar, (low, high): (i64, i64)) -> Scalar {
    let limit = Interval::new(low, high);
    match x.facts.span.inside(&limit) {
        true => x,
        false => held(x, &limit).unwrap_or_else(|| Scalar::null(SqlType::Int4)),
    }
}

/// `date_bin(stride, x, origin)`
pub(super) fn date_bin(stride: &str, x: Scalar, origin: Scalar, pos: Pos) -> Result<Scalar> {
    let [months, days, micros] = constant_parts(stride, pos)?;
    let width = days.saturating_mul(DAY).saturating_add(micros);
    if months != 0 || !(1..=10_000 * DAY).contains(&width) {
        return refused(Moment::Stride, pos);
    }
    if !matches!(origin.node, Node::Text(_)) {
        return refused(Moment::Origin, pos);
    }
    let (x, origin) = dates::of_one_type(x, origin, pos)?;
    let seconds =
        numbers::literal(&BigDecimal::new(width.into(), 6).normalized().to_plain_string(), None, pos)?;
    let passed = dates::arithmetic(BinaryOp::Sub, x, origin.clone(), pos)?;
    let passed = dates::extract("epoch", passed, SqlType::Numeric { scale: None }, pos)?;
    let bins = numbers::arithmetic(BinaryOp::Div, passed, seconds, pos)?;
    let bins = rounding(Rounding::Floor, bins, 0, pos)?;
    shifted(BinaryOp::Add, origin, vec![([0, 0, width], bins)], pos)
}

/// Whether all of it is a time that PostgreSQL has, with room for a zone.
fn exists(span: &Proven) -> bool {
    let years = |n: i64| n * 366 * DAY;
    span.inside(&Interval::new(-6_700 * 365 * DAY, years(200_000)))
}

fn multiple_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x, n], Param::Interval([months, days, micros])) = (args, param) else {
        return Err(Unfit::Shift.into());
    };
    let moment = x.facts.span.inside(&years()) || matches!(x.node, Node::Null);
    if !x.facts.ty.is_datetime() || !moment {
        return Err(Unfit::Shift.into());
    }
    let fixed = days.saturating_mul(DAY).saturating_add(*micros);
    let ends =
        [months.saturating_mul(28 * DAY), months.saturating_mul(31 * DAY)].map(|m| m.saturating_add(fixed));
    let unit = Interval::new(ends[0].min(ends[1]), ends[0].max(ends[1]));
    // The factor is a number in double precision; fractions of months and days become days and time.
    let slack = if *months == 0 && *days == 0 { MICROS_PER_SECOND } else { 40 * DAY };
    let slack = Interval::new(-slack, slack);
    let f = |x: &Interval, n: &Interval| x.add(&n.mul(&unit)).add(&slack);
    let span = x.facts.span.two(&n.facts.span, f);
    if !exists(&span) && !args.iter().any(|x| matches!(x.node, Node::Null)) {
        return Err(Moment::Multiple.into());
    }
    let ty = if x.facts.ty == SqlType::Date { SqlType::Timestamp } else { x.facts.ty.clone() };
    let facts = Facts::of_type(ty, x.facts.nullable || n.facts.nullable);
    Ok(Facts { span, bound: x.facts.bound.two(&n.facts.bound, f), cost: 400, ..facts })
}

fn multiple_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let ([x, n], Param::Interval([months, days, micros])) = (args, param) else { return "NULL".into() };
    let n = float(&operand(n, Phys::Num, print), &SqlType::Float8);
    let times = |text: String| format!("({n} * {}::pg_catalog.interval)", string(&text));
    let clock = format!("{micros:+} microseconds");
    if x.facts.ty != SqlType::Timestamptz {
        return format!("({} + {})", print(x), times(format!("{months:+} mons {days:+} days {clock}")));
    }
    let mut text = print(x);
    if (*months, *days) != (0, 0) {
        let moved = times(format!("{months:+} mons {days:+} days"));
        text = casts::zoned(&format!("({} + {moved})", casts::zoned(&text)));
    }
    if *micros != 0 {
        text = format!("({text} + {})", times(clock));
    }
    text
}

fn epoch_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [n] = args else { return Err(Unfit::Arguments.into()) };
    let micros = |i: &Interval| {
        // Double precision rounds by less than a second.
        let seconds = i.sub(&Interval::new(EPOCH_OF_2000 - 1, EPOCH_OF_2000 + 1));
        seconds.mul(&Interval::point(MICROS_PER_SECOND.into()))
    };
    let span = n.facts.span.one(micros);
    if !exists(&span) {
        return Err(Moment::Epoch.into());
    }
    let facts = Facts::of_type(SqlType::Timestamptz, n.facts.nullable);
    Ok(Facts { span, bound: n.facts.bound.one(micros), cost: 300, ..facts })
}

fn epoch_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let Some(n) = args.first() else { return "NULL".into() };
    format!("pg_catalog.to_timestamp({})", float(&operand(n, Phys::Num, print), &SqlType::Float8))
}

fn make_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [y, m, d] = args else { return Err(Unfit::Arguments.into()) };
    let within = |x: &Scalar, low: i64, high: i64| {
        x.facts.span.inside(&Interval::new(low, high)) || matches!(x.node, Node::Null)
    };
    if !(within(y, 1, 9_999) && within(m, 1, 12) && within(d, 1, 31)) {
        return Err(Unfit::MakeDate.into());
    }
    let days = |i: &Interval| {
        let (lo, hi) = i.finite()?;
        let day = |y: &BigDecimal, rest: &str| policy::from_iso(&format!("{:04}-{rest}", y.to_i64()?));
        Some(Interval::new(day(lo, "01-01")?, day(hi, "12-31")?))
    };
    let bound = days(y.facts.bound.interval()).unwrap_or_else(years);
    let cost = args.iter().fold(300, |sum: u64, x| sum.saturating_add(x.facts.cost.saturating_mul(2)));
    let facts = Facts::of_type(SqlType::Date, true);
    Ok(Facts { span: Proven::by_text(years()), bound: Declared::says(bound), cost, ..facts })
}

/// NULL where the month has no such day.
fn make_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    let [y, m, d] = args else { return "NULL".into() };
    let whole = |x: &Scalar| format!("({})::pg_catalog.int4", print(x));
    let first = format!("pg_catalog.make_date({}, {}, 1)", whole(y), whole(m));
    let day = format!("({first} + ({} - 1))", whole(d));
    format!("(CASE WHEN {day} < ({first} + '1 mon'::pg_catalog.interval) THEN {day} END)")
}
