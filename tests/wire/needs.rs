//! A server that lacks something on which answers rest is refused by the name of that, one thing taken away at a time.

use crate::city::{DATA, policy, published, room_for};
use crate::support::{Workdir, database};
use noisegate::backend::needs::NEEDS;
use std::fmt::Write as _;

/// Another function in the place of one of PostgreSQL's own, which is called by its number where it is known.
fn other(name: &str, args: &str, returns: &str, body: &str) -> String {
    format!(
        "ALTER FUNCTION pg_catalog.{name}({args}) RENAME TO {name}_is_gone;
         CREATE FUNCTION pg_catalog.{name}({args}) RETURNS {returns} LANGUAGE sql VOLATILE AS $$ {body} $$;"
    )
}

/// An operator that gives something else.
fn operator(name: &str, left: &str, right: &str, returns: &str, body: &str) -> String {
    format!(
        "CREATE FUNCTION pg_catalog.instead({left}, {right}) RETURNS {returns} LANGUAGE sql VOLATILE AS $$ {body} $$;
         UPDATE pg_catalog.pg_operator SET oprcode = 'pg_catalog.instead'::regproc
          WHERE oprname = '{name}' AND oprleft = '{left}'::regtype AND oprright = '{right}'::regtype;"
    )
}

/// What a superuser does so that a database does not give the need of this name.
fn taken_away(name: &str) -> String {
    match name {
        "one snapshot for a transaction" => other(
            "current_setting",
            "text",
            "text",
            "SELECT CASE $1 WHEN 'transaction_isolation' THEN 'read committed' ELSE pg_catalog.current_setting_is_gone($1) END",
        ),
        "locks that hold off a change of a table" => "CREATE OR REPLACE VIEW pg_catalog.pg_locks AS
            SELECT * FROM pg_catalog.pg_lock_status() l WHERE l.mode <> 'AccessShareLock'"
            .into(),
        "versions of catalog rows" => operator("~", "text", "text", "bool", "SELECT false"),
        "whole numbers that overflow with an error" => operator("+", "int8", "int4", "int8", "SELECT $1"),
        "whole numbers that divide towards zero" => {
            operator("/", "int8", "int4", "int8", "SELECT pg_catalog.floor($1::numeric / $2::numeric)::int8")
        }
        "double precision as IEEE 754 has it" => {
            other("sqrt", "float8", "float8", "SELECT 1.41421356::float8")
        }
        "hashes of numbers and texts by a seed" => {
            "ALTER FUNCTION pg_catalog.hashtextextended(text, int8) RENAME TO hashtext_is_gone".into()
        }
        "empty texts that are not NULL" => other("length", "text", "int4", "SELECT NULL::int4"),
        "windows over aggregates, and queries that are computed once" => {
            operator("=", "numeric", "numeric", "bool", "SELECT false")
        }
        "trees of partitions" => {
            "ALTER FUNCTION pg_catalog.pg_partition_tree(regclass) RENAME TO tree_is_gone".into()
        }
        "the time of its start" => other("clock_timestamp", "", "timestamptz", "SELECT NULL::timestamptz"),
        "limits on the time of statements" => other("pg_sleep", "float8", "void", "SELECT"),
        other => panic!("nobody takes away {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_lacks_something_is_refused_by_its_name() {
    for need in NEEDS {
        let db = published(database(DATA).await).await;
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(10)));
        db.execute(&format!("SET allow_system_table_mods = on; {}", taken_away(need.name))).await;
        let out = dir.noisegate(&["check"]).await;
        assert!(!out.status.success(), "{}", need.name);
        // What else fails for it, before it is asked, fails as well.
        let told = format!("the database does not give {}", need.name);
        assert!(out.stderr.contains(&told), "{}: {}", need.name, out.stderr);
    }
}

/// The table of the document.
#[test]
fn needs_are_documented() {
    let mut table = String::new();
    for need in NEEDS {
        let sql = need.sql.replace('|', "\\|");
        writeln!(table, "| {} | {} | `{sql}` |", need.name, need.why).unwrap();
    }
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations.md");
    assert!(std::fs::read_to_string(document).unwrap().contains(&table), "docs/operations.md lacks\n{table}");
}
