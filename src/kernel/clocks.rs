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

use super::facts::Scans;
use super::types::{CHOICES, is_arithmetic, is_comparison, is_in, results};
use grammar::tree::Expr;
use grammar::{Result, ensure};
use schema::SqlType;

/// A setting decides what a text of it is, and what it is as another type.
fn is_set(ty: &SqlType) -> bool {
    ty.is_datetime() || *ty == SqlType::Interval
}

fn constant(e: &Expr) -> Option<&str> {
    match e {
        Expr::Text(t) => Some(t),
        Expr::Cast(x, _) => constant(x),
        _ => None,
    }
}

impl Scans<'_> {
    /// Refuses an expression whose meaning is a session's; what it is made of is looked at elsewhere.
    pub(super) fn means_one_thing(&self, e: &Expr) -> Result<()> {
        let holds = match e {
            Expr::Cast(x, ty) => self.converts(x, ty),
            Expr::Call(name, args) => self.calls(name, args),
            _ => true,
        };
        ensure(holds, "something that a setting of the session decides", e)
    }

    /// Whether a value becomes one of this type in every session alike.
    fn converts(&self, x: &Expr, ty: &SqlType) -> bool {
        use SqlType::{Date, Interval, Time, Timestamp, Timestamptz};
        let of = match x {
            Expr::Text(text) => return is_spelled(text, ty),
            Expr::Null => return true,
            Expr::Call(name, _) if name.starts_with('$') => return true,
            x => self.type_of(x),
        };
        match ty {
            Timestamptz | Interval => of.as_ref() == Some(ty),
            Timestamp | Date => matches!(of, Some(Timestamp | Date)),
            Time => matches!(of, Some(Timestamp | Time)),
            _ => true,
        }
    }

    /// Whether values that are brought to one type are so in every session alike.
    fn meet<'e>(&self, all: impl Iterator<Item = &'e Expr> + Clone) -> bool {
        let types = all.clone().filter_map(|x| self.type_of(x)).filter(is_set);
        types.into_iter().all(|ty| all.clone().all(|x| self.converts(x, &ty)))
    }

    fn calls(&self, name: &str, args: &[Expr]) -> bool {
        use SqlType::{Interval, Timestamp, Timestamptz};
        let types: Vec<Option<SqlType>> = args.iter().map(|x| self.type_of(x)).collect();
        let is_constant = |at: usize| args.get(at).and_then(constant).is_some();
        match (name, types.as_slice()) {
            // Seconds since 1970 are the same on every clock.
            ("EXTRACT", [_, Some(Timestamptz)]) => args.first().and_then(constant) == Some("epoch"),
            ("EXTRACT", [_, ty]) => ty.is_some(),
            ("date_trunc", [_, Some(Timestamp)]) => true,
            ("date_trunc", [_, Some(Timestamptz), _]) => is_constant(2),
            ("timezone", [_, Some(Timestamptz | Timestamp)]) => is_constant(0),
            ("age", [Some(Timestamp), Some(Timestamp)]) | ("to_timestamp", [_]) => true,
            ("to_char", [Some(Timestamp), _]) => args.get(1).and_then(constant).is_some_and(shows_no_locale),
            ("EXTRACT" | "date_trunc" | "timezone" | "age" | "to_timestamp" | "to_char", _) => false,
            // Texts of times are those of a style.
            (op, _) if is_in(op, "||") => args.iter().all(|x| match self.type_of(x) {
                Some(ty) => !is_set(&ty),
                None => matches!(x, Expr::Text(_) | Expr::Null),
            }),
            (op, types) if is_arithmetic(op) => match types {
                [Some(Timestamptz), Some(Interval)] => is_clockless(args.get(1)),
                [Some(Interval), Some(Timestamptz)] => is_clockless(args.first()),
                types if types.iter().flatten().any(is_set) => self.type_of_call(name, args).is_some(),
                _ => true,
            },
            ("CASE", _) => self.meet(results(args)),
            (name, _) if is_comparison(name) || is_in(CHOICES, name) => self.meet(args.iter()),
            // Each of its arguments becomes what it gives.
            (name, _) if name.ends_with("_larger") || name.ends_with("_smaller") => {
                self.type_of_call(name, args).is_some_and(|ty| args.iter().all(|x| self.converts(x, &ty)))
            }
            _ => true,
        }
    }
}

/// Whether a constant is read the same in every session: `2024-01-31`, `2024-01-31 08:30:00`, with an offset of its type, and BC.
fn is_spelled(text: &str, ty: &SqlType) -> bool {
    let day = behind(text.strip_suffix(" BC").unwrap_or(text), DAYS);
    let clocked = day.and_then(|rest| rest.strip_prefix([' ', 'T'])).and_then(clock);
    let end = match ty {
        _ if ty.is_datetime() && ["infinity", "-infinity"].contains(&text) => return true,
        SqlType::Date => day,
        SqlType::Timestamp => clocked.or(day),
        SqlType::Timestamptz => clocked.and_then(|rest| behind(rest, OFFSETS)),
        SqlType::Time => clock(text),
        // "A leading sign applies to all fields" in one of the styles, unless one of the others has a sign, too.
        SqlType::Interval => {
            let numbers = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
            let signed = |w: &str| w.starts_with(['+', '-']) && !w.contains(':');
            return !text.contains('-') || text.split(' ').filter(numbers).all(signed);
        }
        _ => return true,
    };
    end == Some("")
}

const DAYS: &[&str] = &["9999999-99-99", "999999-99-99", "99999-99-99", "9999-99-99"];
const CLOCKS: &[&str] = &["99:99:99", "99:99"];
const OFFSETS: &[&str] = &["+99:99:99", "-99:99:99", "+99:99", "-99:99", "+99", "-99"];

/// What is behind the first of these forms that a text begins with; 9 stands for any digit.
fn behind<'t>(text: &'t str, forms: &[&str]) -> Option<&'t str> {
    let fits = |(t, f): (u8, u8)| if f == b'9' { t.is_ascii_digit() } else { t == f };
    let begins = |f: &&&str| text.len() >= f.len() && text.bytes().zip(f.bytes()).all(fits);
    forms.iter().find(begins).and_then(|f| text.get(f.len()..))
}

/// What is behind `08:30`, `08:30:15` or `08:30:15.25`.
fn clock(text: &str) -> Option<&str> {
    let rest = behind(text, CLOCKS)?;
    Some(rest.strip_prefix('.').map_or(rest, |r| r.trim_start_matches(|c: char| c.is_ascii_digit())))
}

/// An interval of microseconds alone, which no clock changes.
fn is_clockless(e: Option<&Expr>) -> bool {
    if let Some([_, unit]) = e.and_then(|e| e.call("*")) {
        return is_clockless(Some(unit));
    }
    let text = e.and_then(constant).and_then(|t| t.strip_suffix(" microseconds"));
    text.is_some_and(|n| n.strip_prefix(['+', '-']).unwrap_or(n).bytes().all(|b| b.is_ascii_digit()))
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
    let dated = |p: &str| p.starts_with("^([0-9]{4}-") && p.ends_with('$');
    let begins = |e: &Expr| matches!(e.call("textregexeq"), Some([of, pattern]) if *of == **x && constant(pattern).is_some_and(dated));
    all.iter().any(begins).then_some(x)
}
