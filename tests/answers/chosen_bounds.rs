//! `SET noisegate.bounds = auto`: a bound on rows that is chosen by a private quantile, for a share of the price.

use crate::city::{PASSWORD, rows, sqlstate};
use crate::support::{Workdir, connect, database, psql};
use tokio_postgres::Client;

/// 4,000 people, of whom each tenth has 60 to 260 visits, and the others from none to six: half of all rows are beyond a bound of 50.
const VISITS: &str = "CREATE TABLE people (id int PRIMARY KEY);
    CREATE TABLE visits (id int NOT NULL REFERENCES people, kind text NOT NULL, amount float8 NOT NULL);
    INSERT INTO people SELECT generate_series(1, 4000);
    INSERT INTO visits SELECT i, CASE WHEN n % 3 = 0 THEN 'a' ELSE 'b' END, 50
    FROM generate_series(1, 4000) AS i,
        generate_series(1, CASE WHEN i % 10 = 0 THEN 60 + i * 7 % 201 ELSE i % 7 END) AS n;";

fn policy(backend: &str, accounting: &str, more: &str) -> String {
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{backend}[ledger]\nurl = \"sqlite:noisegate.db\"\n
        [[user]]\nname = \"ada\"\nscram = \"{verifier}\"\n
        [privacy]\nunit = \"people.id\"\n
        [[budget]]\nname = \"all\"\naccounting = \"{accounting}\"\nepsilon = 1000\ndelta = 1e-6\n
        [table.people]\nunit_column = \"id\"\n
        [table.visits]\nunit_column = \"id\"\ncolumns.amount = {{ range = [0, 100], grid = 1, nan = false }}
        columns.kind = {{ values = [\"a\", \"b\"] }}\n{more}\n"
    )
}

const AUTO: &str = "[statement]\nepsilon = 1\nmax_rows = 12\nauto_max_rows = 1000\n";

async fn number(client: &Client, sql: &str) -> f64 {
    rows(client, sql).await.unwrap()[0][0].as_deref().unwrap().parse().unwrap()
}

/// The median error of a question, of itself.
async fn error(client: &Client, sql: &str, truth: f64) -> f64 {
    let mut errors = Vec::new();
    for _ in 0..9 {
        errors.push((number(client, sql).await - truth).abs() / truth);
    }
    errors.sort_by(f64::total_cmp);
    errors[4]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_bound_errs_less_where_use_is_skewed() {
    for accounting in ["zcdp", "approx"] {
        let db = database(VISITS).await;
        let work =
            Workdir::new(&policy(&db.backend_toml(), accounting, &format!("{AUTO}[cache]\nenabled = false")));
        let gate = work.serve().await;
        let client = connect(&gate.url("ada", PASSWORD, "db")).await;
        for sql in [
            "SELECT sum(amount) FROM visits",
            "SELECT sum(n) FROM (SELECT kind, sum(amount) AS n FROM visits GROUP BY kind) AS k",
        ] {
            let truth: f64 = db.superuser().await.query_one(sql, &[]).await.unwrap().get(0);
            let by_policy = error(&client, sql, truth).await;
            client.batch_execute("SET noisegate.bounds = auto").await.unwrap();
            let chosen = error(&client, sql, truth).await;
            client.batch_execute("RESET noisegate.bounds").await.unwrap();
            println!(
                "{accounting}, {sql}: {by_policy} by the policy's bound, {chosen} by one that was chosen"
            );
            assert!(by_policy > 0.3 && chosen < 0.06, "{accounting}, {sql}: {by_policy} {chosen}");
        }
        // Of each statement that chose, two entries, which cost no more together than one that did not.
        let spent = "SELECT count(*), sum(epsilon)::float8 FROM noisegate.history";
        let spent = rows(&client, spent).await.unwrap();
        assert_eq!(spent[0][0].as_deref(), Some("54"));
        let epsilon: f64 = spent[0][1].as_deref().unwrap().parse().unwrap();
        let most = if accounting == "approx" { 36.0 } else { 18.0 + 18.0 * 1.18 };
        assert!((35.9..=most + 1e-9).contains(&epsilon), "{accounting}: {epsilon}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_is_told_kept_and_given_again() {
    let db = database(VISITS).await;
    // Nobody has more than 260: of bounds above that, which are all as good, none is offered, so that chance does not choose one.
    let auto = AUTO.replace("1000", "256");
    let work = Workdir::new(&policy(&db.backend_toml(), "zcdp", &auto));
    let gate = work.serve().await;
    let url = gate.url("ada", PASSWORD, "db");
    let sql = "SELECT sum(amount) FROM visits";
    let script = format!(
        "SET noisegate.bounds = auto; EXPLAIN {sql}; {sql}; {sql}; EXPLAIN {sql}; EXPLAIN (VERBOSE) {sql};
         SELECT count(*) FROM people; EXPLAIN SELECT count(*) FROM people; {sql} WHERE amount > 7; SELECT count(*), sum(epsilon) FROM noisegate.history;"
    );
    let out = psql(&url, &script).await;
    assert!(!out.stderr.contains("ERROR"), "{}", out.stderr);
    let chosen: Vec<&str> =
        out.stderr.lines().filter_map(|l| l.split_once("NOTICE:  at most ")).map(|(_, t)| t).collect();
    let chosen: Vec<&str> = chosen.into_iter().filter(|t| t.contains("chosen from")).collect();
    let (bound, rest) =
        chosen[0].split_once(" rows of a id count, chosen from 1 to 256 for 20 % of epsilon").unwrap();
    assert_eq!(rest, " (noisegate.bounds = auto)");
    assert!((96..=256).contains(&bound.parse::<u32>().unwrap()), "{bound}");
    assert_eq!(chosen[0], chosen[1], "{}", out.stderr);
    // The choice and the answer are paid for once, and said so.
    assert_eq!(out.stderr.matches("NOTICE:  spent").count(), 5, "{}", out.stderr);
    assert_eq!(
        out.stderr.matches("answered from an earlier release; nothing was spent").count(),
        1,
        "{}",
        out.stderr
    );
    let leaves = "leaves the bounds of this statement as they are: keys prove how many rows a unit has";
    assert!(out.stderr.contains(leaves), "{}", out.stderr);
    assert!(
        out.stdout.contains("Of its epsilon, 20 % first choose how many rows of a id count, up to 256"),
        "{}",
        out.stdout
    );
    let earlier = format!("An earlier release chose its bound: at most {bound} rows of a id count");
    assert_eq!(out.stdout.matches(&earlier).count(), 2, "{}", out.stdout);
    assert!(out.stdout.contains(&format!("at most {bound} rows per unit")), "{}", out.stdout);
    assert!(out.stdout.contains("and not chosen: keys prove"), "{}", out.stdout);
    // The same by the extended protocol, and after a restart.
    let client = connect(&url).await;
    client.batch_execute("SET noisegate.bounds = auto").await.unwrap();
    let again: f64 = client.query_one(sql, &[]).await.unwrap().get(0);
    assert!(out.stdout.contains(&format!("{again}")), "{again}: {}", out.stdout);
    assert_eq!(number(&client, "SELECT count(*) FROM noisegate.history WHERE epsilon > 0").await, 5.0);
    client.batch_execute("SET noisegate.intervals = on").await.unwrap();
    let found = &rows(&client, sql).await.unwrap()[0];
    let ends: Vec<Option<f64>> = found.iter().map(|c| c.as_deref().map(|c| c.parse().unwrap())).collect();
    // What the chosen bound cuts nobody has measured.
    assert!(ends.len() == 3 && ends[1] < ends[0] && ends[2].is_none(), "{ends:?}");
    // What is remembered of a statement is told apart by whether bounds are chosen.
    client.batch_execute("RESET noisegate.intervals; SET noisegate.cache = off").await.unwrap();
    let entries = async || number(&client, "SELECT count(*) FROM noisegate.history").await;
    for (bounds, more) in [("policy", 1.0), ("auto", 2.0), ("auto", 2.0), ("policy", 1.0), ("auto", 2.0)] {
        client.batch_execute(&format!("SET noisegate.bounds = {bounds}")).await.unwrap();
        let before = entries().await;
        number(&client, sql).await;
        assert_eq!(entries().await - before, more, "{bounds}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_policy_does_not_allow_is_refused() {
    let db = database(VISITS).await;
    let work = Workdir::new(&policy(&db.backend_toml(), "zcdp", "[statement]\nepsilon = 1\n"));
    let gate = work.serve().await;
    let client = connect(&gate.url("ada", PASSWORD, "db")).await;
    assert_eq!(sqlstate(&client, "SET noisegate.bounds = auto").await, "22023");
    assert_eq!(sqlstate(&client, "SET noisegate.bounds = wide").await, "22023");
    client.batch_execute("SET noisegate.bounds = policy").await.unwrap();
    assert_eq!(number(&client, "SELECT count(*) FROM noisegate.history").await, 0.0);

    // A policy that allows little is not exceeded, and a price too small to be shared is refused.
    let few = AUTO.replace("1000", "3");
    let work = Workdir::new(&policy(&db.backend_toml(), "zcdp", &few));
    let gate = work.serve().await;
    let out = psql(
        &gate.url("ada", PASSWORD, "db"),
        "SET noisegate.bounds = auto; SELECT sum(amount) FROM visits;",
    )
    .await;
    assert!(out.stderr.contains("rows of a id count, chosen from 1 to 3"), "{}", out.stderr);
    let client = connect(&gate.url("ada", PASSWORD, "db")).await;
    client.batch_execute("SET noisegate.bounds = auto; SET noisegate.epsilon = 0.0004").await.unwrap();
    let told = client.simple_query("SELECT count(*) FROM visits").await.unwrap_err();
    let told = told.as_db_error().unwrap();
    assert_eq!(told.message(), "noisegate.epsilon is too small to choose bounds from");
    assert!(told.hint().unwrap().starts_with("SET noisegate.epsilon = 0.0005, or more"), "{told:?}");
    // Nothing was charged: of what is left alone there is a reason.
    client.batch_execute("SET noisegate.epsilon = 1; SET noisegate.max_rows = 5").await.unwrap();
    assert_eq!(number(&client, "SELECT count(*) FROM noisegate.history").await, 2.0);
}
