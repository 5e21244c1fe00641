//! Casts, each made total: what the new type cannot hold is NULL.

use super::facts::{Declared, Facts, Phys, int_limit, type_span};
use super::numbers;
use super::print::{Print, ZONE, float};
use super::refusal::{Result, refused};
use super::rounding::{Rounding, rounding};
use super::scalar::{Node, Scalar};
use super::table::Entry;
use super::{comparison, formats, json, strings, times};
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::refusals::value::Value;
use bigdecimal::BigDecimal;
use schema::SqlType;
use schema::time::DAY;
use sql::ast::{BinaryOp, CastType, Pos};
use std::sync::Arc;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "x::integer, ::bigint, ::smallint, ::numeric, ::numeric(p, s), ::double precision, ::real",
        types: "number → that type",
        total: "rounded in numeric, half away from zero (half to even for floats to integers); what the type cannot hold \
                is NULL",
        range: "the rounded ends within the type",
        cost: "10, and the digits of x",
        samples: &[
            "{n}::int4",
            "{n}::int8",
            "{n}::int2",
            "{n}::numeric(6, 2)",
            "ceil({n})::numeric(5, 2)",
            "{n}::numeric(20, 4)",
            "{n}::float8",
            "{f}::int4",
            "{n}::float8::int8",
            "{f}::int8",
        ],
    },
    Entry {
        form: "t::date, date(t), t::timestamp, t::timestamptz",
        types: "date or timestamp → that type",
        total: "a value with a declared range is moved into it; without one it is NULL outside the years 1 to 9999",
        range: "that of the argument, within a day where the zone decides",
        cost: "50",
        samples: &[
            "extract(epoch FROM {t}::timestamptz)",
            "extract(year FROM {t}::timestamp::date)",
            "extract(epoch FROM {t}::timestamptz::date)",
            "(date({t}::timestamp) < {m}::date)",
        ],
    },
    Entry {
        form: "t::time",
        types: "timestamp → time",
        total: "NULL where the timestamp is; a value is moved into its declared range, as for ::date",
        range: "a day; of a timestamp that was cut to hours or minutes, by date_trunc, these are public groups",
        cost: "50",
        samples: &[
            "(date_trunc('hour', {t}::timestamp)::time < TIME '08:30')",
            "({t}::timestamp::time >= TIME '08:30')",
            "({t}::timestamptz::time < '17:00')",
        ],
    },
    Entry {
        form: "x::boolean",
        types: "integer → boolean",
        total: "x <> 0",
        range: "true and false",
        cost: "10",
        samples: &["{i}::int4::boolean"],
    },
    Entry {
        form: "x::text, x::varchar",
        types: "text, enum, integer, boolean, uuid, inet or cidr → text; date and timestamp → text where the session shows days as ISO does",
        total: "nothing is cut",
        range: "the same values",
        cost: "10, 100 where it is not a text",
        samples: &["({s}::text = {e})", "{i}::text", "{b}::text", "{t}::date::text", "{t}::timestamp::text"],
    },
];

/// `x::to`; `iso`: the session shows days as ISO writes them.
pub(super) fn cast(x: Scalar, to: &CastType, iso: bool, at: Pos, pos: Pos) -> Result<Scalar> {
    if !to.modifier.is_empty() && (to.ty.is_datetime() || to.ty == SqlType::Time) {
        return refused(Value::CastToTime, pos);
    }
    match (&x.facts.ty, &to.ty) {
        (a, b) if a == b && to.modifier.is_empty() => Ok(x),
        (SqlType::Numeric { .. }, SqlType::Numeric { .. }) if to.modifier.is_empty() => {
            Ok(numbers::retyped(x, to.ty.clone()))
        }
        (a, b) if a.is_number() && b.is_number() => cast_number(x, to, at, pos),
        (a, b) if a.is_text() && b.is_text() && to.modifier.is_empty() => {
            let facts = Facts { ty: b.clone(), ..Facts::clone(&x.facts) };
            // A constant stays one.
            let node = match x.node {
                Node::Text(_) => x.node,
                _ => Node::Cast(Box::new(x)),
            };
            Ok(Scalar::of(node, facts))
        }
        (a, b) if a.is_text() && b.is_datetime() => formats::parsed(x, b, pos),
        (a, b) if a.is_text() && b.is_number() => {
            let (declared, domain) = (json::declared_range(&x), x.facts.domain.clone());
            let mut number = formats::parsed(x, b, pos)?;
            if let Some(range) = declared {
                // Whole numbers of a range are listed, as those of a column are; listed texts are fewer.
                let facts = Arc::make_mut(&mut number.facts);
                facts.binned = facts.lattice.is_some() && domain.is_none();
                facts.bound = Declared::says(range);
            }
            cast_number(number, to, at, pos)
        }
        (SqlType::Bool, SqlType::Int4) => formats::of_truth(x, pos),
        (SqlType::Int4, SqlType::Bool) => {
            let zero = numbers::literal("0", None, pos)?;
            comparison::comparison(BinaryOp::Ne, x, zero, pos)
        }
        // A day as ISO writes it, which most sessions show: in another style it is refused.
        (SqlType::Date, b) if b.is_text() && to.modifier.is_empty() && iso => {
            let text = formats::to_char(x, "YYYY-MM-DD", pos)?;
            Ok(numbers::retyped(text, b.clone()))
        }
        // A moment likewise; of a second its text has as many digits as there are.
        (SqlType::Timestamp, b) if b.is_text() && to.modifier.is_empty() && iso => {
            let mut text = formats::to_char(x, "YYYY-MM-DD HH24:MI:SS.US", pos)?;
            for end in ["0", "."] {
                text = strings::call("rtrim", vec![text, Scalar::text_constant(end)], pos)?;
            }
            Ok(numbers::retyped(text, b.clone()))
        }
        (a, b) if b.is_text() && to.modifier.is_empty() && (a.is_integer() || is_shown(a)) => {
            let ty = b.clone();
            Ok(numbers::retyped(to_text(x, pos)?, ty))
        }
        (SqlType::Date, SqlType::Timestamp | SqlType::Timestamptz)
        | (SqlType::Timestamp, SqlType::Timestamptz | SqlType::Date)
        | (SqlType::Timestamptz, SqlType::Timestamp | SqlType::Date) => cast_time(x, &to.ty, pos),
        (SqlType::Timestamp | SqlType::Timestamptz, SqlType::Time) => {
            let hours = times::hours_of_day(&x);
            let x = times::guarded(to_time(x, SqlType::Timestamp, pos)?);
            let facts = Facts {
                domain: hours.map(Domain::Values),
                cost: x.facts.cost.saturating_add(50),
                ..Facts::of_type(SqlType::Time, x.facts.nullable)
            };
            Ok(Scalar::of(Node::Cast(Box::new(x)), facts))
        }
        (a, b) => refused(Value::Cast(a.clone(), b.clone()), pos),
    }
}

/// Whether each value has one form as a text.
fn is_shown(ty: &SqlType) -> bool {
    let one_form = matches!(ty, SqlType::Bool | SqlType::Uuid | SqlType::Inet | SqlType::Cidr);
    one_form || matches!(ty, SqlType::Enum { .. })
}

/// An integer, a truth value, an enum, a uuid or an address as text.
pub(super) fn to_text(x: Scalar, pos: Pos) -> Result<Scalar> {
    let longest = match &x.facts.ty {
        // Digits and a sign; a numeric that stands for it has nothing behind its point.
        t if t.is_integer() && x.facts.scale == 0 => x.facts.digits() + 1,
        SqlType::Uuid => 36,
        // ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128
        SqlType::Inet | SqlType::Cidr => 49,
        // A name of PostgreSQL's.
        SqlType::Enum { .. } => 63,
        // 'false'
        SqlType::Bool => 5,
        other => return refused(Value::CastToText(other.clone()), pos),
    };
    // Its own domain is printed in its own type: text has the same form of it where it is an enum's label.
    let domain = x.facts.domain.clone().filter(|_| matches!(x.facts.ty, SqlType::Enum { .. }));
    let facts = Facts {
        domain,
        longest,
        cost: x.facts.cost.saturating_add(100),
        ..Facts::of_type(SqlType::Text, x.facts.nullable)
    };
    Ok(Scalar::of(Node::Cast(Box::new(x)), facts))
}

/// A date or timestamp in another type of time; one that has it stays.
pub(super) fn to_time(x: Scalar, to: SqlType, pos: Pos) -> Result<Scalar> {
    match (&x.node, x.facts.ty == to) {
        (_, true) => Ok(x),
        (Node::Null, _) => Ok(Scalar::null(to)),
        _ => cast_time(x, &to, pos),
    }
}

fn cast_time(x: Scalar, to: &SqlType, pos: Pos) -> Result<Scalar> {
    if matches!(x.node, Node::Text(_)) && x.facts.span.finite().is_none() {
        return refused(Value::ConstantTime, pos);
    }
    if !x.facts.ty.is_datetime() && !matches!(x.node, Node::Text(_)) {
        return refused(Value::NoTime, pos);
    }
    let x = times::guarded(x);
    let to_day = |i: &Interval| match times::micros(i) {
        Some((lo, hi)) => Interval::new(lo - lo.rem_euclid(DAY), hi - hi.rem_euclid(DAY)),
        None => Interval::default(),
    };
    // Local time is within a day of UTC.
    let either_side = |i: &Interval| match times::micros(i) {
        Some((lo, hi)) => Interval::new(lo.saturating_sub(DAY), hi.saturating_add(DAY)),
        None => Interval::default(),
    };
    let (span, bound) = match to {
        _ if x.facts.ty == SqlType::Timestamptz => {
            let local = |i: &Interval| match to {
                SqlType::Date => to_day(&either_side(i)),
                _ => either_side(i),
            };
            (x.facts.span.one(local), x.facts.bound.one(local))
        }
        SqlType::Date => (x.facts.span.one(to_day), x.facts.bound.one(to_day)),
        SqlType::Timestamptz => (x.facts.span.one(either_side), x.facts.bound.one(either_side)),
        _ => (x.facts.span.clone(), x.facts.bound.clone()),
    };
    let domain = match to {
        SqlType::Date => times::micros(x.facts.bound.interval()).map(|(lo, hi)| Domain::Days {
            lo,
            hi,
            from: x.facts.ty.clone(),
        }),
        _ => None,
    };
    let facts = Facts {
        span,
        bound,
        domain,
        cost: x.facts.cost.saturating_add(50),
        ..Facts::of_type(to.clone(), x.facts.nullable)
    };
    Ok(Scalar::of(Node::Cast(Box::new(x)), facts))
}

fn cast_number(x: Scalar, to: &CastType, at: Pos, pos: Pos) -> Result<Scalar> {
    let x = numbers::ready(x, at)?;
    if to.ty.is_float() || (to.modifier.is_empty() && matches!(to.ty, SqlType::Numeric { .. })) {
        // Computed as before; the type matters to the result's column alone. A node of its own, because a key that is
        // a column's is printed in the column's type.
        return Ok(as_computed(numbers::retyped(x, to.ty.clone())));
    }
    let (digits, limit) = match &to.ty {
        SqlType::Numeric { scale } => {
            let scale = i64::from(scale.unwrap_or(0));
            let precision: i64 = to
                .modifier
                .trim_matches(['(', ')'])
                .split(',')
                .next()
                .and_then(|p| p.trim().parse().ok())
                // PostgreSQL's own limit; more would be that many digits here.
                .filter(|p| (1..=1_000).contains(p))
                .ok_or_else(|| Value::Precision.at(pos))?;
            let whole = BigDecimal::new(1.into(), scale - precision) - BigDecimal::new(1.into(), scale);
            (scale, Interval::new(-&whole, whole))
        }
        ty => (0, type_span(ty)),
    };
    if !(-60..=60).contains(&digits) {
        return refused(Value::Scale, pos);
    }
    // Half away from zero, as PostgreSQL's casts from numeric do, or half to even, as its casts from floats to
    // integers do; what the type cannot hold is NULL.
    let even = x.facts.ty.is_float() && to.ty.is_integer();
    let how = if even { Rounding::Even } else { Rounding::Round };
    let rounded = numbers::retyped(rounding(how, x, digits, pos)?, to.ty.clone());
    let safe = if rounded.facts.span.inside(&limit) { Some(rounded) } else { times::held(rounded, &limit) };
    Ok(match safe {
        Some(safe) => {
            let small = to.ty.is_integer() && safe.facts.span.within(&int_limit());
            let facts = Facts {
                phys: if small { Phys::Int } else { Phys::Num },
                cost: safe.facts.cost + 10,
                ..Facts::clone(&safe.facts)
            };
            Scalar::of(Node::Cast(Box::new(safe)), facts)
        }
        // Nothing that the type holds.
        None => Scalar::null(to.ty.clone()),
    })
}

/// A node of its own around a number, in the type that computes.
pub(super) fn as_computed(x: Scalar) -> Scalar {
    let facts = Facts { canonical: true, ..Facts::clone(&x.facts) };
    Scalar::of(Node::Cast(Box::new(x)), facts)
}

pub(super) fn text(s: &Scalar, x: &Scalar, print: Print) -> String {
    match s.facts.phys {
        Phys::Int => format!("({})::pg_catalog.int8", print(x)),
        Phys::Num => format!("({})::pg_catalog.numeric", print(x)),
        Phys::Float => float(&print(x), &s.facts.ty),
        Phys::Other => format!("({})::{}", in_type(x, &s.facts.ty, print), s.facts.ty.sql_name()),
    }
}

/// A moment on its way into another type of time: what changes with the zone names it.
fn in_type(x: &Scalar, to: &SqlType, print: Print) -> String {
    use SqlType::{Date, Timestamp, Timestamptz};
    match (&x.facts.ty, to) {
        (Timestamptz, Timestamp | Date) => local(x, print),
        (Timestamp, Timestamptz) => zoned(&print(x)),
        (Date, Timestamptz) => zoned(&format!("({})::pg_catalog.timestamp", print(x))),
        _ => print(x),
    }
}

/// The local time of a moment in the session's zone; a time without a zone as it is.
pub(super) fn local(x: &Scalar, print: Print) -> String {
    match x.facts.ty {
        SqlType::Timestamptz => zoned(&print(x)),
        _ => print(x),
    }
}

/// A moment as the session's clocks show it, and back.
pub(super) fn zoned(text: &str) -> String {
    format!("pg_catalog.timezone({ZONE}, {text})")
}
