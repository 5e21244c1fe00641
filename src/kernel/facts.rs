//! Equalities of columns in every row, and the scans that are at rows of one unit by them.

use grammar::tree::{Col, Expr};
use policy::{Privacy, Table};
use schema::SqlType;
use std::collections::BTreeSet;

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

/// Whether `=` between the two compares the values themselves: neither is converted to a type in which different values
/// of it are one.
pub(crate) fn compared_exactly(a: Option<&SqlType>, b: Option<&SqlType>) -> bool {
    let Some((a, b)) = a.zip(b) else { return false };
    let known = !matches!(a, SqlType::Other { .. });
    known && a == b || is_exact(a) && is_exact(b) || a.is_text() && b.is_text()
}
