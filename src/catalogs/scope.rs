//! Meanings of names while a statement is printed.

/// A column of something in FROM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Values are shown as names (`regproc` and its kin).
    pub named: bool,
}

impl Column {
    /// A column of a catalog.
    pub fn of((name, ty): &(String, String)) -> Self {
        Self { name: name.clone(), named: ty.starts_with("reg") && !ty.ends_with("[]") }
    }

    /// A column of an ordinary type.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), named: false }
    }
}

/// Something in FROM.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Name that columns are qualified with.
    pub alias: String,
    /// Columns of the relation.
    pub columns: Vec<Column>,
    /// The table of `pg_catalog` that it is: one has a `tableoid`, beside the columns that a star gives.
    pub table: Option<String>,
}

/// A common table expression.
#[derive(Clone, Debug)]
pub struct Cte {
    /// As the client calls it.
    pub name: String,
    /// As it is printed: a name that no relation has.
    pub printed: String,
    /// Columns of the CTE.
    pub columns: Vec<Column>,
}

/// The names of one query, and of those around it.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    /// The query around this one.
    pub outer: Option<&'a Scope<'a>>,
    /// Relations in FROM so far.
    pub relations: Vec<Relation>,
    /// CTEs of WITH.
    pub ctes: Vec<Cte>,
}

impl<'a> Scope<'a> {
    /// A scope within this one.
    pub fn inner(&'a self) -> Scope<'a> {
        Scope { outer: Some(self), relations: Vec::new(), ctes: Vec::new() }
    }

    /// The relation of this alias.
    pub fn relation(&self, alias: &str) -> Option<&Relation> {
        let own = self.relations.iter().rev().find(|r| r.alias == alias);
        own.or_else(|| self.outer.and_then(|o| o.relation(alias)))
    }

    /// The column that an unqualified name stands for.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let own = self.relations.iter().flat_map(|r| &r.columns).find(|c| c.name == name);
        own.or_else(|| self.outer.and_then(|o| o.column(name)))
    }

    /// The tables of the innermost query around a name that has any.
    pub fn tables(&self) -> Vec<&Relation> {
        let own: Vec<&Relation> = self.relations.iter().filter(|r| r.table.is_some()).collect();
        match self.outer {
            Some(outer) if own.is_empty() => outer.tables(),
            _ => own,
        }
    }

    /// The common table expression of this name.
    pub fn cte(&self, name: &str) -> Option<&Cte> {
        let own = self.ctes.iter().rev().find(|c| c.name == name);
        own.or_else(|| self.outer.and_then(|o| o.cte(name)))
    }
}
