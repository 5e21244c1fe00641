//! Whether a statement over private rows means the same at another time, so that its plan can be kept: its constants are
//! evaluated when it is planned.

use sql::ast::{Expr, ExprKind, Literal, Statement};
use sql::functions::get;

/// Whether no constant of the statement is one of the session's, or may be read as a moment: a text that says `now`, or one that is
/// computed before it is cast. Values of parameters are judged apart.
pub fn is_lasting(statement: &Statement) -> bool {
    statement.query.expressions().all(|e| match &e.kind {
        ExprKind::Session(_) => false,
        ExprKind::Literal(Literal::String(text)) => backend::is_lasting(text),
        ExprKind::Cast { expr, .. } => is_plain(expr),
        ExprKind::Call { name, args } if get(name).is_some_and(|f| f.reads_moments) => {
            args.iter().all(is_plain)
        }
        _ => true,
    })
}

/// Whether it is written out, or differs from row to row.
fn is_plain(e: &Expr) -> bool {
    let is_column = |e: &Expr| matches!(e.kind, ExprKind::Column { .. });
    matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_)) || e.parts().any(is_column)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_read_as_a_moment_is_not_kept() {
        let schema = serde_json::from_str(include_str!("../../../tests/policy/schema.json")).unwrap();
        let text = include_str!("../../../config/bikes.toml");
        let policy = policy::parse(text, "bikes.toml", Path::new("")).unwrap().check(&schema).unwrap();
        let lasts = |condition: &str| {
            let sql = format!("SELECT count(*) FROM trips WHERE started_at > {condition}");
            let parsed = sql::parse::parse(&sql, &policy.limits).unwrap().pop().unwrap();
            let sql::Kind::Query(query, lines) = sql::classify(parsed).unwrap().kind else { panic!("{sql}") };
            is_lasting(&sql::resolve::resolve(&query, &lines, &policy, &policy.limits).unwrap())
        };
        for same in [
            "'2024-05-06'",
            "'2024-05-06'::timestamp",
            "timestamp '2024-05-06 12:00'",
            "$1::timestamp",
            "date_trunc('month', started_at)::date",
            "started_at - interval '1 day'",
        ] {
            assert!(lasts(same), "{same}");
        }
        for other in [
            "now()",
            "current_date",
            "'Now'::timestamp",
            "E'\\x6eow'::timestamp",
            "date 'today'",
            "('no' || 'w')::timestamp",
            "date('to' || 'day')",
            "(CASE WHEN true THEN 'yesterday' END)::timestamp",
        ] {
            assert!(!lasts(other), "{other}");
        }
    }
}
