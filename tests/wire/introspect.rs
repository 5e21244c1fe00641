//! The schema snapshot of a real database: what is read, what proves something, what the fingerprint notices.

use crate::support::{TestDb, cluster, connect, database};
use noisegate::backend::introspect::{fingerprint, fingerprint_sql, read_schema};
use noisegate::schema::{Engine, RelationKind, Schema, SqlType};
use std::path::Path;
use tokio_postgres::Client;

const SCHEMA: &str = include_str!("../policy/schema.sql");

/// OIDs differ from run to run.
fn without_oids(mut schema: Schema) -> Schema {
    schema.server_version = 0;
    for (n, r) in schema.relations.iter_mut().enumerate() {
        r.oid = n as u32 + 1;
        for c in &mut r.columns {
            match &mut c.ty {
                SqlType::Enum { oid, .. } => *oid = 0,
                SqlType::Other { oid, .. } if *oid >= 16_384 => *oid = 0,
                _ => {}
            }
        }
    }
    schema
}

/// One database for most of it: nobody changes it on the way but in ways that do not matter.
#[tokio::test]
async fn introspection() {
    let db = database(SCHEMA).await;
    let client = db.superuser().await;
    let schema = read_schema(&client).await.unwrap();
    snapshot(&schema);
    usable_keys(&schema);
    outside_a_transaction(&client).await;
    needs_no_privilege(&db, &schema).await;
    bounds_do_not_depend_on_the_session(&client, &schema).await;
    fingerprint_notices().await;
    fingerprint_ignores_and_is_cheap(&db, &client, &schema).await;
    refuses_other_encodings(&db).await;
}

/// tests/policy/schema.json is what the policy's tests use. `UPDATE=1 cargo test --test wire introspect` writes it.
fn snapshot(schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy/schema.json");
    let read = without_oids(schema.clone());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&read).unwrap() + "\n").unwrap();
    }
    let expected: Schema = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (read, expected) in read.relations.iter().zip(&expected.relations) {
        assert_eq!(read, expected);
    }
    assert_eq!(read.relations.len(), expected.relations.len());
}

fn usable_keys(schema: &Schema) {
    let keys = |name| schema.relation("odd", name).unwrap().usable_keys();
    assert_eq!(keys("keys"), [["unit", "slot"]], "rule 7");
    assert_eq!(keys("parent"), Vec::<Vec<String>>::new(), "rule 7: inheritance");
    assert_eq!(keys("child"), Vec::<Vec<String>>::new());
    assert_eq!(keys("split"), [["id", "at"]]);
    assert_eq!(keys("ci_unit"), [["id"]]);
    assert_eq!(schema.relation("odd", "parent").unwrap().kind, RelationKind::InheritanceParent);
    assert!(schema.relations.iter().all(|r| r.name != "hidden_from_us" && r.schema != "pg_catalog"));
}

async fn outside_a_transaction(client: &Client) {
    let query = "SELECT current_setting('search_path'), current_setting('transaction_read_only')";
    let row = client.query_one(query, &[]).await.unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("\"$user\", public", "off"));
}

async fn needs_no_privilege(db: &TestDb, schema: &Schema) {
    let client = connect(&db.finish_url).await;
    assert!(client.query("SELECT * FROM riders", &[]).await.is_err());
    assert_eq!(read_schema(&client).await.unwrap(), *schema);
}

async fn bounds_do_not_depend_on_the_session(client: &Client, schema: &Schema) {
    let oids: Vec<u32> = schema.relations.iter().map(|r| r.oid).collect();
    let before = fingerprint(client, &oids, Engine::Postgresql).await.unwrap();
    client
        .batch_execute(
            "SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Tokyo'; SET search_path = odd; \
             SET extra_float_digits = -3; SET IntervalStyle = sql_standard",
        )
        .await
        .unwrap();
    assert_eq!(read_schema(client).await.unwrap(), *schema);
    assert_eq!(fingerprint(client, &oids, Engine::Postgresql).await.unwrap(), before);
    client.batch_execute("RESET ALL").await.unwrap();
}

/// Soundness rule 7: every change that a plan could rest on changes the fingerprint, inside a transaction too.
async fn fingerprint_notices() {
    let client = database(SCHEMA).await.superuser().await;
    let names = ["odd.keys", "odd.checks", "odd.types", "odd.split", "odd.seen", "odd.ci_unit", "riders"];
    let mut oids: Vec<u32> = Vec::new();
    for name in names {
        oids.push(client.query_one(&format!("SELECT '{name}'::regclass::oid"), &[]).await.unwrap().get(0));
    }
    let mut before = fingerprint(&client, &oids, Engine::Postgresql).await.unwrap();
    assert_eq!(before.len(), 64);
    for change in [
        "ALTER TABLE odd.keys DROP CONSTRAINT keys_unit_slot_extra_key",
        "CREATE UNIQUE INDEX again ON odd.keys (unit, slot)",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'odd.again'::regclass",
        "ALTER TABLE odd.keys ALTER maybe SET NOT NULL",
        "ALTER TABLE odd.keys ALTER maybe DROP NOT NULL",
        "ALTER TABLE odd.keys ADD COLUMN new int",
        "ALTER TABLE odd.keys DROP COLUMN new",
        "ALTER TABLE odd.keys ALTER extra TYPE bigint",
        "ALTER TABLE odd.types ALTER v TYPE varchar(10) COLLATE odd.ci",
        "ALTER TABLE odd.keys RENAME COLUMN extra TO renamed",
        "ALTER TABLE odd.checks DROP CONSTRAINT checks_day_check",
        "ALTER TABLE odd.checks ADD CONSTRAINT checks_day_check CHECK (day BETWEEN 1 AND 31)",
        "ALTER TABLE odd.checks VALIDATE CONSTRAINT late_check",
        "ALTER TABLE odd.checks ALTER score TYPE numeric(6,2)",
        "ALTER TYPE odd.mood ADD VALUE 'elated'",
        "ALTER TYPE odd.mood RENAME VALUE 'elated' TO 'thrilled'",
        "CREATE TABLE odd.heir () INHERITS (riders)",
        "DROP TABLE odd.heir",
        "ALTER TABLE riders ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE riders RENAME TO cyclists",
        "ALTER TABLE odd.split RENAME TO cut",
        "CREATE OR REPLACE VIEW odd.seen AS SELECT id, x + 1 AS x FROM odd.parent",
        "DROP TABLE odd.ci_unit",
    ] {
        client.batch_execute(change).await.unwrap_or_else(|e| panic!("{change}: {e}"));
        let after = fingerprint(&client, &oids, Engine::Postgresql).await.unwrap();
        assert_ne!(before, after, "{change}");
        before = after;
    }
    assert_eq!(fingerprint(&client, &[], Engine::Postgresql).await.unwrap(), "");
}

async fn fingerprint_ignores_and_is_cheap(db: &TestDb, client: &Client, schema: &Schema) {
    let oids: Vec<u32> =
        ["riders", "trips", "stations"].map(|name| schema.relation("public", name).unwrap().oid).to_vec();
    let before = fingerprint(client, &oids, Engine::Postgresql).await.unwrap();
    for change in [
        "INSERT INTO riders SELECT g, 2000, 'day', 'Rome', 'x' FROM generate_series(1, 1000) g",
        "ANALYZE riders",
        "VACUUM riders",
        "CREATE INDEX ON riders (city)",
        &format!("GRANT SELECT ON riders TO {}_finish", db.name),
        "REINDEX TABLE CONCURRENTLY riders",
        "COMMENT ON TABLE riders IS 'people'",
    ] {
        client.batch_execute(change).await.unwrap();
        assert_eq!(fingerprint(client, &oids, Engine::Postgresql).await.unwrap(), before, "{change}");
    }
    let statement = client.prepare(&fingerprint_sql(&oids, Engine::Postgresql)).await.unwrap();
    let row = client.query_one(&statement, &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), before);
}

async fn refuses_other_encodings(db: &TestDb) {
    let latin = format!("{}_latin", db.name);
    db.execute(&format!("CREATE DATABASE {latin} ENCODING 'LATIN1' TEMPLATE template0")).await;
    let error = read_schema(&connect(&cluster().superuser_url(&latin)).await).await.unwrap_err();
    assert!(error.to_string().contains("LATIN1"), "{error}");
}
