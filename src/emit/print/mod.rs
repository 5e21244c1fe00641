//! The analyst's own statement, printed from our tree: over the real tables, to be typed and never run; and over
//! released relations, to be finished.
//!
//! `printer` is the text as it grows, `query` prints clauses, `expr` expressions, `released` what stands for a released relation, `sets` for grouping sets of
//! several, `session` what the proxy
//! itself puts in; `reach` how far noise reaches, and `showing` what that leaves to see: `rounded` digits, and no `unsure` values; `names` turns PostgreSQL's words about a text back into the analyst's.

mod array_param;
mod carried;
mod constants;
mod expr;
mod names;
mod printer;
mod public_rows;
mod query;
mod reach;
mod released;
mod rounded;
mod session;
mod sets;
mod showing;
mod shown;
mod straight;
mod unsure;

pub use array_param::ArrayParam;
pub use constants::{Constants, OwnRow};
pub use names::analysts_names;
pub use printer::Printed;
pub use public_rows::public_rows;
pub use session::own_rows;
pub use straight::{Column, Sorted, Straight, Whole, straight};

use super::{ident, table};
use plan::{Plan, Size, Stage};
use policy::Policy;
use printer::Printer;
use shown::Shown;
use sql::ast::{Expr, Query, Statement};
use std::collections::BTreeMap;

/// The analyst's statement over the real tables. It is prepared, never executed.
pub fn typed(statement: &Statement, policy: &Policy, constants: &Constants) -> Printed {
    let mut p = Printer::new(statement, None, policy, constants);
    p.query(&statement.query);
    p.done()
}

/// A query for constants of the statement: one row, and for each of them whether it is an array's elements that are
/// wanted, and the text and type OID of its value (or of the elements, as JSON).
pub fn constants(
    statement: &Statement,
    wanted: &[(&Expr, bool)],
    policy: &Policy,
    constants: &Constants,
) -> Printed {
    let mut p = Printer::new(statement, None, policy, constants);
    p.put("SELECT ");
    p.list(wanted, |p, (e, array)| {
        if *array {
            // Elements as text, so that each becomes a constant of its own; NULL stays NULL.
            p.wrapped("(CASE WHEN ", e, " IS NOT NULL THEN pg_catalog.to_json(ARRAY(SELECT x.x::pg_catalog.text FROM pg_catalog.unnest(");
            p.expr(e);
            p.put(") AS x(x))) END)::pg_catalog.text, pg_catalog.pg_typeof((");
            p.expr(e);
            p.put(")[1])::pg_catalog.oid::pg_catalog.text");
        } else {
            p.wrapped("(", e, ")::pg_catalog.text, pg_catalog.pg_typeof(");
            p.expr(e);
            p.put(")::pg_catalog.oid::pg_catalog.text");
        }
    });
    p.done()
}

/// The analyst's statement over released relations, with the parameters that hold them. `types`: those of its columns, once it is
/// typed, which say how a number is shown; without them none is rounded.
pub fn finish(
    plan: &Plan,
    policy: &Policy,
    constants: &Constants,
    types: &[u32],
) -> (Printed, Vec<ArrayParam>) {
    finish_of(plan, &plan.statement.query, policy, constants, showing::of(plan, types))
}

/// Text that finishes the value of a stage: one row of one column.
pub fn finish_stage(
    plan: &Plan,
    stage: &Stage,
    policy: &Policy,
    constants: &Constants,
) -> (Printed, Vec<ArrayParam>) {
    finish_of(plan, &stage.query, policy, constants, BTreeMap::new())
}

fn finish_of(
    plan: &Plan,
    query: &Query,
    policy: &Policy,
    constants: &Constants,
    shown: BTreeMap<usize, Shown>,
) -> (Printed, Vec<ArrayParam>) {
    let mut p = Printer::new(&plan.statement, Some(plan), policy, constants);
    p.shown = shown;
    p.query(query);
    let params = std::mem::take(&mut p.params);
    (p.done(), params)
}

/// The query that counts the distinct values of a public column.
pub fn size(policy: &Policy, size: &Size) -> String {
    let from = |t: &usize| policy.tables.get(*t).map(table).unwrap_or_default();
    match size {
        Size::Distinct(t, column) => {
            format!("SELECT pg_catalog.count(DISTINCT t.{}) FROM {} AS t", ident(column), from(t))
        }
        Size::Rows(t) => format!("SELECT pg_catalog.count(*) FROM {} AS t", from(t)),
        Size::PerValue(t, column) => format!(
            "SELECT COALESCE(pg_catalog.max(x.n), 0) FROM (SELECT pg_catalog.count(*) AS n FROM {} AS t GROUP BY t.{}) AS x",
            from(t),
            ident(column)
        ),
    }
}
