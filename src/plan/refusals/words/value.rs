//! Expressions.

use super::{mismatch, shown, unsupported};
use crate::refusals::value::{Constant, Unfit, Value};
use answer::{ClientError, SqlState};

impl Value {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Member(r) => r.words(),
            Self::Moment(r) => r.words(),
            Self::Number(r) => r.words(),
            Self::Pattern(r) => r.words(),
            Self::Text(r) => r.words(),
            Self::Unfit(r) => r.words(),
            Self::StandIn => unsupported("a function of a value that another of the unit's may stand for, which is equal and looks different,")
                .hint("Values may be compared: d > interval '1 day'. Or compute in the subquery, before rows are grouped, merged or ordered."),
            Self::Least => unsupported("LEAST and GREATEST of anything but numbers and dates")
                .hint("Write which: CASE WHEN plan < 'month' THEN plan ELSE 'month' END."),
            Self::Unbounded(column) => unbounded(column.as_deref()),
            Self::Invalid { ty, text } => {
                let text = text.map(|t| format!(": \"{t}\"")).unwrap_or_default();
                ClientError::new(SqlState(*b"22P02"), format!("invalid input syntax for type {ty}{text}"))
            }
            Self::Escape => {
                ClientError::new(SqlState(*b"22025"), "LIKE pattern must not end with escape character")
            }
            Self::Condition(of) => {
                let m = format!("argument of {of} must be type boolean");
                ClientError::new(SqlState::DATATYPE_MISMATCH, m)
            }
            Self::Aggregate => {
                ClientError::new(SqlState::GROUPING_ERROR, "aggregate functions are not allowed here")
            }
            Self::Window => unsupported("a window function over private rows")
                .hint("Windows may stand over aggregates: SELECT k, count(*), rank() OVER (ORDER BY count(*)) … GROUP BY k."),
            Self::Function(name) => {
                ClientError::unsupported(format!("function {name} is not supported over private rows"))
                    .hint("SELECT text FROM noisegate.help WHERE topic = 'functions' lists what may stand over rows; others may stand above the aggregates.")
            }
            Self::NoArguments => ClientError::new(SqlState::SYNTAX_ERROR, "this function needs arguments"),
            Self::Inconstant(of) => of.words(),
            Self::AgeOfToday => {
                unsupported("age with one argument, which depends on the day, over private rows")
                    .hint("Write the day: age(DATE '2025-01-01', born).")
            }
            Self::Digits => unsupported("this number of digits"),
            Self::Interval(name) => unsupported("an interval below an aggregate")
                .detail("Private rows have no noise; what is released of them has.")
                .hint(format!("Ask for that of an aggregate: noisegate.{name}(avg(x)).")),
            Self::Session => unsupported("now() and its kin over private rows")
                .hint("Write the date or timestamp as a constant."),
            Self::Members => unsupported("IN or EXISTS with a subquery in this place, over private rows,")
                .hint("Write it into WHERE, or join the table in FROM."),
            Self::Subquery => unsupported("a subquery in an expression over private rows")
                .hint("Ask for it by itself, and write its answer as a constant; or tie it to the unit: (SELECT avg(u.x) FROM … u WHERE u.unit = t.unit)."),
            Self::Outer => unsupported("a column of an outer query in this place")
                .hint("Group by what ties it, and join: JOIN (SELECT k, count(*) AS n FROM t GROUP BY k) x ON x.k = s.k."),
            Self::Param(n) => unsupported(&format!("the parameter ${n} in this place")),
            Self::Any => unsupported("ANY or ALL of anything but a constant list")
                .hint("Write x = ANY (ARRAY['a', 'b']), x IN ('a', 'b'), or a parameter."),
            Self::List => unsupported("an IN list of anything but constants").hint("Write a = b OR a = c."),
            Self::Array => unsupported("ARRAY over private rows"),
            Self::Output => unsupported("this reference"),
            Self::Branches => mismatch("the branches have types that do not fit"),
            Self::Truth => mismatch("argument must be of type boolean"),
            Self::Compared => unsupported("a comparison of this type"),
            Self::Sides => mismatch("the two sides of the comparison have types that do not fit"),
            Self::LikePadded => unsupported("LIKE of a character(n) column with a pattern that does not end in %")
                .hint("PostgreSQL looks at the blanks at its end, too: write rtrim(x) LIKE 'pattern', or 'pattern%'."),
            Self::Padded => unsupported("a comparison of two character(n) columns")
                .hint("Ask the owner for a text column."),
            Self::Spelled => {
                unsupported("a comparison of two texts of which one has a nondeterministic collation")
                    .hint("Compare with a constant.")
            }
            Self::Cast(from, to) => {
                unsupported(&format!("a cast from {} to {} over private rows", shown(&from), shown(&to)))
                    .hint("Casts between numbers, between dates and timestamps, of timestamps to times, of text to numbers and dates, and of integers, booleans, enums, uuids and addresses to text are.")
            }
            Self::CastToText(from) => {
                unsupported(&format!("a cast from {} to text over private rows", shown(&from)))
            }
            Self::CastToTime => unsupported("a cast to a time with so many digits, over private rows,")
                .hint("Cut it: date_trunc('minute', ts)."),
            Self::ConstantTime => {
                unsupported("a cast of this constant time").hint("Write it as '2024-01-31 08:30:00'.")
            }
            Self::NoTime => {
                unsupported("something else where a time is asked for").hint("Write a date or a timestamp.")
            }
            Self::Precision => unsupported("this precision"),
            Self::Scale => unsupported("this scale"),
            Self::LikeSpelled => unsupported("LIKE over text with a nondeterministic collation")
                .hint("Compare with = or IN."),
            Self::LikeOf => unsupported("LIKE over anything but text")
                .hint("Compare numbers and dates with <, = and >."),
            Self::Special => unsupported("NaN or an infinity as anything but what a number is compared with")
                .hint("Compare with it: WHERE x <> 'NaN'."),
            Self::Long => unsupported("a constant of more than 60 digits"),
        }
    }
}

impl Unfit {
    fn words(self) -> ClientError {
        unsupported(match self {
            Self::Arguments => "this number of arguments",
            Self::TextArguments => "this number of arguments of a function of text",
            Self::Function => "this function",
            Self::Even => "rounding to even at digits",
            Self::Trimmed => "digits of this",
            Self::CharOf => "to_char of this",
            Self::CharFormat => "to_char with this format",
            Self::Read => "a text as a number",
            Self::ReadSpelled => "a cast of text with a nondeterministic collation",
            Self::Truth => "a truth value as a number",
            Self::Infinite => "a function of a time that may be infinite",
            Self::Extract => "EXTRACT without a field",
            Self::ExtractField => "EXTRACT of this field",
            Self::Trunc => "date_trunc without a unit",
            Self::Like => "LIKE of this",
            Self::Pattern => "a pattern over this",
            Self::Place => "a place on a grid",
            Self::Cut => "a part of this",
            Self::Length => "a function of a text of unknown length",
            Self::Concat => "concat without arguments",
            Self::MemberOf => "a member of this",
            Self::MemberRead => "a member of anything but a column of type jsonb",
            Self::Shift => "a shift of this",
            Self::Days => "days added to this",
            Self::Difference => "a difference of these",
            Self::Age => "an age of this",
            Self::AgeField => "a field of this age",
            Self::ZoneOf => "AT TIME ZONE of this",
            Self::Zone => "AT TIME ZONE with this zone",
            Self::MakeDate => "make_date of these",
            Self::MakeTimestamp => "make_timestamp of so many numbers",
        })
    }
}

impl Constant {
    fn words(self) -> ClientError {
        let (what, hint) = match self {
            Self::Separator => ("concat_ws with a separator".into(), None),
            Self::Stride => (
                "date_bin with a stride".into(),
                Some("Write it: date_bin('15 minutes', ts, TIMESTAMP '2001-01-01')."),
            ),
            Self::Format(name) => (
                format!("{name} with a format"),
                Some("Write the format into the statement: to_char(ts, 'YYYY-MM')."),
            ),
            Self::Timezone => ("timezone with a zone".into(), None),
            Self::Zone => {
                ("AT TIME ZONE with a zone".into(), Some("Write its name: ts AT TIME ZONE 'Europe/Berlin'."))
            }
            Self::Field => ("date_part with a field".into(), None),
            Self::Unit => ("date_trunc with a unit".into(), None),
            Self::Digits => ("rounding at a number of digits".into(), None),
            Self::Like => ("LIKE with a pattern".into(), Some("Write the pattern into the statement.")),
            Self::Pattern => {
                ("a pattern".into(), Some("Write the pattern into the statement: note ~ '^[A-Z]+$'."))
            }
        };
        let what: String = what;
        let refused = unsupported(&format!("{what} that is not a constant"));
        match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
    }
}

fn unbounded(column: Option<&str>) -> ClientError {
    let (what, remedy) = match column {
        Some(name) => (
            format!("column \"{name}\" has no declared range"),
            format!(
                "Clamp it in the query, LEAST(GREATEST({name}, low), high), or ask the owner to declare columns.{name} = {{ range = [low, high] }} in the policy."
            ),
        ),
        None => (
            "the expression has no finite range".to_owned(),
            "Clamp it in the query, LEAST(GREATEST(x, low), high), or ask the owner to declare the ranges of its columns in the policy.".to_owned(),
        ),
    };
    ClientError::unsupported(what)
        .detail("Its effect on an aggregate, or on arithmetic, cannot be bounded.")
        .hint(remedy)
}
