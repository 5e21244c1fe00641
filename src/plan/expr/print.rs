//! Names, constants and the small forms that every printed text is made of.

use super::substitute::{StandIn, stands_for};
use crate::expr::{Node, Phys, Scalar};
use bigdecimal::{BigDecimal, Signed};
use schema::{SqlType, time};
use sql::ast::BindingId;

pub use schema::quoted::{ident, string};

/// A mark for the session's zone in the text of a scalar: expressions do not know of which session
/// they are. The printer of a whole text fills it ([`in_zone`]). No constant ([`string`]) holds a NUL, and no
/// text that still has one is one of PostgreSQL's.
pub const ZONE: &str = "\0";

/// A text with the zone that it is of.
pub fn in_zone(text: &str, zone: &str) -> String {
    text.replace(ZONE, &format!("{}::pg_catalog.text", string(zone)))
}

/// A number, in parentheses where it is negative.
pub fn number(n: &BigDecimal) -> String {
    let text = n.normalized().to_plain_string();
    if n.is_negative() { format!("({text})") } else { text }
}

/// The name that a binding is printed under.
pub fn alias(binding: BindingId) -> String {
    match stands_for(binding) {
        Some(StandIn::Base(base)) => format!("y{base}"),
        Some(StandIn::Key(key)) => format!("x{key}"),
        None => format!("b{binding}"),
    }
}

/// A date or timestamp constant.
pub fn moment(ty: &SqlType, micros: i64) -> String {
    match ty {
        SqlType::Date => format!("'{}'::pg_catalog.date", time::date(micros)),
        SqlType::Timestamptz => format!("'{}+00'::pg_catalog.timestamptz", time::timestamp(micros)),
        _ => format!("'{}'::pg_catalog.timestamp", time::timestamp(micros)),
    }
}

/// The collation under which texts of several columns are compared. Two columns may have different ones, for which
/// PostgreSQL fails at the first row that it compares; equality is the same under all deterministic ones.
pub const COLLATE: &str = " COLLATE pg_catalog.\"default\"";

/// A numeric moved into a range, by functions that keep NULL (LEAST and GREATEST ignore it) and name their argument
/// once: nested, a text that repeats it would double with each level.
pub(super) fn within(inner: &str, lo: &str, hi: &str) -> String {
    format!(
        "pg_catalog.numeric_smaller(pg_catalog.numeric_larger(({inner})::pg_catalog.numeric, {lo}), {hi})"
    )
}

/// A numeric as a float, in reach of the type: PostgreSQL's cast fails for numbers too large, and for numbers too near
/// to 0, which a numeric column holds whatever its grid is said to be.
pub fn float(inner: &str, ty: &SqlType) -> String {
    let (limit, digits) = if *ty == SqlType::Float4 { ("1e38", 37) } else { ("1e300", 300) };
    format!("pg_catalog.round({}, {digits})::{}", within(inner, &format!("(-{limit})"), limit), ty.sql_name())
}

/// Prints the scalars below one.
pub(super) type Print<'a> = &'a dyn Fn(&Scalar) -> String;

/// A number as an operand of int8 or numeric arithmetic.
pub(super) fn operand(x: &Scalar, phys: Phys, print: Print) -> String {
    let inner = print(x);
    match (phys, x.node()) {
        (Phys::Int, Node::Apply(f, ..)) if x.phys() == Phys::Int && f.is_int8() => inner,
        (Phys::Int, _) => format!("({inner})::pg_catalog.int8"),
        _ => format!("({inner})::pg_catalog.numeric"),
    }
}

/// Not a constant.
pub(super) fn is_varied(s: &Scalar) -> bool {
    !matches!(s.node(), Node::Text(_) | Node::Null)
}

/// A text under the collation that all are compared in.
pub(super) fn collated(s: &Scalar, print: Print) -> String {
    in_collation(s, &print(s))
}

/// The text of `s` under that collation; in brackets where it is more than a name.
pub fn in_collation(s: &Scalar, text: &str) -> String {
    match s.node() {
        Node::Column { .. } => format!("{text}{COLLATE}"),
        _ => format!("({text}){COLLATE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        assert_eq!(ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(string("it's"), "'it''s'");
        assert_eq!(string("a\\'b"), "E'a\\\\''b'");
        assert_eq!(number(&BigDecimal::from(-5)), "(-5)");
    }
}
