//! Times as texts by constant formats, and texts as numbers and dates where they are written as such.

use super::facts::{Declared, Facts, Phys, Proven};
use super::leaves::literal;
use super::print::{Print, string};
use super::refusal::{Result, refused};
use super::rounding::{Rounding, rounding};
use super::scalar::{Node, Param, Scalar};
use super::table::{Entry, Function};
use super::times::{self, bounded_constant, years};
use super::{casts, strings};
use crate::expr::interval::Interval;
use crate::refusals::moment::Moment;
use crate::refusals::number::Number;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::{Literal, Pos};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        form: "to_char(t, 'format')",
        types: "date or timestamp → text",
        total: "as for extract; the format is a constant of YYYY, MM, DD, HH24, MI, SS, Q, IW, Mon, Day and their like, and of characters that are no letters",
        range: "as long as the format says; a function of the unit that the format shows, so that its groups are public where that unit's are",
        cost: "2,000",
        samples: &[
            "to_char({t}, 'YYYY-MM')",
            "to_char({t}, 'FMDay, DD Mon YYYY')",
            "to_char({t}::timestamptz, 'IYYY\"w\"IW-ID')",
            "to_char({t}::timestamp, 'HH12:MI:SS.US AM')",
        ],
    },
    Entry {
        form: "x::integer, x::numeric, x::double precision, x::date, x::timestamp, x::timestamptz, to_date(x, 'YYYY-MM-DD'), to_timestamp(x, 'YYYY-MM-DD HH24:MI:SS'), b::integer",
        types: "text → that type; boolean → integer",
        total: "a text that is not written as up to 30 digits, with as many behind a point for numerics, as a day of the calendar, YYYY-MM-DD, or as that with HH:MI or HH:MI:SS, is NULL, and so is what an integer type cannot hold",
        range: "within ±10^30, the type, or the years 1 to 9999; 0 and 1 for booleans; NULL where x is",
        cost: "400,000",
        samples: &[
            "{s}::int",
            "({s}::numeric * 2)",
            "{s}::float8",
            "extract(year FROM {s}::date)",
            "extract(doy FROM to_date({s}, 'YYYY-MM-DD'))",
            "{b}::int",
            "extract(epoch FROM {s}::timestamp)",
            "extract(hour FROM to_timestamp({s}, 'YYYY-MM-DD HH24:MI:SS'))",
        ],
    },
    Entry {
        form: "to_number(x, 'format')",
        types: "text → number",
        total: "the format is a constant of 9, 0, commas before the point and one point, FM before it; a text that is not written as up to 30 digits, commas aside where the format has some, and perhaps a point and more, is NULL, and so is one with more digits before the point than the format has",
        range: "as many digits as the format has, of which those behind the point are cut off; NULL where x is",
        cost: "400,000",
        samples: &["to_number({s}, '999')", "to_number({s}, 'FM99,990.00')"],
    },
];

const CHAR: Function = Function::plain("to_char", char_rule, char_text);
const PARSE: Function = Function::plain("parse", parse_rule, parse_text);
const TRUTH: Function = Function::plain("truth", truth_rule, truth_text);

/// Parts of a format as they may be written (or all in small letters), and the unit within which each is the same: the
/// place in [`UNITS`]. Longer ones come first.
const PARTS: &[(&str, usize)] = &[
    ("YYYY", 4),
    ("YYY", 4),
    ("YY", 4),
    ("Y", 4),
    ("IYYY", 2),
    ("IYY", 2),
    ("IY", 2),
    ("IDDD", 2),
    ("ID", 2),
    ("IW", 2),
    ("I", 2),
    ("MONTH", 3),
    ("Month", 3),
    ("MON", 3),
    ("Mon", 3),
    ("MM", 3),
    ("MI", 0),
    ("MS", 5),
    ("DDD", 2),
    ("DD", 2),
    ("DAY", 2),
    ("Day", 2),
    ("DY", 2),
    ("Dy", 2),
    ("D", 2),
    ("HH24", 1),
    ("HH12", 1),
    ("HH", 1),
    ("SSSS", 5),
    ("SS", 5),
    ("US", 5),
    ("WW", 2),
    ("W", 2),
    ("Q", 3),
    ("AM", 1),
    ("PM", 1),
    ("CC", 4),
    ("J", 2),
];

/// Units, the finest first; what changes within a minute is beyond them.
const UNITS: &[&str] = &["minute", "hour", "day", "month", "year"];

/// The finest unit that a format shows (None: one within a minute), and how long its texts are at most.
fn read(format: &str) -> Option<(Option<&'static str>, u64)> {
    let (mut rest, mut finest, mut longest) = (format, UNITS.len(), 0);
    let mut within = false;
    while let Some(c) = rest.chars().next() {
        let part = PARTS.iter().find(|(name, _)| {
            rest.starts_with(name) || rest.get(..name.len()).is_some_and(|r| r == name.to_lowercase())
        });
        let length = if let Some((name, unit)) = part {
            within |= *unit >= UNITS.len();
            finest = finest.min(*unit);
            longest += 12;
            name.len()
        } else if rest.starts_with("FM") || rest.starts_with("fm") {
            2
        } else if c == '"' {
            let end = rest.get(1..)?.find('"')?;
            let quoted = rest.get(1..1 + end)?;
            longest += u64::try_from(quoted.chars().count()).ok().filter(|_| !quoted.contains('\\'))?;
            end + 2
        } else if !c.is_alphanumeric() && c != '\\' {
            longest += 1;
            c.len_utf8()
        } else {
            return None;
        };
        rest = rest.get(length..)?;
    }
    let unit = UNITS.get(finest.min(UNITS.len() - 1)).copied();
    (longest <= 1_000).then_some((unit.filter(|_| !within), longest))
}

/// `to_char(t, format)`
pub(super) fn to_char(x: Scalar, format: &str, pos: Pos) -> Result<Scalar> {
    if !x.facts.ty.is_datetime() {
        return refused(Moment::CharOf, pos);
    }
    let Some((unit, _)) = read(format) else {
        return refused(Moment::CharFormat, pos);
    };
    // What the format does not show is cut off, so that groups are those of the unit.
    let x = match unit {
        Some(unit) => times::date_trunc(unit, x, pos)?,
        None => casts::to_time(
            x.clone(),
            if x.facts.ty == SqlType::Timestamp { SqlType::Timestamp } else { SqlType::Timestamptz },
            pos,
        )?,
    };
    let x = bounded_constant(x, pos)?;
    Scalar::apply(&CHAR, vec![x], Param::Format(format.to_owned())).map_err(|e| e.at(pos))
}

fn char_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Format(format)) = (args, param) else { return Err(Unfit::CharOf.into()) };
    let within = matches!(x.node, Node::Null) || x.facts.span.inside(&years());
    match read(format).filter(|_| within && x.facts.ty.is_datetime()) {
        Some((_, longest)) => {
            Ok(Facts { longest, cost: 2_000, ..Facts::of_type(SqlType::Text, x.facts.nullable) })
        }
        None => Err(Unfit::CharFormat.into()),
    }
}

fn char_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Format(format)) = (args.first(), param) else { return "NULL".into() };
    format!("pg_catalog.to_char({}, {}::pg_catalog.text)", casts::local(x, print), string(format))
}

/// How a whole number is written.
const INTEGER: &str = "^ *[-+]?[0-9]{1,30} *$";
/// How a number is written.
const NUMBER: &str = "^ *[-+]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30}) *$";
/// How a day of the calendar is written; the year 0000 aside.
const DAY: &str = "^([0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)$";

/// How a time is written behind its day.
const TIME: &str = "[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?$";

/// A text as a number or a time; NULL where it is not written as one.
pub(super) fn parsed(x: Scalar, ty: &SqlType, pos: Pos) -> Result<Scalar> {
    let x = strings::short(x, pos)?;
    let (form, ty) = match ty {
        SqlType::Date => ("date", SqlType::Date),
        SqlType::Timestamp | SqlType::Timestamptz => ("timestamp", ty.clone()),
        t if t.is_integer() => ("integer", SqlType::Numeric { scale: None }),
        _ => ("number", SqlType::Numeric { scale: None }),
    };
    Scalar::apply(&PARSE, vec![x], Param::Field(form, ty)).map_err(|e| e.at(pos))
}

/// `to_date(x, format)`, `to_timestamp(x, format)`
pub(super) fn to_time(name: &str, x: Scalar, format: &str, pos: Pos) -> Result<Scalar> {
    match (name, format.to_ascii_uppercase().as_str()) {
        ("to_date", "YYYY-MM-DD") => parsed(x, &SqlType::Date, pos),
        ("to_timestamp", "YYYY-MM-DD HH24:MI:SS") => parsed(x, &SqlType::Timestamptz, pos),
        _ => refused(Moment::Format(name.to_owned()), pos),
    }
}

/// `to_number(x, format)`: a number within as many digits as the format has.
pub(super) fn to_number(x: Scalar, format: &str, pos: Pos) -> Result<Scalar> {
    let Some((whole, part, commas)) = digits(format) else {
        return refused(Number::Format, pos);
    };
    let text = |t: &str| literal(&Literal::String(t.into()), Some(&SqlType::Text), pos);
    let x = if commas { strings::call("replace", vec![x, text(",")?, text("")?], pos)? } else { x };
    let number = parsed(x, &SqlType::Numeric { scale: None }, pos)?;
    let cut = rounding(Rounding::Trunc, number, part, pos)?;
    let most = BigDecimal::new(1.into(), -whole) - BigDecimal::new(1.into(), part);
    let null = || Scalar::null(SqlType::Numeric { scale: None });
    Ok(times::held(cut, &Interval::new(-&most, most)).unwrap_or_else(null))
}

/// How many digits a format has before the point and behind it, and whether there are commas.
fn digits(format: &str) -> Option<(i64, i64, bool)> {
    let format = format.strip_prefix("FM").unwrap_or(format);
    let (whole, part) = format.split_once('.').unwrap_or((format, ""));
    let count = |s: &str| {
        let n = s.bytes().filter(|b| matches!(b, b'9' | b'0')).count();
        i64::try_from(n).ok().filter(|n| *n <= 30)
    };
    let others = whole.bytes().chain(part.bytes()).filter(|b| !matches!(b, b'9' | b'0'));
    let commas = whole.contains(',');
    let plain = others.eq(whole.bytes().filter(|b| *b == b','));
    let (whole, part) = (count(whole)?, count(part)?);
    (plain && whole > 0).then_some((whole, part, commas))
}

fn parse_rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Field(form, ty)) = (args, param) else { return Err(Unfit::Read.into()) };
    if !x.facts.canonical || !x.facts.ty.is_text() {
        return Err(Unfit::ReadSpelled.into());
    }
    // Its text has the argument twice, that of a time three times.
    let more = if matches!(*form, "date" | "timestamp") { 2 } else { 1 };
    let cost = x.facts.cost.saturating_mul(more).saturating_add(400_000);
    if matches!(*form, "date" | "timestamp") {
        // A zone is within a day of UTC.
        let day = Interval::new(-schema::time::DAY, schema::time::DAY);
        let span = if *ty == SqlType::Timestamptz { years().add(&day) } else { years() };
        return Ok(Facts { span: Proven::by_text(span), cost, ..Facts::of_type(ty.clone(), true) });
    }
    let most = BigDecimal::new(1.into(), -30);
    let span = Proven::by_text(Interval::new(-&most, most));
    Ok(Facts {
        phys: Phys::Num,
        bound: if *form == "integer" { Declared::of(&span) } else { Declared::default() },
        span,
        lattice: (*form == "integer").then(|| 1.into()),
        scale: if *form == "integer" { 0 } else { 30 },
        cost,
        ..Facts::of_type(ty.clone(), true)
    })
}

fn parse_text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Field(form, ty)) = (args.first(), param) else { return "NULL".into() };
    let x = print(x);
    let is = |pattern: &str| format!("pg_catalog.textregexeq({x}, {}::pg_catalog.text)", string(pattern));
    let when = match *form {
        "date" => format!("{} AND (NOT {})", is(DAY), is("^0000")),
        "timestamp" => {
            let day = DAY.trim_end_matches('$');
            format!("{} AND (NOT {})", is(&format!("{day}{TIME}")), is("^0000"))
        }
        "integer" => is(INTEGER),
        _ => is(NUMBER),
    };
    match ty {
        SqlType::Timestamptz => {
            let moment = casts::zoned(&format!("({x})::pg_catalog.timestamp"));
            format!("(CASE WHEN {when} THEN {moment} END)")
        }
        ty => format!("(CASE WHEN {when} THEN ({x})::{} END)", ty.sql_name()),
    }
}

/// A truth value as 0 or 1.
pub(super) fn of_truth(x: Scalar, pos: Pos) -> Result<Scalar> {
    if x.facts.ty != SqlType::Bool {
        return refused(Value::Truth, pos);
    }
    Scalar::apply(&TRUTH, vec![x], Param::None).map_err(|e| e.at(pos))
}

fn truth_rule(args: &[Scalar], _: &Param) -> Result<Facts, Value> {
    let [x] = args else { return Err(Unfit::Truth.into()) };
    Ok(Facts { cost: 10, ..Facts::whole(Interval::new(0, 1), x.facts.nullable) })
}

fn truth_text(_: &Scalar, args: &[Scalar], _: &Param, print: Print) -> String {
    args.first().map_or_else(String::new, |x| format!("({})::pg_catalog.int4", print(x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_numbers_are_counted() {
        assert_eq!(digits("999"), Some((3, 0, false)));
        assert_eq!(digits("FM9,990.00"), Some((4, 2, true)));
        for format in ["", ".99", "9G999", "99D9", "S99", "9.9.9", "9.9,9", "9EEEE", "$99"] {
            assert_eq!(digits(format), None, "{format}");
        }
    }

    #[test]
    fn formats_are_read_to_the_end() {
        for (format, unit) in [
            ("YYYY-MM", Some("month")),
            ("yyyy", Some("year")),
            ("Q/YYYY", Some("month")),
            ("IYYY\"w\"IW", Some("day")),
            ("FMDay", Some("day")),
            ("HH24:MI", Some("minute")),
            ("HH24", Some("hour")),
            ("MI:SS", None),
            ("YYYY-MM-DD HH24:MI:SS.US", None),
            ("--", Some("year")),
        ] {
            assert_eq!(read(format).map(|r| r.0), Some(unit), "{format}");
        }
        for format in ["TMMonth", "YYYYx", "TZ", "OF", "FXYYYY", "\"open", "MMth", "YYYY\\", "RM", "SPDD"] {
            assert_eq!(read(format), None, "{format}");
        }
    }
}
