//! What names can stand for. The policy implements it; system catalogs and `noisegate.*` will.

/// A relation that a name in FROM may stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its number; what it means is the implementor's.
    pub id: usize,
    /// Its visible columns, in order.
    pub columns: Vec<String>,
}

/// Resolves relation names.
pub trait Catalog {
    /// The relation of this name; `schema` is what the name was qualified with.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// Names to suggest where one was not found.
    fn names(&self) -> Vec<String>;
}

impl Catalog for crate::policy::Policy {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let id = self.tables.iter().position(|t| t.name == name && schema.is_none_or(|s| s == t.schema))?;
        let table = self.tables.get(id)?;
        Some(Relation { id, columns: table.columns.iter().map(|c| c.name.clone()).collect() })
    }

    fn names(&self) -> Vec<String> {
        self.tables.iter().map(|t| t.name.clone()).collect()
    }
}
