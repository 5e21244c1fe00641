//! Which columns are equal in every row, and so which scans are at rows of one unit.

use super::Source;
use policy::{Policy, Privacy, Table, UnitPath};
use std::collections::{BTreeMap, BTreeSet};

/// A column of a scan, by the scan's name. No column has an empty name: under it stands the unit of a scan that has none
/// in a column of its own.
pub(crate) type Col = (String, String);
/// A column, or the first of several that is not NULL.
pub(crate) type Term = Vec<Col>;
/// Two that are equal, and not NULL.
pub(crate) type Fact = (Term, Term);

/// Facts that hold where a row of these scans is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditional {
    /// Names of scans that an outer join leaves out together.
    pub scans: BTreeSet<String>,
    /// What holds where it does not.
    pub facts: Vec<Fact>,
}

/// What a scan reads.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Its name.
    pub alias: String,
    /// What it is of.
    pub source: Source,
}

/// Terms and the classes they are in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    places: BTreeMap<Term, usize>,
    parents: Vec<usize>,
}

impl Classes {
    /// All that follows: from facts; from the paths, whose keys lead to one row; from keys, by which two scans of one
    /// table are at one row.
    pub fn of(facts: &[Fact], conditional: &[Conditional], scans: &[&Scan], policy: &Policy) -> Self {
        let mut classes = Self::default();
        let mut active: Vec<&Fact> = facts.iter().collect();
        let mut waiting: Vec<&Conditional> = conditional.iter().collect();
        // Equality is strict: where it holds the rows are there.
        loop {
            let named: BTreeSet<&String> = active
                .iter()
                .flat_map(|(a, b)| [a, b])
                .filter(|t| t.len() == 1)
                .flatten()
                .map(|c| &c.0)
                .collect();
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|c| c.scans.iter().any(|s| named.contains(s)));
            waiting = later;
            if now.is_empty() {
                break;
            }
            active.extend(now.into_iter().flat_map(|c| &c.facts));
        }
        for (a, b) in active {
            classes.union(a, b);
        }
        while classes.derive(scans, policy) {}
        classes
    }

    fn derive(&mut self, scans: &[&Scan], policy: &Policy) -> bool {
        let tables: Vec<(&str, usize, &Table)> = scans
            .iter()
            .filter_map(|s| match s.source {
                Source::Table(t) => Some((s.alias.as_str(), t, policy.tables.get(t)?)),
                Source::Rows(_) => None,
            })
            .collect();
        let mut changed = false;
        for (a, ta, table) in &tables {
            for (b, tb, other) in &tables {
                if a == b {
                    continue;
                }
                if let Privacy::Path(path) = &table.privacy {
                    let meets = |names: &[String]| {
                        path.columns.len() == names.len()
                            && path.columns.iter().zip(names).all(|(x, y)| self.same_columns((a, x), (b, y)))
                    };
                    let together = match &other.privacy {
                        _ if path.table == *tb => meets(&path.key) && leads_to_one(path, other),
                        Privacy::Path(second) if (second.table, &second.key) == (path.table, &path.key) => {
                            meets(&second.columns)
                        }
                        _ => false,
                    };
                    if together {
                        changed |= self.union(&unit_of(a, table), &unit_of(b, other));
                    }
                }
                let one_row = |key: &Vec<String>| {
                    !key.is_empty() && key.iter().all(|c| self.same_columns((a, c), (b, c)))
                };
                if ta == tb && table.keys.iter().any(one_row) {
                    changed |= self.union(&unit_of(a, table), &unit_of(b, other));
                    if let Privacy::Path(path) = &table.privacy {
                        for c in &path.columns {
                            let at = |alias: &&str| vec![((*alias).to_owned(), c.clone())];
                            // A column that leads nowhere may be NULL on both sides: equal all the same.
                            changed |= self.union(&at(a), &at(b));
                        }
                    }
                }
            }
        }
        changed
    }

    fn place(&mut self, term: &Term) -> usize {
        if let Some(at) = self.places.get(term) {
            return self.root(*at);
        }
        let at = self.parents.len();
        self.parents.push(at);
        self.places.insert(term.clone(), at);
        at
    }

    fn root(&self, mut at: usize) -> usize {
        while let Some(up) = self.parents.get(at).filter(|up| **up != at) {
            at = *up;
        }
        at
    }

    /// Whether something changed.
    fn union(&mut self, a: &Term, b: &Term) -> bool {
        let (a, b) = (self.place(a), self.place(b));
        if let Some(parent) = self.parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
        a != b
    }

    fn class(&self, term: &Term) -> Option<usize> {
        self.places.get(term).map(|at| self.root(*at))
    }

    /// Whether two terms are equal in every row.
    pub fn same(&self, a: &Term, b: &Term) -> bool {
        a == b || self.class(a).is_some_and(|c| self.class(b) == Some(c))
    }

    fn same_columns(&self, a: (&str, &String), b: (&str, &String)) -> bool {
        let term = |(alias, column): (&str, &String)| vec![(alias.to_owned(), column.clone())];
        self.same(&term(a), &term(b))
    }

    /// The single columns that equal this one.
    pub fn mates<'a>(&'a self, col: &Col) -> impl Iterator<Item = &'a Col> {
        let class = self.class(&vec![col.clone()]);
        self.places.iter().filter_map(move |(term, at)| match term.as_slice() {
            [one] if class == Some(self.root(*at)) => Some(one),
            _ => None,
        })
    }
}

/// Whether the columns that a path leads to hold a usable key, as the policy says.
fn leads_to_one(path: &UnitPath, parent: &Table) -> bool {
    parent.keys.iter().any(|key| !key.is_empty() && key.iter().all(|c| path.key.contains(c)))
}

/// The unit of a scan of a private table.
pub(crate) fn unit_of(alias: &str, table: &Table) -> Term {
    vec![(alias.to_owned(), table.unit_column().unwrap_or_default().to_owned())]
}
