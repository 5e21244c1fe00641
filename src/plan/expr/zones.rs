//! AT TIME ZONE: names, and offsets below 16 hours.

use super::casts;
use super::dates::{constant_parts, moments, moved};
use super::facts::Facts;
use super::print::{Print, string};
use super::refusal::{Result, refused};
use super::scalar::{Node, Param, Scalar};
use super::table::Function;
use super::times::bounded_constant;
use crate::expr::interval::Interval;
use crate::refusals::moment::Moment;
use crate::refusals::value::{Unfit, Value};
use schema::SqlType;
use schema::time::{DAY, MICROS_PER_SECOND};
use sql::ast::Pos;

const ZONE: Function = Function::plain("timezone", zone_rule, zone_text);

/// `x AT TIME ZONE zone`; `utc`: moments without a zone are UTC's.
pub(super) fn at_time_zone(x: Scalar, zone: &str, utc: bool, pos: Pos) -> Result<Scalar> {
    if !is_plain_zone(zone) {
        return refused(Moment::Zone, pos);
    }
    // There and back again.
    if utc
        && is_utc(zone)
        && x.facts.ty == SqlType::Timestamptz
        && let Node::Cast(inner) = &x.node
        && matches!(inner.facts.ty, SqlType::Timestamp | SqlType::Date)
    {
        return casts::to_time(Scalar::clone(inner), SqlType::Timestamp, pos);
    }
    let x = if x.facts.ty == SqlType::Date { casts::to_time(x, SqlType::Timestamptz, pos)? } else { x };
    if !x.facts.ty.is_datetime() {
        return refused(Moment::ZoneOf, pos);
    }
    Scalar::apply(&ZONE, vec![bounded_constant(x, pos)?], Param::Zone(zone.to_owned())).map_err(|e| e.at(pos))
}

/// A name without digits, but for `Etc/GMT+5` and its like: no rule in POSIX notation, in which each zone has an offset
/// (soundness rule 37). Whether the server knows the name is not known here.
fn is_plain_zone(zone: &str) -> bool {
    let name = match zone.strip_prefix("Etc/GMT") {
        Some(offset) => {
            offset.trim_start_matches(['+', '-']).trim_start_matches(|c: char| c.is_ascii_digit())
        }
        None => zone,
    };
    if is_offset(zone) {
        return true;
    }
    let small = zone.len() <= 60 && zone.bytes().filter(u8::is_ascii_digit).count() <= 2;
    let letters = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '_' | '-');
    small && !zone.is_empty() && name.chars().all(letters)
}

/// Whether a zone has always been UTC.
pub(crate) fn is_utc(zone: &str) -> bool {
    ["utc", "etc/utc", "gmt", "etc/gmt", "etc/gmt0", "zulu", "etc/zulu"]
        .contains(&zone.to_lowercase().as_str())
}

/// `+05:30`, `-7`: an offset below 16 hours.
fn is_offset(zone: &str) -> bool {
    let digits = |s: &str, most: u32| {
        (1..=2).contains(&s.len())
            && s.bytes().all(|b| b.is_ascii_digit())
            && s.parse::<u32>().is_ok_and(|n| n < most)
    };
    let Some(rest) = zone.strip_prefix(['+', '-']) else { return false };
    match rest.split_once(':') {
        Some((hours, minutes)) => digits(hours, 16) && minutes.len() == 2 && digits(minutes, 60),
        None => digits(rest, 16),
    }
}

/// `x AT TIME ZONE INTERVAL '-08:00'`
pub(super) fn at_offset(x: Scalar, offset: &str, pos: Pos) -> Result<Scalar> {
    let parts = constant_parts(offset, pos)?;
    if !is_short(parts) {
        return refused(Moment::Offset, pos);
    }
    let x = if x.facts.ty == SqlType::Date { casts::to_time(x, SqlType::Timestamptz, pos)? } else { x };
    if !x.facts.ty.is_datetime() {
        return refused(Moment::ZoneOf, pos);
    }
    Scalar::apply(&ZONE, vec![bounded_constant(x, pos)?], Param::Interval(parts)).map_err(|e| e.at(pos))
}

/// Less than 16 hours, without months and days.
fn is_short([months, days, micros]: [i64; 3]) -> bool {
    (months, days) == (0, 0) && micros.abs() < 16 * 3_600 * MICROS_PER_SECOND
}

fn zone_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], true) = (args, moments(args)) else {
        return Err(Unfit::ZoneOf.into());
    };
    let known = match param {
        Param::Zone(zone) => is_plain_zone(zone),
        Param::Interval(parts) => is_short(*parts),
        _ => false,
    };
    let ty = match &x.facts.ty {
        SqlType::Timestamp => SqlType::Timestamptz,
        SqlType::Timestamptz => SqlType::Timestamp,
        _ => return Err(Unfit::ZoneOf.into()),
    };
    if !known {
        return Err(Unfit::Zone.into());
    }
    // Local time is within a day of UTC.
    let away = if matches!(param, Param::Zone(zone) if is_utc(zone)) { 0 } else { DAY };
    let f = |i: &Interval| moved(i, Some, away);
    let facts = Facts::of_type(ty, x.facts.nullable);
    Ok(Facts { span: x.facts.span.one(f), bound: x.facts.bound.one(f), cost: 200, ..facts })
}

/// The condition is constant: PostgreSQL evaluates it before it reads a row, and a zone that it does not know fails then,
/// whatever the rows are.
fn zone_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let Some(x) = args.first() else { return "NULL".into() };
    let zone = match param {
        Param::Zone(zone) => string(zone),
        Param::Interval([_, _, micros]) => {
            format!("{}::pg_catalog.interval", string(&format!("{micros} microseconds")))
        }
        _ => return "NULL".into(),
    };
    format!(
        "(CASE WHEN pg_catalog.timezone({zone}, '2000-01-01 00:00:00'::pg_catalog.timestamp) IS NOT NULL THEN pg_catalog.timezone({zone}, {}) END)",
        print(x)
    )
}
