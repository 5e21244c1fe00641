//! System catalogs through the gateway: as PostgreSQL answers a plain role on what the policy shows, without what moves with
//! rows and without what is hidden.

use crate::city::{self, PASSWORD, policy, room_for};
use crate::support::{Gate, TestDb, Workdir, connect, database, psql};
use std::fmt::Write;
use tokio_postgres::{Client, SimpleQueryMessage};

/// What clients send.
const STATEMENTS: &str = include_str!("statements.sql");

/// What analysts must not find.
const HIDDEN: &str = "
    CREATE SCHEMA zq_schema;
    CREATE TYPE zq_type AS ENUM ('a', 'b');
    CREATE TABLE zq_table (zq_column int PRIMARY KEY, kind zq_type);
    CREATE TABLE zq_schema.zq_inner (id int);
    CREATE VIEW zq_view AS SELECT * FROM trips WHERE rider_id = 500;
    CREATE SEQUENCE zq_sequence;
    CREATE FUNCTION zq_function(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE INDEX zq_on_email ON riders (email);
    CREATE INDEX zq_expression ON trips ((minutes / 41)) WHERE fare > 17;
    ALTER TABLE trips ADD CONSTRAINT zq_check CHECK (minutes <> 424242);
    CREATE FUNCTION zq_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER zq_trigger BEFORE INSERT ON trips FOR EACH ROW EXECUTE FUNCTION zq_trigger();
    CREATE STATISTICS zq_statistics ON minutes, fare FROM trips;
    ALTER TABLE riders ADD COLUMN zq_reference int REFERENCES zq_table;
    ALTER TABLE stations ALTER COLUMN capacity SET DEFAULT 12;
    ALTER TABLE trips ALTER COLUMN trip_id SET DEFAULT nextval('zq_sequence');
    COMMENT ON TABLE trips IS 'Rides between stations';
    COMMENT ON COLUMN trips.fare IS 'In euros';
    COMMENT ON COLUMN riders.email IS 'zq_comment';";

struct World {
    db: TestDb,
    gate: Gate,
    _dir: Workdir,
}

impl World {
    async fn new() -> Self {
        let db = city::published(database(&format!("{}{HIDDEN}", city::DATA)).await).await;
        let rules = policy(&db.backend_toml(), &["ada"], &room_for(10));
        let rules = rules.replace(
            "columns.email = { hidden = true }",
            "columns.email = { hidden = true }\ncolumns.zq_reference = { hidden = true }",
        );
        let dir = Workdir::new(&rules);
        let gate = dir.serve().await;
        Self { db, gate, _dir: dir }
    }

    fn url(&self) -> String {
        self.gate.url("ada", PASSWORD, "bikes")
    }

    async fn ada(&self) -> Client {
        connect(&self.url()).await
    }

    async fn oid(&self, name: &str) -> String {
        text(&self.db.superuser().await, &format!("SELECT '{name}'::regclass::oid")).await.trim().to_owned()
    }
}

/// All rows as text, or the error's code and message.
async fn text(client: &Client, sql: &str) -> String {
    let messages = match client.simple_query(sql).await {
        Ok(messages) => messages,
        Err(e) => {
            return e
                .as_db_error()
                .map_or(format!("{e:?}"), |e| format!("{} {}", e.code().code(), e.message()));
        }
    };
    let mut out = String::new();
    for message in messages {
        if let SimpleQueryMessage::Row(row) = message {
            let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("∅")).collect();
            writeln!(out, "{}", cells.join(" | ")).unwrap();
        }
    }
    out
}

/// Client and statement, over the tables of this world.
async fn statements(world: &World) -> Vec<(&'static str, String)> {
    let trips = world.oid("trips").await;
    let parts = STATEMENTS.split("\n--= ").skip(1);
    parts
        .map(|p| p.split_once('\n').map(|(client, sql)| (client, sql.replace("16390", &trips))).unwrap())
        .collect()
}

/// The tables that the policy shows, without their rows, for a role that may read them.
async fn plain_postgresql() -> (TestDb, Client) {
    let db = city::published(database(city::DATA).await).await;
    db.execute(
        "TRUNCATE stations, riders, trips; ALTER TABLE riders DROP COLUMN email;
         COMMENT ON TABLE trips IS 'Rides between stations'",
    )
    .await;
    db.publish(&["riders", "trips"]).await;
    let client = connect(&db.finish_url).await;
    (db, client)
}

/// Columns and parameters of a statement, or the code of its error.
async fn shape(client: &Client, sql: &str) -> String {
    match client.prepare(sql).await {
        Ok(statement) => {
            let columns: Vec<String> =
                statement.columns().iter().map(|c| format!("{} {}", c.name(), c.type_())).collect();
            let parameters: Vec<String> = statement.params().iter().map(ToString::to_string).collect();
            format!("{} <- {}", columns.join(", "), parameters.join(", "))
        }
        Err(e) => e.code().map_or_else(|| format!("{e:?}"), |c| c.code().to_owned()),
    }
}

/// Where columns or parameters differ from PostgreSQL's, and why; docs/clients.md has the list.
fn alike(shape: &str) -> String {
    // Expressions that PostgreSQL keeps as trees are text here; names that are looked up come as text, and are OIDs within a
    // statement.
    let (columns, parameters) = shape.split_once("<-").unwrap_or((shape, ""));
    let columns = columns
        .replace("pg_node_tree", "text")
        .replace("anyarray", "text")
        .replace("regclass", "oid")
        .replace("regtype", "oid");
    format!("{columns}<-{}", parameters.replace("regclass", "text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_clients_ends_as_in_postgresql() {
    let world = World::new().await;
    let ada = world.ada().await;
    let (_db, plain) = plain_postgresql().await;
    let trips = world.oid("trips").await;
    let theirs = text(&plain, "SELECT 'public.trips'::regclass::oid").await.trim().to_owned();
    let mut wrong = String::new();
    for (client, sql) in statements(&world).await {
        for sql in
            sql.split(";\n").map(str::trim).filter(|s| s.starts_with("SELECT") || s.starts_with("select"))
        {
            let here = shape(&ada, sql).await;
            let there = shape(&plain, &sql.replace(&trips, &theirs)).await;
            if alike(&here) != alike(&there) {
                writeln!(wrong, "{client}: {sql}\n  here:  {here}\n  there: {there}").unwrap();
                if here.len() == 5 {
                    writeln!(wrong, "  {}", text(&ada, sql).await).unwrap();
                }
            }
            // Those without parameters run, too.
            if !sql.contains("$1") {
                let (here, there) =
                    (text(&ada, sql).await, text(&plain, &sql.replace(&trips, &theirs)).await);
                let failed = |t: &str| {
                    t.get(5..6) == Some(" ")
                        && t.get(..2).is_some_and(|c| ["42", "0A", "22", "XX"].contains(&c))
                };
                if failed(&here) != failed(&there) {
                    writeln!(wrong, "{client}: {sql}\n  here:  {here}\n  there: {there}").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The tables as analysts see them, empty, with nothing that a policy hides, for a role that may read them.
const SHOWN: &str = "
    CREATE TABLE stations (station text PRIMARY KEY, city text NOT NULL, capacity int NOT NULL DEFAULT 12);
    CREATE TABLE riders (rider_id int PRIMARY KEY, birth_year int, plan text NOT NULL, city text);
    CREATE TABLE trips (rider_id int NOT NULL REFERENCES riders, started_at timestamp NOT NULL,
        station text NOT NULL REFERENCES stations, minutes int NOT NULL, fare numeric(6,2) NOT NULL, note text, speed float8);
    CREATE INDEX trips_rider ON trips (rider_id);
    COMMENT ON TABLE trips IS 'Rides between stations';
    COMMENT ON COLUMN trips.fare IS 'In euros';";

/// Rows of an answer without what is a server's own: OIDs, logins, and the lines that noisegate adds to comments.
fn leveled(rows: &str, logins: &[String]) -> Vec<String> {
    let cell = |cell: &str| {
        let owners = cell.split("¶noisegate: ").next().unwrap_or_default();
        match owners.trim().parse::<u64>() {
            Ok(16_383.. | 10) => "«oid»".to_owned(),
            _ if owners.starts_with("noisegate: ") => "∅".to_owned(),
            _ if logins.iter().any(|login| login == owners) => "«login»".to_owned(),
            _ => owners.to_owned(),
        }
    };
    let row = |line: &str| line.split(" | ").map(cell).collect::<Vec<_>>().join(" | ");
    let mut out: Vec<String> = rows.replace("\nnoisegate: ", "¶noisegate: ").lines().map(row).collect();
    out.sort();
    out
}

/// What is only here (`+`) or only there (`-`) of the policy's tables, by statement.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_catalogs_are_those_of_postgresql() {
    let world = World::new().await;
    let ada = world.ada().await;
    let db = city::published(database(SHOWN).await).await;
    db.publish(&["riders", "trips"]).await;
    let plain = connect(&db.finish_url).await;
    let trips = world.oid("trips").await;
    let theirs = text(&plain, "SELECT 'public.trips'::regclass::oid").await.trim().to_owned();
    let here_logins = ["ada".to_owned(), "bikes".to_owned()];
    let there_logins = [format!("{}_finish", db.name), db.name.clone()];
    let ours = |line: &&String| ["trips", "riders", "stations"].iter().any(|name| line.contains(name));
    let mut found = String::new();
    for (client, sql) in statements(&world).await {
        for sql in sql.split(";\n").map(str::trim).filter(|s| s.to_lowercase().starts_with("select")) {
            // All of pg_class has the age of each table's rows, which is another one each time.
            if sql.contains("$1")
                || sql.contains("c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound")
            {
                continue;
            }
            let here = leveled(&text(&ada, sql).await, &here_logins);
            let there = leveled(&text(&plain, &sql.replace(&trips, &theirs)).await, &there_logins);
            let only = |a: &[String], b: &[String], sign: &str| {
                let lines =
                    a.iter().filter(|l| !b.contains(l)).filter(ours).map(|l| format!("  {sign} {l}\n"));
                lines.collect::<String>()
            };
            let differences = only(&there, &here, "-") + &only(&here, &there, "+");
            if !differences.is_empty() {
                writeln!(found, "{client}: {}\n{differences}", sql.lines().next().unwrap_or_default())
                    .unwrap();
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers/catalogs/differences");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        found, known,
        "UPDATE=1 writes tests/answers/catalogs/differences; docs/clients.md says why each is"
    );
}

/// The relations of the server's own catalogs, and whether every role may read something of them.
const RELATIONS: &str = "
    SELECT n.nspname, c.relname, has_any_column_privilege('public', c.oid, 'SELECT')
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND c.oid < 16384
     ORDER BY 1, 2";

/// Those that every role may read, with their schemas, and the others.
async fn relations_of(server: &Client) -> (Vec<String>, Vec<String>) {
    let rows = server.query(RELATIONS, &[]).await.unwrap();
    let name = |r: &&tokio_postgres::Row| format!("{}.{}", r.get::<_, String>(0), r.get::<_, String>(1));
    let (readable, closed): (Vec<_>, Vec<_>) = rows.iter().partition(|r| r.get::<_, bool>(2));
    (readable.iter().map(name).collect(), closed.iter().map(name).collect())
}

/// Every relation, column and type that PostgreSQL shows to every role is there, whatever the server's version has.
#[tokio::test(flavor = "multi_thread")]
async fn no_relation_of_the_server_is_missing() {
    let world = World::new().await;
    let ada = world.ada().await;
    let (_db, plain) = plain_postgresql().await;
    let (readable, closed) = relations_of(&plain).await;
    assert!(readable.len() > 150 && closed.len() > 10, "{} and {}", readable.len(), closed.len());
    let mut wrong = String::new();
    for relation in readable {
        let sql = format!("SELECT * FROM {relation}");
        let (here, mut there) = (shape(&ada, &sql).await, shape(&plain, &sql).await);
        // The one tree that is shown: defaults that are constants.
        if relation == "pg_catalog.pg_attrdef" {
            there = there.replace("adbin pg_node_tree", "adbin text");
        }
        let there = there.replace("_regtype", "_oid");
        // A plain role may read some columns of it, and all of it is nothing here.
        if here != there && relation != "pg_catalog.pg_subscription" {
            writeln!(wrong, "{relation}\n  here:  {here}\n  there: {there}").unwrap();
        }
        let rows = text(&ada, &sql).await;
        if rows.starts_with("42") || rows.starts_with("0A") || rows.starts_with("XX") {
            writeln!(wrong, "{relation}: {rows}").unwrap();
        }
    }
    for relation in closed {
        let sql = format!("SELECT * FROM {relation}");
        let (here, there) = (text(&ada, &sql).await, text(&plain, &sql).await);
        if here != there {
            writeln!(wrong, "{relation}\n  here:  {here}\n  there: {there}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Functions in FROM give a column of their name, or of their alias.
#[tokio::test(flavor = "multi_thread")]
async fn functions_of_the_session_have_their_names() {
    let world = World::new().await;
    let ada = world.ada().await;
    let (_db, plain) = plain_postgresql().await;
    for of in [
        "current_schema()",
        "current_database()",
        "current_schemas(true)",
        "current_setting('timezone')",
        "version()",
        "current_user",
        "session_user",
        "current_schema",
        "current_schema() AS s",
        "current_database() AS d(e)",
        "current_user AS u",
        "pg_backend_pid()",
        "unnest(current_schemas(true))",
    ] {
        let sql = format!("SELECT * FROM {of}");
        assert_eq!(shape(&ada, &sql).await, shape(&plain, &sql).await, "{sql}");
        let rows = text(&ada, &sql).await;
        assert!(!rows.starts_with("42") && !rows.is_empty(), "{sql}: {rows}");
    }
    assert_eq!(text(&ada, "SELECT u.u FROM current_user u").await, "ada\n");
    assert!(text(&ada, "SELECT * FROM \"current_user\"").await.starts_with("42P01"));
}

/// The server's own functions that give rows, called, and whether every role may call them.
const FUNCTIONS: &str = "
    SELECT format('%s(%s)', p.proname, (SELECT string_agg('NULL', ', ') FROM unnest(p.proargtypes::oid[]))),
           has_function_privilege('public', p.oid, 'EXECUTE')
      FROM pg_proc p WHERE p.pronamespace = 11 AND p.proretset AND p.provolatile <> 'i'
       AND p.provariadic = 0 AND p.proname LIKE 'pg\\_%'
     ORDER BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn no_function_of_the_server_that_gives_rows_is_missing() {
    let world = World::new().await;
    let ada = world.ada().await;
    let (_db, plain) = plain_postgresql().await;
    let calls = plain.query(FUNCTIONS, &[]).await.unwrap();
    assert!(calls.len() > 30, "{}", calls.len());
    let mut wrong = String::new();
    for row in calls {
        let (call, open): (String, bool) = (row.get(0), row.get(1));
        let sql = format!("SELECT * FROM {call}");
        if !open {
            let (here, there) = (text(&ada, &sql).await, text(&plain, &sql).await);
            if here != there {
                writeln!(wrong, "{call}\n  here:  {here}\n  there: {there}").unwrap();
            }
            continue;
        }
        let (here, there) = (shape(&ada, &sql).await, shape(&plain, &sql).await);
        if alike(&here) != alike(&there) {
            writeln!(wrong, "{call}\n  here:  {here}\n  there: {there}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let settings = text(&ada, "SELECT count(*) > 20 FROM pg_show_all_settings()").await;
    assert_eq!(settings, "t\n");
    for nothing in [
        "SELECT * FROM pg_stat_get_activity(NULL)",
        "SELECT pid FROM pg_catalog.pg_stat_get_activity(NULL) AS a JOIN pg_class c ON true",
        "SELECT * FROM pg_lock_status() WITH ORDINALITY",
        "SELECT query FROM pg_stat_activity",
        "SELECT most_common_vals FROM pg_stats",
    ] {
        assert_eq!(text(&ada, nothing).await, "", "{nothing}");
    }
}

/// Where a statement does not say in which order rows come, the server's own statistics of its catalogs do.
fn sorted(rows: &str) -> String {
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

async fn everything(world: &World) -> String {
    let ada = world.ada().await;
    let mut out = String::new();
    for (_, sql) in statements(world).await {
        if !sql.contains("$1") {
            writeln!(out, "{sql}\n{}", sorted(&text(&ada, &sql).await)).unwrap();
        }
    }
    for relation in relations_of(&world.db.superuser().await).await.0 {
        let sql = format!("SELECT * FROM {relation}");
        let rows = text(&ada, &sql).await;
        assert!(!rows.starts_with("42") && !rows.starts_with("0A"), "{sql}: {rows}");
        writeln!(out, "{sql}\n{}", sorted(&rows)).unwrap();
    }
    for table in ["trips", "riders", "stations", "trips_pkey"] {
        for function in ["pg_table_size", "pg_relation_size", "pg_total_relation_size", "pg_indexes_size"] {
            let sql = format!("SELECT {function}('{table}')");
            writeln!(out, "{sql}\n{}", text(&ada, &sql).await).unwrap();
        }
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_moves_with_the_rows_of_private_tables() {
    let world = World::new().await;
    let before = everything(&world).await;
    let superuser = world.db.superuser().await;
    for change in [
        "INSERT INTO riders SELECT i, 1990, 'day', 'x', 'y' FROM generate_series(1000, 9000) i;
         INSERT INTO trips SELECT i, 1000, '2024-01-01', 'Station 0', 1, 1, 'n', 1 FROM generate_series(10000, 90000) i;
         ANALYZE",
        "DELETE FROM trips WHERE rider_id <> 7; DELETE FROM riders WHERE rider_id <> 7",
        "VACUUM FULL ANALYZE",
    ] {
        superuser.batch_execute(change).await.unwrap();
        if change.starts_with("DELETE") {
            continue;
        }
        let after = everything(&world).await;
        let differs = before.lines().zip(after.lines()).find(|(a, b)| a != b);
        assert!(before == after, "{change}: {differs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_is_nowhere() {
    let world = World::new().await;
    let ada = world.ada().await;
    let all = everything(&world).await;
    let found = all.find("zq_").map(|at| &all[at.saturating_sub(300)..at + 50]);
    assert_eq!(found, None);
    let finish = format!("{}_finish", world.db.name);
    for word in ["email", "424242", "fare > 17", "minutes / 41", &finish] {
        assert!(!all.contains(word), "{word}");
    }
    let hidden = [
        ("zq_table", world.oid("zq_table").await),
        ("zq_schema.zq_inner", world.oid("zq_schema.zq_inner").await),
        ("zq_view", world.oid("zq_view").await),
        ("zq_on_email", world.oid("zq_on_email").await),
    ];
    for (name, oid) in hidden {
        // By its name it is what a name is that nobody has; by its OID what an OID is that nobody has.
        for probe in PROBES {
            let real = text(&ada, &probe.replace("NAME", name).replace("OID", &oid)).await;
            let none = text(&ada, &probe.replace("NAME", "zq_nothing").replace("OID", "3999999999")).await;
            let real = real.replace(name, "NAME").replace(&oid, "OID");
            let none = none.replace("zq_nothing", "NAME").replace("3999999999", "OID");
            assert_eq!(real, none, "{probe} of {name}");
        }
    }
    for (real, none) in [("zq_type", "zq_other"), ("zq_schema.x", "zq_other.x"), ("zq_function", "zq_other")]
    {
        for probe in [
            "SELECT 'NAME'::regtype",
            "SELECT to_regtype('NAME(3)')",
            "SELECT 'NAME'::regproc",
            "SELECT 1 FROM pg_type WHERE typinput = 'NAME'",
            "SELECT has_schema_privilege('NAME', 'usage')",
            "SELECT 'NAME'::regnamespace",
        ] {
            let found = text(&ada, &probe.replace("NAME", real)).await.replace(real, "NAME");
            assert_eq!(
                found,
                text(&ada, &probe.replace("NAME", none)).await.replace(none, "NAME"),
                "{probe}"
            );
        }
    }
}

/// What a cast would fail for is NULL, whether it is hidden or nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_looked_up_without_an_error() {
    let world = World::new().await;
    let ada = world.ada().await;
    for (sql, expected) in [
        ("SELECT to_regclass('trips')", "trips"),
        ("SELECT to_regclass('public.trips')::oid = 'trips'::regclass::oid", "t"),
        ("SELECT to_regclass('zq_table'), to_regclass('nowhere.at_all'), to_regtype('no_type')", "∅ | ∅ | ∅"),
        ("SELECT to_regtype('int4')", "integer"),
        ("SELECT count(*) FROM pg_class WHERE oid = to_regclass('pg_catalog.pg_class')", "1"),
    ] {
        assert_eq!(text(&ada, sql).await.trim(), expected, "{sql}");
    }
}

/// Ways to a relation, by its name or its OID.
const PROBES: &[&str] = &[
    "SELECT 'NAME'::regclass",
    "SELECT to_regclass('NAME')",
    "SELECT oid FROM pg_class WHERE oid::regclass = 'NAME'",
    "SELECT oid FROM pg_class WHERE oid::regclass IN ('NAME')",
    "SELECT CASE WHEN true THEN oid::regclass ELSE 'NAME' END FROM pg_class WHERE oid = 1259",
    "SELECT COALESCE(NULL::regclass, 'NAME')",
    "SELECT 'pg_class'::regclass UNION SELECT 'NAME'",
    "SELECT 'NAME' IN (SELECT oid::regclass FROM pg_class)",
    "SELECT (ARRAY['pg_class'::regclass])[1] = 'NAME'",
    "SELECT x FROM (SELECT 'pg_class'::regclass AS x) AS s WHERE x = 'NAME'",
    "SELECT ('NA' || 'ME')::regclass",
    "SELECT has_table_privilege('NAME', 'SELECT')",
    "SELECT has_any_column_privilege('NAME', 'SELECT')",
    "SELECT pg_table_size('NAME')",
    "SELECT pg_relation_size('NAME')",
    "SELECT col_description('NAME'::regclass, 1)",
    "SELECT pg_partition_ancestors('NAME')",
    "SELECT 1 FROM NAME",
    "SELECT OID::regclass",
    "SELECT OID::regclass::text",
    "SELECT 'OID'::regclass",
    "SELECT OID::oid::regtype",
    "SELECT pg_table_is_visible(OID)",
    "SELECT has_table_privilege(OID, 'SELECT')",
    "SELECT pg_table_size(OID)",
    "SELECT obj_description(OID, 'pg_class')",
    "SELECT col_description(OID, 1)",
    "SELECT format_type(OID, NULL)",
    "SELECT pg_get_indexdef(OID)",
    "SELECT pg_get_viewdef(OID)",
    "SELECT pg_get_constraintdef(OID)",
    "SELECT relname FROM pg_class WHERE oid = OID",
    "SELECT attname FROM pg_attribute WHERE attrelid = OID",
    "SELECT pg_relation_is_publishable('OID')",
    "SELECT pg_describe_object(1259, OID, 0)",
    "SELECT pg_relation_filepath(OID)",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_out_is_unreachable() {
    let world = World::new().await;
    let ada = world.ada().await;
    for sql in [
        "SELECT query_to_xml('select 1', true, true, '') FROM pg_class",
        "SELECT pg_catalog.query_to_xml('select 1', true, true, '')",
        "SELECT pg_read_file('/etc/passwd') FROM pg_class",
        "SELECT pg_sleep(1) FROM pg_class",
        "SELECT currval('x') FROM pg_class",
        "SELECT nextval('x') FROM pg_class",
        "SELECT lo_get(1) FROM pg_class",
        "SELECT pg_stat_get_live_tuples(oid) FROM pg_class",
        "SELECT c.pg_relation_size FROM pg_class c",
        "SELECT s.pg_relation_size FROM unnest(ARRAY[1259::oid::regclass]) s",
        "SELECT ('pg_class'::regclass).pg_relation_size",
        "SELECT (c.oid).pg_stat_get_live_tuples FROM pg_class c",
        "SELECT c.row_to_json FROM pg_class c",
        "SELECT ctid FROM pg_class",
        "SELECT xmin FROM pg_class",
        "SELECT c.ctid FROM pg_class c",
        "SELECT * FROM pg_class, trips",
        "SELECT (SELECT count(*) FROM trips) FROM pg_class",
        "SELECT 1 FROM pg_class WHERE relname OPERATOR(public.=) 'x'",
        "SELECT oid::zq_type FROM pg_class",
        "SELECT 1 FROM pg_class FOR UPDATE",
        "SELECT relname INTO x FROM pg_class",
        "SELECT * FROM pg_class TABLESAMPLE SYSTEM (1)",
    ] {
        let answer = text(&ada, sql).await;
        assert!(
            ["42P01", "42703", "42883", "42704", "0A000", "42601", "25006"]
                .contains(&answer.get(..5).unwrap_or("")),
            "{sql}: {answer}"
        );
    }
    // A name that WITH has brought is not the catalog's.
    assert_eq!(
        text(&ada, "WITH pg_class AS (SELECT 7 AS n FROM pg_namespace LIMIT 1) SELECT n FROM pg_class").await,
        "7\n"
    );
    for (sql, answer) in [
        ("SELECT DISTINCT tableoid::regclass FROM pg_class", "pg_class\n"),
        (
            "SELECT DISTINCT k.tableoid, t.tableoid::regclass FROM pg_namespace n LEFT JOIN pg_class k ON k.oid = 0
               JOIN pg_type AS t(x) ON t.typnamespace = n.oid",
            "∅ | pg_type\n",
        ),
        ("SELECT oid FROM pg_class WHERE tableoid <> 'pg_class'::regclass", ""),
        (
            "SELECT (SELECT tableoid FROM pg_tables t LIMIT 1) = tableoid FROM pg_namespace n LIMIT 1",
            "t\n",
        ),
        ("SELECT 1 FROM pg_class c, pg_type t WHERE tableoid = 1", "42702 column reference \"tableoid\" is ambiguous"),
        ("SELECT c.tableoid FROM (SELECT * FROM pg_class) c", "42703 column c.tableoid does not exist"),
        (
            "WITH pg_class AS (SELECT oid FROM pg_type) SELECT pg_class.tableoid FROM pg_class",
            "42703 column pg_class.tableoid does not exist",
        ),
        ("SELECT s.tableoid FROM pg_settings s", "42703 column s.tableoid does not exist"),
        ("SELECT pg_index_column_has_property('riders_pkey'::regclass, 1, 'asc')", "t\n"),
        ("SELECT pg_index_column_has_property(indexrelid, 1, 'nulls_first') FROM pg_index WHERE indrelid = 'riders'::regclass", "f\n"),
        ("SELECT pg_index_has_property(0, 'clusterable')", "∅\n"),
        ("SELECT DISTINCT pg_indexam_has_property(oid, 'can_order') FROM pg_am WHERE amname = 'btree'", "t\n"),
    ] {
        assert_eq!(text(&ada, sql).await, answer, "{sql}");
    }
    // What a client wrote stays in its quotes, whatever it looks like.
    let sql =
        "SELECT n.nspname, '{tables} {database} ''\\' AS x FROM pg_namespace n WHERE n.nspname = 'public'";
    assert_eq!(text(&ada, sql).await, "public | {tables} {database} '\\\n");
}

/// What psql says where there is nothing.
const NOTHING_FOUND: &str = "error: Did not find any relation";

#[tokio::test(flavor = "multi_thread")]
async fn psql_looks_around() {
    let world = World::new().await;
    let out = psql(
        &world.url(),
        "\\d\n\\d trips\n\\d+ trips\n\\d riders\n\\dt\n\\dt+\n\\dn\n\\df\n\\l\n\\du\n\\dp\n\\dv\n\\di\n\\dT\n\\dx\n\\ds\n\\dg
\\d noisegate.*\n\\dt noisegate.*\n\\d zq_table\n\\conninfo\n",
    )
    .await;
    let refused = out.stderr.lines().find(|line| !line.contains(NOTHING_FOUND));
    assert_eq!(refused, None, "{}", out.stdout);
    for part in [
        "public | trips",
        "\"riders_pkey\" PRIMARY KEY, btree (rider_id)",
        "\"trips_rider\" btree (rider_id)",
        "FOREIGN KEY (rider_id) REFERENCES riders(rider_id)",
        "Referenced by:",
        "noisegate: from 0 to 60",
        "In euros",
        "View \"noisegate.budget\"",
    ] {
        assert!(out.stdout.contains(part), "{part}: {}", out.stdout);
    }
    assert!(!out.stdout.contains("zq_") && !out.stdout.contains("email"), "{}", out.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_is_its_own() {
    let world = World::new().await;
    let ada = world.ada().await;
    for (sql, expected) in [
        (
            "SELECT current_database(), current_user, session_user, current_schema()",
            "bikes | ada | ada | public\n",
        ),
        ("SELECT user, current_role, current_catalog FROM pg_namespace LIMIT 1", "ada | ada | bikes\n"),
        ("SELECT current_setting('server_encoding')", "UTF8\n"),
        ("SELECT current_setting('noisegate.nothing', true)", "∅\n"),
        ("SELECT current_schemas(true)", "{pg_catalog,public}\n"),
        ("SELECT * FROM unnest(current_schemas(false))", "public\n"),
        ("SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new", "off | off\n"),
        ("SELECT set_config('application_name', '{database}', false)", "{database}\n"),
        ("SELECT current_setting('application_name')", "{database}\n"),
        ("SELECT rolname FROM pg_roles ORDER BY 1", "ada\nnoisegate\n"),
        ("SELECT datname FROM pg_database", "bikes\n"),
        ("SELECT column_default FROM information_schema.columns WHERE column_name = 'capacity'", "12\n"),
        ("SELECT attnum FROM pg_attribute WHERE attrelid = 'riders'::regclass ORDER BY 1", "1\n2\n3\n4\n"),
    ] {
        assert_eq!(text(&ada, sql).await, expected, "{sql}");
    }
    assert!(
        text(&ada, "SELECT current_setting('zq.nothing')").await.starts_with("42704"),
        "an unknown setting"
    );
    let pid = text(&ada, "SELECT pg_backend_pid()").await;
    assert!(pid.trim().parse::<i32>().is_ok_and(|pid| pid != 0), "{pid}");
}

/// The product's own relations stand beside the database's: what a tool shows of a column, and what the policy says of it.
#[tokio::test(flavor = "multi_thread")]
async fn relations_of_noisegate_are_joined_with_catalogs() {
    let world = World::new().await;
    let ada = world.ada().await;
    let asked = "WITH kept AS (SELECT * FROM noisegate.columns WHERE privacy = 'private')
        SELECT a.attname, format_type(a.atttypid, a.atttypmod), k.high, (SELECT count(*) FROM noisegate.budget) AS budgets
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        JOIN kept k ON k.table_name = c.relname AND k.column_name = a.attname
        WHERE c.relname = 'trips' AND k.high IS NOT NULL AND a.attnum > 0 ORDER BY a.attname DESC";
    let text = |cell: &str| Some(cell.to_owned());
    let row = |name, ty, high| vec![text(name), text(ty), text(high), text("1")];
    let shown = city::rows(&ada, asked).await.unwrap();
    let expected = [
        row("started_at", "timestamp without time zone", "2025-12-31 23:59:59.999999"),
        row("speed", "double precision", "40"),
        row("minutes", "integer", "240"),
        row("fare", "numeric(6,2)", "60"),
    ];
    assert_eq!(shown, expected);
    // Prepared, its columns are those that come, and its rows those of the moment.
    let statement = ada
        .prepare("SELECT h.entry, c.relname FROM pg_class c, noisegate.history h WHERE c.relname = $1")
        .await
        .unwrap();
    assert_eq!(statement.columns()[0].type_().name(), "int8");
    assert_eq!(ada.query(&statement, &[&"trips"]).await.unwrap().len(), 0);
    city::rows(&ada, "SELECT count(*) FROM trips").await.unwrap();
    assert_eq!(ada.query(&statement, &[&"trips"]).await.unwrap().len(), 1);
    // Names of too many parts are PostgreSQL's errors.
    assert_eq!(city::sqlstate(&ada, "SELECT 'a.b.c.d'::regclass").await, "42601");
    assert_eq!(city::sqlstate(&ada, "SELECT 'other.public.trips'::regclass").await, "0A000");
    // A private table has no place there, and what does not exist is said so.
    assert_eq!(city::sqlstate(&ada, "SELECT 1 FROM pg_class, trips").await, "0A000");
    assert_eq!(city::sqlstate(&ada, "SELECT 1 FROM pg_class, noisegate.nothing").await, "42P01");
}
