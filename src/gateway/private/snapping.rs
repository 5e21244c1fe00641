//! `cache.snap`: moving bounds that stand still for a while.
//!
//! A dashboard that asks for the last six hours every few seconds asks another question each time. Where private rows
//! are compared with something that is computed from `now()`, `now()` is rounded down to a multiple of the span here, so
//! that both ends of a range lie on the same grid. Soundness rule 33: nothing but `now()` and its kin is rounded, and
//! nothing outside such comparisons.

use answer::Notice;
use policy::from_iso;
use policy::{Policy, Privacy};
use schema::SqlType;
use schema::time;
use sql::ast::{BinaryOp, BindingId, CastType, Expr, ExprKind, Literal, SessionValue, Source, Statement};
use std::collections::HashSet;
use std::time::Duration;

/// Microseconds from 1970-01-01 to 2000-01-01.
const UNIX: i64 = 946_684_800 * time::MICROS_PER_SECOND;

/// Rounds `now()` down where private rows are compared with it. Gives the moment that it was rounded to, if it was.
pub fn snap(statement: &mut Statement, policy: &Policy, now: &str, every: Duration) -> Option<String> {
    let every = i64::try_from(every.as_micros()).ok().filter(|n| *n > 0)?;
    let micros = from_iso(now)?;
    let rounded = micros - (micros + UNIX).rem_euclid(every);
    let rounded = format!("{}+00", time::timestamp(rounded));
    // Rows of a derived table or CTE may be private; those of a public table are not.
    let private: HashSet<BindingId> = statement
        .bindings
        .iter()
        .filter(|(_, b)| match &b.source {
            Source::Table(t) => policy.tables.get(*t).is_none_or(|t| t.privacy != Privacy::Public),
            Source::Derived | Source::Capped { .. } | Source::Cte(_) => true,
            Source::Own(_) => false,
        })
        .map(|(id, _)| id)
        .collect();
    let mut found = false;
    statement.query.each_expr(&mut |e| {
        let mut sides: Vec<&mut Expr> = match &mut e.kind {
            ExprKind::Binary { op, left, right } if is_comparison(*op) => vec![left, right],
            ExprKind::Between { expr, low, high, .. } => vec![expr, low, high],
            ExprKind::In { expr, list, .. } => std::iter::once(&mut **expr).chain(list).collect(),
            ExprKind::Any { expr, array, .. } => vec![expr, array],
            _ => return,
        };
        if sides.iter().any(|s| refers(s, &private)) {
            for side in &mut sides {
                if !varies(side) {
                    round(side, &rounded, &mut found);
                }
            }
        }
    });
    found.then_some(rounded)
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Distinct, Eq, Ge, Gt, Le, Lt, Ne, NotDistinct};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | Distinct | NotDistinct)
}

fn refers(e: &Expr, private: &HashSet<BindingId>) -> bool {
    e.any(&mut |e| matches!(e.kind, ExprKind::Column { binding, .. } if private.contains(&binding)))
}

fn varies(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e.kind, ExprKind::Column { .. } | ExprKind::Subquery(_) | ExprKind::Aggregate(_)))
}

fn round(e: &mut Expr, now: &str, found: &mut bool) {
    let ty = match e.kind {
        ExprKind::Session(SessionValue::Now(_)) => SqlType::Timestamptz,
        ExprKind::Session(SessionValue::Date) => SqlType::Date,
        ExprKind::Session(SessionValue::LocalTimestamp) => SqlType::Timestamp,
        _ => return e.children_mut().into_iter().for_each(|child| round(child, now, found)),
    };
    *found = true;
    let pos = e.pos;
    let cast = |expr: Expr, ty: SqlType| {
        let ty = CastType { ty, modifier: String::new() };
        Expr::new(ExprKind::Cast { expr: Box::new(expr), ty }, pos)
    };
    let literal = Expr::new(ExprKind::Literal(Literal::String(now.to_owned())), pos);
    let moment = cast(literal, SqlType::Timestamptz);
    *e = if ty == SqlType::Timestamptz { moment } else { cast(moment, ty) };
}

/// The notice of the moment that moving bounds were computed from.
pub fn notice(snapped: &str, policy: &Policy) -> Notice {
    let every = policy.cache.snap.unwrap_or_default();
    Notice::new(format!(
        "now() was rounded down to {snapped} where private rows are compared with it (to multiples of {every:?})"
    ))
}
