//! Facts about scans, their columns and rows: what is equal in every row, and so of one unit.

use grammar::tree::{Col, Expr, Kind, Tree};
use policy::{Policy, Privacy, Table};
use schema::SqlType;
use std::collections::{BTreeMap, BTreeSet};

/// A column, or the first of several that is not NULL.
pub(crate) type Term = Vec<Col>;

/// Facts that hold for rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Terms that are equal, and not NULL.
    pub equal: Vec<(Term, Term)>,
    /// Columns that are equal to what follows from rows of these scans.
    pub computed: Vec<(Col, Vec<String>)>,
}

/// The term that an expression is. Which of several is there does not depend on the collation that they are shown under.
pub(crate) fn term_of(e: &Expr) -> Option<Term> {
    let all = e.call("COALESCE").unwrap_or(std::slice::from_ref(e));
    all.iter().map(|e| e.bare().column().cloned()).collect()
}

/// The unit of a scan of a private table: under the empty name stands one that it has not in a column of its own.
pub(crate) fn unit_of(scan: &str, table: &Table) -> Term {
    vec![(scan.to_owned(), table.unit_column().unwrap_or_default().to_owned())]
}

impl Facts {
    pub fn and(mut self, other: &Self) -> Self {
        self.equal.extend(other.equal.iter().cloned());
        self.computed.extend(other.computed.iter().cloned());
        self
    }

    /// Facts that look at no other scans.
    pub fn only(&self, scans: &BTreeSet<String>) -> Self {
        let both = |(a, b): &&(Term, Term)| a.iter().chain(b).all(|c| scans.contains(&c.0));
        let one = |(c, by): &&(Col, Vec<String>)| [&c.0].into_iter().chain(by).all(|s| scans.contains(s));
        Self {
            equal: self.equal.iter().filter(both).cloned().collect(),
            computed: self.computed.iter().filter(one).cloned().collect(),
        }
    }

    /// Whether a term follows from rows of these scans.
    pub fn is_fixed(&self, term: &Term, given: &BTreeSet<String>) -> bool {
        let by = |(_, by): &(Col, Vec<String>)| by.iter().all(|s| given.contains(s));
        let one = |c: &Col| given.contains(&c.0) || self.computed.iter().any(|f| f.0 == *c && by(f));
        self.class(term).iter().any(|t| t.iter().all(one))
    }

    /// The terms that are equal to this one in every row, itself among them.
    pub fn class(&self, term: &Term) -> Vec<Term> {
        let mut class = vec![term.clone()];
        let mut at = 0;
        while let Some(known) = class.get(at).cloned() {
            let pairs = self.equal.iter().flat_map(|(a, b)| [(a, b), (b, a)]);
            for (_, other) in pairs.filter(|(a, _)| **a == known) {
                if !class.contains(other) {
                    class.push(other.clone());
                }
            }
            at += 1;
        }
        class
    }

    /// Whether one of these is equal to one of those.
    pub fn meet(&self, a: &[Term], b: &[Term]) -> bool {
        a.iter().any(|a| self.class(a).iter().any(|t| b.contains(t)))
    }

    /// With what follows from paths: where all columns of a step meet the key that they lead to, which is that of one row,
    /// both scans are of one unit.
    pub fn with_paths(mut self, scans: &[(&str, usize, &Table)]) -> Self {
        for (child, _, table) in scans {
            let Privacy::Path(path) = &table.privacy else { continue };
            for (parent, at, leads_to) in scans {
                let column = |scan: &str, name: &String| vec![vec![(scan.to_owned(), name.clone())]];
                let mut steps = path.columns.iter().zip(&path.key);
                let one_row =
                    leads_to.keys.iter().any(|k| !k.is_empty() && k.iter().all(|c| path.key.contains(c)));
                if path.table == *at
                    && one_row
                    && path.columns.len() == path.key.len()
                    && steps.all(|(c, k)| self.meet(&column(child, c), &column(parent, k)))
                {
                    self.equal.push((unit_of(child, table), unit_of(parent, leads_to)));
                }
            }
        }
        self
    }
}

/// Integers and numeric: they add up to the same in every order.
pub(crate) fn is_exact(t: &SqlType) -> bool {
    t.is_integer() || matches!(t, SqlType::Numeric { .. })
}

/// Whether `=` between the two compares the values themselves: neither is converted to a type in which some of it are one.
pub(crate) fn compared_exactly(a: Option<&SqlType>, b: Option<&SqlType>) -> bool {
    let Some((a, b)) = a.zip(b) else { return false };
    let known = !matches!(a, SqlType::Other { .. });
    known && a == b || is_exact(a) && is_exact(b) || a.is_text() && b.is_text()
}

/// Certainty that a value is the same where a unit's rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The value's bytes follow from the unit's rows.
    One,
    /// The values that equal it do.
    Several,
    /// Nothing is known to.
    Open,
}

/// Facts about a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Type, if it is known.
    pub ty: Option<SqlType>,
    /// Equal values are the same ones.
    pub deterministic: bool,
    /// The column counts: it is never NULL, and at least 0.
    pub count: bool,
    /// The column is a unit's share in a group: a count or a sum that the stage before scaled.
    pub share: Option<Share>,
    /// The most that one row changes a column by that adds up integers of rows, and whether none lowers it.
    pub row: Option<(u128, bool)>,
    /// Whether its bytes follow from rows of the unit.
    pub form: Form,
    /// A number without zeros behind the last digit.
    pub trimmed: bool,
}

/// What is known of a unit's shares over its groups: all of them together, in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub norm: Norm,
    /// None of them is below 0.
    pub rises: bool,
}

/// A bound on a vector of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Norm {
    /// Of the sum of magnitudes.
    Sum(u64),
    /// Of the root of the sum of squares.
    Squares(u64),
}

impl Column {
    pub fn of(ty: Option<SqlType>) -> Self {
        let (form, trimmed) = (Form::One, false);
        Self { ty, deterministic: true, count: false, share: None, row: None, form, trimmed }
    }
}

/// Rows of a derived table or a stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub columns: Vec<(String, Column)>,
    /// Columns that are the unit in every row; none where rows are public.
    pub units: Vec<usize>,
    /// The unit can be NULL.
    pub nullable: bool,
    /// The most rows of one unit.
    pub bound: Option<u64>,
}

/// The source of a scan.
pub(crate) enum Source {
    /// A table of the policy.
    Table(usize),
    /// A derived table, or an earlier stage.
    Rows(Rows),
}

/// Part of a FROM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Names of its scans.
    pub(super) scans: BTreeSet<String>,
    /// Some of it is private.
    pub private: bool,
    /// Terms that are the unit of its rows.
    pub(super) units: Vec<Term>,
    /// The unit can be NULL.
    pub nullable: bool,
    /// What holds for all of its rows.
    pub(super) facts: Facts,
    /// Scans by whose key a row here is fixed.
    pub(super) anchors: Vec<String>,
    /// Scans that are at one and the same row in all rows of a unit.
    pub(super) settled: BTreeSet<String>,
    /// The most rows of one unit.
    pub rows: Option<u64>,
}

/// All scans of a stage that are in sight. No two have one name, so that a name means the same to PostgreSQL.
pub(crate) struct Scans<'p> {
    pub(super) policy: &'p Policy,
    pub(super) all: BTreeMap<String, Source>,
    /// All of them are public, and read before and without anything private.
    pub(super) apart: bool,
}

/// Without its outermost cast.
pub(crate) fn uncast(e: &Expr) -> &Expr {
    if let Expr::Cast(x, _) = e { x } else { e }
}

/// A group key. They are k0, k1, … in each stage.
pub(crate) struct Key {
    pub column: Column,
    /// Equal keys look the same: which unit's spelling comes back does not matter.
    pub(super) one_form: bool,
}

/// The sides of joins of these kinds, and what stands in their ON.
pub(crate) fn sides(tree: &Tree, joined: fn(Kind) -> bool) -> (Vec<&Tree>, Vec<&Expr>) {
    match tree {
        Tree::Join(kind, left, right, on) if joined(*kind) => {
            let ((mut all, mut conditions), (more, others)) = (sides(left, joined), sides(right, joined));
            all.extend(more);
            conditions.extend(others.into_iter().chain(on));
            (all, conditions)
        }
        side => (vec![side], Vec::new()),
    }
}
