//! Columns that conditions equate.

use schema::SqlType;
use sql::ast::BindingId;
use std::collections::BTreeMap;

/// A column of a scan: the scan's binding, and the column's name in the printed text.
pub type Col = (BindingId, String);

/// Columns in classes of equals (a union-find). Every equality is strict, so that all members of a class are equal and
/// none is NULL in a row for which the conditions hold.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    ids: BTreeMap<Col, usize>,
    parents: Vec<usize>,
}

impl Classes {
    /// From equalities.
    pub fn of<'c>(pairs: impl IntoIterator<Item = &'c (Col, Col)>) -> Self {
        let mut classes = Self::default();
        for (a, b) in pairs {
            classes.equate(a, b);
        }
        classes
    }

    fn root(&self, mut id: usize) -> usize {
        while let Some(parent) = self.parents.get(id).copied().filter(|p| *p != id) {
            id = parent;
        }
        id
    }

    fn id(&mut self, col: &Col) -> usize {
        if let Some(id) = self.ids.get(col) {
            return self.root(*id);
        }
        let id = self.parents.len();
        self.parents.push(id);
        self.ids.insert(col.clone(), id);
        id
    }

    /// Adds an equality. False where it was known.
    pub fn equate(&mut self, a: &Col, b: &Col) -> bool {
        let (a, b) = (self.id(a), self.id(b));
        if a == b {
            return false;
        }
        if let Some(parent) = self.parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
        true
    }

    /// The class of a column, if any equality names it.
    pub fn class(&self, col: &Col) -> Option<usize> {
        self.ids.get(col).map(|id| self.root(*id))
    }

    /// Whether both are one column, or equated.
    pub fn same(&self, a: &Col, b: &Col) -> bool {
        a == b || self.class(a).is_some_and(|c| self.class(b) == Some(c))
    }

    /// All columns equated with this one, itself included.
    pub fn mates(&self, col: &Col) -> Vec<Col> {
        let class = self.class(col);
        let mut mates: Vec<Col> = self
            .ids
            .iter()
            .filter(|(_, id)| class == Some(self.root(**id)))
            .map(|(c, _)| c.clone())
            .collect();
        if mates.is_empty() {
            mates.push(col.clone());
        }
        mates.sort();
        mates
    }
}

/// Groups of a few things that belong together.
#[derive(Clone, Debug)]
pub struct Groups(Vec<usize>);

impl Groups {
    /// Classes of one element each.
    pub fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    /// Whose group it is.
    pub fn of(&self, mut i: usize) -> usize {
        while let Some(parent) = self.0.get(i).copied().filter(|p| *p != i) {
            i = parent;
        }
        i
    }

    /// Puts both groups together.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        if let Some(parent) = self.0.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}

/// Whether `=` between these types compares a key's own values. Where the key is converted first, two keys may become
/// one: bigints beyond 2^53 as floats, timestamps in the hour that daylight saving skips.
pub(crate) fn compared_exactly(key: &SqlType, other: &SqlType) -> bool {
    let exact_number = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Numeric { .. });
    key == other || (exact_number(key) && exact_number(other)) || (key.is_text() && other.is_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_transitive_and_reversible() {
        let c = |b: usize, n: &str| (BindingId::new(b), n.to_owned());
        let mut classes = Classes::of(&[(c(0, "a"), c(1, "b")), (c(2, "c"), c(1, "b"))]);
        assert!(classes.same(&c(0, "a"), &c(2, "c")));
        assert!(classes.same(&c(9, "z"), &c(9, "z")));
        assert!(!classes.same(&c(0, "a"), &c(3, "d")) && !classes.same(&c(0, "b"), &c(1, "b")));
        assert!(classes.equate(&c(3, "d"), &c(4, "e")) && classes.equate(&c(3, "d"), &c(2, "c")));
        assert!(!classes.equate(&c(0, "a"), &c(4, "e")));
        assert_eq!(classes.mates(&c(4, "e")).len(), 5);
    }
}
