//! Scope of a starter policy: the relations that are looked at, and which of them is the unit's.

use super::catalog::Catalog;
use super::text::comment;
use schema::{Relation, RelationKind};

/// Options of the owner.
#[derive(Clone, Debug)]
pub struct Options {
    /// `table.column` of the unit, or `schema.table.column`.
    pub unit: String,
    /// Tables that anybody may read.
    pub public: Vec<String>,
    /// Schemas to look at; all where there are none.
    pub schemas: Vec<String>,
    /// How sure anybody may become that somebody is in the data, in percent, after a suspicion of
    /// [`super::BEFORE`] percent.
    pub at_most: u8,
    /// Host and port of the database, as they stand in a URL.
    pub address: String,
}

/// Why there is no starter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InitError(pub String);

/// The relations that are looked at, and which of them is the unit's.
pub(super) struct Scope<'a> {
    pub catalog: &'a Catalog,
    pub relations: Vec<&'a Relation>,
    /// Index of the unit's table, and its column.
    pub unit: (usize, String),
    /// Indexes of tables that were named public.
    pub public: Vec<usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(catalog: &'a Catalog, options: &Options) -> Result<Self, InitError> {
        let wanted = |r: &&Relation| options.schemas.is_empty() || options.schemas.contains(&r.schema);
        let relations: Vec<&Relation> = catalog.schema.relations.iter().filter(wanted).collect();
        for schema in &options.schemas {
            if !relations.iter().any(|r| r.schema == *schema) {
                return Err(InitError(format!("--schema {schema}: it has no table, or does not exist")));
            }
        }
        let Some((table, column)) = options.unit.rsplit_once('.') else {
            let example = "write TABLE.COLUMN, for example --unit riders.rider_id";
            return Err(InitError(format!("--unit {}: {example}", options.unit)));
        };
        let unit = find(&relations, table, "--unit")?;
        let mut public = Vec::new();
        for name in &options.public {
            let i = find(&relations, name, "--public")?;
            if i == unit {
                return Err(InitError(format!("--public {name}: it is the unit's table, and private")));
            }
            public.push(i);
        }
        let scope = Self { catalog, relations, unit: (unit, column.to_owned()), public };
        scope.check_unit()?;
        Ok(scope)
    }

    pub(super) fn unit_table(&self) -> Option<&'a Relation> {
        self.relations.get(self.unit.0).copied()
    }

    /// The unit is a key: of other columns, several rows could be one person or several persons one row.
    pub(super) fn check_unit(&self) -> Result<(), InitError> {
        let Some(r) = self.unit_table() else { return Ok(()) };
        let name = &self.unit.1;
        let keys: Vec<String> = r.usable_keys().iter().filter(|k| k.len() == 1).flatten().cloned().collect();
        let known = match keys.is_empty() {
            true => format!("{} has no key of one column; see docs/policy.md for what a key is", r.name),
            false => format!("keys of {} are: {}", r.name, keys.join(", ")),
        };
        let Some(column) = r.column(name) else {
            return Err(InitError(format!("--unit: {} has no column {name:?}; {known}", r.name)));
        };
        if r.row_security {
            return Err(InitError(format!("--unit: {} has row-level security; disable it there", r.name)));
        }
        if !column.deterministic_collation {
            let why = "has a nondeterministic collation: two spellings could be one unit or two";
            return Err(InitError(format!("--unit: {}.{name} {why}", r.name)));
        }
        if r.kind == RelationKind::InheritanceParent {
            let why = "has inheritance children, whose rows its keys do not cover";
            return Err(InitError(format!("--unit: {} {why}; name another table", r.name)));
        }
        if !keys.contains(name) {
            return Err(InitError(format!(
                "--unit: {}.{name} is not a key, so it names no unit; {known}",
                r.name
            )));
        }
        Ok(())
    }

    /// A table's name in messages and comments.
    pub(super) fn shown(&self, i: usize) -> String {
        self.relations.get(i).map_or_else(String::new, |r| comment(&r.name))
    }
}

/// A relation by `table` or `schema.table`.
fn find(relations: &[&Relation], name: &str, option: &str) -> Result<usize, InitError> {
    let found = |test: &dyn Fn(&Relation) -> bool| -> Vec<usize> {
        relations.iter().enumerate().filter(|(_, r)| test(r)).map(|(i, _)| i).collect()
    };
    let mut matches = found(&|r| r.name == name);
    if matches.is_empty()
        && let Some((schema, table)) = name.split_once('.')
    {
        matches = found(&|r| r.schema == schema && r.name == table);
    }
    match matches.as_slice() {
        [one] => Ok(*one),
        [] => {
            let names: Vec<&str> = relations.iter().map(|r| r.name.as_str()).collect();
            Err(InitError(format!("{option}: there is no table {name:?}; there are: {}", names.join(", "))))
        }
        _ => Err(InitError(format!("{option}: there are several tables {name:?}; write schema.table"))),
    }
}
