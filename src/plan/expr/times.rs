//! Dates and timestamps, and the two ways to make a value of a column safe: a clamp, and a guard.
//!
//! PostgreSQL's functions take infinite times and the years 4713 BC to 294276, some of which they fail for. A value with
//! a declared range is moved into it, as numbers are; one without becomes NULL outside the years 1 to 9999. Local time is
//! within a day of UTC: zones are named ones, or offsets within ±15:59 (soundness rule 37).

use super::casts;
use super::facts::{Declared, Facts, OF_FLOAT, Phys, Proven, int_limit};
use super::print::{Print, ZONE, moment, number, string, within};
use super::refusal::{Result, refused};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use crate::expr::domain::{self, Domain};
use crate::expr::interval::Interval;
use crate::refusals::moment::Moment;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;
use schema::time::{self, DAY};
use sql::ast::Pos;
use std::sync::Arc;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "extract(field FROM t), date_part('field', t)",
        types: "date, timestamp, or time (hours to microseconds, epoch) → numeric (double precision before PostgreSQL 14, and \
                for date_part)",
        total: "a t with a declared range is moved into it; without one it is NULL outside the years 1 to 9999",
        range: "the field's, years and epochs following t's; NULL where t is",
        cost: "100",
        samples: &[
            "extract(year FROM {t})",
            "extract(isoyear FROM {t})",
            "extract(quarter FROM {t})",
            "extract(month FROM {t})",
            "extract(week FROM {t})",
            "extract(day FROM {t})",
            "extract(doy FROM {t})",
            "extract(dow FROM {t})",
            "extract(isodow FROM {t})",
            "extract(decade FROM {t})",
            "extract(century FROM {t})",
            "extract(millennium FROM {t})",
            "extract(epoch FROM {t})",
            "extract(hour FROM {t}::timestamp)",
            "extract(minute FROM {t}::timestamp)",
            "extract(second FROM {t}::timestamp)",
            "date_part('year', {t})",
            "extract(hour FROM {t}::timestamp::time)",
            "extract(epoch FROM {t}::timestamptz::time)",
        ],
    },
    Entry {
        form: "date_trunc('unit', t)",
        types: "date or timestamp → timestamp (with time zone for dates), as PostgreSQL",
        total: "as for extract",
        range: "the beginnings of units of t's declared range are public groups; NULL where t is",
        cost: "200",
        samples: &[
            "extract(epoch FROM date_trunc('day', {t}))",
            "(date_trunc('month', {t}) < {m})",
            "extract(year FROM date_trunc('week', {t}))",
            "extract(year FROM date_trunc('century', {t}))",
        ],
    },
];

const EXTRACT: Function = Function::plain("extract", extract_rule, extract_text);
const TRUNC: Function = Function::plain("date_trunc", trunc_rule, trunc_text);

/// The years 1 to 9999.
pub(super) fn years() -> Interval {
    Interval::new(time::FIRST, time::LAST)
}

/// Moves a number, date or timestamp into its bound.
pub fn clamp(x: Scalar) -> Scalar {
    let bound = x.facts.bound.clone();
    let span = Proven::by_text(bound.interval().clone());
    let phys = match x.facts.phys {
        Phys::Other => Phys::Other,
        Phys::Int => Phys::Int,
        Phys::Num if x.facts.ty.is_integer() && span.within(&int_limit()) => Phys::Int,
        Phys::Num | Phys::Float => Phys::Num,
    };
    let float = x.facts.phys == Phys::Float;
    let ends = span.finite().map_or(0, |(lo, hi)| {
        lo.fractional_digit_count().max(hi.fractional_digit_count()).max(0).unsigned_abs()
    });
    let scale = if float { OF_FLOAT } else { x.facts.scale };
    let facts = Facts {
        phys,
        span,
        // NaN is NULL for floats, where its owner does not say that there is none.
        nullable: x.facts.nullable || (float && !x.facts.nan_is_end),
        scale: scale.max(u32::try_from(ends).unwrap_or(u32::MAX)),
        cost: x.facts.cost.saturating_add(if float { 2_000 } else { 20 }),
        ..Facts::clone(&x.facts)
    };
    Scalar::of(Node::Clamp(Box::new(x)), facts)
}

/// A date or timestamp that functions can take.
pub(super) fn guarded(x: Scalar) -> Scalar {
    if matches!(x.node, Node::Null | Node::Text(_)) || x.facts.span.inside(&years()) {
        return x;
    }
    let bound = x.facts.bound.finite().and_then(|_| x.facts.bound.interval().intersect(&years()));
    match bound {
        Some(bound) if *x.facts.bound.interval() == bound => clamp(x),
        bound => {
            let facts = Facts {
                phys: Phys::Other,
                nullable: true,
                span: Proven::by_text(years()),
                bound: bound.map(Declared::says).unwrap_or_default(),
                lattice: None,
                binned: false,
                domain: None,
                cost: x.facts.cost.saturating_add(20),
                ..Facts::clone(&x.facts)
            };
            Scalar::of(Node::Guard(Box::new(x)), facts)
        }
    }
}

/// A number that was rounded, and becomes NULL outside `limit`; None where all of it lies outside.
pub(super) fn held(x: Scalar, limit: &Interval) -> Option<Scalar> {
    let span = x.facts.span.interval().intersect(limit)?;
    let bound = x.facts.bound.interval().intersect(limit).unwrap_or_else(|| span.clone());
    let facts = Facts {
        span: Proven::by_text(span),
        bound: Declared::says(bound),
        nullable: true,
        domain: None,
        cost: x.facts.cost.saturating_add(20),
        ..Facts::clone(&x.facts)
    };
    Some(Scalar::of(Node::Guard(Box::new(x)), facts))
}

/// A string constant of a date or timestamp type, as it is printed: in the one form that no style reads otherwise. Where it
/// lies is known if it is written as PostgreSQL prints it.
pub(super) fn literal(text: &str, ty: &SqlType, pos: Pos) -> Result<Scalar> {
    let whole = two_digits(text.trim());
    let text = whole.as_str();
    let mut facts = Facts::of_type(ty.clone(), false);
    // UTC; and an offset is nothing to a type without one.
    let utc = text.strip_suffix(['Z', 'z']).filter(|bare| is_iso(bare, &SqlType::Timestamp));
    let utc = utc.map(|bare| format!("{}+00", bare.replace('T', " ")));
    let text = utc.as_deref().unwrap_or(text);
    let utc = Some(text).filter(|text| *ty == SqlType::Timestamptz && is_iso(text, ty)).and_then(in_utc);
    let text = utc.as_deref().unwrap_or(text);
    let bare = text.rfind(['+', '-']).and_then(|at| text.get(..at));
    let bare = bare.filter(|bare| is_iso(text, &SqlType::Timestamptz) && is_iso(bare, &SqlType::Timestamp));
    let text = bare.filter(|_| *ty != SqlType::Timestamptz).unwrap_or(text);
    let constant = |text: String, facts| Ok(Scalar::of(Node::Text(text), facts));
    let Some(at) = policy::from_iso(text) else {
        return match is_iso(text, ty) {
            true => constant(text.to_owned(), facts),
            false => refused(Moment::Settings, pos),
        };
    };
    if *ty == SqlType::Timestamptz && !text.ends_with("+00") {
        // What the session's clock shows.
        let moment = casts::to_time(literal(text, &SqlType::Timestamp, pos)?, SqlType::Timestamptz, pos)?;
        // It is computed once, and not for each row.
        return Ok(Scalar {
            facts: Arc::new(Facts { cost: facts.cost, ..Arc::unwrap_or_clone(moment.facts) }),
            ..moment
        });
    }
    let at = if *ty == SqlType::Date { at - at.rem_euclid(DAY) } else { at };
    facts.span = Proven::by_text(Interval::point(at.into()));
    facts.bound = Declared::of(&facts.span);
    constant(
        match ty {
            _ if is_iso(text, ty) => text.to_owned(),
            SqlType::Date => time::date(at),
            SqlType::Timestamptz => format!("{}+00", time::timestamp(at)),
            _ => time::timestamp(at),
        },
        facts,
    )
}

/// A moment that is written with an offset, in UTC.
fn in_utc(text: &str) -> Option<String> {
    let (clock, offset) = text.split_at_checked(text.rfind(['+', '-'])?)?;
    let east = if offset.starts_with('+') { 1 } else { -1 };
    let mut parts = offset.trim_start_matches(['+', '-']).split(':').map(|p| p.parse::<i64>().ok());
    let mut part = |most: i64| parts.next().map_or(Some(0), |p| p.filter(|n| *n <= most));
    let seconds = part(15)? * 3_600 + part(59)? * 60 + part(59)?;
    let at = policy::from_iso(&clock.replace('T', " "))? - east * seconds * time::MICROS_PER_SECOND;
    (time::FIRST..=time::LAST).contains(&at).then(|| format!("{}+00", time::timestamp(at)))
}

/// A string constant of a time of day, as `08:30:00` or `8:30`.
pub(super) fn clock(text: &str, pos: Pos) -> Result<Scalar> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let digits =
        |p: &str, least: usize| (least..=2).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit());
    let second = |p: &str| {
        let (whole, fraction) = p.split_once('.').unwrap_or((p, "0"));
        digits(whole, 2) && !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())
    };
    let text = match parts.as_slice() {
        [h, m] if digits(h, 1) && digits(m, 2) => format!("{h:0>2}:{m}:00"),
        [h, m, s] if digits(h, 1) && digits(m, 2) && second(s) => format!("{h:0>2}:{m}:{s}"),
        _ => return refused(Moment::ClockSettings, pos),
    };
    Ok(Scalar::of(Node::Text(text), Facts::of_type(SqlType::Time, false)))
}

/// `2024-1-5` as `2024-01-05`: behind a year of four digits a month and a day are nothing else in any style.
fn two_digits(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (day, behind) = text.split_at_checked(end).unwrap_or((text, ""));
    match day.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] if year.len() == 4 && [month, day].iter().all(|p| (1..=2).contains(&p.len())) => {
            format!("{year}-{month:0>2}-{day:0>2}{behind}")
        }
        _ => text.to_owned(),
    }
}

/// Whether a constant is infinite, or begins with a year of four digits and more, its month and day, and goes on as the type
/// does: all styles read it alike.
fn is_iso(text: &str, ty: &SqlType) -> bool {
    if ["infinity", "-infinity"].contains(&text) {
        return true;
    }
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let shape = shape.strip_suffix(" BC").unwrap_or(&shape);
    let behind = shape.trim_start_matches('9');
    let Some(rest) = behind.strip_prefix("-99-99") else { return false };
    let clock = rest.strip_prefix([' ', 'T']).and_then(|r| r.strip_prefix("99:99"));
    let seconds = clock.map(|r| r.strip_prefix(":99").unwrap_or(r));
    let offset = seconds.map_or(rest, |r| r.strip_prefix('.').map_or(r, |r| r.trim_start_matches('9')));
    let zoned = ["99", "99:99", "99:99:99"];
    let ends = match ty {
        SqlType::Date => rest.is_empty(),
        SqlType::Timestamptz => {
            seconds.is_some() && offset.strip_prefix(['+', '-']).is_some_and(|o| zoned.contains(&o))
        }
        _ => offset.is_empty(),
    };
    (4..=7).contains(&(shape.len() - behind.len())) && ends
}

/// Microseconds of both ends.
pub(super) fn micros(i: &Interval) -> Option<(i64, i64)> {
    let (lo, hi) = i.finite()?;
    Some((lo.to_i64()?, hi.to_i64()?))
}

/// A date or timestamp as a function takes it.
fn argument(args: &[Scalar]) -> Result<&Scalar, Value> {
    match args {
        [x] if x.facts.ty.is_datetime()
            && (x.facts.span.inside(&years()) || matches!(x.node, Node::Null)) =>
        {
            Ok(x)
        }
        _ => Err(Unfit::Infinite.into()),
    }
}

/// Fields of EXTRACT: name, lowest and highest value where it does not follow the year, and whether it is whole.
const FIELDS: &[(&str, i64, i64, bool)] = &[
    ("year", 0, 0, true),
    ("isoyear", 0, 0, true),
    ("quarter", 1, 4, true),
    ("month", 1, 12, true),
    ("week", 1, 53, true),
    ("day", 1, 31, true),
    ("doy", 1, 366, true),
    ("dow", 0, 6, true),
    ("isodow", 1, 7, true),
    ("hour", 0, 23, true),
    ("minute", 0, 59, true),
    ("second", 0, 60, false),
    ("milliseconds", 0, 60_000, false),
    ("microseconds", 0, 60_000_000, true),
    ("julian", 0, 0, false),
    ("decade", 0, 0, true),
    ("century", 0, 0, true),
    ("millennium", 0, 0, true),
    ("epoch", 0, 0, false),
];

/// The fields of a time of day.
const CLOCK: &[&str] = &["hour", "minute", "second", "milliseconds", "microseconds"];

/// EXTRACT of a constant field, giving a number of type `ty`.
pub(super) fn extract(field: &str, x: Scalar, ty: SqlType, pos: Pos) -> Result<Scalar> {
    if x.facts.ty == SqlType::Interval {
        return super::dates::extract(field, x, ty, pos);
    }
    if !x.facts.ty.is_datetime() && x.facts.ty != SqlType::Time {
        return refused(Moment::ExtractOf, pos);
    }
    let Some((field, ..)) = FIELDS.iter().find(|(f, ..)| *f == field) else {
        let fields = FIELDS.iter().map(|f| f.0).collect();
        return refused(Moment::Field { field: field.to_owned(), fields }, pos);
    };
    if x.facts.ty == SqlType::Date
        && matches!(*field, "hour" | "minute" | "second" | "milliseconds" | "microseconds")
    {
        return refused(Moment::NoClock, pos);
    }
    if x.facts.ty == SqlType::Time {
        if !CLOCK.contains(field) && *field != "epoch" {
            return refused(Moment::ClockField(CLOCK), pos);
        }
        // Of a timestamp's time these fields are the timestamp's, and their hours end at 23.
        if let Node::Cast(of) = &x.node
            && CLOCK.contains(field)
        {
            let of = (**of).clone();
            return Scalar::apply(&EXTRACT, vec![of], Param::Field(field, ty)).map_err(|e| e.at(pos));
        }
        return Scalar::apply(&EXTRACT, vec![x], Param::Field(field, ty)).map_err(|e| e.at(pos));
    }
    Scalar::apply(&EXTRACT, vec![bounded_constant(x, pos)?], Param::Field(field, ty)).map_err(|e| e.at(pos))
}

/// Functions of constants that are not surely within the years 1 to 9999 are left to PostgreSQL, above the release.
pub(super) fn bounded_constant(x: Scalar, pos: Pos) -> Result<Scalar> {
    match x.node {
        Node::Text(_) if !x.facts.span.inside(&years()) => refused(Moment::Constant, pos),
        _ => Ok(guarded(x)),
    }
}

/// The least and the greatest value of a field. The parts of a minute end a microsecond before the next one, or tools' bins of five
/// seconds would have a thirteenth.
fn field_ends((field, lo, hi, _): &(&str, i64, i64, bool)) -> Interval {
    let digits = match *field {
        "second" => 6,
        "milliseconds" => 3,
        "microseconds" => 0,
        _ => return Interval::new(*lo, *hi),
    };
    Interval::new(BigDecimal::from(*lo), BigDecimal::from(*hi) - BigDecimal::new(1.into(), digits))
}

/// Where a field of the times of an interval lies, in local time. The last time of day is 24:00.
fn field_span(field: &str, ty: &SqlType, of: &Interval) -> Interval {
    match (ty, field) {
        (SqlType::Time, "hour") => return Interval::new(0, 24),
        (SqlType::Time, "epoch") => return Interval::new(0, 86_400),
        (SqlType::Time, _) => {
            let field = FIELDS.iter().find(|(f, ..)| *f == field);
            return field.map_or_else(Interval::default, field_ends);
        }
        _ => {}
    }
    let Some((lo, hi)) = micros(of) else { return Interval::default() };
    let day = if *ty == SqlType::Timestamptz { DAY } else { 0 };
    // There is no year 0: 1 BC comes before 1, and is -1.
    let year = |t: i64| {
        let y = time::civil(t.div_euclid(DAY)).0;
        if y > 0 { y } else { y - 1 }
    };
    let (first, last) = (year(lo.saturating_sub(day)), year(hi.saturating_add(day)));
    let units = |n: i64| {
        // Years 1 to n are the first unit; before it, whole units downwards with room to spare.
        let of = |y: i64| if y > 0 { (y + n - 1) / n } else { y / n - 2 };
        Interval::new(of(first), of(last))
    };
    match field {
        "year" => Interval::new(first, last),
        "isoyear" => Interval::new(
            year(lo.saturating_sub(day + 4 * DAY)).min(first),
            year(hi.saturating_add(day + 4 * DAY)).max(last),
        ),
        "decade" => {
            let of = |y: i64| if y > 0 { y / 10 } else { y / 10 - 2 };
            Interval::new(of(first), of(last))
        }
        "century" => units(100),
        "millennium" => units(1000),
        // 2000-01-01 is 2451545.
        "julian" => {
            let days = |t: i64| BigDecimal::from(t.div_euclid(DAY)) + BigDecimal::from(2_451_545);
            Interval::new(days(lo.saturating_sub(day)), days(hi.saturating_add(day)) + BigDecimal::from(1))
        }
        "epoch" => {
            let seconds = |t: i64| BigDecimal::new(t.into(), 6) + BigDecimal::from(946_684_800);
            Interval::new(seconds(lo), seconds(hi))
        }
        _ => FIELDS.iter().find(|(f, ..)| *f == field).map_or_else(Interval::default, field_ends),
    }
}

fn extract_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let Param::Field(field, ty) = param else { return Err(Unfit::Extract.into()) };
    // No time of day is infinite.
    let x = match args {
        [x] if x.facts.ty == SqlType::Time && (CLOCK.contains(field) || *field == "epoch") => x,
        _ => argument(args)?,
    };
    let Some((_, _, _, whole)) = FIELDS.iter().find(|(f, ..)| f == field) else {
        return Err(Unfit::ExtractField.into());
    };
    // Double precision before PostgreSQL 14, whose fifteen digits become a numeric.
    let of = |times: &Interval| {
        let span = field_span(field, &x.facts.ty, times);
        if ty.is_float() && *field == "epoch" { span.widened(14) } else { span }
    };
    let (span, bound) = match x.node {
        Node::Null => (Interval::point(0.into()), Interval::point(0.into())),
        _ => {
            let span = of(x.facts.span.interval());
            let declared = of(x.facts.bound.interval());
            let declared = if declared.finite().is_some() { declared } else { span.clone() };
            (span, declared)
        }
    };
    Ok(Facts {
        phys: Phys::Num,
        span: Proven::by_text(span),
        bound: Declared::says(bound),
        lattice: Some(if *whole { BigDecimal::from(1) } else { BigDecimal::new(1.into(), 6) }),
        binned: *whole,
        scale: if *whole { 0 } else { 20 },
        cost: 100,
        ..Facts::of_type(ty.clone(), x.facts.nullable)
    })
}

fn extract_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Field(field, _)) = (args.first(), param) else { return "NULL".into() };
    // Seconds since 1970 are the same in all zones.
    let x = if *field == "epoch" { print(x) } else { casts::local(x, print) };
    format!("(EXTRACT({field} FROM {x}))::pg_catalog.numeric")
}

/// date_trunc of a constant unit.
pub(super) fn date_trunc(unit: &str, x: Scalar, pos: Pos) -> Result<Scalar> {
    if x.facts.ty == SqlType::Time {
        return refused(Moment::TruncTime, pos);
    }
    if !x.facts.ty.is_datetime() {
        return refused(Moment::TruncOf, pos);
    }
    let wanted = unit.to_lowercase();
    let Some((unit, _)) = domain::TRUNC_UNITS.iter().find(|(u, _)| *u == wanted.trim_end_matches('s')) else {
        let units = domain::TRUNC_UNITS.iter().map(|u| u.0).collect();
        return refused(Moment::Unit { unit: wanted, units }, pos);
    };
    // What was cut to a finer unit of the clock is cut further.
    if let Node::Apply(f, args, Param::Field(inner, _)) = &x.node
        && f.name == TRUNC.name
        && let Some(of) = args.first().filter(|of| of.facts.ty == x.facts.ty)
        && finer(inner, unit)
    {
        return date_trunc(unit, of.clone(), pos);
    }
    // PostgreSQL reads a date as a timestamp with time zone here.
    let ty = if x.facts.ty == SqlType::Timestamp { SqlType::Timestamp } else { SqlType::Timestamptz };
    let param = Param::Field(unit, ty);
    Scalar::apply(&TRUNC, vec![bounded_constant(x, pos)?], param).map_err(|e| e.at(pos))
}

/// The times of day that a timestamp without time zone has once it was cut to hours or minutes.
pub(super) fn hours_of_day(x: &Scalar) -> Option<Vec<String>> {
    let minutes = match &x.node {
        Node::Apply(f, args, Param::Field("hour", _)) if f.name == TRUNC.name && plain(args) => 60,
        Node::Apply(f, args, Param::Field("minute", _)) if f.name == TRUNC.name && plain(args) => 1,
        _ => return None,
    };
    let all = (0..24 * 60).step_by(minutes);
    Some(all.map(|m| format!("{:02}:{:02}:00", m / 60, m % 60)).collect())
}

/// In a zone, clocks that go back or forward by half an hour make other times of it.
fn plain(args: &[Scalar]) -> bool {
    args.iter().all(|x| x.facts.ty == SqlType::Timestamp)
}

/// Whether a unit is one of the clock or a day, and finer than another.
fn finer(inner: &str, unit: &str) -> bool {
    let place = |unit: &str| domain::TRUNC_UNITS.iter().position(|(u, _)| *u == unit);
    matches!(inner, "second" | "minute" | "hour" | "day") && place(inner) < place(unit)
}

/// date_trunc of what functions can take already.
pub(crate) fn truncated(unit: &'static str, x: &Scalar) -> Option<Scalar> {
    let ty = if x.facts.ty == SqlType::Timestamp { SqlType::Timestamp } else { SqlType::Timestamptz };
    Scalar::apply(&TRUNC, vec![x.clone()], Param::Field(unit, ty)).ok()
}

fn trunc_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let x = argument(args)?;
    let Param::Field(unit, ty) = param else { return Err(Unfit::Trunc.into()) };
    // A time that was cast is enumerated as it was before: which moment it is depends on the zone.
    let source = match &x.node {
        Node::Cast(inner) if inner.facts.ty.is_datetime() => inner,
        _ => x,
    };
    let domain = micros(source.facts.bound.interval()).map(|(lo, hi)| Domain::DateTrunc {
        unit,
        lo,
        hi,
        from: source.facts.ty.clone(),
    });
    // Back by one unit at most, and what is cast back from local time by another two days at most.
    let length = if *unit == "century" { 36_525 } else { 3_653 } * DAY;
    let back = |i: &Interval| match micros(i) {
        Some((lo, hi)) => Interval::new(lo.saturating_sub(length + 2 * DAY), hi.saturating_add(2 * DAY)),
        None => Interval::default(),
    };
    let span = x.facts.span.one(back);
    Ok(Facts { domain, span, cost: 200, ..Facts::of_type(ty.clone(), x.facts.nullable) })
}

fn trunc_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Field(unit, _)) = (args.first(), param) else { return "NULL".into() };
    let (unit, x, ty) = (string(unit), print(x), &x.facts.ty);
    match ty {
        SqlType::Timestamp => format!("pg_catalog.date_trunc({unit}, ({x}))"),
        SqlType::Date => {
            let midnight = casts::zoned(&format!("({x})::pg_catalog.timestamp"));
            format!("pg_catalog.date_trunc({unit}, {midnight}, {ZONE})")
        }
        _ => format!("pg_catalog.date_trunc({unit}, ({x}), {ZONE})"),
    }
}

/// The name of a type of time in its functions `…_larger` and `…_smaller`.
fn family(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::Date => "date",
        SqlType::Timestamptz => "timestamptz",
        _ => "timestamp",
    }
}

/// Both ends of a span as constants of the scalar's type.
fn ends(s: &Scalar) -> Option<(String, String)> {
    let (lo, hi) = s.facts.span.finite()?;
    Some(match &s.facts.ty {
        t if t.is_datetime() => (moment(t, lo.to_i64()?), moment(t, hi.to_i64()?)),
        _ => (number(lo), number(hi)),
    })
}

pub(super) fn clamp_text(s: &Scalar, x: &Scalar, print: Print) -> String {
    let inner = print(x);
    // A clamp has both ends; NULL is no value at all.
    let Some((lo, hi)) = ends(s) else { return "NULL".into() };
    match x.facts.phys {
        // The cast to numeric keeps fifteen digits, which may lie outside again.
        Phys::Float => within(&clamped_float(s, x, print), &lo, &hi),
        Phys::Other => {
            let name = family(&s.facts.ty);
            format!("pg_catalog.{name}_smaller(pg_catalog.{name}_larger({inner}, {lo}), {hi})")
        }
        _ if matches!(x.node, Node::Column { .. }) && x.facts.nullable => {
            format!("(CASE WHEN {inner} IS NOT NULL THEN LEAST(GREATEST({inner}, {lo}), {hi}) END)")
        }
        _ if x.facts.nullable => within(&inner, &lo, &hi),
        _ => format!("LEAST(GREATEST({inner}, {lo}), {hi})"),
    }
}

/// A float within the bounds of its clamp, as a float. NaN sorts above every number: where it is NULL, it must be gone before
/// they are applied; else it is moved to the upper one, as it is of numerics.
pub(super) fn clamped_float(s: &Scalar, x: &Scalar, print: Print) -> String {
    let Some((lo, hi)) = ends(s) else { return "NULL::pg_catalog.float8".into() };
    format!("pg_catalog.float8smaller(pg_catalog.float8larger({}, {lo}), {hi})", number_text(x, print))
}

/// A float; NULL for NaN, unless that is one of the values that a clamp moves.
fn number_text(x: &Scalar, print: Print) -> String {
    if x.facts.nan_is_end {
        return format!("({})::pg_catalog.float8", print(x));
    }
    format!("NULLIF(({})::pg_catalog.float8, 'NaN')", print(x))
}

/// A text that is NULL where `x` is: what moves a value to its bounds is left out.
pub(super) fn presence_text(x: &Scalar, print: Print) -> String {
    match &x.node {
        Node::Clamp(x) if x.facts.phys == Phys::Float => number_text(x, print),
        Node::Clamp(x) | Node::Short(x) => presence_text(x, print),
        _ => print(x),
    }
}

/// NULL outside the span.
pub(super) fn guard_text(s: &Scalar, x: &Scalar, print: Print) -> String {
    let inner = print(x);
    if s.facts.ty.is_datetime() {
        let name = family(&s.facts.ty);
        // The last moment before the years 1 to 9999, and the first after them.
        let (below, above) = match &s.facts.ty {
            SqlType::Date => ("0001-12-31 BC", "10000-01-01"),
            SqlType::Timestamptz => ("0001-12-31 23:59:59.999999+00 BC", "10000-01-01 00:00:00+00"),
            _ => ("0001-12-31 23:59:59.999999 BC", "10000-01-01 00:00:00"),
        };
        let constant = |c: &str| format!("'{c}'::pg_catalog.{name}");
        let (below, above) = (constant(below), constant(above));
        return format!(
            "NULLIF(NULLIF(pg_catalog.{name}_smaller(pg_catalog.{name}_larger({inner}, {below}), {above}), {below}), {above})"
        );
    }
    // A number that was rounded: what is outside moves to the nearest value outside, and that becomes NULL. The argument
    // is named once. Between an end and its neighbour lies no value: both are multiples of the step.
    match s.facts.span.finite() {
        Some((low, high)) => {
            let ends = low.fractional_digit_count().max(high.fractional_digit_count());
            let step = BigDecimal::new(1.into(), ends.max(i64::from(x.facts.scale)));
            let (below, above) = (number(&(low - &step)), number(&(high + &step)));
            format!("NULLIF(NULLIF({}, {below}), {above})", within(&inner, &below, &above))
        }
        None => "NULL".into(),
    }
}
