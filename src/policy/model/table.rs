//! The tables that exist for analysts: whose rows they hold, and what bounds their columns.

use super::profile::{Item, Measure, Profile};
use bigdecimal::BigDecimal;
use schema::SqlType;
use std::time::Duration;

/// A table that exists for analysts.
#[derive(Clone, Debug)]
pub struct Table {
    /// OID in the database.
    pub oid: u32,
    /// Schema in the database.
    pub schema: String,
    /// Name in the database, and the analyst's name for it.
    pub name: String,
    /// Public or private.
    pub privacy: Privacy,
    /// `max_rows` of this table, if the policy sets one.
    pub max_rows: Option<u32>,
    /// `max_total_rows` of this table, if the policy sets one.
    pub max_total_rows: Option<u32>,
    /// The share of its rows that `max_total_rows` cuts, as its owner knows it.
    pub cut_rows: Option<BigDecimal>,
    /// The most rows that one unit can have, which is public knowledge.
    pub most_rows: Option<u32>,
    /// How long a profile of it is taken for true.
    pub profile_valid: Duration,
    /// What was measured of its units.
    pub profile: Option<Profile>,
    /// Visible columns. Hidden ones and those the policy does not name (for private tables) do not exist.
    pub columns: Vec<Column>,
    /// Columns in the database that do not exist for analysts, by name.
    pub hidden: Vec<String>,
    /// Keys that prove uniqueness, as column names; they may name hidden columns.
    pub keys: Vec<Vec<String>>,
    /// Foreign keys, validated or not.
    pub foreign_keys: Vec<schema::ForeignKey>,
    /// Rows of one unit are at most this many, proven by a key `(unit, n)` and a CHECK that bounds n.
    pub proven_rows: Option<u32>,
    /// A public view that may read private tables: the owner says that its rows are published.
    pub published: bool,
    /// The table holds randomised reports: no statement of an analyst can name it.
    pub collected: bool,
    /// Read with `ONLY` (the table has inheritance children, which the policy does not name).
    pub only: bool,
}

impl Table {
    /// The column that names the unit, if it is one of this table's own.
    pub fn unit_column(&self) -> Option<&str> {
        match &self.privacy {
            Privacy::Private { unit, .. } => Some(unit),
            Privacy::Public | Privacy::Path(_) => None,
        }
    }

    /// What was measured of its units.
    pub fn items(&self) -> &[Item] {
        self.profile.as_ref().map_or(&[], |profile| &profile.items)
    }

    /// The item of all rows.
    pub fn item_of_rows(&self) -> Option<&Item> {
        self.items().iter().find(|item| item.of == Measure::ROWS)
    }

    /// The visible column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }
}

/// Whose rows a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Anybody may read it.
    Public,
    /// Rows of the unit in this column of the table.
    Private {
        /// The column, and whether it can be NULL.
        unit: String,
        /// Rows with a NULL unit exist and are dropped.
        nullable: bool,
        /// The unit column's type.
        ty: SqlType,
    },
    /// Rows of the unit of the row that each refers to, in another private table.
    Path(UnitPath),
}

/// A step of a `unit_path`. It equates columns of this table with a key of another, which may have
/// a path of its own; the last table has the unit column. Rows that lead nowhere belong to nobody
/// and are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPath {
    /// Columns of this table.
    pub columns: Vec<String>,
    /// Types of the columns, which are those of the key's.
    pub types: Vec<SqlType>,
    /// A column of the step can be NULL.
    pub nullable: bool,
    /// The other table, by its index in `Policy::tables`.
    pub table: usize,
    /// Columns of the key, in the same order; they hold a usable key (soundness rule 7).
    pub key: Vec<String>,
}

/// A visible column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// NOT NULL.
    pub not_null: bool,
    /// The collation (if any) is deterministic.
    pub deterministic: bool,
    /// Declared or proven bounds, inclusive, with low <= high.
    pub range: Option<Range>,
    /// A public domain of values.
    pub domain: Option<Domain>,
    /// Grid for sums: declared, or the numeric's scale, or 1 for integers. None for floats without one.
    pub grid: Option<BigDecimal>,
    /// NaN may be among its values; false where the owner says that it is not, of a float with a range: then it counts as the
    /// upper end, like whatever else is outside.
    pub nan: bool,
    /// Members of a jsonb column that may be read.
    pub paths: Vec<JsonPath>,
}

/// A member of a jsonb column, which is a text.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Names from the outermost; none is a whole number.
    pub keys: Vec<String>,
    /// Public values.
    pub values: Option<Vec<String>>,
    /// Range as a number, inclusive.
    pub range: Option<(BigDecimal, BigDecimal)>,
}

impl JsonPath {
    /// As an analyst writes it: `payload->'device'->>'os'`.
    pub fn written(&self, column: &str) -> String {
        let mut out = column.to_owned();
        for (i, key) in self.keys.iter().enumerate() {
            let arrow = if i + 1 == self.keys.len() { "->>" } else { "->" };
            out.push_str(&format!("{arrow}'{}'", key.replace('\'', "''")));
        }
        out
    }
}

/// Bounds of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// For numbers.
    Number {
        /// Inclusive.
        low: BigDecimal,
        /// Inclusive.
        high: BigDecimal,
    },
    /// For dates and timestamps: microseconds since 2000-01-01 00:00:00 (UTC for timestamptz).
    Time {
        /// Inclusive.
        low: i64,
        /// Inclusive.
        high: i64,
    },
}

/// Public values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Listed in the policy, or an enum's labels, or a CHECK's list; as text that casts to the column's type.
    Values(Vec<String>),
    /// The values of a column of a public table.
    References {
        /// Index into `Policy::tables`.
        table: usize,
        /// Column there.
        column: String,
    },
}
