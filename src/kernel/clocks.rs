//! Whether an expression means the same in every session (soundness rule 49): what PostgreSQL's manual and catalogs call
//! stable, because a setting is its argument, has the setting in the text or is refused.
//!
//! * TimeZone: conversions and comparisons between `timestamptz` and times without a zone, fields, units, ages and texts of a
//!   `timestamptz`, days and months added to one, and its constants without an offset. A zone is said by `timezone(zone, x)`
//!   and by the third argument of `date_trunc`.
//! * DateStyle: dates and timestamps read from texts, but for those whose text must begin with a year of four digits.
//! * IntervalStyle: constants of an interval with a sign that could be that of all fields.
//!
//! `x::text` of a time is as the settings are that fetch sessions are pinned to: nothing but orders and hashes is made of it.

use super::forms::is_comparison;
use super::rows::Scans;
use super::types::results;
use grammar::tree::Expr;
use grammar::{Result, refuse};
use schema::SqlType;

/// What kind of value an expression gives, as far as settings care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A moment, which clocks show by their zones.
    Zoned,
    /// What a clock shows.
    Local,
    Date,
    Span,
    /// A string, which takes the type of what it meets.
    Literal,
    Null,
    Other,
    /// Perhaps one of those before.
    Unknown,
}

use Sort::{Date, Literal, Local, Null, Other, Span, Unknown, Zoned};

/// Choices among values that are brought to one type, as they are by comparisons.
const CHOICES: &[&str] = &[
    "COALESCE",
    "GREATEST",
    "LEAST",
    "NULLIF",
    "date_larger",
    "date_smaller",
    "timestamp_larger",
    "timestamp_smaller",
    "timestamptz_larger",
    "timestamptz_smaller",
];

fn constant(e: &Expr) -> Option<&str> {
    match e {
        Expr::Text(t) => Some(t),
        Expr::Cast(x, _) => constant(x),
        _ => None,
    }
}

impl Scans<'_> {
    fn kind(&self, e: &Expr) -> Sort {
        let of_type = |ty: &SqlType| match ty {
            SqlType::Timestamptz => Zoned,
            SqlType::Timestamp => Local,
            SqlType::Date => Date,
            SqlType::Interval => Span,
            _ => Other,
        };
        let (name, args) = match e {
            Expr::Column(c) => {
                return self.column(c).and_then(|c| c.ty).map_or(Unknown, |ty| of_type(&ty));
            }
            Expr::Cast(_, ty) => return of_type(ty),
            Expr::Text(_) => return Literal,
            Expr::Null => return Null,
            Expr::Number(_) | Expr::Bool(_) => return Other,
            Expr::Rows(select) => {
                return select.items.first().map_or(Unknown, |(item, _)| self.kind(item));
            }
            Expr::Call(name, args) => (name.as_str(), args.as_slice()),
        };
        let first = || args.first().map_or(Unknown, |x| self.kind(x));
        let both = args.iter().map(|x| self.kind(x)).collect::<Vec<_>>();
        match name {
            "timezone" => match both.as_slice() {
                [_, Zoned] => Local,
                [_, Local] => Zoned,
                _ => Unknown,
            },
            "date_trunc" => both.get(1).copied().unwrap_or(Unknown),
            "to_timestamp" => Zoned,
            "make_date" => Date,
            "age" => Span,
            "CASE" => joined(results(args).map(|x| self.kind(x))),
            "COALESCE" | "GREATEST" | "LEAST" | "NULLIF" => joined(both.into_iter()),
            "OVER" | "ROWS" | "DISTINCT" | "min" | "max" | "sum" | "avg" | "lag" | "lead" | "first_value"
            | "last_value" | "nth_value" => first(),
            name if name.ends_with("_larger") || name.ends_with("_smaller") => joined(both.into_iter()),
            name if name.starts_with('$') => Unknown,
            "+" | "-" => match both.as_slice() {
                [Zoned, Zoned] | [Local, Local] | [Span, Span] => Span,
                [Date, Span] | [Span, Date] => Local,
                [x @ (Zoned | Local), Span] | [Span, x @ (Zoned | Local)] => *x,
                [Date, Date] => Other,
                [Date, _] | [_, Date] => Date,
                all if all.contains(&Zoned) || all.contains(&Local) || all.contains(&Span) => Unknown,
                _ => Other,
            },
            op if op.split(' ').all(|o| ["+", "-", "*", "/", "%"].contains(&o)) => {
                let has = |kind| both.contains(&kind);
                match () {
                    () if has(Zoned) => Unknown,
                    () if has(Local) || has(Date) => Local,
                    () if has(Span) => Span,
                    () => Other,
                }
            }
            _ => Other,
        }
    }

    /// Refuses an expression whose meaning is a session's; what it is made of is looked at elsewhere.
    pub(super) fn means_one_thing(&self, e: &Expr) -> Result<()> {
        let holds = match e {
            Expr::Cast(x, ty) => self.converts(x, ty),
            Expr::Call(name, args) => self.calls(name, args),
            _ => true,
        };
        if holds { Ok(()) } else { refuse("something that a setting of the session decides", e) }
    }

    fn converts(&self, x: &Expr, ty: &SqlType) -> bool {
        if let Expr::Text(text) = x {
            return is_spelled(text, ty);
        }
        if matches!(x, Expr::Call(name, _) if name.starts_with('$')) {
            return true;
        }
        let kind = self.kind(x);
        match ty {
            SqlType::Timestamptz => matches!(kind, Zoned | Null),
            SqlType::Timestamp | SqlType::Date => matches!(kind, Local | Date | Null),
            SqlType::Interval => matches!(kind, Span | Null),
            SqlType::Time => matches!(kind, Local | Null) || self.type_of(x) == Some(SqlType::Time),
            _ => true,
        }
    }

    fn calls(&self, name: &str, args: &[Expr]) -> bool {
        let kinds: Vec<Sort> = args.iter().map(|x| self.kind(x)).collect();
        let is_constant = |at: usize| args.get(at).and_then(constant).is_some();
        let spelled = |ty: SqlType| {
            args.iter().all(|x| if let Expr::Text(text) = x { is_spelled(text, &ty) } else { true })
        };
        match (name, kinds.as_slice()) {
            // Seconds since 1970 are the same on every clock.
            ("EXTRACT", [_, Zoned]) => args.first().and_then(constant) == Some("epoch"),
            ("EXTRACT", [_, kind]) => *kind != Unknown,
            ("date_trunc", [_, Local]) => true,
            ("date_trunc", [_, Zoned, _]) => is_constant(2),
            ("timezone", [_, Zoned | Local]) => is_constant(0),
            ("age", [Local, Local]) | ("to_timestamp", [_]) => true,
            ("to_char", [Local, _]) => args.get(1).and_then(constant).is_some_and(shows_no_locale),
            ("EXTRACT" | "date_trunc" | "timezone" | "age" | "to_timestamp" | "to_char", _) => false,
            // Texts of times are those of a style.
            (op, kinds) if op.split(' ').any(|o| o == "||") => {
                kinds.iter().all(|k| matches!(k, Literal | Null | Other))
            }
            ("+" | "-", [Zoned, Span]) => is_clockless(args.get(1)),
            ("+", [Span, Zoned]) => is_clockless(args.first()),
            ("-", [Zoned, Zoned]) => true,
            (op, kinds) if op.split(' ').all(|o| ["+", "-", "*", "/", "%"].contains(&o)) => {
                !(kinds.contains(&Zoned) || kinds.contains(&Unknown) && kinds.contains(&Local))
            }
            ("CASE", _) => meet(results(args).map(|x| self.kind(x))),
            (name, kinds) if is_comparison(name) || CHOICES.contains(&name) => {
                let of = |kind, ty| kinds.contains(&kind) && !spelled(ty);
                meet(kinds.iter().copied())
                    && !of(Zoned, SqlType::Timestamptz)
                    && !of(Local, SqlType::Timestamp)
                    && !of(Date, SqlType::Date)
                    && !of(Span, SqlType::Interval)
            }
            _ => true,
        }
    }
}

/// What values of these kinds are together.
fn joined(kinds: impl Iterator<Item = Sort>) -> Sort {
    let mut all = kinds.filter(|k| *k != Null).collect::<Vec<_>>();
    all.dedup();
    match all.as_slice() {
        [] => Null,
        [one] => *one,
        several => several.iter().find(|k| ![Literal, Other].contains(k)).map_or(Other, |_| {
            let mut plain = several.iter().filter(|k| **k != Literal);
            let first = plain.next().copied().unwrap_or(Literal);
            if plain.all(|k| *k == first) { first } else { Unknown }
        }),
    }
}

/// Whether values of these kinds meet without a clock between them.
fn meet(kinds: impl Iterator<Item = Sort>) -> bool {
    let all: Vec<Sort> = kinds.collect();
    let alone = |kind| !all.contains(&kind) || all.iter().all(|k| [kind, Literal, Null].contains(k));
    let clock = all.contains(&Local) || all.contains(&Date);
    alone(Zoned) && alone(Span) && !(clock && all.contains(&Unknown))
}

/// Whether a constant is read the same in every session.
fn is_spelled(text: &str, ty: &SqlType) -> bool {
    match ty {
        SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz => is_moment(text, ty),
        SqlType::Time => clock(text).is_some_and(str::is_empty),
        // "A leading sign applies to all fields" in one of the styles, unless one of the others has a sign, too.
        SqlType::Interval => {
            let numbers = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
            !text.contains('-')
                || text.split(' ').filter(numbers).all(|w| w.starts_with(['+', '-']) && !w.contains(':'))
        }
        _ => true,
    }
}

/// `2024-01-31`, `2024-01-31 08:30:00`, with an offset where the type has one, and BC behind.
fn is_moment(text: &str, ty: &SqlType) -> bool {
    if ["infinity", "-infinity"].contains(&text) {
        return true;
    }
    let text = text.strip_suffix(" BC").unwrap_or(text);
    let (day, rest) = text.split_at_checked(text.find([' ', 'T']).unwrap_or(text.len())).unwrap_or_default();
    let mut parts = day.split('-');
    let year = parts.next().is_some_and(|y| (4..=7).contains(&y.len()) && digits(y));
    let two = |p: Option<&str>| p.is_some_and(|p| p.len() == 2 && digits(p));
    let day = year && two(parts.next()) && two(parts.next()) && parts.next().is_none();
    let behind = rest.get(1..).map_or(Some(""), clock);
    let Some(behind) = behind.filter(|_| day) else { return false };
    match ty {
        SqlType::Date => rest.is_empty(),
        SqlType::Timestamptz => {
            let offset = behind.strip_prefix(['+', '-']).map(|o| o.split(':').collect::<Vec<_>>());
            offset.is_some_and(|o| (1..=3).contains(&o.len()) && o.iter().all(|p| two(Some(p))))
        }
        _ => behind.is_empty(),
    }
}

/// What is behind `08:30`, `08:30:15` or `08:30:15.25`.
fn clock(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !":.".contains(c)).unwrap_or(text.len());
    let (clock, behind) = text.split_at_checked(end)?;
    let parts: Vec<&str> = clock.split(':').collect();
    let whole = |p: &&str| p.split('.').next().is_some_and(|p| p.len() == 2 && digits(p));
    ((2..=3).contains(&parts.len()) && parts.iter().all(whole)).then_some(behind)
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// An interval of microseconds alone, which no clock changes.
fn is_clockless(e: Option<&Expr>) -> bool {
    if let Some([_, unit]) = e.and_then(|e| e.call("*")) {
        return is_clockless(Some(unit));
    }
    let text = e.and_then(constant).and_then(|t| t.strip_suffix(" microseconds"));
    text.is_some_and(|n| digits(n.strip_prefix(['+', '-']).unwrap_or(n)))
}

/// Names of months and days in the words of a locale, and of zones, are asked for by TM, TZ and OF.
fn shows_no_locale(format: &str) -> bool {
    let shown: String = format.split('"').step_by(2).collect::<Vec<_>>().join(" ").to_ascii_uppercase();
    ["TM", "TZ", "OF"].iter().all(|p| !shown.contains(p))
}

/// A text as a time where its own pattern holds: one that begins with a year of four digits is read the same by every style.
pub(super) fn guarded<'e>(when: &Expr, then: &'e Expr) -> Option<&'e Expr> {
    let then = match then.call("timezone") {
        Some([zone, x]) if constant(zone).is_some() => x,
        _ => then,
    };
    let Expr::Cast(x, SqlType::Date | SqlType::Timestamp) = then else { return None };
    let all = when.call("AND").unwrap_or(std::slice::from_ref(when));
    let begins = |e: &Expr| match e.call("textregexeq") {
        Some([of, pattern]) => {
            *of == **x && constant(pattern).is_some_and(|p| p.starts_with("^([0-9]{4}-") && p.ends_with('$'))
        }
        _ => false,
    };
    all.iter().any(begins).then_some(x)
}
