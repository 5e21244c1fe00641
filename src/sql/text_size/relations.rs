//! Relations of FROM: names, and how long the texts of their columns can be.

use super::values::CELL;

/// A column that the statement computes.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Without a name, it may have any.
    pub(super) name: Option<String>,
    /// Bytes of its texts, at most.
    pub(super) bytes: u64,
    /// Expressions that stand wherever it is named, once PostgreSQL has put the subquery into the query around it.
    pub(super) nodes: u64,
}

impl Column {
    /// Of a table, or of what is as long as one of its cells.
    pub(super) fn any(bytes: u64) -> Self {
        Self { name: None, bytes, nodes: 1 }
    }
}

/// A relation whose columns are computed by the statement.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Number of rows by the statement's own doing: those of a series.
    pub(super) rows: u64,
    /// Tables and subqueries that PostgreSQL reads one after the other for it, each with a copy of the conditions above.
    pub(super) branches: u64,
    /// A star hides how many there are, and in which order.
    pub(super) starred: bool,
}

impl Default for Relation {
    fn default() -> Self {
        Self { name: String::new(), columns: Vec::new(), rows: 1, branches: 1, starred: false }
    }
}

impl Relation {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// The longest of the columns that may have this name, and the largest.
    pub(super) fn column(&self, name: &str) -> (u64, u64) {
        let may = |c: &&Column| c.name.as_deref().is_none_or(|n| n == name);
        let found = self.columns.iter().filter(may);
        let bytes = found.clone().map(|c| c.bytes).max().unwrap_or(CELL);
        (bytes, found.map(|c| c.nodes).max().unwrap_or(0))
    }

    pub(super) fn longest(&self) -> u64 {
        self.columns.iter().map(|c| c.bytes).max().unwrap_or(CELL)
    }

    pub(super) fn largest(&self) -> u64 {
        self.columns.iter().map(|c| c.nodes).max().unwrap_or(1)
    }

    /// The expressions of a whole row.
    pub(super) fn nodes(&self) -> u64 {
        self.columns.iter().fold(1, |sum: u64, c| sum.saturating_add(c.nodes))
    }

    /// A whole row, as text.
    pub(super) fn row(&self) -> u64 {
        let all = self.columns.iter().fold(CELL, |sum, c| sum.saturating_add(c.bytes));
        all.saturating_mul(2)
    }

    /// The same columns by other names, in their order. Where stars hide what their order is, each of them may be any.
    pub(super) fn renamed(mut self, name: String, names: Vec<String>) -> Self {
        self.name = name;
        if names.is_empty() {
            return self;
        }
        if self.starred {
            let (bytes, nodes) = (self.longest(), self.largest());
            let column = |name| Column { name, bytes, nodes };
            // Behind those that have new names there may be more.
            self.columns = names.into_iter().map(Some).chain([None]).map(column).collect();
        } else {
            for (column, name) in self.columns.iter_mut().zip(names) {
                column.name = Some(name);
            }
        }
        self
    }
}
