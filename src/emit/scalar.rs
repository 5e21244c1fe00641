//! Row expressions as text: what `plan::expr` prints of one, with the relations of its subqueries printed here.

use super::rows;
use plan::expr::print::{float, number};
use plan::expr::{Node, Phys, Scalar, type_span};
use schema::SqlType;

/// The text of a scalar, in its physical type.
pub fn text(s: &Scalar) -> String {
    rows::text(s)
}

/// A text that is NULL where the scalar is, for what counts it.
pub fn presence(s: &Scalar) -> String {
    rows::presence(s)
}

/// A group key in the analyst's type and, for `canonical`, in the one form that is shown (soundness rule 4).
pub fn key(s: &Scalar, canonical: bool) -> String {
    let inner = text(s);
    let computed = !matches!(s.node(), Node::Column { .. });
    match s.ty() {
        // A sum of one unit's integers comes as a numeric.
        t if t.is_integer() && (computed || s.phys() == Phys::Num) => {
            let held = type_span(t);
            if s.span().inside(&held) {
                return format!("({inner})::{}", t.sql_name());
            }
            let (Some(lo), Some(hi)) = (&held.lo, &held.hi) else { return "NULL".into() };
            let (lo, hi) = (number(lo), number(hi));
            format!("(CASE WHEN {inner} BETWEEN {lo} AND {hi} THEN {inner} END)::{}", t.sql_name())
        }
        SqlType::Numeric { .. } if canonical => {
            format!("pg_catalog.trim_scale(({inner})::pg_catalog.numeric)")
        }
        SqlType::Numeric { .. } if computed => format!("({inner})::pg_catalog.numeric"),
        SqlType::Float4 | SqlType::Float8 => {
            let name = s.ty().sql_name();
            // So does a sum of one unit's floats. -0 has no place in numeric.
            if computed || s.phys() == Phys::Num {
                float(&inner, s.ty())
            } else if canonical {
                format!(
                    "(CASE WHEN {inner} = 0 THEN 0::{name} WHEN {inner} = 'NaN' THEN 'NaN'::{name} ELSE {inner} END)::{name}"
                )
            } else {
                inner
            }
        }
        // The kernel believes the type of a column or of a cast.
        t if computed => format!("({inner})::{}", t.sql_name()),
        _ => inner,
    }
}
