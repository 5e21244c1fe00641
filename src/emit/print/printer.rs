//! The printer: a text as it grows, and what is known of the place where it stands.

use super::array_param::ArrayParam;
use super::constants::Constants;
use super::shown::Shown;
use plan::Plan;
use plan::reach::{Place, Queries};
use policy::{Policy, Privacy};
use sql::ast::{Expr, ExprKind, Statement};
use std::collections::{BTreeMap, HashMap};

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

pub(super) struct Printer<'a> {
    pub(super) statement: &'a Statement,
    /// The plan to finish; None while the statement is typed.
    pub(super) plan: Option<&'a Plan>,
    pub(super) policy: &'a Policy,
    pub(super) constants: &'a Constants,
    pub(super) out: String,
    pub(super) marks: Vec<(usize, usize)>,
    pub(super) lasting: bool,
    pub(super) params: Vec<ArrayParam>,
    /// The number of the first of a release's parameters, where they were named before.
    pub(super) first_param: HashMap<usize, usize>,
    /// The release that the SELECT being printed stands for, by its index.
    pub(super) release: Option<usize>,
    /// What is known of the queries of a plan, and where the SELECT being printed stands: for how far noise reaches.
    pub(super) queries: Option<Queries<'a>>,
    pub(super) place: Option<Place>,
    /// The grouping set whose rows a number is printed for, by its place.
    pub(super) branch: Option<usize>,
    /// Rows of grouping sets carry what intervals need.
    pub(super) carries: bool,
    /// Items of the query that is printed next which are shown in another way than they are, by their places.
    pub(super) shown: BTreeMap<usize, Shown>,
    /// The statement names a private table.
    pub(super) private: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(
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
            carries: plan.is_some_and(carry),
            shown: BTreeMap::new(),
            private: names_private(statement, policy),
        }
    }

    pub(super) fn done(self) -> Printed {
        Printed { sql: self.out, marks: self.marks, lasting: self.lasting }
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    pub(super) fn wrapped(&mut self, before: &str, e: &Expr, after: &str) {
        self.put(before);
        self.expr(e);
        self.put(after);
    }
}

/// Whether a statement names a private table.
fn names_private(statement: &Statement, policy: &Policy) -> bool {
    let private = |t: usize| policy.tables.get(t).is_some_and(|t| t.privacy != Privacy::Public);
    statement.bindings.iter().any(|(_, b)| b.table().is_some_and(private))
}

/// Whether a plan has grouping sets and asks for intervals, so that their rows carry what these need.
fn carry(plan: &Plan) -> bool {
    let mut all = plan.statement.query.expressions();
    let asked = plan.shown_by_intervals() || all.any(|e| matches!(e.kind, ExprKind::Reach { .. }));
    !plan.grouping_sets.is_empty() && asked
}
