//! Dates and timestamps of the statement, plus or minus intervals: the constants that are simple enough to need no
//! PostgreSQL. Anything not surely the same there is left alone.

use schema::SqlType;
use schema::time::{self, DAY, MICROS_PER_SECOND};
use sql::ast::{BinaryOp, CastType, Expr, ExprKind, Literal, SessionValue};

/// A moment as microseconds since 2000-01-01 of its own clock, or an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Moment(i64, Kind),
    Interval { months: i64, days: i64, micros: i64 },
    Days(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Date,
    Timestamp,
    Timestamptz,
}

/// The value of a constant as a typed constant, if it is one of dates. `now` is the text of `now()`, in UTC; without it
/// nothing is said of values that depend on the session's time zone.
pub fn evaluate(e: &Expr, now: Option<&str>) -> Option<Expr> {
    let Value::Moment(at, kind) = value(e, now)? else { return None };
    if !(time::FIRST..=time::LAST).contains(&at) {
        return None;
    }
    let (text, ty) = match kind {
        Kind::Date => (time::date(at), SqlType::Date),
        Kind::Timestamp => (time::timestamp(at), SqlType::Timestamp),
        Kind::Timestamptz => (format!("{}+00", time::timestamp(at)), SqlType::Timestamptz),
    };
    let expr = Box::new(Expr::new(ExprKind::Literal(Literal::String(text)), e.pos));
    Some(Expr::new(ExprKind::Cast { expr, ty: CastType { ty, modifier: String::new() } }, e.pos))
}

fn value(e: &Expr, now: Option<&str>) -> Option<Value> {
    match &e.kind {
        ExprKind::Interval(text) => {
            interval(text).map(|[months, days, micros]| Value::Interval { months, days, micros })
        }
        ExprKind::Literal(Literal::Number(n)) => n.parse().ok().map(Value::Days),
        ExprKind::Session(v) => {
            let at = moment(now?.strip_suffix("+00")?)?;
            Some(match v {
                SessionValue::Now(_) => Value::Moment(at, Kind::Timestamptz),
                SessionValue::Date => Value::Moment(at.div_euclid(DAY) * DAY, Kind::Date),
                SessionValue::LocalTimestamp => Value::Moment(at, Kind::Timestamp),
                _ => return None,
            })
        }
        ExprKind::Cast { expr, ty } if ty.modifier.is_empty() => match (&expr.kind, &ty.ty) {
            (ExprKind::Literal(Literal::String(s)), SqlType::Date) if s.len() == 10 => {
                Some(Value::Moment(moment(s)?, Kind::Date))
            }
            (ExprKind::Literal(Literal::String(s)), SqlType::Timestamp) => {
                Some(Value::Moment(moment(s)?, Kind::Timestamp))
            }
            (_, ty @ (SqlType::Date | SqlType::Timestamp)) => match value(expr, now)? {
                Value::Moment(at, Kind::Date | Kind::Timestamp) if *ty == SqlType::Date => {
                    Some(Value::Moment(at.div_euclid(DAY) * DAY, Kind::Date))
                }
                Value::Moment(at, Kind::Date | Kind::Timestamp) => Some(Value::Moment(at, Kind::Timestamp)),
                _ => None,
            },
            _ => None,
        },
        ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), left, right } => {
            let sign = if *op == BinaryOp::Sub { -1 } else { 1 };
            match (value(left, now)?, value(right, now)?) {
                (Value::Moment(at, Kind::Date), Value::Days(n)) => {
                    Some(Value::Moment(at.checked_add(n.checked_mul(sign * DAY)?)?, Kind::Date))
                }
                (Value::Moment(at, kind), Value::Interval { months, days, micros }) => {
                    // Days and months of a moment in a zone are those of the zone: known here for UTC alone.
                    if kind == Kind::Timestamptz && now.is_none() {
                        return None;
                    }
                    let kind = if kind == Kind::Date { Kind::Timestamp } else { kind };
                    Some(Value::Moment(add(at, sign * months, sign * days, sign * micros)?, kind))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// `2024-02-29`, `2024-02-29 12:30`, `2024-02-29 12:30:15.25`: the forms that no DateStyle reads otherwise.
fn moment(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let number = |s: &str, width: usize| -> Option<i64> {
        (s.len() == width && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse().ok())?
    };
    let mut parts = date.split('-');
    let (y, m, d) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let days = time::days(y, m, d);
    // A day that the calendar has not comes back as another one.
    if parts.next().is_some() || time::civil(days) != (y, m, d) {
        return None;
    }
    let mut parts = clock.split(':');
    let (hours, minutes) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(s) => {
            let (whole, part) = s.split_once('.').unwrap_or((s, "0"));
            let digits = part.len();
            (
                number(whole, 2)?,
                number(part, digits).filter(|_| (1..=6).contains(&digits))? * 10i64.pow(6 - digits as u32),
            )
        }
    };
    let in_range = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    in_range.then_some(days * DAY + (hours * 3_600 + minutes * 60 + seconds) * MICROS_PER_SECOND + fraction)
}

/// Months, days and microseconds of `90 day`, `1 year 6 months`, `-2 hours`, `1 day 02:30:00`: whole numbers with a unit
/// each, and a time of day at the end.
pub(crate) fn interval(text: &str) -> Option<[i64; 3]> {
    let (mut months, mut days, mut micros) = (0i64, 0i64, 0i64);
    let mut words = text.split_ascii_whitespace().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            micros = micros.checked_add(clock(word)?)?;
            return words.next().is_none().then_some([months, days, micros]);
        }
        // A number without a unit is one of seconds.
        let unit = words.next().unwrap_or("sec").to_ascii_lowercase();
        let parts = match unit.strip_suffix('s').unwrap_or(&unit) {
            "year" => [12, 0, 0],
            "month" | "mon" => [1, 0, 0],
            "week" => [0, 7, 0],
            "day" => [0, 1, 0],
            "hour" => [0, 0, 3_600 * MICROS_PER_SECOND],
            "minute" | "min" => [0, 0, 60 * MICROS_PER_SECOND],
            "second" | "sec" => [0, 0, MICROS_PER_SECOND],
            _ => return None,
        };
        let [m, d, t] = times(word, parts)?;
        (months, days, micros) = (months.checked_add(m)?, days.checked_add(d)?, micros.checked_add(t)?);
    }
    Some([months, days, micros])
}

/// So many units: what is left of days is time. Fractions of months, and those that are no whole microseconds, are left to
/// PostgreSQL.
fn times(number: &str, [months, days, micros]: [i64; 3]) -> Option<[i64; 3]> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    let n: i64 = whole.parse::<i32>().ok()?.into();
    let scale = 10i64.pow(u32::try_from(fraction.len()).ok().filter(|n| *n <= 6)?);
    let part = match fraction {
        "" => 0,
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => sign * digits.parse::<i64>().ok()?,
        _ => return None,
    };
    let exact = |n: i64| (n % scale == 0).then_some(n / scale);
    let of_days = part.checked_mul(days)?;
    let rest = exact((of_days % scale).checked_mul(DAY)?)?.checked_add(exact(part.checked_mul(micros)?)?)?;
    Some([
        n.checked_mul(months)?.checked_add(exact(part.checked_mul(months)?)?)?,
        n.checked_mul(days)?.checked_add(of_days / scale)?,
        n.checked_mul(micros)?.checked_add(rest)?,
    ])
}

/// Microseconds of `36:00`, `-02:30:15.25`.
fn clock(word: &str) -> Option<i64> {
    let (sign, word) = match word.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, word),
    };
    let digits = |s: &str| {
        (!s.is_empty() && s.len() <= 6 && s.bytes().all(|b| b.is_ascii_digit()))
            .then(|| s.parse::<i64>().ok())?
    };
    let mut parts = word.split(':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?).filter(|m| *m < 60)?);
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(s) => {
            let (whole, part) = s.split_once('.').unwrap_or((s, "0"));
            let scale = u32::try_from(part.len()).ok().and_then(|n| 6u32.checked_sub(n))?;
            (digits(whole).filter(|s| *s < 60)?, digits(part)? * 10i64.pow(scale))
        }
    };
    let whole = hours * 3_600 + minutes * 60 + seconds;
    parts.next().is_none().then_some(sign * (whole * MICROS_PER_SECOND + fraction))
}

/// As PostgreSQL adds, within the years 1 to 9999 where months are added.
fn add(at: i64, months: i64, days: i64, micros: i64) -> Option<i64> {
    let (y, m, _) = time::civil(at.div_euclid(DAY));
    let year = (y * 12 + m - 1).checked_add(months)?.div_euclid(12);
    (months == 0 || (1..=9999).contains(&year)).then(|| shifted(at, [months, days, micros]))?
}

/// A moment plus an interval, as PostgreSQL adds: months first (to the last day where a month is too short), then days,
/// then time. It keeps the order of moments.
pub(crate) fn shifted(at: i64, [months, days, micros]: [i64; 3]) -> Option<i64> {
    let mut day = at.div_euclid(DAY);
    let in_day = at.rem_euclid(DAY);
    if months != 0 {
        let (y, m, d) = time::civil(day);
        let month = (y * 12 + m - 1).checked_add(months)?;
        let (y, m) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        let next = if m == 12 { time::days(y + 1, 1, 1) } else { time::days(y, m + 1, 1) };
        let first = time::days(y, m, 1);
        day = first + (d - 1).min(next - first - 1);
    }
    day.checked_add(days)?.checked_mul(DAY)?.checked_add(in_day)?.checked_add(micros)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use policy::Limits;
    use sql::{Kind as Of, ast::Body, classify, parse, resolve};

    struct Nothing;

    impl sql::catalog::Catalog for Nothing {
        fn relation(&self, _: Option<&str>, _: &str) -> Option<sql::catalog::Relation> {
            None
        }

        fn names(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn text(sql: &str, now: Option<&str>) -> Option<String> {
        let limits = Limits::default();
        let parsed = parse::parse(&format!("SELECT {sql}"), &limits).unwrap().remove(0);
        let Of::Query(q, lines) = classify(parsed).unwrap().kind else { panic!("{sql}") };
        let statement = resolve::resolve(&q, &lines, &Nothing, &limits).unwrap();
        let Body::Select(s) = statement.query.body else { panic!("{sql}") };
        let ExprKind::Cast { expr, ty } = evaluate(&s.items.first()?.expr, now)?.kind else {
            panic!("{sql}")
        };
        let ExprKind::Literal(Literal::String(text)) = expr.kind else { panic!("{sql}") };
        Some(format!("{} {text}", ty.ty.sql_name().replace("pg_catalog.", "")))
    }

    #[test]
    fn what_postgresql_says_too() {
        // Each right-hand side is what PostgreSQL 15 prints.
        for (sql, expected) in [
            ("date '1998-12-01' - interval '90' day", "timestamp 1998-09-02 00:00:00"),
            ("date '1994-01-01' + interval '1' year", "timestamp 1995-01-01 00:00:00"),
            ("date '2024-01-31' + interval '1 month'", "timestamp 2024-02-29 00:00:00"),
            ("date '2024-03-31' - interval '1 month 1 day'", "timestamp 2024-02-28 00:00:00"),
            ("date '2024-02-29' + interval '1 year'", "timestamp 2025-02-28 00:00:00"),
            ("date '2024-02-28' + 2", "date 2024-03-01"),
            ("(date '2024-01-31' + interval '1 month')::date", "date 2024-02-29"),
            (
                "timestamp '2024-01-01 12:30:15.25' - interval '13 hours'",
                "timestamp 2023-12-31 23:30:15.250000",
            ),
            ("timestamp '2024-01-01' + interval '-2 weeks'", "timestamp 2023-12-18 00:00:00"),
            (
                "timestamp '2024-01-01' + interval '1 day -02:30:15.25'",
                "timestamp 2024-01-01 21:29:44.750000",
            ),
        ] {
            assert_eq!(text(sql, None).as_deref(), Some(expected), "{sql}");
        }
    }

    #[test]
    fn what_depends_on_the_session_or_is_no_date_is_left_alone() {
        for sql in [
            "now() - interval '1 day'",
            "timestamptz '2024-01-01' + interval '1 day'",
            "date '2024-02-30' + 1",
            "date '01/02/2024' + 1",
            "date '2024-01-01' + interval 'P1D'",
            "date '2024-01-01' * 2",
            "date '9999-12-31' + 1",
            "1 + 1",
        ] {
            assert_eq!(text(sql, None), None, "{sql}");
        }
        let now = Some("2024-02-29 12:00:00+00");
        assert_eq!(
            text("now() - interval '1 year'", now).as_deref(),
            Some("timestamptz 2023-02-28 12:00:00+00")
        );
        assert_eq!(text("current_date - 1", now).as_deref(), Some("date 2024-02-28"));
    }
}
