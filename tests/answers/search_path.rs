//! `search_path`: which schemas names without one are looked up in, among those that the policy shows.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{Gate, Workdir, connect};
use tokio_postgres::Client;

/// Visits in a schema of their own, a schema that the policy does not name, and one that is called as a user is.
const MORE: &str = "
    CREATE SCHEMA shop; CREATE SCHEMA sikrit; CREATE SCHEMA ada;
    CREATE TABLE shop.visits (visit_id int PRIMARY KEY, rider_id int NOT NULL REFERENCES riders, hours int);
    CREATE TABLE ada.kinds (kind text PRIMARY KEY);
    INSERT INTO ada.kinds VALUES ('a'), ('b');
    CREATE TABLE sikrit.visits (visit_id int PRIMARY KEY);";

async fn served() -> (Workdir, Gate) {
    let db = city::bikes().await;
    db.execute(MORE).await;
    let name = &db.name;
    db.execute(&format!("GRANT USAGE ON SCHEMA shop, ada, sikrit TO {name}_fetch, {name}_finish")).await;
    db.publish(&["ada.kinds"]).await;
    let text = policy(&db.backend_toml(), &["ada", "bob"], &room_for(90))
        + "[table.visits]\nschema = \"shop\"\nunit_column = \"rider_id\"\ncolumns.hours = { range = [0, 24] }\n
           [table.kinds]\nschema = \"ada\"\npublic = true\n
           [[view]]\nname = \"long_visits\"\nsql = \"SELECT * FROM visits WHERE hours > 3\"\n";
    let dir = Workdir::new(&text);
    let gate = dir.serve().await;
    (dir, gate)
}

async fn one(client: &Client, sql: &str) -> String {
    let found = rows(client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    found.concat().into_iter().map(|cell| cell.unwrap_or_else(|| "∅".into())).collect::<Vec<_>>().join(" | ")
}

async fn refused(client: &Client, sql: &str) -> (String, String, String) {
    let e = client.simple_query(sql).await.unwrap_err();
    let e = e.as_db_error().unwrap();
    (e.code().code().to_owned(), e.message().to_owned(), e.hint().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_looked_up_in_the_schemas_of_the_path() {
    let (_dir, gate) = served().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    // At first all schemas of the policy are in it.
    assert_eq!(one(&ada, "SHOW search_path").await, "\"$user\", public, shop, ada");
    assert_eq!(
        one(&ada, "SELECT current_schema(), current_schemas(false), current_schemas(true)").await,
        "ada | {ada,public,shop} | {pg_catalog,ada,public,shop}"
    );
    for sql in ["SELECT count(*) FROM visits", "SELECT count(*) FROM kinds", "SELECT count(*) FROM riders"] {
        one(&ada, sql).await;
    }
    ada.batch_execute("SET search_path = shop, nowhere, \"Odd\", sikrit").await.unwrap();
    assert_eq!(one(&ada, "SHOW search_path").await, "shop, nowhere, \"Odd\", sikrit");
    assert_eq!(one(&ada, "SELECT current_schema(), current_schemas(true)").await, "shop | {pg_catalog,shop}");
    one(&ada, "SELECT count(*) FROM visits").await;
    assert_eq!(
        one(&ada, "SELECT to_regclass('visits'), to_regclass('riders'), to_regclass('public.riders')").await,
        "visits | ∅ | public.riders"
    );
    let (code, message, hint) = refused(&ada, "SELECT count(*) FROM riders").await;
    assert_eq!((code.as_str(), message.as_str()), ("42P01", "relation \"riders\" does not exist"));
    assert!(hint.contains("public.riders"), "{hint}");
    one(&ada, "SELECT count(*) FROM public.riders r JOIN visits v ON v.rider_id = r.rider_id").await;
    // A view means what it meant to its author.
    assert_eq!(refused(&ada, "SELECT count(*) FROM long_visits").await.0, "42P01");
    ada.batch_execute("SET search_path = public").await.unwrap();
    one(&ada, "SELECT count(*) FROM long_visits").await;
    assert_eq!(refused(&ada, "SELECT count(*) FROM visits").await.0, "42P01");
    // What is hidden stays so in every path.
    for path in ["sikrit", "public, sikrit", "pg_catalog"] {
        ada.batch_execute(&format!("SET search_path = {path}")).await.unwrap();
        assert_eq!(refused(&ada, "SELECT count(*) FROM visits").await.0, "42P01", "{path}");
        assert_eq!(refused(&ada, "SELECT count(*) FROM sikrit.visits").await.0, "42P01", "{path}");
    }
    assert_eq!(one(&ada, "SELECT current_schema(), current_schemas(false)").await, "∅ | {}");
    assert_eq!(one(&ada, "SELECT current_schema(), count(*) FROM ada.kinds").await, "∅ | 2");
    // noisegate's own relations, by a path that names them; it follows the transaction as every setting.
    ada.batch_execute("BEGIN; SET LOCAL search_path = noisegate").await.unwrap();
    one(&ada, "SELECT count(*) FROM budget").await;
    ada.batch_execute("COMMIT; RESET search_path").await.unwrap();
    assert_eq!(refused(&ada, "SELECT count(*) FROM budget").await.0, "42P01");
    assert_eq!(one(&ada, "SHOW search_path").await, "\"$user\", public, shop, ada");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_begin_with_a_path() {
    let (_dir, gate) = served().await;
    let url = format!("{}?options=-c%20search_path%3Dshop", gate.url("bob", PASSWORD, "bikes"));
    let bob = connect(&url).await;
    assert_eq!(one(&bob, "SHOW search_path").await, "shop");
    let prepared = bob.prepare("SELECT count(*) FROM visits WHERE hours < $1").await.unwrap();
    assert_eq!(bob.query(&prepared, &[&9i32]).await.unwrap().len(), 1);
    assert_eq!(refused(&bob, "SELECT count(*) FROM riders").await.0, "42P01");
    bob.batch_execute("SET search_path = public; RESET search_path").await.unwrap();
    assert_eq!(one(&bob, "SELECT current_schema").await, "shop");
    let plain = connect(&gate.url("bob", PASSWORD, "bikes")).await;
    assert_eq!(one(&plain, "SELECT current_schema").await, "public", "no schema is called bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_may_begin_with_the_database_that_one_is_connected_to() {
    let (_dir, gate) = served().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    for sql in [
        "SELECT count(*) FROM \"bikes\".\"shop\".\"visits\"",
        "SELECT count(bikes.shop.visits.hours) FROM bikes.shop.visits WHERE \"bikes\".shop.visits.hours > 1",
        "SELECT count(*) FROM bikes.public.riders r JOIN bikes.shop.visits v USING (rider_id)",
        "WITH q AS (SELECT visits.hours FROM bikes.shop.visits) SELECT sum(hours) FROM q",
    ] {
        one(&ada, sql).await;
    }
    for (sql, answer) in [
        ("SELECT count(*) FROM bikes.ada.kinds", "2"),
        ("SELECT bikes.ada.kinds.* FROM bikes.ada.kinds ORDER BY bikes.ada.kinds.kind LIMIT 1", "a"),
        (
            "SELECT bikes.pg_catalog.pg_class.relname FROM bikes.pg_catalog.pg_class WHERE oid = 1259",
            "pg_class",
        ),
    ] {
        assert_eq!(one(&ada, sql).await, answer, "{sql}");
    }
    // As PostgreSQL says it, whether that database is there or not.
    for (sql, code, message) in [
        (
            "SELECT count(*) FROM other.shop.visits",
            "0A000",
            "cross-database references are not implemented: \"other.shop.visits\"",
        ),
        (
            "SELECT count(*) FROM other.pg_catalog.pg_class",
            "0A000",
            "cross-database references are not implemented: \"other.pg_catalog.pg_class\"",
        ),
        (
            "SELECT count(other.shop.visits.hours) FROM shop.visits",
            "0A000",
            "cross-database references are not implemented: \"other.shop.visits.hours\"",
        ),
        (
            "SELECT count(*) FROM a.bikes.shop.visits",
            "42601",
            "improper relation name (too many dotted names): a.bikes.shop.visits",
        ),
    ] {
        let (found, said, _) = refused(&ada, sql).await;
        assert_eq!((found.as_str(), said.as_str()), (code, message), "{sql}");
    }
    // What one session may write is not remembered for a session that calls the database otherwise.
    let other = connect(&gate.url("ada", PASSWORD, "rides")).await;
    assert_eq!(refused(&other, "SELECT count(*) FROM \"bikes\".\"shop\".\"visits\"").await.0, "0A000");
    one(&other, "SELECT count(*) FROM rides.shop.visits").await;
}
