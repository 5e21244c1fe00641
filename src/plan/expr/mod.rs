//! The allow-list of row expressions: from a resolved expression to a typed, total, bounded [`Scalar`].
//!
//! A file per subject holds the entries of its functions, operators and casts (`table`), the rule that computes the facts
//! of each, and its text, side by side. Everything that can fail, be slow on chosen rows, or differ between calls is
//! refused here or given a total meaning: NULL for a divisor of zero, for a date that a function cannot take, for a number
//! that its new type cannot hold; numbers from float columns are clamped first.

mod calls;
mod casts;
mod choice;
mod columns;
mod comparison;
pub mod constant;
mod dates;
pub mod domain;
mod facts;
mod formats;
mod functions;
mod grid;
pub mod interval;
mod json;
mod leaves;
mod made;
pub mod moments;
mod nearest;
mod numbers;
pub(crate) mod per_unit;
pub mod print;
mod refusal;
mod regex;
mod rounding;
mod scalar;
mod steps;
mod strings;
mod substitute;
mod table;
mod text;
mod times;
mod zones;

pub use choice::filtered;
pub(crate) use choice::united;
pub(crate) use columns::{ColumnInfo, Columns};
pub(crate) use comparison::{among, comparison};
pub use comparison::{compared, in_list, is, logic, not, operator};
pub use facts::{Declared, Phys, Proven, type_span};
pub use grid::{GridValue, TooWide};
pub(crate) use json::is_member;
pub(crate) use leaves::unbounded;
pub(crate) use nearest::nearest;
pub use numbers::gcd;
pub use scalar::{Choice, Node, Param, Relation, Scalar};
pub(crate) use substitute::weighted;
pub use substitute::{StandIn, VALUE, alike};
pub use table::{Entry, Function, entries, reference};
pub use text::LONGEST_TEXT;
pub use times::clamp;
pub(crate) use times::truncated;
pub(crate) use zones::is_utc;

use crate::refusals::value::{Constant, Value};
use calls::call;
use facts::Facts;
use leaves::{column_scalar, literal};
use refusal::{Result, refused};
use schema::SqlType;
use sql::ast::{BinaryOp, Expr, ExprKind, Is, Literal, Pattern, Pos, Query};

/// A condition, or the error that PostgreSQL gives.
pub(crate) fn truth(s: Scalar, of: &str, pos: Pos) -> Result<Scalar> {
    match s.ty() {
        SqlType::Bool => Ok(s),
        _ => refused(Value::Condition(of.to_owned()), pos),
    }
}

/// A number by itself, for tests of what is built on one.
#[cfg(test)]
fn literal_number(text: &str) -> Result<Scalar> {
    numbers::literal(text, None, None)
}

/// Lowers an expression.
pub(crate) fn lower(e: &Expr, env: &dyn Columns) -> Result<Scalar> {
    let pos = e.pos;
    env.spend()?;
    match &e.kind {
        ExprKind::Column { binding, column } => column_scalar(*binding, *column, env, pos),
        ExprKind::Literal(l) => literal(l, None, pos),
        ExprKind::Negate(x) => numbers::negative(number(x, env, pos)?, pos),
        ExprKind::Not(x) => Ok(not(comparison::truth(lower(x, env)?, pos)?)),
        ExprKind::Binary { op, left, right } => binary(*op, left, right, env, pos),
        ExprKind::Is { expr, what, negated } => {
            let x = lower(expr, env)?;
            let x = if *what == Is::Null { x } else { comparison::truth(x, pos)? };
            Ok(is(x, *what, *negated))
        }
        ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
            let x = lower(expr, env)?;
            let Some(pattern) = constant_text(pattern) else {
                return refused(Value::Inconstant(Constant::Like), pos);
            };
            let like = text::like(x, pattern, escape.as_deref(), *insensitive, pos)?;
            Ok(if *negated { not(like) } else { like })
        }
        ExprKind::Matches { expr, pattern, how, negated } => {
            let x = lower(expr, env)?;
            let Some(pattern) = constant_text(pattern) else {
                return refused(Value::Inconstant(Constant::Pattern), pos);
            };
            let (similar, insensitive) = (*how == Pattern::Similar, *how == Pattern::RegexAnyCase);
            let found = regex::matches(x, pattern, similar, insensitive, pos)?;
            Ok(if *negated { not(found) } else { found })
        }
        ExprKind::In { expr, list, negated } => listed(expr, list, *negated, env),
        ExprKind::Between { expr, low, high, negated } => {
            let ge = compare(BinaryOp::Ge, expr, low, env, pos)?;
            let le = compare(BinaryOp::Le, expr, high, env, pos)?;
            let both = logic(BinaryOp::And, ge, le);
            Ok(if *negated { not(both) } else { both })
        }
        ExprKind::Case { branches, otherwise } => case(branches, otherwise.as_deref(), env, pos),
        ExprKind::Cast { expr, ty } => {
            if let ExprKind::Literal(l) = &expr.kind
                && (ty.modifier.is_empty() || matches!(l, Literal::Null))
                && matches!(l, Literal::String(_) | Literal::Null)
            {
                return literal(l, Some(&ty.ty), pos);
            }
            casts::cast(lower(expr, env)?, ty, env.iso(), expr.pos.or(pos), pos)
        }
        ExprKind::Extract { field, expr } => {
            times::extract(field, lower(expr, env)?, env.extract_type(), pos)
        }
        ExprKind::Call { name, args } => call(name, args, env, pos),
        ExprKind::Interval(text) => {
            let facts = Facts::of_type(SqlType::Interval, false);
            Ok(Scalar::of(Node::Text(text.clone()), facts))
        }
        ExprKind::Reach { what, .. } => refused(Value::Interval(what.name()), pos),
        ExprKind::AtTimeZone { expr, zone } => {
            if let ExprKind::Interval(offset) = &zone.kind {
                return zones::at_offset(lower(expr, env)?, offset, pos);
            }
            let Some(zone) = constant_text(zone) else {
                return refused(Value::Inconstant(Constant::Zone), pos);
            };
            zones::at_time_zone(lower(expr, env)?, zone, env.utc(), pos)
        }
        ExprKind::Session(_) => refused(Value::Session, pos),
        ExprKind::Exists { .. } | ExprKind::InQuery { .. } => {
            env.prepared(e).map_or_else(|| refused(Value::Members, pos), Ok)
        }
        ExprKind::Subquery(q) => given(q, env, pos),
        ExprKind::Aggregate(_) => refused(Value::Aggregate, pos),
        ExprKind::Window { .. } => refused(Value::Window, pos),
        ExprKind::Param(n) => refused(Value::Param(*n), pos),
        ExprKind::Any { .. } => refused(Value::Any, pos),
        ExprKind::Array(_) => refused(Value::Array, pos),
        ExprKind::Output(_) => refused(Value::Output, pos),
    }
}

// Apart from `lower`, whose frames are those of every level of an expression.

/// A subquery whose value was released.
fn given(q: &Query, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    env.given(q).map_or_else(|| refused(Value::Subquery, pos), Ok)
}

/// \[NOT\] IN a list of constants.
fn listed(expr: &Expr, list: &[Expr], negated: bool, env: &dyn Columns) -> Result<Scalar> {
    let x = lower(expr, env)?;
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        let mut y = comparison::coerce(lower_like(item, &x, env)?, &x, item.pos)?;
        if dates::is_length(&x) {
            y = dates::seconds(y, item.pos)?;
        }
        if !matches!(y.node, Node::Number(_) | Node::Text(_) | Node::Bool(_) | Node::Null) {
            return refused(Value::List, item.pos);
        }
        items.push(y);
    }
    Ok(in_list(x, items, negated))
}

/// A string constant, or one that is cast to text.
fn constant_text(e: &Expr) -> Option<&String> {
    match &e.kind {
        ExprKind::Literal(Literal::String(s)) => Some(s),
        ExprKind::Cast { expr, ty }
            if ty.modifier.is_empty() && matches!(ty.ty, SqlType::Text | SqlType::Varchar) =>
        {
            constant_text(expr)
        }
        _ => None,
    }
}

fn number(e: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    numbers::ready(lower(e, env)?, e.pos.or(pos))
}

/// Lowers `e` where it meets `other`: a string constant takes the other's type.
fn lower_like(e: &Expr, other: &Scalar, env: &dyn Columns) -> Result<Scalar> {
    match &e.kind {
        // Beside a char(n) a constant is one, too: blanks at its end count for nothing.
        ExprKind::Literal(Literal::String(s)) if leaves::is_padded(other) => {
            literal(&Literal::String(s.trim_end_matches(' ').to_owned()), Some(&SqlType::Text), e.pos)
        }
        ExprKind::Literal(l) => literal(l, Some(&other.facts.ty), e.pos),
        _ => lower(e, env),
    }
}

fn is_constant_text(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::String(_) | Literal::Null))
}

fn pair(left: &Expr, right: &Expr, env: &dyn Columns) -> Result<(Scalar, Scalar)> {
    if is_constant_text(left) && !is_constant_text(right) {
        let r = lower(right, env)?;
        Ok((lower_like(left, &r, env)?, r))
    } else {
        let l = lower(left, env)?;
        let r = if is_constant_text(right) { lower_like(right, &l, env)? } else { lower(right, env)? };
        Ok((l, r))
    }
}

/// The two sides of a sum: a constant that is added to a moment is an interval. (What is subtracted from it is a moment, too.)
fn added(left: &Expr, right: &Expr, env: &dyn Columns) -> Result<(Scalar, Scalar)> {
    let like = |e: &Expr, x: &Scalar| match &e.kind {
        ExprKind::Literal(l) if x.facts.ty.is_datetime() => literal(l, Some(&SqlType::Interval), e.pos),
        _ => lower_like(e, x, env),
    };
    if is_constant_text(right) {
        let l = lower(left, env)?;
        let r = like(right, &l)?;
        Ok((l, r))
    } else if is_constant_text(left) {
        let r = lower(right, env)?;
        Ok((like(left, &r)?, r))
    } else {
        pair(left, right, env)
    }
}

fn compare(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let (l, r) = pair(left, right, env)?;
    comparison(op, l, r, pos)
}

fn binary(op: BinaryOp, left: &Expr, right: &Expr, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    use BinaryOp as B;
    match op {
        B::And | B::Or => {
            // Chains are as long as a message allows: their left spine is walked, not recursed into.
            let mut rights = vec![right];
            let mut first = left;
            while let ExprKind::Binary { op: next, left, right } = &first.kind
                && *next == op
            {
                env.spend()?;
                rights.push(right);
                first = left;
            }
            let mut out = comparison::truth(lower(first, env)?, first.pos)?;
            for e in rights.into_iter().rev() {
                out = logic(op, out, comparison::truth(lower(e, env)?, e.pos)?);
            }
            Ok(out)
        }
        B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge | B::Distinct | B::NotDistinct => {
            compare(op, left, right, env, pos)
        }
        B::Member | B::MemberText | B::PathText => json::member(op, left, right, env, pos),
        B::Concat => strings::concatenation(lower(left, env)?, lower(right, env)?, pos),
        B::Add | B::Sub | B::Mul | B::Div | B::Mod => {
            for (moment, by) in [(left, right), (right, left)] {
                if (op == B::Add || op == B::Sub && std::ptr::eq(by, right))
                    && let Some(by) = calls::multiple(by, env)?
                {
                    let x = lower(moment, env)?;
                    if x.facts.ty.is_datetime() {
                        return made::shifted(op, x, by, pos);
                    }
                }
            }
            let (l, r) = if op == B::Add { added(left, right, env)? } else { pair(left, right, env)? };
            let of_time = |x: &Scalar| x.facts.ty.is_datetime() || x.facts.ty == SqlType::Interval;
            if of_time(&l) || of_time(&r) {
                return dates::arithmetic(op, l, r, pos);
            }
            let (l, r) = (numbers::ready(l, left.pos.or(pos))?, numbers::ready(r, right.pos.or(pos))?);
            numbers::arithmetic(op, l, r, pos)
        }
    }
}

fn case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, env: &dyn Columns, pos: Pos) -> Result<Scalar> {
    let mut conditions = Vec::with_capacity(branches.len());
    for (when, _) in branches {
        conditions.push(comparison::truth(lower(when, env)?, when.pos)?);
    }
    let results: Vec<&Expr> = branches.iter().map(|(_, t)| t).chain(otherwise).collect();
    let mut values = unify(&results, env, pos)?.into_iter();
    let pairs: Vec<(Scalar, Scalar)> = conditions.into_iter().zip(values.by_ref()).collect();
    Ok(choice::case(pairs, values.next()))
}

/// Lowers several expressions to one type, as CASE, COALESCE and their like do.
fn unify(list: &[&Expr], env: &dyn Columns, pos: Pos) -> Result<Vec<Scalar>> {
    let mut ty: Option<SqlType> = None;
    let mut lowered = Vec::with_capacity(list.len());
    for e in list {
        if is_constant_text(e) {
            lowered.push(None);
            continue;
        }
        let x = lower(e, env)?;
        let t = x.facts.ty.clone();
        ty = Some(match ty {
            None => t,
            Some(have) if have == t => t,
            Some(have) if have.is_number() && t.is_number() => match (&have, &t) {
                // CASE picks the preferred of the types, not that of an arithmetic operator.
                (SqlType::Float4, SqlType::Float8) | (SqlType::Float8, _) => SqlType::Float8,
                (SqlType::Float4, _) | (_, SqlType::Float4) => SqlType::Float4,
                _ => numbers::common_type(&have, &t),
            },
            Some(have) if have.is_text() && t.is_text() => SqlType::Text,
            Some(_) => return refused(Value::Branches, e.pos.or(pos)),
        });
        lowered.push(Some(x));
    }
    let ty = ty.unwrap_or(SqlType::Text);
    let lengths = ty == SqlType::Interval && lowered.iter().flatten().any(dates::is_length);
    list.iter()
        .zip(lowered)
        .map(|(e, lowered)| {
            let mut x = match (lowered, &e.kind) {
                (Some(x), _) => x,
                (None, ExprKind::Literal(l)) => literal(l, Some(&ty), e.pos)?,
                (None, _) => lower(e, env)?,
            };
            if ty.is_number() {
                x = choice::number_or_raw(x, e.pos.or(pos))?;
            }
            if lengths {
                x = dates::seconds(x, e.pos.or(pos))?;
            }
            Ok(numbers::retyped(x, ty.clone()))
        })
        .collect()
}
