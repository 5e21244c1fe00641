//! The analyst's own statement, printed from our tree: over the real tables, to be typed and never run; and over
//! released relations, to be finished.
//!
//! `query` prints clauses, `expr` expressions, `released` what stands for a released relation, `sets` for grouping sets of
//! several, `session` what the proxy
//! itself puts in; `names` turns PostgreSQL's words about a text back into the analyst's.

mod expr;
mod names;
mod public_rows;
mod query;
mod reach;
mod released;
mod session;
mod sets;
mod straight;

pub use names::analysts_names;
pub use public_rows::public_rows;
pub use released::ArrayParam;
pub use session::{Constants, OwnRow, own_rows};
pub use straight::{Column, Sorted, Straight, Whole, straight};

use super::{ident, table};
use plan::reach::{Place, Queries};
use plan::{Plan, Size, Stage};
use policy::Policy;
use sql::ast::{Expr, Query, Statement};
use std::collections::HashMap;

/// A printed statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub sql: String,
    /// Starts of expressions: byte offset here, character position in the analyst's text.
    /// Ascending.
    pub marks: Vec<(usize, usize)>,
    /// The text has nothing of the session or the moment in it: it is the same for everybody under
    /// this policy.
    pub lasting: bool,
}

impl Printed {
    /// The analyst's position that a backend's error position (characters, from 1) in this text belongs to.
    pub fn position(&self, at: usize) -> Option<usize> {
        let byte = self.sql.char_indices().nth(at.checked_sub(1)?).map(|(b, _)| b)?;
        self.marks.iter().rev().find(|(b, _)| *b <= byte).map(|(_, pos)| *pos)
    }
}

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

/// The analyst's statement over released relations, with the parameters that hold them.
pub fn finish(plan: &Plan, policy: &Policy, constants: &Constants) -> (Printed, Vec<ArrayParam>) {
    finish_of(plan, &plan.statement.query, policy, constants)
}

/// Text that finishes the value of a stage: one row of one column.
pub fn finish_stage(
    plan: &Plan,
    stage: &Stage,
    policy: &Policy,
    constants: &Constants,
) -> (Printed, Vec<ArrayParam>) {
    finish_of(plan, &stage.query, policy, constants)
}

fn finish_of(
    plan: &Plan,
    query: &Query,
    policy: &Policy,
    constants: &Constants,
) -> (Printed, Vec<ArrayParam>) {
    let mut p = Printer::new(&plan.statement, Some(plan), policy, constants);
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

struct Printer<'a> {
    statement: &'a Statement,
    /// The plan to finish; None while the statement is typed.
    plan: Option<&'a Plan>,
    policy: &'a Policy,
    constants: &'a Constants,
    out: String,
    marks: Vec<(usize, usize)>,
    lasting: bool,
    params: Vec<ArrayParam>,
    /// The number of the first of a release's parameters, where they were named before.
    first_param: HashMap<usize, usize>,
    /// The release that the SELECT being printed stands for, by its index.
    release: Option<usize>,
    /// What is known of the queries of a plan, and where the SELECT being printed stands: for how far noise reaches.
    queries: Option<Queries<'a>>,
    place: Option<Place>,
    /// The grouping set whose rows a number is printed for, by its place.
    branch: Option<usize>,
    /// Rows of grouping sets carry what intervals need.
    carries: bool,
}

impl<'a> Printer<'a> {
    fn new(
        statement: &'a Statement,
        plan: Option<&'a Plan>,
        policy: &'a Policy,
        constants: &'a Constants,
    ) -> Self {
        Self {
            statement,
            plan,
            policy,
            constants,
            out: String::new(),
            marks: Vec::new(),
            lasting: true,
            params: Vec::new(),
            first_param: HashMap::new(),
            release: None,
            queries: plan.map(Queries::of),
            place: None,
            branch: None,
            carries: plan.is_some_and(sets::carry),
        }
    }

    fn done(self) -> Printed {
        Printed { sql: self.out, marks: self.marks, lasting: self.lasting }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    fn wrapped(&mut self, before: &str, e: &Expr, after: &str) {
        self.put(before);
        self.expr(e);
        self.put(after);
    }
}
