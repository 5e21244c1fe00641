//! The private relation under a release: scans, joins and filters.
//!
//! Invariant: the rows of unit u depend on u's own rows and on public data only. By induction over the tree:
//!
//! * a scan with a unit column holds u's own rows; a scan with a path is joined to the one row that each of its rows
//!   refers to (a key proves that there is one at most, soundness rule 7), whose unit is its unit;
//! * a join of private relations keeps, in its ON condition, an equality of both units (rule 11): a row of u meets
//!   rows of u only, so that whom it meets, and whether it meets anybody, depends on u's rows;
//! * LEFT JOIN keeps the unit of its left side, FULL JOIN has the one that is there;
//! * what is joined beside that is public, and every expression looks at its row alone, or at rows of the same unit
//!   through a subquery that holds the same equality;
//! * set operations compare whole rows, the unit among them, in the same place of every branch (rule 10);
//! * groups below a release are grouped by the unit, and perhaps more, and windows partitioned by it: what is computed
//!   over several rows is computed over rows of one unit.

use super::equivalence_classes::Col;
use super::frames;
use super::windows::{Call, Sorted, Window};
use crate::algebra::rows::Rows;
use crate::expr::{Scalar, compared};
use policy::Table;
use schema::SqlType;
use sql::ast::{BinaryOp, BindingId, SetOp};
use std::collections::BTreeSet;

/// A table's name in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// Schema of the table.
    pub schema: String,
    /// Name of the table.
    pub name: String,
    /// Read with ONLY.
    pub only: bool,
}

impl TableName {
    /// Of a table of the policy.
    pub fn of(t: &Table) -> Self {
        Self { schema: t.schema.clone(), name: t.name.clone(), only: t.only }
    }
}

/// Rows read under a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The binding that columns refer to. Those that the statement does not have are numbered after its own.
    pub binding: BindingId,
    /// The rows that are read.
    pub leaf: Leaf,
    /// On the nullable side of an outer join.
    pub nullable: bool,
    /// Read only because the rows of this binding find their unit here.
    pub serves: Option<BindingId>,
}

/// The rows that a scan reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// A table, by its index in the policy.
    Table(usize, TableName),
    /// A set operation, VALUES, or a SELECT over several rows of a unit.
    Set(Box<SetRows>),
}

impl Scan {
    /// The table's index in the policy, if it is one.
    pub fn table(&self) -> Option<usize> {
        match &self.leaf {
            Leaf::Table(t, _) => Some(*t),
            Leaf::Set(_) => None,
        }
    }

    /// The table, by its index in the policy, of which it has about as many rows.
    pub fn keeps(&self) -> Option<usize> {
        match &self.leaf {
            Leaf::Table(t, _) => Some(*t),
            Leaf::Set(rows) => rows.keeps,
        }
    }
}

/// The tree of joins.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A scan, by its place in the list of scans.
    Scan(usize),
    /// A join.
    Join {
        /// Left side.
        left: Box<Tree>,
        /// Right side.
        right: Box<Tree>,
        /// Kind; RIGHT is LEFT with its sides exchanged.
        kind: Kind,
        /// ON, all conditions; none is a cross join.
        on: Vec<Scalar>,
    },
}

/// The kind of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// INNER and CROSS.
    Inner,
    /// LEFT.
    Left,
    /// FULL.
    Full,
}

/// A branch of a set operation: rows of its own, and what it selects from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Scans of the branch; a branch of constants has none, and no FROM.
    pub scans: Vec<Scan>,
    /// Joins of the scans.
    pub tree: Tree,
    /// WHERE, all conjuncts.
    pub filter: Vec<Scalar>,
    /// Columns: of the branch's rows, or those that it is grouped by.
    pub items: Vec<Scalar>,
    /// Columns behind these, of several rows of one unit.
    pub over: Over,
    /// Rows of one unit, where keys prove it.
    pub bound: Option<u64>,
}

impl Branch {
    /// Steps that it takes at most for one row of each of its scans.
    pub fn cost(&self) -> u64 {
        let own = self.items.iter().chain(&self.filter).map(Scalar::cost);
        // A row of constants is there; others are found.
        let base = if self.scans.is_empty() { 100 } else { 1_000 };
        own.chain([self.over.cost()]).chain(self.tree.costs()).fold(base, u64::saturating_add)
    }
}

/// Computations of a branch over several rows, all of one unit: the unit is its first item, and it
/// is grouped, or its windows are partitioned, by that first of all.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// Nothing: it has the rows of its FROM.
    Rows,
    /// Groups: a row for each combination of the items.
    Groups(Vec<Call>),
    /// Windows: the rows of FROM, with more columns.
    Windows(Vec<Window>),
}

impl Over {
    /// All scalars in it.
    pub fn scalars(&self) -> Vec<&Scalar> {
        match self {
            Self::Rows => Vec::new(),
            Self::Groups(calls) => calls.iter().filter_map(|c| c.arg.as_ref()).collect(),
            Self::Windows(windows) => windows.iter().flat_map(Window::scalars).collect(),
        }
    }

    /// Steps that it takes for one row, ties included.
    fn cost(&self) -> u64 {
        let all = |scalars: Vec<&Scalar>| scalars.into_iter().map(Scalar::cost).fold(0, u64::saturating_add);
        match self {
            Self::Rows => 0,
            Self::Groups(_) => all(self.scalars()),
            Self::Windows(windows) => windows
                .iter()
                .map(|w| {
                    let looks = frames::looks(w);
                    let called = all(w.call.arg.iter().collect()).saturating_add(100).saturating_mul(looks);
                    let order = w.order.iter().map(Sorted::cost).fold(called, u64::saturating_add);
                    order.saturating_add(all(w.partition.iter().collect()))
                })
                .fold(0, u64::saturating_add),
        }
    }

    /// The same over other scalars.
    #[must_use]
    pub fn reworded(&self, f: &dyn Fn(&Scalar) -> Scalar) -> Self {
        let call = |c: &Call| Call { arg: c.arg.as_ref().map(f), ..c.clone() };
        match self {
            Self::Rows => Self::Rows,
            Self::Groups(calls) => Self::Groups(calls.iter().map(call).collect()),
            Self::Windows(windows) => Self::Windows(
                windows
                    .iter()
                    .map(|w| Window {
                        call: call(&w.call),
                        partition: w.partition.iter().map(f).collect(),
                        order: w.order.iter().map(|o| Sorted { by: f(&o.by), ..o.clone() }).collect(),
                        frame: w.frame,
                    })
                    .collect(),
            ),
        }
    }
}

impl Tree {
    /// Number of scans that are joined.
    pub(crate) fn scans(&self) -> usize {
        match self {
            Self::Scan(_) => 1,
            Self::Join { left, right, .. } => left.scans() + right.scans(),
        }
    }

    /// Costs of the joins' conditions.
    pub fn costs(&self) -> Vec<u64> {
        match self {
            Self::Scan(_) => Vec::new(),
            Self::Join { left, right, on, .. } => {
                let mut all = left.costs();
                all.extend(right.costs());
                all.extend(on.iter().map(Scalar::cost));
                all
            }
        }
    }
}

/// A set operation, whose branches have the unit in the same place, so that whole rows are compared within units; or one
/// branch that computes over several rows of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct SetRows {
    /// The branches.
    pub tree: SetTree,
    /// The columns as they come out, named `c0`, `c1`, ….
    pub columns: Vec<Scalar>,
    /// The column that is the unit; None when all of it is public.
    pub unit: Option<usize>,
    /// The analyst's name of that column.
    pub unit_name: String,
    /// The table, by its index in the policy, of which it has about as many rows.
    pub keeps: Option<usize>,
    /// Of a table that is read through a cap: its index in the policy, and how many rows of each unit are read.
    pub capped: Option<(usize, u64)>,
}

/// Branches and operators.
#[derive(Clone, Debug, PartialEq)]
pub enum SetTree {
    /// A single branch.
    Branch(Box<Branch>),
    /// An operator.
    Op {
        /// The operation.
        op: SetOp,
        /// ALL.
        all: bool,
        /// Left operand.
        left: Box<SetTree>,
        /// Right operand.
        right: Box<SetTree>,
    },
}

/// The unit of a row: one column, or the first that is not NULL of several (FULL JOIN).
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The columns; each is NULL or the unit.
    pub columns: Vec<Col>,
    /// Type of the columns.
    pub ty: SqlType,
    /// Rows without a unit may be among them.
    pub nullable: bool,
}

impl Unit {
    /// The expression.
    pub fn scalar(&self) -> Scalar {
        let mut list: Vec<Scalar> =
            self.columns.iter().map(|c| column(c, self.ty.clone(), self.nullable)).collect();
        match (list.pop(), list.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                list.push(last);
                Scalar::first_of(list, self.ty.clone(), self.nullable)
            }
            // Never: a unit has a column. NULL is nobody.
            (None, _) => Scalar::null(self.ty.clone()),
        }
    }
}

/// A column by its name, shown to nobody and computed with by nothing.
pub fn column(col: &Col, ty: SqlType, nullable: bool) -> Scalar {
    Scalar::named(col, ty, nullable)
}

/// `a = b`
pub fn equal(a: Scalar, b: Scalar) -> Scalar {
    compared(BinaryOp::Eq, a, b)
}

/// A condition that every join of private rows has (soundness rule 11), for EXPLAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Columns of one side, as the analyst calls them.
    pub left: Vec<String>,
    /// Columns of the other, in the same order.
    pub right: Vec<String>,
    /// The rows on the right lead to their unit along this equality; else both are units.
    pub path: bool,
    /// The condition stands inside a subquery.
    pub inside: bool,
    /// The statement has it in this very place.
    pub written: bool,
}

/// A private relation.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateSource {
    /// All scans.
    pub scans: Vec<Scan>,
    /// Joins of the scans.
    pub tree: Tree,
    /// WHERE, all conjuncts.
    pub filter: Vec<Scalar>,
    /// The unit of each row.
    pub unit: Unit,
    /// Columns that are the unit in every row.
    pub exact: Vec<Col>,
    /// Columns that are the unit or NULL.
    pub aliases: Vec<Col>,
    /// Numbers of rows of a unit.
    pub rows: Rows,
    /// Conditions that keep the rows of different units apart.
    pub added: Vec<Added>,
    /// Scans inside subqueries of WHERE.
    pub inside: Vec<Scan>,
    /// For each public LEFT JOIN private, read as an inner join: the bindings that would be NULL without a partner.
    pub optional: Vec<BTreeSet<BindingId>>,
    /// Tables that are read for their units only, those of subqueries included.
    pub served: Vec<usize>,
}

/// Whether rows of these scans, or within them, are joined; and whether a table is, whose indexes could serve that.
fn joins(scans: &[Scan]) -> (bool, bool) {
    let here = scans.len() > 1;
    let own = (here, here && scans.iter().any(|s| s.table().is_some()));
    let branches = scans.iter().flat_map(|s| match &s.leaf {
        Leaf::Table(..) => Vec::new(),
        Leaf::Set(rows) => rows.branches(),
    });
    branches.map(|b| joins(&b.scans)).fold(own, |a, b| (a.0 || b.0, a.1 || b.1))
}

impl PrivateSource {
    /// There are joins, of which no index could serve one: nothing that is joined is a table.
    pub(crate) fn joins_computed_rows(&self) -> bool {
        self.inside.is_empty() && joins(&self.scans) == (true, false)
    }

    /// The analyst's scans: those that are not read for their units only.
    pub fn named(&self) -> impl Iterator<Item = &Scan> {
        self.scans.iter().filter(|s| s.serves.is_none())
    }
}
