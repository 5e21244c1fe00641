//! The extended protocol through the whole program, by tokio-postgres: parameters, types, portals.

use crate::city::{self, PASSWORD, policy};
use crate::support::{self, Gate, Workdir, connect};
use crate::usual::rules;
use futures::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

/// At ε = 20 and four rows per unit the noise of a count is 0 or 1, and hardly ever 2.
const RULES: &str = rules!([epsilon = 20, max_groups = 1, max_rows = 4] ["pure", epsilon = 1000]);

struct World {
    db: support::TestDb,
    _dir: Workdir,
    gate: Gate,
}

impl World {
    async fn new(rules: &str) -> Self {
        let db = city::bikes().await;
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], rules));
        let gate = dir.serve().await;
        Self { db, _dir: dir, gate }
    }

    async fn ada(&self) -> Client {
        connect(&self.gate.url("ada", PASSWORD, "bikes")).await
    }
}

async fn row(c: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Row {
    c.query_one(sql, params).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

async fn count(c: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> i64 {
    row(c, sql, params).await.get(0)
}

async fn code(c: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> String {
    match c.query(sql, params).await {
        Ok(rows) => panic!("answered: {sql}: {} rows", rows.len()),
        Err(e) => e.code().unwrap_or_else(|| panic!("{sql}: {e:?}")).code().to_owned(),
    }
}

fn near(n: i64, expected: i64) {
    assert!((n - expected).abs() <= 3, "{n}, not about {expected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_filter_private_rows() {
    let world = World::new(RULES).await;
    let (c, admin) = (world.ada().await, world.db.superuser().await);
    // Types come from what a parameter meets; values are planned with, so that domains and bounds follow from them.
    macro_rules! same {
        ($($condition:literal, [$($param:expr),*] => $truth:literal;)*) => {$(
            let sql = concat!("SELECT count(*) FROM trips WHERE ", $condition);
            let truth = row(&admin, concat!("SELECT count(*) FROM trips WHERE ", $truth), &[]).await;
            let found = count(&c, sql, &[$(&$param),*]).await;
            let truth: i64 = truth.get(0);
            assert!((found - truth).abs() <= 3, "{found}, not {truth}: {sql}");
        )*};
    }
    same! {
        "minutes > $1", [60] => "minutes > 60";
        "minutes BETWEEN $1 AND $2 AND note LIKE $3", [31, 90, "1%"] => "minutes BETWEEN 31 AND 90 AND note LIKE '1%'";
        "station = ANY($1)", [vec!["Station 1", "Station 2"]] => "station IN ('Station 1', 'Station 2')";
        "station <> ALL($1)", [vec!["Station 1", "Station 2"]] => "station NOT IN ('Station 1', 'Station 2')";
        "station = ANY($1::text[])", [vec!["Station 1", "Station 2"]] => "station IN ('Station 1', 'Station 2')";
        "minutes <> ALL($1::int[])", [vec![40, 50]] => "minutes NOT IN (40, 50)";
        "speed < $1", [f64::INFINITY] => "speed < 'Infinity'";
        "speed <> $1::float8", [f64::NAN] => "speed <> 'NaN'";
        "station = ANY($1)", [Vec::<String>::new()] => "false";
        "station = ANY($1)", [None::<Vec<String>>] => "false";
        "minutes < ANY($1)", [vec![40, 50]] => "minutes < 50";
        "minutes >= ALL($1)", [vec![40, 50]] => "minutes >= 50";
        "minutes = $1", [None::<i32>] => "false";
        "minutes > $1 + 5 AND minutes < abs($2::int)", [50, -70] => "minutes > 55 AND minutes < 70";
        "started_at >= $1::text::timestamp AND started_at < $2::text::date + 1", ["2024-01-02", "2024-01-03"]
            => "started_at >= '2024-01-02' AND started_at < '2024-01-04'";
        "started_at < now() - $1::text::interval", ["10 days"] => "started_at < now() - interval '10 days'";
        "started_at < to_timestamp($1, 'YYYY-MM-DD')", ["2024-02-01"] => "started_at < '2024-02-01'";
    }
    let grouped = "SELECT station, count(*), avg(fare) FROM trips WHERE station IN ($1, $2) GROUP BY station ORDER BY station";
    let rows = c.query(grouped, &[&"Station 3", &"no such"]).await.unwrap();
    assert_eq!(rows.len(), 2, "both listed values are groups");
    assert_eq!(
        (rows[0].get::<_, String>(0), rows[1].get::<_, String>(0)),
        ("Station 3".into(), "no such".into())
    );
    near(rows[0].get(1), 200);
    // Bounds: what was clamped to a parameter is summed within it.
    let sum = row(&c, "SELECT sum(LEAST(minutes, $1)) FROM trips", &[&1]).await.get::<_, i64>(0);
    near(sum, 1999);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_frozen_at_parse_as_postgresql_infers_them() {
    let world = World::new(RULES).await;
    let c = world.ada().await;
    let statement = c.prepare("SELECT count(*) AS n, avg(fare), $1 AS given FROM trips WHERE fare > $2 AND started_at < $3 LIMIT $4").await.unwrap();
    assert_eq!(statement.params(), [Type::TEXT, Type::NUMERIC, Type::TIMESTAMP, Type::INT8]);
    let columns: Vec<(&str, &Type)> = statement.columns().iter().map(|c| (c.name(), c.type_())).collect();
    assert_eq!(columns, [("n", &Type::INT8), ("avg", &Type::NUMERIC), ("given", &Type::TEXT)]);
    // The client's own types win.
    let typed = c.prepare_typed("SELECT $1 + 1, $2", &[Type::INT8, Type::BOOL]).await.unwrap();
    assert_eq!(typed.params(), [Type::INT8, Type::BOOL]);
    let row = c.query_one(&typed, &[&41i64, &true]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1)), (42, true));
    for (sql, types, expected) in [
        ("SELECT count(*) FROM trips WHERE no_such = $1", vec![], "42703"),
        ("SELECT count(*) FROM trips WHERE minutes = $1", vec![Type::DATE], "42883"),
        ("SELECT $1", vec![Type::REGCLASS], "0A000"),
        ("SELECT count(*) FROM trips WHERE note = ANY($1)", vec![Type::REGCLASS_ARRAY], "0A000"),
        ("SELECT pg_sleep($1)", vec![], "0A000"),
        ("SELECT trip_id FROM trips WHERE trip_id = $1", vec![], "42703"),
    ] {
        let refused = c.prepare_typed(sql, &types).await.err().unwrap_or_else(|| panic!("prepared: {sql}"));
        assert_eq!(refused.code().map(|c| c.code()), Some(expected), "{sql}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_travels_as_parameter_and_result() {
    let world = World::new(RULES).await;
    let c = world.ada().await;
    macro_rules! same {
        ($($ty:literal: $rust:ty = $value:expr;)*) => {$(
            let value: $rust = $value;
            let sql = concat!("SELECT $1::", $ty, ", $1::", $ty, " IS NULL");
            let found = row(&c, sql, &[&value]).await;
            assert_eq!(found.get::<_, $rust>(0), value, $ty);
            assert!(!found.get::<_, bool>(1));
        )*};
    }
    same! {
        "bool": bool = true;
        "int2": i16 = -7;
        "int4": i32 = i32::MIN;
        "int8": i64 = i64::MAX;
        "float4": f32 = 0.1;
        "float8": f64 = 1.0 / 3.0;
        "text": String = "it's \\ a 'test' ä".into();
        "varchar": String = "x".into();
    }
    let null = row(&c, "SELECT $1::text, $1 IS NULL", &[&None::<String>]).await;
    assert_eq!((null.get::<_, Option<String>>(0), null.get::<_, bool>(1)), (None, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn parse_bind_and_describe_are_free_and_execute_is_charged_once() {
    let world = World::new(
        "[statement]\nepsilon = 0.1\n[[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = 0.3\n",
    )
    .await;
    let mut c = world.ada().await;
    let left = "SELECT answers_left FROM noisegate.budget";
    let statement =
        c.prepare("SELECT station, count(*) FROM trips WHERE minutes > $1 GROUP BY station").await.unwrap();
    assert_eq!(count(&c, left, &[]).await, 3);
    let transaction = c.transaction().await.unwrap();
    let portal = transaction.bind(&statement, &[&40]).await.unwrap();
    assert_eq!(transaction.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 3);
    let mut groups = 0;
    loop {
        let part = transaction.query_portal(&portal, 4).await.unwrap();
        groups += part.len();
        if part.is_empty() {
            break;
        }
        assert_eq!(
            transaction.query_one(left, &[]).await.unwrap().get::<_, i64>(0),
            2,
            "charged by the first Execute"
        );
    }
    assert_eq!(groups, 10);
    transaction.rollback().await.unwrap();
    assert_eq!(count(&c, left, &[]).await, 2, "ROLLBACK gives nothing back");
    for _ in 0..2 {
        assert_eq!(c.query(&statement, &[&50]).await.unwrap().len(), 10);
    }
    let refused = c.query(&statement, &[&50]).await.unwrap_err();
    assert_eq!(refused.code().map(|c| c.code()), Some("53400"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_25_plan_and_price_follow_the_values_of_bind() {
    let world = World::new(RULES).await;
    let c = world.ada().await;
    // Where the value bounds an expression, the noise is drawn for that bound: at a bound of 10^9 the
    // noise shows, at 1 it does not.
    let sql =
        "SELECT sum(GREATEST(LEAST(minutes, $1), $1)) FROM riders JOIN stations ON false JOIN trips ON false";
    assert!(c.prepare(sql).await.is_ok());
    let statement = c
        .prepare("SELECT sum(CASE WHEN true THEN $1 ELSE minutes END) FROM trips WHERE minutes < 0")
        .await
        .unwrap();
    let mut spread = Vec::new();
    for bound in [1i32, 2_000_000_000] {
        let mut widest = 0i64;
        for _ in 0..12 {
            widest = widest.max(c.query_one(&statement, &[&bound]).await.unwrap().get::<_, i64>(0).abs());
        }
        spread.push(widest);
    }
    assert!(spread[0] < 4_000, "{spread:?}");
    assert!(spread[1] > 1_000_000, "{spread:?}");
    // What the value makes unbounded or too large is refused at Bind, and nothing is charged.
    assert_eq!(code(&c, "SELECT count(*) FROM trips WHERE note LIKE $1", &[&"a\\"]).await, "22025");
    assert_eq!(code(&c, "SELECT count(*) FROM trips WHERE minutes = $1::text::int", &[&"x"]).await, "22P02");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_stream_and_sessions_go_on_after_errors() {
    let world = World::new(RULES).await;
    let c = world.ada().await;
    assert_eq!(code(&c, "SELECT 1 / $1", &[&0]).await, "22012");
    assert_eq!(row(&c, "SELECT 6 / $1", &[&3]).await.get::<_, i32>(0), 2);
    let many = c.query_raw("SELECT station FROM stations WHERE capacity > $1", &[&12i32]).await.unwrap();
    assert_eq!(many.try_collect::<Vec<_>>().await.unwrap().len(), 7);
    assert!(
        c.query_opt("SELECT station FROM stations WHERE station = $1", &[&"none"]).await.unwrap().is_none()
    );
    assert_eq!(c.execute("SET timezone = 'Europe/Berlin'", &[]).await.unwrap(), 0);
    assert_eq!(row(&c, "SHOW timezone", &[]).await.get::<_, String>(0), "Europe/Berlin");
    let explain =
        c.query("EXPLAIN VERBOSE SELECT count(*) FROM trips WHERE minutes > $1", &[&60]).await.unwrap();
    assert!(explain[4].get::<_, String>(0).contains("epsilon 20"));
    // Many at once over one connection.
    let all = (0..20).map(|i| {
        let c = &c;
        async move { row(c, "SELECT $1::int4", &[&i]).await.get::<_, i32>(0) }
    });
    let all = futures::future::join_all(all).await;
    assert_eq!(all, (0..20).collect::<Vec<_>>());
}
