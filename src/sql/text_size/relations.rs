//! What stands in FROM: names, and how long the texts of their columns can be.

use super::CELL;

/// A relation whose columns are computed by the statement.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) name: String,
    /// Names and sizes. A column without a name may have any.
    pub(super) columns: Vec<(Option<String>, u64)>,
    /// How many rows it has by the statement's own doing: those of a series.
    pub(super) rows: u64,
    /// A star hides how many there are, and in which order.
    pub(super) starred: bool,
}

impl Default for Relation {
    fn default() -> Self {
        Self { name: String::new(), columns: Vec::new(), rows: 1, starred: false }
    }
}

impl Relation {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// The longest of the columns that may have this name.
    pub(super) fn column(&self, name: &str) -> u64 {
        let may = |n: &Option<String>| n.as_deref().is_none_or(|n| n == name);
        self.columns.iter().filter(|(n, _)| may(n)).map(|c| c.1).max().unwrap_or(CELL)
    }

    pub(super) fn longest(&self) -> u64 {
        self.columns.iter().map(|c| c.1).max().unwrap_or(CELL)
    }

    /// A whole row, as text.
    pub(super) fn row(&self) -> u64 {
        let all = self.columns.iter().fold(CELL, |sum, c| sum.saturating_add(c.1));
        all.saturating_mul(2)
    }

    /// The same columns by other names, in their order. Where stars hide what their order is, each of them may be any.
    pub(super) fn renamed(mut self, name: String, names: Vec<String>) -> Self {
        self.name = name;
        if names.is_empty() {
            return self;
        }
        if self.starred {
            let longest = self.longest();
            // Behind those that have new names there may be more.
            let others = std::iter::once((None, longest));
            self.columns = names.into_iter().map(|n| (Some(n), longest)).chain(others).collect();
        } else {
            for (column, name) in self.columns.iter_mut().zip(names) {
                column.0 = Some(name);
            }
        }
        self
    }
}
