//! Facts about the database that a policy shows, as lists of OIDs: asked once for a policy, by the
//! finish login.

use super::text;
use policy::{Policy, Privacy};
use std::collections::BTreeMap;

/// A column of a visible table.
pub struct Shown {
    /// OID of the table.
    pub table: u32,
    /// Number in the database, which has gaps where columns are hidden.
    pub number: i16,
    /// Number for clients.
    pub new: usize,
    /// Name of the column.
    pub name: String,
}

/// A relation by its names.
pub struct Named {
    /// `pg_class.oid`, or one of noisegate's own.
    pub oid: u32,
    /// Schema of the relation.
    pub schema: String,
    /// Name in its schema.
    pub name: String,
}

/// A relation of `pg_catalog` or `information_schema`.
pub struct System {
    /// Names and types of its columns.
    pub columns: Vec<(String, String)>,
    /// Whether it is a view: one has no system columns.
    pub view: bool,
    /// Whether every role may read something of it.
    pub readable: bool,
    /// Columns that not every role may read.
    pub closed: Vec<String>,
}

/// The lists.
pub struct Facts {
    /// `server_version_num`.
    pub version: u32,
    /// The server's own relations, by schema and name.
    pub catalogs: BTreeMap<(String, String), System>,
    /// Columns of the server's own functions that give rows, of those that every role may call; of others None.
    pub functions: BTreeMap<String, Option<Vec<(String, String)>>>,
    /// Visible tables.
    pub tables: Vec<Named>,
    /// Visible columns of the tables.
    pub shown: Vec<Shown>,
    /// Indexes of visible columns, without predicates and expressions.
    pub indexes: Vec<Named>,
    /// Keys among visible columns.
    pub constraints: Vec<u32>,
    /// Defaults that are constants.
    pub defaults: Vec<u32>,
    /// Types of visible columns, with their arrays, elements and bases, and the row types of visible tables.
    pub types: Vec<u32>,
}

/// Questions of [`Facts`] to the database: each text gives rows of text.
pub struct Questions {
    /// In the order in which [`Facts::new`] takes their answers.
    pub texts: [String; QUESTIONS],
}

/// How many there are.
pub const QUESTIONS: usize = 7;

/// The tables that there are for analysts: those of randomised reports are not.
fn for_analysts(policy: &Policy) -> impl Iterator<Item = &policy::Table> {
    policy.tables.iter().filter(|t| !t.collected)
}

/// Rows as the database gives them.
type Rows = Vec<Vec<Option<String>>>;

/// A default that shows nothing but a constant.
const CONSTANT: &str = "^\\(?-?([0-9]+(\\.[0-9]+)?|''([^'']|'''')*''|true|false|NULL)\\)?(::[a-zA-Z0-9_ .\"]+(\\([0-9, ]+\\))?(\\[\\])?)?$";

impl Questions {
    /// For the tables of a policy.
    pub fn of(policy: &Policy) -> Self {
        let tables = text::numbers(for_analysts(policy).map(|t| t.oid), "oid");
        let columns =
            || for_analysts(policy).flat_map(|t| t.columns.iter().map(move |c| (t.oid, c.name.as_str())));
        let visible = format!(
            "(SELECT v.relid, a.attnum, a.attname, a.atttypid FROM {} AS v(relid, name)
              JOIN pg_catalog.pg_attribute AS a ON a.attrelid = v.relid AND a.attname = v.name AND a.attnum > 0
               AND NOT a.attisdropped)",
            text::table(&[
                text::numbers(columns().map(|(oid, _)| oid), "oid"),
                text::texts(columns().map(|(_, name)| name)),
            ]),
        );
        let seen = |table: &str, numbers: &str| {
            format!(
                "NOT EXISTS (SELECT FROM pg_catalog.unnest({numbers}::pg_catalog.int2[]) AS p(num)
                   WHERE p.num NOT IN (SELECT v.attnum FROM {visible} AS v WHERE v.relid = {table}))"
            )
        };
        Self {
            texts: [
                "SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), c.relkind = 'v',
                        pg_catalog.has_any_column_privilege('public', c.oid, 'SELECT'),
                        pg_catalog.has_column_privilege('public', c.oid, a.attnum, 'SELECT')
                   FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                  WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.oid < 16384 AND c.relkind IN ('r', 'v')
                    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.oid, a.attnum"
                    .into(),
                format!("SELECT v.relid, v.attnum, v.attname FROM {visible} AS v ORDER BY v.relid, v.attnum"),
                format!(
                    "SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_index AS i
                       JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
                       JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                      WHERE i.indrelid = ANY({tables}) AND i.indexprs IS NULL AND i.indpred IS NULL
                        AND i.indisvalid AND i.indisready AND i.indislive AND {} ORDER BY c.oid",
                    seen("i.indrelid", "i.indkey")
                ),
                format!(
                    "SELECT k.oid FROM pg_catalog.pg_constraint AS k
                      WHERE k.conrelid = ANY({tables}) AND k.contype IN ('p', 'u', 'f') AND {}
                        AND (k.contype <> 'f' OR (k.confrelid = ANY({tables}) AND {})) ORDER BY k.oid",
                    seen("k.conrelid", "k.conkey"),
                    seen("k.confrelid", "k.confkey"),
                ),
                format!(
                    "SELECT d.oid FROM pg_catalog.pg_attrdef AS d
                       JOIN {visible} AS v ON v.relid = d.adrelid AND v.attnum = d.adnum
                       JOIN pg_catalog.pg_attribute AS a ON a.attrelid = v.relid AND a.attnum = v.attnum
                      WHERE a.attgenerated = '' AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) ~ E'{}' ORDER BY d.oid",
                    CONSTANT.replace('\\', "\\\\")
                ),
                format!(
                    "WITH RECURSIVE used(oid) AS (SELECT v.atttypid FROM {visible} AS v
                       UNION SELECT r.oid FROM pg_catalog.pg_type AS r WHERE r.typrelid = ANY({tables})
                       UNION SELECT m.oid FROM used AS u JOIN pg_catalog.pg_type AS t ON t.oid = u.oid,
                         LATERAL (VALUES (t.typelem), (t.typarray), (t.typbasetype)) AS m(oid) WHERE m.oid <> 0)
                     SELECT used.oid FROM used WHERE used.oid >= 16384 ORDER BY 1"
                ),
                // Those that compute from their arguments alone are no catalogs.
                "SELECT p.proname, COALESCE(p.proargnames[k.n], p.proname), pg_catalog.format_type(k.type, NULL),
                        pg_catalog.has_function_privilege('public', p.oid, 'EXECUTE')
                   FROM pg_catalog.pg_proc AS p,
                        LATERAL ROWS FROM (pg_catalog.unnest(COALESCE(p.proallargtypes, ARRAY[p.prorettype])))
                            WITH ORDINALITY AS k(type, n)
                  WHERE p.pronamespace = 11 AND p.oid < 16384 AND p.proretset AND p.provolatile <> 'i'
                    AND pg_catalog.starts_with(p.proname::pg_catalog.text, 'pg_') AND COALESCE(p.proargmodes[k.n], 'o') IN ('o', 't')
                  ORDER BY p.oid, k.n"
                    .into(),
            ],
        }
    }
}

impl Facts {
    /// From the answers to [`Questions`].
    pub fn new(policy: &Policy, version: u32, answers: [Rows; QUESTIONS]) -> Self {
        let [columns, shown, indexes, constraints, defaults, types, calls] = answers;
        let mut catalogs: BTreeMap<(String, String), System> = BTreeMap::new();
        for row in columns {
            let [Some(schema), Some(name), Some(column), Some(ty), Some(view), Some(readable), Some(open)] =
                row.as_slice()
            else {
                continue;
            };
            let (view, readable) = (view == "t", readable == "t");
            let new = || System { columns: Vec::new(), view, readable, closed: Vec::new() };
            let system = catalogs.entry((schema.clone(), name.clone())).or_insert_with(new);
            if open != "t" {
                system.closed.push(column.clone());
            }
            system.columns.push((column.clone(), without_lookup(ty)));
        }
        let mut functions: BTreeMap<String, Option<Vec<(String, String)>>> = BTreeMap::new();
        for row in calls {
            let [Some(function), Some(column), Some(ty), Some(callable)] = row.as_slice() else { continue };
            let columns =
                functions.entry(function.clone()).or_insert_with(|| (callable == "t").then(Vec::new));
            columns.iter_mut().for_each(|c| c.push((column.clone(), without_lookup(ty))));
        }
        let tables = for_analysts(policy).map(|t| Named {
            oid: t.oid,
            schema: t.schema.clone(),
            name: t.name.clone(),
        });
        let mut facts = Self {
            version,
            catalogs,
            functions,
            tables: tables.collect(),
            shown: Vec::new(),
            indexes: indexes.iter().filter_map(|r| named(r)).collect(),
            constraints: oids(&constraints),
            defaults: oids(&defaults),
            types: oids(&types),
        };
        for row in &shown {
            let [Some(table), Some(number), Some(name)] = row.as_slice() else { continue };
            let (Ok(table), Ok(number)) = (table.parse(), number.parse()) else { continue };
            let new = facts.shown.iter().filter(|s: &&Shown| s.table == table).count() + 1;
            facts.shown.push(Shown { table, number, new, name: name.clone() });
        }
        facts
    }
}

/// Arrays of names that are looked up are arrays of OIDs: nothing is compared with a literal whose reading tells which names
/// there are. Single ones are, within a statement ([`super::scope::Column::named`]).
fn without_lookup(ty: &str) -> String {
    if ty.starts_with("reg") && ty.ends_with("[]") { "oid[]".into() } else { ty.to_owned() }
}

fn oids(rows: &Rows) -> Vec<u32> {
    rows.iter().flatten().flatten().filter_map(|cell| cell.parse().ok()).collect()
}

fn named(row: &[Option<String>]) -> Option<Named> {
    let [Some(oid), Some(schema), Some(name)] = row else { return None };
    Some(Named { oid: oid.parse().ok()?, schema: schema.clone(), name: name.clone() })
}

/// noisegate's own lines under the comments of tables and columns: the table's OID, the column's number in the database
/// and for clients (0 and 0: the table), the line.
pub fn notes(policy: &Policy, facts: &Facts) -> Vec<(u32, i16, usize, String)> {
    let mut out = Vec::new();
    for table in for_analysts(policy) {
        let line = match &table.privacy {
            Privacy::Public => "noisegate: public".to_owned(),
            Privacy::Private { unit, .. } => private(table, unit),
            Privacy::Path(path) => {
                let parent = policy.tables.get(path.table).map_or("", |t| t.name.as_str());
                private(table, &format!("that of {parent}, by {}", path.columns.join(", ")))
            }
        };
        out.push((table.oid, 0, 0, line));
        for column in &table.columns {
            let number = facts.shown.iter().find(|s| s.table == table.oid && s.name == column.name);
            let Some(shown) = number else { continue };
            out.push((table.oid, shown.number, shown.new, note(policy, table, column)));
        }
    }
    out
}

/// The comment on a private table, for those who meet it in a tool: tools that show no NOTICE show this.
fn private(table: &policy::Table, unit: &str) -> String {
    let measured = match (&table.profile, &table.cut_rows) {
        _ if table.proven_rows == Some(1) => "a key proves that bounds cut no row".to_owned(),
        (Some(profile), _) => {
            let day = |since_1970: i64| schema::time::date(since_1970.saturating_sub(schema::time::EPOCH));
            let (measured, until) = (day(profile.measured), day(profile.valid_until));
            format!("what bounds cut was measured on {measured}, for answers until {until}")
        }
        (None, Some(_)) => "what bounds cut is as its owner says".to_owned(),
        (None, None) => "nobody has measured what bounds cut (noisegate profile)".to_owned(),
    };
    format!("noisegate: private, the unit is {unit}; answers have noise, rows are refused; {measured}")
}

fn note(policy: &Policy, table: &policy::Table, column: &policy::Column) -> String {
    if table.privacy == Privacy::Public {
        return "noisegate: public".into();
    }
    if table.unit_column() == Some(column.name.as_str()) {
        return "noisegate: the unit".into();
    }
    let values = match &column.domain {
        Some(policy::Domain::Values(values)) => Some(format!("public values {}", values.join(", "))),
        Some(policy::Domain::References { table, column }) => {
            policy.tables.get(*table).map(|t| format!("public values are those of {}.{column}", t.name))
        }
        None => None,
    };
    let range = column.range.as_ref().map(|range| match range {
        policy::Range::Number { low, high } => {
            format!("from {} to {}", low.normalized().to_plain_string(), high.normalized().to_plain_string())
        }
        policy::Range::Time { low, high } => {
            format!("from {} to {}", schema::time::timestamp(*low), schema::time::timestamp(*high))
        }
    });
    let facts: Vec<String> = range.into_iter().chain(values).collect();
    if facts.is_empty() { "noisegate: private".into() } else { format!("noisegate: {}", facts.join("; ")) }
}
