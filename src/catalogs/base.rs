//! The sanitised text of each relation, for one policy.

use super::facts::{Facts, Named, System, notes};
use super::relations::{BASES, Base};
use super::scope::Column;
use super::text::{filled, ident, numbers, string, table, texts};
use super::views::views;
use policy::{Collected, Policy, View};
use sql::ast::Own;
use sqlparser::ast::Query;
use std::collections::BTreeMap;

/// The OID of noisegate's own schema; those of its relations follow. No counter of a server is near it.
const OWN_SCHEMA: u32 = 4_294_960_000;

/// The OIDs of other databases of the port begin here.
const DATABASES: u32 = 4_294_950_000;

/// A relation that is shown and that the database does not have: one of noisegate's own, a view of the policy, or what is
/// collected.
struct Virtual {
    oid: u32,
    schema: String,
    name: String,
    /// Names of the columns, and their types, by name in `pg_catalog` or by OID.
    columns: Vec<(String, String)>,
    /// What its comment says, and those of its columns.
    notes: Option<(String, Vec<String>)>,
}

/// All of them. Those that every policy has come first.
fn virtuals(policy: &Policy) -> Vec<Virtual> {
    let own = Own::ALL.into_iter().map(|own| Virtual {
        oid: 0,
        schema: Own::SCHEMA.to_owned(),
        name: own.name().to_owned(),
        columns: own.columns().iter().map(|(name, ty)| ((*name).to_owned(), (*ty).to_owned())).collect(),
        notes: None,
    });
    let views = policy.views.iter().map(|view| Virtual {
        oid: 0,
        schema: View::SCHEMA.to_owned(),
        name: view.name.clone(),
        columns: view.columns.iter().map(|(name, ty)| (name.clone(), ty.oid().to_string())).collect(),
        notes: Some(("noisegate: a view of the policy".to_owned(), Vec::new())),
    });
    let collected = policy.collects.iter().map(|c| Virtual {
        oid: 0,
        schema: c.schema.clone(),
        name: c.name.clone(),
        columns: c.columns.iter().map(|c| (c.name.clone(), c.kind.ty().oid().to_string())).collect(),
        notes: Some((
            "noisegate: collected; answers are estimates, and cost nothing".to_owned(),
            c.columns.iter().map(collected_note).collect(),
        )),
    });
    let all = own.chain(views).chain(collected);
    (OWN_SCHEMA + 1..).zip(all).map(|(oid, v)| Virtual { oid, ..v }).collect()
}

/// How a column was randomised.
fn collected_note(c: &Collected) -> String {
    let epsilon = c.epsilon.normalized().to_plain_string();
    format!("noisegate: {}, randomised by {} at epsilon {epsilon}", c.kind.word(), c.randomiser.word())
}

/// A relation as it is printed.
pub struct Printed {
    /// A SELECT.
    pub text: String,
    /// Columns of the relation.
    pub columns: Vec<Column>,
    /// The relation shows the session itself.
    pub of_session: bool,
    /// Name, when it is a table.
    pub table: Option<String>,
}

/// What is filled in when a statement is printed.
const OF_SESSION: [&str; 5] = ["shown", "roles", "settings", "database", "databases"];

/// The catalogs of one policy.
pub struct Catalogs {
    bases: BTreeMap<&'static str, Printed>,
    /// All relations of the server's own, and its functions that give rows.
    pub(super) system: BTreeMap<(String, String), System>,
    pub(super) functions: BTreeMap<String, Option<Vec<(String, String)>>>,
    pub(super) views: BTreeMap<(String, String), Box<Query>>,
    /// Relations that names may stand for: tables, indexes, noisegate's own.
    pub(super) names: Vec<Named>,
    pub(super) tables: Vec<Named>,
    /// Visible columns by their table's OID, under the numbers that clients see.
    pub(super) columns: Vec<(u32, usize, String)>,
    pub(super) schemas: Vec<String>,
    /// Arrays of OIDs, as text.
    pub(super) relations: String,
    pub(super) types: String,
    pub(super) indexes: String,
    pub(super) constraints: String,
}

impl Catalogs {
    /// The catalogs of a policy, by what the database has of it.
    pub fn new(policy: &Policy, facts: Facts) -> Self {
        let oids = |named: &[Named]| numbers(named.iter().map(|n| n.oid), "oid");
        let own = virtuals(policy);
        let mut schemas: Vec<String> = policy.tables.iter().map(|t| t.schema.clone()).collect();
        schemas.sort();
        schemas.dedup();
        let replacements = replacements(policy, &facts, &own, &schemas);
        let bases = BASES.iter().filter_map(|b| Some((b.name, printed(b, &facts, &replacements)?))).collect();
        let Facts { tables, shown, indexes, constraints, types, catalogs, functions, .. } = facts;
        let named = |v: &Virtual| Named { oid: v.oid, schema: v.schema.clone(), name: v.name.clone() };
        let copies = |n: &Named| Named { oid: n.oid, schema: n.schema.clone(), name: n.name.clone() };
        let mut names: Vec<Named> = tables.iter().chain(&indexes).map(copies).collect();
        names.extend(own.iter().map(named));
        schemas.push(Own::SCHEMA.to_owned());
        Self {
            bases,
            system: catalogs,
            functions,
            views: views(),
            relations: oids(&names),
            types: numbers(types, "oid"),
            indexes: oids(&indexes),
            constraints: numbers(constraints, "oid"),
            columns: shown.into_iter().map(|s| (s.table, s.new, s.name)).collect(),
            names,
            tables,
            schemas,
        }
    }

    /// A relation of `pg_catalog` that is no view of ours.
    pub(super) fn base(&self, name: &str) -> Option<&Printed> {
        self.bases.get(name)
    }
}

fn replacements(
    policy: &Policy,
    facts: &Facts,
    own: &[Virtual],
    schemas: &[String],
) -> Vec<(&'static str, String)> {
    let oids = |named: &[Named]| numbers(named.iter().map(|n| n.oid), "oid");
    let columns = table(&[
        numbers(facts.shown.iter().map(|s| s.table), "oid"),
        numbers(facts.shown.iter().map(|s| s.number), "int2"),
        numbers(facts.shown.iter().map(|s| s.new), "int2"),
    ]) + " AS v(relid, num, new)";
    // Numbers of columns in the database become those that clients see.
    let renumbered = |array: &str, relid: &str| {
        format!(
            "ARRAY(SELECT COALESCE(v.new, k.num) FROM pg_catalog.unnest({array}::pg_catalog.int2[]) WITH ORDINALITY AS k(num, n)
             LEFT JOIN {columns} ON v.relid = {relid} AND v.num = k.num ORDER BY k.n)"
        )
    };
    let own_columns: Vec<(u32, usize, &str, &str)> = own
        .iter()
        .flat_map(|v| v.columns.iter().enumerate().map(|(i, (n, t))| (v.oid, i + 1, n.as_str(), t.as_str())))
        .collect();
    let mut notes = notes(policy, facts);
    for v in own {
        let Some((line, columns)) = &v.notes else { continue };
        notes.push((v.oid, 0, 0, line.clone()));
        // Neither has a number in the database.
        notes.extend((1..).zip(columns).map(|(new, line)| (v.oid, -1, new, line.clone())));
    }
    vec![
        ("never", if facts.version >= 140_000 { "-1" } else { "0" }.to_owned()),
        ("stattarget", if facts.version >= 170_000 { "NULL" } else { "-1" }.to_owned()),
        (
            "conkey",
            format!(
                "CASE WHEN x.oid < 16384 THEN x.conkey ELSE {} END",
                renumbered("x.conkey", "x.conrelid")
            ),
        ),
        (
            "confkey",
            format!("CASE WHEN x.confkey IS NOT NULL THEN {} END", renumbered("x.confkey", "x.confrelid")),
        ),
        (
            "indkey",
            format!(
                "CASE WHEN x.indexrelid < 16384 THEN x.indkey ELSE pg_catalog.array_to_string({}, ' ')::pg_catalog.int2vector END",
                renumbered("x.indkey", "x.indrelid")
            ),
        ),
        ("columns", columns.clone()),
        ("tables", oids(&facts.tables)),
        ("indexes", oids(&facts.indexes)),
        ("constraints", numbers(&facts.constraints, "oid")),
        ("defaults", numbers(&facts.defaults, "oid")),
        ("types", numbers(&facts.types, "oid")),
        ("own_schema", OWN_SCHEMA.to_string()),
        (
            "own_tables",
            table(&[
                numbers(own.iter().map(|v| v.oid), "oid"),
                texts(own.iter().map(|v| v.name.as_str())),
                numbers(own.iter().map(|v| v.columns.len()), "int2"),
                texts(own.iter().map(|v| v.schema.as_str())),
            ]),
        ),
        (
            "own_columns",
            table(&[
                numbers(own_columns.iter().map(|c| c.0), "oid"),
                numbers(own_columns.iter().map(|c| c.1), "int2"),
                texts(own_columns.iter().map(|c| c.2)),
                texts(own_columns.iter().map(|c| c.3)),
            ]),
        ),
        ("schemas", texts(schemas.iter().map(String::as_str))),
        (
            "notes",
            table(&[
                numbers(notes.iter().map(|n| n.0), "oid"),
                numbers(notes.iter().map(|n| n.1), "int4"),
                numbers(notes.iter().map(|n| n.2), "int4"),
                texts(notes.iter().map(|n| n.3.as_str())),
            ]),
        ),
    ]
}

/// A relation's text: its rows that are shown, and those of noisegate's own. None where the server has no such relation.
fn printed(base: &Base, facts: &Facts, replacements: &[(&'static str, String)]) -> Option<Printed> {
    let known = facts.catalogs.get(&("pg_catalog".to_owned(), base.name.to_owned()))?;
    let items = |spec: &'static str| {
        let item = |part: &'static str| match part.split_once('=') {
            Some((name, text)) => (name.trim(), Some(text.trim())),
            None => (part.trim(), None),
        };
        spec.split(';').map(item).collect::<Vec<_>>()
    };
    let shown = items(base.columns);
    let own = base.own.map(|(from, spec)| (from, items(spec)));
    let (mut columns, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for column in &known.columns {
        let (name, ty) = column;
        let mask = shown.iter().find(|(n, _)| n == name).map_or(&Some("NULL"), |(_, mask)| mask);
        // A tree has no input: where one is shown, it is as text.
        let ty = match (ty.as_str(), mask) {
            ("pg_node_tree", Some(text)) if *text != "NULL" => "text",
            (ty, _) => ty,
        };
        let cast = |text: &str| format!("CAST({text} AS {ty})");
        first.push(match mask {
            None => format!("x.{} AS {}", ident(name), ident(name)),
            Some(text) => format!("{} AS {}", cast(text), ident(name)),
        });
        if let Some((_, spec)) = &own {
            let text = spec.iter().find(|(n, _)| n == name).and_then(|(_, t)| *t);
            second.push(cast(text.unwrap_or("NULL")));
        }
        columns.push(Column::of(column));
    }
    let mut text = format!(
        "SELECT {} FROM pg_catalog.{} AS x WHERE {}",
        first.join(", "),
        ident(base.name),
        base.filter
    );
    if let Some((from, _)) = own {
        text.push_str(&format!(" UNION ALL SELECT {} FROM {from}", second.join(", ")));
    }
    let of_session = OF_SESSION.iter().any(|name| text.contains(&format!("{{{name}}}")));
    let replacement =
        |name: &str| replacements.iter().find(|(n, _)| *n == name).map(|(_, text)| text.clone());
    let text = filled(&text, replacement);
    let table = (!known.view).then(|| base.name.to_owned());
    Some(Printed { text, columns, of_session, table })
}

/// The text of a relation, for one session.
pub(super) fn of_session(printed: &Printed, asker: &super::asker::Asker) -> String {
    if !printed.of_session {
        return printed.text.clone();
    }
    filled(&printed.text, |name| {
        Some(match name {
            "settings" => {
                let names = texts(asker.settings.iter().map(|(n, _)| n.as_str()));
                let values = texts(asker.settings.iter().map(|(_, v)| v.as_str()));
                table(&[names, values]) + " AS s(name, value)"
            }
            "roles" => {
                format!("(VALUES (10::pg_catalog.oid, 'noisegate'), ({USER}, {}))", string(&asker.user))
            }
            "shown" => texts(asker.readable.iter().map(String::as_str)),
            "database" => string(&asker.database),
            "databases" => table(&[
                numbers((DATABASES..).zip(&asker.databases).map(|(oid, _)| oid), "oid"),
                texts(asker.databases.iter().map(String::as_str)),
            ]),
            _ => return None,
        })
    })
}

/// The OID of who asks, as a role.
pub(super) const USER: u32 = 16_383;
