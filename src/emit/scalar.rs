//! Row expressions as text that cannot fail.

use super::{alias, ident, number, rows, string};
use bigdecimal::{BigDecimal, Signed, ToPrimitive};
use plan::scalar::{Choice, Node, Phys, Rounding, Scalar};
use schema::SqlType;
use schema::time;
use sql::ast::{BinaryOp, Is};

/// The text of a scalar, in its physical type.
pub fn text(s: &Scalar) -> String {
    match &s.node {
        Node::Column { binding, name } => format!("{}.{}", alias(*binding), ident(name)),
        Node::Number(n) => number(n),
        Node::Text(t) => format!("{}::{}", string(t), s.ty.sql_name()),
        Node::Bool(b) => b.to_string(),
        // In an IN list, a NULL of a float type would turn the whole list and its operand into floats.
        Node::Null if s.ty.is_number() => "NULL::pg_catalog.int4".into(),
        Node::Null => format!("NULL::{}", s.ty.sql_name()),
        Node::Clamp(x) => clamp(s, x),
        Node::Guard(x) => guard(s, x),
        Node::Arith(op, l, r) => arithmetic(*op, s, l, r),
        Node::Neg(x) => format!("(- {})", operand(x, s.phys)),
        Node::Compare(op, l, r) if collatable(l) && is_varied(l) && is_varied(r) => {
            format!("({} {} {})", collated(l), operator(*op), collated(r))
        }
        Node::Compare(op, l, r) => format!("({} {} {})", text(l), operator(*op), text(r)),
        Node::Logic(op, l, r) => format!("({} {} {})", text(l), operator(*op), text(r)),
        Node::Not(x) => format!("(NOT {})", text(x)),
        Node::Is(x, what, negated) => {
            let what = match what {
                Is::Null => "NULL",
                Is::True => "TRUE",
                Is::False => "FALSE",
                Is::Unknown => "UNKNOWN",
            };
            format!("({} IS {}{what})", text(x), if *negated { "NOT " } else { "" })
        }
        Node::In(x, list, negated) => {
            let items: Vec<String> = list.iter().map(text).collect();
            format!("({} {}IN ({}))", text(x), if *negated { "NOT " } else { "" }, items.join(", "))
        }
        Node::Like { arg, pattern, escape, insensitive, negated } => {
            let not = if *negated { "NOT " } else { "" };
            let like = if *insensitive { "ILIKE" } else { "LIKE" };
            let escape = escape.as_ref().map_or_else(String::new, |e| format!(" ESCAPE {}", string(e)));
            format!("({} {not}{like} {}{escape})", text(arg), string(pattern))
        }
        Node::Choice(which, list) => {
            let name = match which {
                Choice::Coalesce => "COALESCE",
                Choice::Least => "LEAST",
                Choice::Greatest => "GREATEST",
            };
            let several = list.iter().filter(|x| is_varied(x)).count() > 1;
            let items: Vec<String> = list.iter().map(|x| branch(x, s, several)).collect();
            format!("{name}({})", items.join(", "))
        }
        Node::Case(branches, otherwise) => {
            let mut out = "CASE".to_owned();
            let results = branches.iter().map(|(_, then)| then).chain(otherwise.as_deref());
            let several = results.filter(|x| is_varied(x)).count() > 1;
            for (when, then) in branches {
                out.push_str(&format!(" WHEN {} THEN {}", text(when), branch(then, s, several)));
            }
            if let Some(e) = otherwise {
                out.push_str(&format!(" ELSE {}", branch(e, s, several)));
            }
            out.push_str(" END");
            format!("({out})")
        }
        Node::Abs(x) => format!("pg_catalog.abs({})", operand(x, s.phys)),
        Node::Round(how, x, digits) => round(*how, x, *digits),
        Node::Extract(field, x) => format!("(EXTRACT({field} FROM {}))::pg_catalog.numeric", text(x)),
        Node::DateTrunc(unit, x) => {
            let cast = if x.ty == SqlType::Date { "::pg_catalog.timestamptz" } else { "" };
            format!("pg_catalog.date_trunc({}, ({}){cast})", string(unit), text(x))
        }
        Node::Exists(rows, negated) => {
            format!("({}EXISTS ({}))", if *negated { "NOT " } else { "" }, rows::subquery(rows))
        }
        Node::InRows(x, rows, negated) => {
            let not = if *negated { "NOT " } else { "" };
            let x = if x.ty.is_text() && is_varied(x) { collated(x) } else { text(x) };
            format!("({x} {not}IN ({}))", rows::subquery(rows))
        }
        Node::Cast(x) => match s.phys {
            Phys::Int => format!("({})::pg_catalog.int8", text(x)),
            Phys::Num => format!("({})::pg_catalog.numeric", text(x)),
            Phys::Float => float(&text(x), &s.ty),
            Phys::Other => format!("({})::{}", text(x), s.ty.sql_name()),
        },
    }
}

/// The collation under which texts of several columns are compared. Two columns may have different ones, for which
/// PostgreSQL fails at the first row that it compares; equality is the same under all deterministic ones.
pub(super) const COLLATE: &str = " COLLATE pg_catalog.\"default\"";

/// Types whose comparison needs one collation; char(n) is compared by the plan's own conditions only.
fn collatable(s: &Scalar) -> bool {
    s.ty.is_text() || s.ty == SqlType::Bpchar
}

fn collated(s: &Scalar) -> String {
    format!("{}{COLLATE}", text(s))
}

fn is_varied(s: &Scalar) -> bool {
    !matches!(s.node, Node::Text(_) | Node::Null)
}

/// A numeric as a float, in reach of the type: PostgreSQL's cast fails for numbers too large, and for numbers too near
/// to 0, which a numeric column holds whatever its grid is said to be.
pub(super) fn float(inner: &str, ty: &SqlType) -> String {
    let (limit, digits) = if *ty == SqlType::Float4 { ("1e38", 37) } else { ("1e300", 300) };
    format!("pg_catalog.round({}, {digits})::{}", within(inner, &format!("(-{limit})"), limit), ty.sql_name())
}

/// A numeric moved into a range, by functions that keep NULL (LEAST and GREATEST ignore it) and name their argument
/// once: nested, a text that repeats it would double with each level.
fn within(inner: &str, lo: &str, hi: &str) -> String {
    format!(
        "pg_catalog.numeric_smaller(pg_catalog.numeric_larger(({inner})::pg_catalog.numeric, {lo}), {hi})"
    )
}

fn clamp(s: &Scalar, x: &Scalar) -> String {
    let inner = text(x);
    let (lo, hi) = ends(s);
    match (x.phys, &x.node) {
        // NaN sorts above every number: it must be gone before the bounds are applied. The cast to numeric keeps
        // fifteen digits, which may lie outside again.
        (Phys::Float, _) => {
            let float = format!(
                "pg_catalog.float8smaller(pg_catalog.float8larger(NULLIF(({inner})::pg_catalog.float8, 'NaN'), {lo}), {hi})"
            );
            within(&float, &lo, &hi)
        }
        (_, Node::Column { .. }) if x.nullable => {
            format!("(CASE WHEN {inner} IS NOT NULL THEN LEAST(GREATEST({inner}, {lo}), {hi}) END)")
        }
        _ if x.nullable => within(&inner, &lo, &hi),
        _ => format!("LEAST(GREATEST({inner}, {lo}), {hi})"),
    }
}

/// NULL outside the span.
fn guard(s: &Scalar, x: &Scalar) -> String {
    let inner = text(x);
    let (lo, hi) = ends(s);
    match (&x.node, &s.ty) {
        // What is outside moves to the nearest value outside, and that becomes NULL: the argument is named once.
        (Node::Round(_, _, digits), t) if t.is_number() => {
            let step = BigDecimal::new(1.into(), *digits);
            if let Some((low, high)) = s.span.finite() {
                let (below, above) = (number(&(low - &step)), number(&(high + &step)));
                return format!("NULLIF(NULLIF({}, {below}), {above})", within(&inner, &below, &above));
            }
        }
        (Node::Column { .. }, _) => {}
        (_, t) if t.is_datetime() => {
            let name = match t {
                SqlType::Date => "date",
                SqlType::Timestamptz => "timestamptz",
                _ => "timestamp",
            };
            // The last moment before the years 1 to 9999, and the first after them.
            let (below, above) = match t {
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
        _ => {}
    }
    format!("CASE WHEN {inner} BETWEEN {lo} AND {hi} THEN {inner} END")
}

/// Both ends of a span as constants of the scalar's type.
fn ends(s: &Scalar) -> (String, String) {
    let end = |x: &Option<BigDecimal>, low: bool| match (&s.ty, x) {
        (t, Some(x)) if t.is_datetime() => {
            moment(t, x.to_i64().unwrap_or(if low { time::FIRST } else { time::LAST }))
        }
        (_, Some(x)) => number(x),
        // A span without an end is no bound; spans that are clamped to have both.
        (_, None) => "NULL".into(),
    };
    (end(&s.span.lo, true), end(&s.span.hi, false))
}

/// A date or timestamp constant.
pub fn moment(ty: &SqlType, micros: i64) -> String {
    match ty {
        SqlType::Date => format!("'{}'::pg_catalog.date", time::date(micros)),
        SqlType::Timestamptz => format!("'{}+00'::pg_catalog.timestamptz", time::timestamp(micros)),
        _ => format!("'{}'::pg_catalog.timestamp", time::timestamp(micros)),
    }
}

/// A number as an operand of int8 or numeric arithmetic.
pub(super) fn operand(x: &Scalar, phys: Phys) -> String {
    let inner = text(x);
    match (phys, &x.node) {
        (Phys::Int, Node::Arith(..)) if x.phys == Phys::Int => inner,
        (Phys::Int, _) => format!("({inner})::pg_catalog.int8"),
        _ => format!("({inner})::pg_catalog.numeric"),
    }
}

fn arithmetic(op: BinaryOp, s: &Scalar, l: &Scalar, r: &Scalar) -> String {
    let (a, b) = (operand(l, s.phys), operand(r, s.phys));
    let zero_free = r.span.lo.as_ref().is_some_and(Signed::is_positive)
        || r.span.hi.as_ref().is_some_and(Signed::is_negative);
    let divisor = if zero_free { b.clone() } else { format!("NULLIF({b}, 0)") };
    match op {
        BinaryOp::Div if s.ty.is_integer() && s.phys != Phys::Int => {
            format!("pg_catalog.div({a}, {divisor})")
        }
        BinaryOp::Div => format!("({a} / {divisor})"),
        BinaryOp::Mod => format!("({a} % {divisor})"),
        op => format!("({a} {} {b})", operator(op)),
    }
}

fn round(how: Rounding, x: &Scalar, digits: i64) -> String {
    if x.phys == Phys::Int && digits >= 0 {
        return text(x);
    }
    let inner = operand(x, Phys::Num);
    match how {
        Rounding::Floor => format!("pg_catalog.floor({inner})"),
        Rounding::Ceil => format!("pg_catalog.ceil({inner})"),
        Rounding::Round => format!("pg_catalog.round({inner}, {digits})"),
        // Twenty digits are more than a float near a tie has; numbers nearer to 0 could not be cast back.
        Rounding::Even => {
            format!("pg_catalog.round(pg_catalog.round({inner}, 20)::pg_catalog.float8)::pg_catalog.numeric")
        }
        Rounding::Trunc => format!("pg_catalog.trunc({inner}, {digits})"),
    }
}

/// A branch of CASE or COALESCE, in the physical type of the whole. `several` branches are not constants.
fn branch(x: &Scalar, whole: &Scalar, several: bool) -> String {
    match whole.phys {
        Phys::Int | Phys::Num => operand(x, whole.phys),
        _ if matches!(x.node, Node::Null) => format!("NULL::{}", whole.ty.sql_name()),
        _ if whole.ty.is_text() && several && is_varied(x) => collated(x),
        _ => text(x),
    }
}

/// How an operator is written.
pub fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Concat => "||",
        BinaryOp::Eq => "=",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "AND",
        BinaryOp::Or => "OR",
        BinaryOp::Distinct => "IS DISTINCT FROM",
        BinaryOp::NotDistinct => "IS NOT DISTINCT FROM",
    }
}

/// A group key in the analyst's type and, for `canonical`, in the one form that is shown (soundness rule 4).
pub fn key(s: &Scalar, canonical: bool) -> String {
    let inner = text(s);
    let computed = !matches!(s.node, Node::Column { .. });
    match &s.ty {
        t if t.is_integer() && computed => {
            let (lo, hi) = match t {
                SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
                SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                _ => (i64::MIN, i64::MAX),
            };
            let (lo, hi) = (BigDecimal::from(lo), BigDecimal::from(hi));
            let fits = s.span.finite().is_some_and(|(a, b)| lo <= *a && *b <= hi);
            if fits {
                format!("({inner})::{}", t.sql_name())
            } else {
                let (lo, hi) = (number(&lo), number(&hi));
                format!("(CASE WHEN {inner} BETWEEN {lo} AND {hi} THEN {inner} END)::{}", t.sql_name())
            }
        }
        SqlType::Numeric { .. } if canonical => {
            format!("pg_catalog.trim_scale(({inner})::pg_catalog.numeric)")
        }
        SqlType::Numeric { .. } if computed => format!("({inner})::pg_catalog.numeric"),
        SqlType::Float4 | SqlType::Float8 => {
            let name = s.ty.sql_name();
            if computed {
                // -0 has no place in numeric.
                float(&inner, &s.ty)
            } else if canonical {
                format!(
                    "CASE WHEN {inner} = 0 THEN 0::{name} WHEN {inner} = 'NaN' THEN 'NaN'::{name} ELSE {inner} END"
                )
            } else {
                inner
            }
        }
        _ => inner,
    }
}
