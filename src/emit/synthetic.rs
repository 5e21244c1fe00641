//! Fetches over rows that are made up: what users of a synthetic role are answered from.
//!
//! The text of a fetch stays as it was certified, but for the private tables in it, in whose place stands a query for rows
//! that follow from the policy alone: of a private table neither name nor row is left. The login that runs it could read none
//! anyway. Rows are the same each time, and keys meet: column k of row i is a function of (table, k, i).

use super::{ident, number, string, table};
use plan::expr::print::float;
use policy::{Column, Domain, JsonPath, Policy, Privacy, Range, Table};
use schema::SqlType;
use schema::time::timestamp;
use std::collections::BTreeMap;

/// Rows of other tables, for each row that they belong to.
const ROWS: u64 = 6;
/// Values of a public table that columns take theirs from, at most.
const REFERENCED: usize = 1_000;
/// Columns of all tables are fewer.
const MEMBERS: u64 = 1_000_000;
/// One row in so many has NULL in a column that may.
const NULLS: u64 = 20;

/// Numbers of rows that are made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Units.
    pub units: u64,
    /// Rows of tables, by their places in the policy, where it is not as many as usual: six for each row that they belong to.
    pub rows: BTreeMap<usize, u64>,
    /// Rows of any table, at most.
    pub most: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { units: 500, rows: BTreeMap::new(), most: 6_000 }
    }
}

impl Sizes {
    /// Number of rows of a table; of a public one none is made up.
    pub fn rows(&self, index: usize, policy: &Policy) -> u64 {
        let one =
            |t: &Table, columns: &[String]| t.keys.iter().any(|k| k.iter().all(|c| columns.contains(c)));
        let own = || self.rows.get(&index).copied();
        let rows = match policy.tables.get(index).map(|t| (t, &t.privacy)) {
            Some((t, Privacy::Private { unit, .. })) if one(t, std::slice::from_ref(unit)) => self.units,
            Some((_, Privacy::Private { .. })) => own().unwrap_or(self.units.saturating_mul(ROWS)),
            Some((t, Privacy::Path(path))) if one(t, &path.columns) => self.rows(path.table, policy),
            Some((_, Privacy::Path(path))) => {
                own().unwrap_or_else(|| self.rows(path.table, policy).saturating_mul(ROWS))
            }
            Some((_, Privacy::Public)) | None => 0,
        };
        rows.min(self.most)
    }
}

/// A fetch with rows that are made up in the place of each private table.
pub fn fetch(text: &str, policy: &Policy, sizes: &Sizes) -> String {
    let private = policy.tables.iter().enumerate().filter(|(_, t)| t.privacy != Privacy::Public);
    let names: Vec<(String, usize)> = private.map(|(i, t)| (format!("{} AS ", table(t)), i)).collect();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((name, index)) = names.iter().find(|(name, _)| rest.starts_with(name.as_str())) {
            out.push_str(&format!("({}) AS ", rows(*index, policy, sizes)));
            rest = rest.get(name.len()..).unwrap_or_default();
            continue;
        }
        let length = if c == '\'' { constant(rest, out.ends_with('E')) } else { c.len_utf8() };
        let (this, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(this);
        rest = after;
    }
    out
}

/// The bytes of a constant that begins here, with its quotes.
fn constant(text: &str, escapes: bool) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' if escapes => {
                characters.next();
            }
            '\'' if characters.peek().is_some_and(|(_, c)| *c == '\'') => {
                characters.next();
            }
            '\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The query for a table's rows: every column that a fetch may name.
fn rows(index: usize, policy: &Policy, sizes: &Sizes) -> String {
    let Some(t) = policy.tables.get(index) else { return String::new() };
    let mut items = Vec::new();
    let mut from = vec![format!(
        "pg_catalog.generate_series(1, {}::pg_catalog.int8) AS g(i)",
        sizes.rows(index, policy)
    )];
    for (name, ty) in columns(index, policy) {
        let visible = t.column(&name);
        let value = match (visible, known(index, &name, "g.i", policy, sizes)) {
            (_, Some(value)) => value,
            (Some(c), None) => some(c, salt(index, &name, policy), policy, &mut from),
            (None, None) => identity(&ty, "g.i"),
        };
        items.push(format!("{value} AS {}", ident(&name)));
    }
    format!("SELECT {} FROM {}", items.join(", "), from.join(" CROSS JOIN "))
}

/// The columns that a fetch may name, visible or not: the table's own, those that lead to the unit, and those that other
/// tables' rows find theirs by.
fn columns(index: usize, policy: &Policy) -> Vec<(String, SqlType)> {
    let Some(t) = policy.tables.get(index) else { return Vec::new() };
    let mut all: Vec<(String, SqlType)> = t.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
    match &t.privacy {
        Privacy::Private { unit, ty, .. } => all.push((unit.clone(), ty.clone())),
        Privacy::Path(path) => all.extend(path.columns.iter().cloned().zip(path.types.iter().cloned())),
        Privacy::Public => {}
    }
    for other in &policy.tables {
        if let Privacy::Path(path) = &other.privacy
            && path.table == index
        {
            all.extend(path.key.iter().cloned().zip(path.types.iter().cloned()));
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|(name, _)| seen.insert(name.clone()));
    all
}

/// The row, from 1, that a table's row number `row` belongs to, of so many: itself where the tables have as many.
fn owner(own: u64, owners: u64, row: &str) -> String {
    if own == owners { row.to_owned() } else { format!("({} % {owners} + 1)", hash(row, 0)) }
}

/// A value by which rows find each other, of the table's row number `row`; None for a column that is no such.
fn known(index: usize, name: &str, row: &str, policy: &Policy, sizes: &Sizes) -> Option<String> {
    let t = policy.tables.get(index)?;
    let own = sizes.rows(index, policy);
    match &t.privacy {
        Privacy::Private { unit, ty, .. } if unit == name => {
            return Some(identity(ty, &owner(own, sizes.units, row)));
        }
        Privacy::Path(path) => {
            if let Some(place) = path.columns.iter().position(|c| c == name) {
                let row = owner(own, sizes.rows(path.table, policy), row);
                return known(path.table, path.key.get(place)?, &row, policy, sizes);
            }
        }
        _ => {}
    }
    let (_, ty) = columns(index, policy).into_iter().find(|(column, _)| column == name)?;
    let found_by = |other: &Table| match &other.privacy {
        Privacy::Path(path) => path.table == index && path.key.iter().any(|c| c == name),
        _ => false,
    };
    let key = t.keys.iter().any(|k| matches!(k.as_slice(), [one] if one == name));
    (key || policy.tables.iter().any(found_by)).then(|| identity(&ty, row))
}

/// A number from 0 that follows from a row's number, an int8.
fn hash(row: &str, salt: u64) -> String {
    format!("(pg_catalog.hashint8extended({row}, {salt}) & 2147483647)")
}

fn salt(index: usize, name: &str, policy: &Policy) -> u64 {
    let place = policy.tables.get(index).and_then(|t| t.columns.iter().position(|c| c.name == name));
    1 + 2 * (1_000 * index as u64 + place.unwrap_or_default() as u64)
}

/// The value of a type that stands for a number from 1, another one for each number as far as the type has so many.
fn identity(ty: &SqlType, row: &str) -> String {
    let name = ty.sql_name();
    let text = match ty {
        SqlType::Bool => format!("({row} % 2 = 0)"),
        SqlType::Int2 => format!("({row} % 32767)"),
        SqlType::Int4 | SqlType::Int8 | SqlType::Numeric { .. } | SqlType::Float4 | SqlType::Float8 => {
            row.to_owned()
        }
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar => row.to_owned(),
        SqlType::Uuid => format!("pg_catalog.md5(({row})::pg_catalog.text)"),
        SqlType::Date => format!("('2024-01-01'::pg_catalog.date + ({row})::pg_catalog.int4)"),
        SqlType::Timestamp | SqlType::Timestamptz => {
            format!(
                "('2024-01-01'::pg_catalog.{name_of} + ({row}) * '1 minute'::pg_catalog.interval)",
                name_of = if *ty == SqlType::Timestamp { "timestamp" } else { "timestamptz" }
            )
        }
        SqlType::Time | SqlType::Interval => format!("(({row} % 86400) * '1 second'::pg_catalog.interval)"),
        SqlType::Inet | SqlType::Cidr => format!("('10.0.0.0'::pg_catalog.inet + {row} % 16777216)"),
        SqlType::Enum { .. } => {
            let all = format!("pg_catalog.enum_range(NULL::{name})");
            format!("({all})[(1 + ({row} - 1) % pg_catalog.cardinality({all}))::pg_catalog.int4]")
        }
        SqlType::Other { .. } => "NULL".to_owned(),
    };
    format!("({text})::{name}")
}

/// Some value that the policy allows in a column.
fn some(c: &Column, salt: u64, policy: &Policy, from: &mut Vec<String>) -> String {
    let hash = hash("g.i", salt);
    let name = c.ty.sql_name();
    let value = match (&c.domain, &c.range) {
        (Some(Domain::Values(values)), _) => {
            let list: Vec<String> = values.iter().map(|v| string(v)).collect();
            let place = format!("(1 + {hash} % {})::pg_catalog.int4", list.len().max(1));
            format!("((ARRAY[{}]::pg_catalog.text[])[{place}])::{name}", list.join(", "))
        }
        (Some(Domain::References { table: t, column }), _) => {
            let public = policy.tables.get(*t).map(table).unwrap_or_default();
            let (column, alias) = (ident(column), format!("d{salt}"));
            from.push(format!(
                "(SELECT ARRAY(SELECT DISTINCT t.{column} FROM {public} AS t WHERE t.{column} IS NOT NULL ORDER BY 1 LIMIT {REFERENCED}) AS a) AS {alias}"
            ));
            let all = format!("pg_catalog.cardinality({alias}.a)");
            format!("({alias}.a[(1 + {hash} % GREATEST({all}, 1))::pg_catalog.int4])::{name}")
        }
        (None, Some(Range::Number { low, high })) => {
            let step = match &c.grid {
                _ if c.ty.is_integer() => "1".to_owned(),
                Some(grid) => number(grid),
                None => format!("(({} - {}) / 1000)", number(high), number(low)),
            };
            let (low, high) = (number(low), number(high));
            let steps = format!("(1 + pg_catalog.div(({high} - {low})::pg_catalog.numeric, {step}))");
            // A range of one value has no steps.
            let value = match low == high {
                true => low,
                false => format!("({low} + ({hash})::pg_catalog.numeric % {steps} * {step})"),
            };
            if c.ty.is_float() { float(&value, &c.ty) } else { format!("{value}::{name}") }
        }
        (None, Some(Range::Time { low, high })) => {
            let span = high.saturating_sub(*low);
            let first = format!("'{}'::pg_catalog.timestamp", timestamp(*low));
            let past = format!("({span}::pg_catalog.numeric * {hash} / 2147483647)::pg_catalog.int8");
            let value = format!("({first} + {past} * '1 microsecond'::pg_catalog.interval)");
            match c.ty {
                SqlType::Timestamptz => format!("pg_catalog.timezone('UTC', {value})"),
                _ => format!("{value}::{name}"),
            }
        }
        (None, None) if !c.paths.is_empty() => {
            let all: Vec<_> = c.paths.iter().enumerate().map(|(i, p)| (i, p.keys.as_slice(), p)).collect();
            members(&all, salt)
        }
        (None, None) => identity(&c.ty, &format!("(1 + {hash} % 100)")),
    };
    if c.not_null {
        return value;
    }
    format!("CASE WHEN {} % {NULLS} <> 0 THEN {value} END", self::hash("g.i", salt + 1))
}

/// A json value with these members: the number of each, what of its path lies below here, and what is declared of it.
fn members(paths: &[(usize, &[String], &JsonPath)], salt: u64) -> String {
    let mut names: Vec<&String> = paths.iter().filter_map(|(_, keys, _)| keys.first()).collect();
    names.sort_unstable();
    names.dedup();
    let each = names.into_iter().map(|name| {
        let below = paths.iter().filter_map(|(i, keys, p)| {
            let (first, rest) = keys.split_first()?;
            (first == name).then_some((*i, rest, *p))
        });
        let (inner, own): (Vec<_>, Vec<_>) = below.partition(|(_, rest, _)| !rest.is_empty());
        let value = match own.first() {
            Some((i, _, p)) if inner.is_empty() => member(p, salt + 2 * MEMBERS * (*i as u64 + 1)),
            _ => members(&inner, salt),
        };
        format!("{}::pg_catalog.text, {value}", string(name))
    });
    format!("pg_catalog.jsonb_build_object({})", each.collect::<Vec<_>>().join(", "))
}

/// Some value that the policy allows at a path.
fn member(p: &JsonPath, salt: u64) -> String {
    let hash = hash("g.i", salt);
    let value = match (&p.values, &p.range) {
        (Some(values), _) => {
            let list: Vec<String> = values.iter().map(|v| string(v)).collect();
            let place = format!("(1 + {hash} % {})::pg_catalog.int4", list.len().max(1));
            format!("(ARRAY[{}]::pg_catalog.text[])[{place}]", list.join(", "))
        }
        (None, Some((low, high))) => {
            let (low, high) = (number(low), number(high));
            format!("LEAST({low} + ({hash})::pg_catalog.numeric % (1 + {high} - {low}), {high})")
        }
        (None, None) => format!("(1 + {hash} % 100)::pg_catalog.text"),
    };
    format!("CASE WHEN {} % {NULLS} <> 0 THEN {value} END", self::hash("g.i", salt + 1))
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn constants_end_where_postgresql_ends_them() {
        for (text, escapes, length) in [
            ("'a' b", false, 3),
            ("'it''s' b", false, 7),
            ("'a\\' b'", false, 4),
            ("'a\\' b' c", true, 7),
            ("'' b", false, 2),
            ("'open", false, 5),
        ] {
            assert_eq!(constant(text, escapes), length, "{text}");
        }
    }
}
