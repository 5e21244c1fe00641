//! Relations, columns, types, keys, checks.

use super::types::SqlType;
use serde::{Deserialize, Serialize};

/// Everything that the policy and the planner may know about the database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// `server_version_num`, for example 150018.
    pub server_version: u32,
    /// The engine that answers for the database.
    #[serde(default, skip_serializing_if = "Engine::is_postgresql")]
    pub engine: Engine,
    /// Tables, partitioned tables, views and materialised views of user schemas, sorted by schema and name.
    pub relations: Vec<Relation>,
}

/// The engine that answers for a database, in PostgreSQL's dialect and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engine {
    /// PostgreSQL: each statement has one snapshot.
    #[default]
    Postgresql,
    /// Citus: tables are spread over servers, of which each has a snapshot of its own.
    Citus,
}

impl Engine {
    /// The words of policies.
    pub const WORDS: [(&'static str, Self); 2] = [("postgresql", Self::Postgresql), ("citus", Self::Citus)];

    /// The word of policies.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, engine)| *engine == self).map_or("", |(word, _)| word)
    }

    fn is_postgresql(&self) -> bool {
        *self == Self::Postgresql
    }
}

/// Placement of a table's rows on the servers of Citus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// Each row is on the shard of the hash of a column. Tables of one group have rows of equal hashes on one server.
    Hash {
        /// The column.
        column: String,
        /// The co-location group.
        group: i64,
    },
    /// A reference table: each server has all rows.
    Reference,
    /// Citus knows the table, and spreads it in another way.
    Other,
}

/// Kind of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RelationKind {
    /// A plain table without inheritance children.
    Table,
    /// A plain table that has inheritance children: its keys prove nothing about the children's rows.
    InheritanceParent,
    /// A declaratively partitioned table.
    Partitioned,
    /// A view.
    View,
    /// A materialised view.
    MaterializedView,
    /// A foreign table.
    Foreign,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// `pg_class.oid`.
    pub oid: u32,
    /// Schema name, unquoted.
    pub schema: String,
    /// Relation name, unquoted.
    pub name: String,
    /// Kind of the relation.
    pub kind: RelationKind,
    /// Row-level security is enabled on it.
    pub row_security: bool,
    /// A partition or child of it, at any depth, that is no ordinary table of this server: a foreign one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_part: Option<String>,
    /// Placement of its rows, where Citus knows the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Columns in attribute order, dropped ones left out.
    pub columns: Vec<Column>,
    /// Unique indexes and primary keys, usable or not.
    pub keys: Vec<Key>,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK constraints of the form that bounds one column, valid ones only.
    pub checks: Vec<Check>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name, unquoted.
    pub name: String,
    /// Attribute number.
    pub attnum: i16,
    /// Type of the column; a domain's base type (what the domain adds is not taken as proven).
    pub ty: SqlType,
    /// Digits in all of a `numeric(p, s)`, where declared.
    #[serde(default)]
    pub numeric_precision: Option<u16>,
    /// Computed by an expression each time it is read (PostgreSQL 18), which may fail on chosen rows.
    #[serde(default)]
    pub virtual_expression: bool,
    /// NOT NULL, by constraint or primary key.
    pub not_null: bool,
    /// The collation compares byte-wise equal strings as equal and others as different.
    pub deterministic_collation: bool,
    /// Labels of an enum type in sort order.
    pub enum_labels: Option<Vec<String>>,
}

/// A unique index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Column names; empty where the index has expressions.
    pub columns: Vec<String>,
    /// The key is the primary key.
    pub primary: bool,
    /// `indisvalid` and `indisready`, and it compares as `=` on its columns does (operator class, collation).
    pub valid: bool,
    /// `indimmediate`: not a deferrable constraint.
    pub immediate: bool,
    /// The key has a WHERE clause.
    pub partial: bool,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Columns of this table.
    pub columns: Vec<String>,
    /// Schema and name of the referenced table.
    pub references: (String, String),
    /// Columns there.
    pub referenced_columns: Vec<String>,
    /// `convalidated`.
    pub valid: bool,
}

/// A CHECK constraint that bounds one column, as decimal text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The column.
    pub column: String,
    /// Inclusive lower bound, if any.
    pub low: Option<String>,
    /// Inclusive upper bound, if any.
    pub high: Option<String>,
    /// Allowed values (`column IN (…)`), if that is its form.
    pub values: Option<Vec<String>>,
}

impl Schema {
    /// The relation with this schema and name.
    pub fn relation(&self, schema: &str, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|r| r.schema == schema && r.name == name)
    }
}

impl Relation {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The keys that prove uniqueness, as lists of column names (soundness rule 7): unique, valid, immediate,
    /// not partial, without expressions, every column NOT NULL, on a plain or declaratively partitioned table.
    pub fn usable_keys(&self) -> Vec<Vec<String>> {
        if !matches!(self.kind, RelationKind::Table | RelationKind::Partitioned) {
            return Vec::new();
        }
        self.keys
            .iter()
            .filter(|k| k.valid && k.immediate && !k.partial && !k.columns.is_empty())
            .filter(|k| k.columns.iter().all(|c| self.column(c).is_some_and(|c| c.not_null)))
            .map(|k| k.columns.clone())
            .collect()
    }
}
