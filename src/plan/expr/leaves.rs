//! Columns and constants: what an expression begins with.

use super::facts::{Declared, Facts};
use super::*;
use crate::expr::domain::Domain;
use crate::expr::interval::Interval;
use crate::refusals::Refusal;
use crate::refusals::moment::Moment;
use crate::refusals::value::Value;
use sql::ast::BindingId;

pub(super) fn column_scalar(
    binding: BindingId,
    column: usize,
    env: &dyn Columns,
    pos: Pos,
) -> Result<Scalar> {
    if let Some(computed) = env.computed(binding, column) {
        return Ok(computed);
    }
    let Some(info) = env.column(binding, column) else {
        return refused(Value::Outer, pos);
    };
    let c = info.column;
    let domain = match (&c.domain, info.public_table) {
        (_, Some(table)) => Some(Domain::Table { table, column: c.name.clone(), only: None }),
        (Some(policy::Domain::Values(v)), _) => Some(Domain::Values(v.clone())),
        (Some(policy::Domain::References { table, column }), _) => {
            Some(Domain::Table { table: *table, column: column.clone(), only: None })
        }
        (None, None) if c.ty == SqlType::Bool => Some(Domain::Bool),
        (None, None) => None,
    };
    let bound = match &c.range {
        Some(policy::Range::Number { low, high }) => Interval::new(low.clone(), high.clone()),
        Some(policy::Range::Time { low, high }) => Interval::new(*low, *high),
        None => Interval::default(),
    };
    let stored = |ty: &SqlType| Facts {
        bound: Declared::says(bound.clone()),
        lattice: c.grid.clone(),
        canonical: c.deterministic,
        nan_is_end: !c.nan,
        domain: domain.clone(),
        ..Facts::of_stored(ty.clone(), info.nullable)
    };
    let column = Scalar::of(Node::Column { binding, name: c.name.clone() }, stored(&c.ty));
    Ok(match c.ty {
        SqlType::Bpchar => unpadded(column, stored(&SqlType::Text)),
        _ => column,
    })
}

/// The value of a `char(n)`: what PostgreSQL compares of it, its text without the blanks at the end. It has one form, which the padded
/// one has not.
fn unpadded(column: Scalar, mut facts: Facts) -> Scalar {
    if let Some(Domain::Values(values)) = &mut facts.domain {
        values.iter_mut().for_each(|v| v.truncate(v.trim_end_matches(' ').len()));
        values.dedup();
    }
    Scalar::of(Node::Cast(Box::new(column)), facts)
}

/// Whether a scalar is the value of a `char(n)`.
pub(super) fn is_padded(x: &Scalar) -> bool {
    matches!(&x.node, Node::Cast(stored) if stored.facts.ty == SqlType::Bpchar && matches!(stored.node, Node::Column { .. }))
}

/// A constant, as the type of what it meets where it is a string.
pub(super) fn literal(l: &Literal, like: Option<&SqlType>, pos: Pos) -> Result<Scalar> {
    match (l, like) {
        (Literal::Null, like) => Ok(Scalar::null(like.cloned().unwrap_or(SqlType::Text))),
        (Literal::Bool(b), _) => Ok(Scalar::constant_truth(*b)),
        (Literal::Number(n), _) => numbers::literal(n, None, pos),
        (Literal::String(s), Some(ty)) if ty.is_number() && numbers::special(s, ty).is_some() => {
            numbers::special(s, ty).ok_or_else(|| numbers::only_compared(pos))
        }
        (Literal::String(s), Some(ty)) if ty.is_number() => numbers::literal(s.trim(), Some(ty), pos),
        (Literal::String(s), Some(SqlType::Bool)) => {
            let b = match s.trim().to_lowercase().as_str() {
                "t" | "true" | "yes" | "on" | "1" => true,
                "f" | "false" | "no" | "off" | "0" => false,
                _ => return refused(Value::Invalid { ty: "boolean", text: None }, pos),
            };
            Ok(Scalar::constant_truth(b))
        }
        (Literal::String(s), Some(ty)) if ty.is_datetime() => times::literal(s, ty, pos),
        (Literal::String(s), Some(SqlType::Time)) => times::clock(s, pos),
        // With a minus the styles of intervals read it differently; with its type it is read as the session is set.
        (Literal::String(s), Some(SqlType::Interval)) if s.contains('-') => {
            refused(Moment::IntervalSettings, pos)
        }
        (Literal::String(s), like) => {
            let ty = like.cloned().unwrap_or(SqlType::Text);
            let longest = u64::try_from(s.chars().count()).unwrap_or(u64::MAX);
            Ok(Scalar::of(Node::Text(s.clone()), Facts { longest, ..Facts::of_type(ty, false) }))
        }
    }
}

/// The refusal of a number without bounds, with the remedy.
pub(crate) fn unbounded(x: &Scalar, pos: Pos) -> Refusal {
    if numbers::is_special(x) {
        return numbers::only_compared(pos);
    }
    let name = match &x.node {
        Node::Column { name, .. } => Some(name),
        Node::Clamp(inner) | Node::Guard(inner) | Node::Short(inner) => return unbounded(inner, pos),
        // FILTER's CASE hides the column that the message should name.
        Node::Case(branches, None) if branches.len() == 1 => match branches.first() {
            Some((_, inner)) => return unbounded(inner, pos),
            None => None,
        },
        _ => None,
    };
    Value::Unbounded(name.cloned()).at(pos)
}
