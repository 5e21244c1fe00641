//! Rules that write a statement anew before it is planned.

use crate::bikes::Bikes;
use noisegate::plan::normalise::RULES;
use noisegate::sql::ast::{ExprKind, Origin, Part, Statement};

/// Whether a rule added a relation or an aggregate.
fn is_added(statement: &Statement, origin: Origin) -> bool {
    statement.bindings.iter().any(|(_, b)| b.origin == origin)
        || statement.query.parts().any(|part| match part {
            Part::Expr(e) => matches!(&e.kind, ExprKind::Aggregate(a) if a.origin == origin),
            _ => false,
        })
}

/// Each rule matches its own example, which has a plan then, and no other rule does.
#[tokio::test]
async fn each_rule_writes_its_example_anew() {
    let bikes = Bikes::new().await;
    for rule in RULES {
        let plan = bikes.plan(rule.example).await.unwrap_or_else(|e| panic!("{}: {e}", rule.example));
        for other in RULES {
            let added = is_added(&plan.statement, Origin::AddedBy(other.adds));
            assert_eq!(added, rule.adds == other.adds, "{:?} in {}", other.adds, rule.example);
        }
    }
}
