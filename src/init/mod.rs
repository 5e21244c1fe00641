//! A starter policy from a schema: `noisegate init`.
//!
//! Definitions in, TOML with comments out. [`starter`] is a function of what the catalogs say and does no I/O; only
//! [`catalog`] asks the database, and it reads no row of any table. What a human must decide is marked `TODO`, and the
//! file is a valid policy without it: nothing is public that was not named so, and no range is guessed.

pub mod catalog;
mod column;
mod grants;
mod identify;
mod table;
mod text;
mod way;

pub use catalog::Catalog;

use schema::{Relation, RelationKind};
pub(crate) use text::quote;
use text::{comment, key};
use way::{Placed, Why};

/// What the owner says.
#[derive(Clone, Debug)]
pub struct Options {
    /// `table.column` of the unit, or `schema.table.column`.
    pub unit: String,
    /// Tables that anybody may read.
    pub public: Vec<String>,
    /// Schemas to look at; all where there are none.
    pub schemas: Vec<String>,
    /// Host and port of the database, as they stand in a URL.
    pub address: String,
}

/// Why there is no starter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InitError(pub String);

/// A starter, and how much is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The policy.
    pub policy: String,
    /// Private tables.
    pub private: usize,
    /// Public tables.
    pub public: usize,
    /// Tables that are commented out.
    pub left_out: usize,
}

/// The relations that are looked at, and which of them is the unit's.
struct Scope<'a> {
    catalog: &'a Catalog,
    relations: Vec<&'a Relation>,
    /// Index of the unit's table, and its column.
    unit: (usize, String),
    /// Indexes of tables that were named public.
    public: Vec<usize>,
}

/// Writes a policy for a schema.
///
/// # Errors
/// The unit is no key of a table, or a name is not there: each with what to write instead.
pub fn starter(catalog: &Catalog, options: &Options) -> Result<Starter, InitError> {
    let scope = Scope::new(catalog, options)?;
    let placed = way::place(&scope);
    let mut out = head(&scope, options);
    let (mut private, mut public, mut left_out) = (0, 0, 0);
    for i in order(&scope, &placed) {
        let Some(relation) = scope.relations.get(i) else { continue };
        out.push('\n');
        match placed.get(i) {
            Some(Placed::Private { .. }) => private += 1,
            Some(Placed::Public) => public += 1,
            _ => left_out += 1,
        }
        out.push_str(&table::section(relation, i, &scope, &placed));
    }
    out.push_str(&grants::comments(&scope, &placed));
    Ok(Starter { policy: out, private, public, left_out })
}

impl<'a> Scope<'a> {
    fn new(catalog: &'a Catalog, options: &Options) -> Result<Self, InitError> {
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

    fn unit_table(&self) -> Option<&'a Relation> {
        self.relations.get(self.unit.0).copied()
    }

    /// The unit is a key: of other columns, several rows could be one person or several persons one row.
    fn check_unit(&self) -> Result<(), InitError> {
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
    fn shown(&self, i: usize) -> String {
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

/// The unit's table, then private ones by distance, public ones, and those that are left out.
fn order(scope: &Scope<'_>, placed: &[Placed]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scope.relations.len())
        .filter(|i| !matches!(placed.get(*i), Some(Placed::Not(Why::Partition))))
        .collect();
    order.sort_by_key(|i| match placed.get(*i) {
        _ if *i == scope.unit.0 => (0, 0, *i),
        Some(Placed::Private { ways }) => (1, ways.first().map_or(0, |w| w.length), *i),
        Some(Placed::Public) => (2, 0, *i),
        _ => (3, 0, *i),
    });
    order
}

/// Everything before the tables.
fn head(scope: &Scope<'_>, options: &Options) -> String {
    let (table, column) = (scope.unit_table().map_or("", |r| r.name.as_str()), scope.unit.1.as_str());
    let (database, address) = (url_part(&scope.catalog.database), &options.address);
    format!(
        r#"# Policy of the database {shown}, written by `noisegate init` from its catalogs; no row was read.
# Lines marked TODO need a decision of somebody who knows the data. Decide from what everybody may know, never from
# the rows: a range read off the rows tells something about the richest customer. Every key is explained in
# docs/policy.md; docs/guarantees.md says what is protected, and from whom.
#
#   noisegate check --policy FILE --write-schema    proves it against the database
#   noisegate budget create --policy FILE           makes the ledger, once
#   noisegate serve --policy FILE                   serves it

[server]
listen = ["127.0.0.1:6432"]
# TODO for clients on other machines: another address, and
# tls = {{ cert = "server.crt", key = "server.key" }}

[backend]
# Two logins, made by the statements at the end of this file. The first reads the tables below, the second can read
# public tables only. Their passwords stand in password_file (host:port:database:user:password, mode 0600), in the file
# that PGPASSFILE names, or in the URLs as ${{VARIABLE}} of the environment.
url = "postgres://noisegate@{address}/{database}"
finish_url = "postgres://noisegate_finish@{address}/{database}"
# password_file = "noisegate.pgpass"

[ledger]
# Where it is kept what was spent. Back it up, and never restore an old copy: that would forget spending.
url = "sqlite:noisegate.db"

[privacy]
# Who is protected: all rows of one value of this column, in all tables together.
unit = {unit}

[statement]
# What one statement costs and may touch, unless a session says otherwise.
epsilon = 0.1      # the price. Noise has the scale (what one unit can change) / epsilon: half the price, twice the noise
delta = 1e-9       # spent when groups are private: the chance that a group of one unit alone is shown
max_groups = 4     # groups that one unit may touch; its other groups are dropped at random
max_rows = 8       # rows that one unit may bring to one group; a unit with more counts as this many

# The guarantee: all answers together, to everybody, cost at most this.
[[budget]]
name = "everyone"
accounting = "zcdp"    # how prices add up; "pure" knows epsilon alone, and allows no private groups
epsilon = 8.0          # TODO the total. 1 is strict, 10 is lenient: a unit's influence on any answer is at most e^epsilon
delta = 1e-6           # TODO the chance that this fails: well below one over the number of units

# A quota: how much of it each user may spend.
[[budget]]
name = "analyst"
per = "user"
epsilon = 2.0
delta = 1e-7

# TODO who may log in. `noisegate passwd ada --role research` asks for a password and prints such an entry.
# [[user]]
# name = "ada"
# role = "research"
# scram = "SCRAM-SHA-256$…"

# The tables that exist for analysts, and of private tables the columns. What is not named here does not exist for them.
#   range = [low, high]   what a sum or an average of the column needs; values outside count as the nearest end
#   grid = step           the step that sums are counted in
#   values = […]          the public values: all of them come back as groups, and cost no delta
#   references = "t.c"    the public values are those of a column of a public table
#   {{}}                    usable; as a group key its values are private: shown where enough units are in a group
"#,
        shown = comment(&scope.catalog.database),
        unit = quote(&format!("{table}.{column}")),
    )
}

/// A part of a URL: bytes that could mean something else there are escaped.
fn url_part(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// `[table.name]` and, where it is not the default, its schema.
fn header(r: &Relation) -> String {
    let schema =
        if r.schema == "public" { String::new() } else { format!("schema = {}\n", quote(&r.schema)) };
    format!("[table.{}]\n{schema}", key(&r.name))
}

#[cfg(test)]
mod tests;
