//! EXPLAIN as JSON; and sessions that begin without notices.

use crate::city::{PASSWORD, World, policy, room_for, rows, sqlstate};
use crate::support::{Workdir, connect, psql};
use serde_json::Value;
use tokio_postgres::types::Type;

async fn explained(world: &World, sql: &str) -> Value {
    let client = world.client("ada").await;
    let found = rows(&client, sql).await.unwrap();
    assert_eq!(found.len(), 1, "{sql}: {found:?}");
    let all: Value = serde_json::from_str(found[0][0].as_deref().unwrap()).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 1);
    all[0].clone()
}

fn joined(lines: &[Option<String>]) -> String {
    lines.iter().flatten().cloned().collect::<Vec<_>>().join("\n")
}

const ASKED: &str = "SELECT station, count(*) FROM trips GROUP BY station";

#[tokio::test(flavor = "multi_thread")]
async fn plans_are_told_as_json() {
    let world = World::new(&["ada"], &room_for(20)).await;
    let plan = explained(&world, &format!("EXPLAIN (FORMAT JSON, VERBOSE) {ASKED}")).await;
    assert_eq!(plan["price"]["epsilon"].to_string(), "0.1");
    assert_eq!(plan["price"]["budgets"][0]["name"], "everyone");
    assert_eq!(plan["releases"][0]["groups"]["public"], true);
    assert_eq!(plan["releases"][0]["aggregates"][0]["noise"]["mechanism"], "discrete_laplace");
    assert_eq!(plan["tables"][0]["privacy"], "private");
    // The lines are those of the text, which begins with what whoever asks wants to know.
    let client = world.client("ada").await;
    let text: Vec<_> = rows(&client, &format!("EXPLAIN (VERBOSE) {ASKED}")).await.unwrap().concat();
    let lines = |of: &str| -> Vec<_> {
        plan[of].as_array().unwrap().iter().map(|l| l.as_str().map(str::to_owned)).collect()
    };
    let [summary, plan_lines] = ["summary", "plan"].map(lines);
    assert_eq!([summary.clone(), plan_lines].concat(), text);
    let text: Vec<_> = rows(&client, &format!("EXPLAIN {ASKED}")).await.unwrap().concat();
    assert_eq!((text.len(), &text[..4]), (5, summary.as_slice()));
    let told = joined(&summary);
    assert!(
        told.starts_with(
            "This costs 5 % of everybody's budget \"everyone\"; 100 % left, about 20 questions like this."
        ),
        "{told}"
    );
    assert!(told.contains("95 times in 100, noise leaves count within ±"), "{told}");
    assert!(told.contains("Before the noise: at most ") && told.contains(" of a rider_id count"), "{told}");
    for math in ["epsilon", "rho", "sigma", "scale", "l0"] {
        assert!(!joined(&text).contains(math), "{math}: {text:?}");
    }
    // What it is fetched by, and what budgets hold, is for owners.
    let whole = plan.to_string();
    for hidden in
        ["fetch_sql", "finish_sql", "SELECT", "WITH ", "parameters", "limit", "fits", "trip_id", "email"]
    {
        assert!(!whole.contains(hidden), "{hidden}: {whole}");
    }
    let public = explained(&world, "EXPLAIN (FORMAT JSON) SELECT * FROM stations").await;
    assert_eq!(
        (public["price"]["epsilon"].to_string(), public["releases"].to_string()),
        ("0".into(), "[]".into())
    );
    // By parameters, in either format of the protocol, as PostgreSQL's type.
    let sql = "EXPLAIN (FORMAT JSON) SELECT count(*) FROM trips WHERE minutes < $1";
    let prepared = client.prepare(sql).await.unwrap();
    assert_eq!((prepared.columns()[0].name(), prepared.columns()[0].type_()), ("QUERY PLAN", &Type::JSON));
    assert_eq!(client.query(&prepared, &[&30i32]).await.unwrap().len(), 1);
    let other = "EXPLAIN (FORMAT YAML) SELECT 1";
    assert_eq!(sqlstate(&client, other).await, "0A000");
    assert_eq!(sqlstate(&client, "EXPLAIN (FORMAT html) SELECT 1").await, "22023");
    assert_eq!(
        rows(&client, "SELECT fraction_left FROM noisegate.budget").await.unwrap().concat(),
        [Some("1.000000".into())]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_and_explaining_as_json_costs() {
    let world = World::new(&["ada"], &room_for(20)).await;
    let plan = explained(&world, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {ASKED}")).await;
    assert_eq!(plan["asked"], serde_json::json!({ "rows": 10, "free": false }));
    let client = world.client("ada").await;
    assert_eq!(
        rows(&client, "SELECT fraction_left FROM noisegate.budget").await.unwrap().concat(),
        [Some("0.950000".into())]
    );
    let public = explained(&world, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM stations").await;
    assert_eq!(public["asked"], serde_json::json!({ "rows": 10, "free": true }));
    let prepared = client.prepare(&format!("EXPLAIN (FORMAT JSON, ANALYZE) {ASKED}")).await.unwrap();
    assert_eq!(client.query(&prepared, &[]).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_without_notices_where_start_up_or_policy_say_so() {
    let db = crate::city::bikes().await;
    let rules = format!("{}[[role]]\nname = \"quiet\"\nnotices = false\n", room_for(50));
    let text = policy(&db.backend_toml(), &["ada", "bob", "cyd", "dan"], &rules)
        .replace("name = \"bob\"\n", "name = \"bob\"\nnotices = false\n")
        .replace("name = \"cyd\"\n", "name = \"cyd\"\nrole = \"quiet\"\n")
        .replace("name = \"dan\"\n", "name = \"dan\"\nrole = \"quiet\"\nnotices = true\n");
    let dir = Workdir::new(&text);
    let gate = dir.serve().await;
    let told = async |user: &str, options: &str, sql: &str| {
        psql(&format!("{}{options}", gate.url(user, PASSWORD, "bikes")), sql).await.stderr
    };
    let asked = "SELECT count(*) FROM trips";
    let off = "?options=-c%20noisegate.notices%3Doff";
    assert!(told("ada", "", asked).await.contains("spent "));
    assert_eq!(told("ada", off, asked).await, "");
    assert_eq!(told("bob", "", asked).await, "");
    assert_eq!(told("cyd", "", asked).await, "");
    assert!(told("dan", "", asked).await.contains("spent "));
    // Whoever wants them has them, and RESET goes back to how the session began.
    let on = "?options=-c%20noisegate.notices%3Don";
    assert!(told("bob", on, asked).await.contains("spent "));
    assert!(told("cyd", "", &format!("SET noisegate.notices = on; {asked}")).await.contains("spent "));
    assert_eq!(
        told("cyd", "", &format!("SET noisegate.notices = on; RESET noisegate.notices; {asked}")).await,
        ""
    );
    let bob = connect(&gate.url("bob", PASSWORD, "bikes")).await;
    assert_eq!(rows(&bob, "SHOW noisegate.notices").await.unwrap().concat(), [Some("off".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_over_catalogs_are_explained() {
    let world = World::new(&["ada"], &room_for(20)).await;
    let client = world.client("ada").await;
    let sql = "SELECT relname FROM pg_class WHERE relname IN ('riders', 'trips')";
    let lines = rows(&client, &format!("EXPLAIN {sql}")).await.unwrap().concat();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].as_deref().unwrap().starts_with("Catalogs: "), "{lines:?}");
    let lines = rows(&client, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap().concat();
    assert_eq!(lines[2].as_deref(), Some("It was asked, and 2 rows came back; nothing was spent."));
    let plan = explained(&world, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {sql}")).await;
    assert_eq!(plan["asked"], serde_json::json!({ "rows": 2, "free": true }));
    let prepared =
        client.prepare("EXPLAIN (ANALYZE) SELECT 1 FROM pg_class WHERE relname = $1").await.unwrap();
    let found = client.query(&prepared, &[&"riders"]).await.unwrap();
    assert_eq!(found[2].get::<_, String>(0), "It was asked, and 1 row came back; nothing was spent.");
    assert_eq!(sqlstate(&client, "EXPLAIN SELECT no FROM pg_class").await, "42703");
    assert_eq!(sqlstate(&client, "EXPLAIN SELECT 'nowhere'::regclass").await, "42P01");
    let e = client.simple_query("SELECT 'nowhere'::regclass").await.unwrap_err();
    assert_eq!(e.as_db_error().unwrap().message(), "relation \"nowhere\" does not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_called_what_it_is_before_its_first_query() {
    let world = World::new(&["ada"], &room_for(20)).await;
    let client = world.client("ada").await;
    let shown =
        async || rows(&client, "SHOW transaction_isolation").await.unwrap().concat()[0].clone().unwrap();
    client.batch_execute("BEGIN ISOLATION LEVEL SERIALIZABLE").await.unwrap();
    assert_eq!(shown().await, "serializable");
    client.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    assert_eq!(shown().await, "repeatable read");
    rows(&client, "SELECT 1").await.unwrap();
    client.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    client.batch_execute("SET TRANSACTION READ ONLY; SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE").await.unwrap();
    let e = client.simple_query("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await.unwrap_err();
    let e = e.as_db_error().unwrap();
    assert_eq!(
        (e.code().code(), e.message()),
        ("25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query")
    );
    client.batch_execute("ROLLBACK; BEGIN").await.unwrap();
    assert_eq!(shown().await, "read committed");
    client.prepare("SELECT 1").await.unwrap();
    assert_eq!(sqlstate(&client, "SET transaction_isolation = 'serializable'").await, "25001");
    client.batch_execute("ROLLBACK; BEGIN READ ONLY; SELECT 1").await.unwrap();
    assert_eq!(sqlstate(&client, "SET TRANSACTION READ WRITE").await, "25001");
    client.batch_execute("ROLLBACK; BEGIN; SET TRANSACTION READ WRITE; COMMIT").await.unwrap();
}

/// A budget is divided among the statements of a message so that the largest error is least, and nothing is charged for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_divided_among_statements() {
    let world = World::new(&["ada"], &room_for(20)).await;
    let client = world.client("ada").await;
    let of = |sql: &str| format!("EXPLAIN (BUDGET 1.0) {sql}");
    let three = "SELECT count(*) FROM riders; SELECT count(*), sum(fare), sum(minutes) FROM trips; SELECT count(*) FROM stations";
    let lines = joined(&rows(&client, &of(three)).await.unwrap().concat());
    let first = "Epsilon 1 is divided among 2 statements, so that noise is most often within ";
    assert!(lines.starts_with(first) && lines.contains("Nothing was charged."), "{lines}");
    // Three numbers share a price: they need more than one does.
    assert!(lines.contains("1. SET noisegate.epsilon = 0.224; SELECT count(*) FROM riders\n"), "{lines}");
    assert!(lines.contains("2. SET noisegate.epsilon = 0.775; SELECT count(*), sum(fare)"), "{lines}");
    assert!(lines.contains("3. SELECT count(*) FROM stations\n   It costs nothing."), "{lines}");
    assert!(lines.contains("It costs 11.2 % of everybody's budget \"everyone\"."), "{lines}");
    let json = explained(&world, &of(three).replace("1.0", "1.0, FORMAT JSON")).await;
    assert_eq!((&json["budget"], &json["statements"][1]["epsilon"]), (&"1".into(), &"0.775".into()));
    // One as well; what is proposed is accepted, and costs what was said.
    let one = joined(&rows(&client, &of("SELECT avg(fare) FROM trips")).await.unwrap().concat());
    assert!(one.contains("SET noisegate.epsilon = 1;"), "{one}");
    let left = "SELECT fraction_left::float8 > 0.999 FROM noisegate.budget";
    assert_eq!(rows(&client, left).await.unwrap()[0][0].as_deref(), Some("t"), "nothing was charged");
    for (wrong, code) in [
        (of("SELECT count(*) FROM riders; SET noisegate.epsilon = 1"), "42601"),
        (of("SELECT rider_id FROM riders; SELECT count(*) FROM riders"), "0A000"),
        ("EXPLAIN (BUDGET nothing) SELECT count(*) FROM riders".to_owned(), "22023"),
        ("EXPLAIN (BUDGET 1, ANALYZE) SELECT count(*) FROM riders".to_owned(), "0A000"),
        (
            "EXPLAIN (BUDGET 0.0001) SELECT count(*) FROM riders; SELECT count(*) FROM trips".to_owned(),
            "22023",
        ),
    ] {
        let error = client.simple_query(&wrong).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), code, "{wrong}: {error:?}");
    }
    let prepared = client.prepare(&of("SELECT count(*) FROM riders")).await.unwrap_err();
    assert_eq!(prepared.code().unwrap().code(), "0A000", "{prepared:?}");
}
