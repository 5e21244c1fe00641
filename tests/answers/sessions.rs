//! A session: SET, SHOW and RESET, `noisegate.*`, and constants that PostgreSQL evaluates before the plan.

use crate::city::{self, PASSWORD, World, policy, rows, sqlstate};
use crate::support::{Workdir, connect, psql};
use crate::usual::rules;
use tokio_postgres::Client;

const RULES: &str = concat!(
    rules!([epsilon = 0.1, max_groups = 3, max_rows = 5] ["zcdp", epsilon = 8, delta = 1e-6]),
    "[[budget]]\nname = \"quota\"\nper = \"user\"\naccounting = \"pure\"\nepsilon = 3\n"
);

/// What a pooler runs between two clients: the second finds nothing of the first.
#[tokio::test(flavor = "multi_thread")]
async fn discard_all_leaves_no_setting_for_the_next_client_of_a_pooler() {
    let stream = "[[stream]]\nname = \"bell\"\nvariant = \"above_threshold\"\nepsilon = 1\n";
    let rules = RULES.replace("max_rows = 5\n", "max_rows = 5\nauto_max_rows = 50\n");
    let world = World::new(&["ada", "bob"], &format!("{rules}{stream}")).await;
    let ada = world.client("ada").await;
    let all = "SELECT name, setting FROM noisegate.settings ORDER BY name";
    let before = rows(&ada, all).await.unwrap();
    for set in [
        "epsilon = 0.5",
        "accuracy = 100",
        "delta = 1e-9",
        "max_groups = 2",
        "max_rows = 2",
        "bounds = auto",
        "mechanism = laplace",
        "notices = off",
        "cache = off",
        "empty_groups = off",
        "consistent = on",
        "intervals = on",
        "confidence = 0.5",
        "stream = 'bell'",
        "stream_reopen = 'bell'",
        "stream_questions = 7",
        "stream_beta = 0.01",
    ] {
        run(&ada, &format!("SET noisegate.{set}")).await;
    }
    let set = rows(&ada, all).await.unwrap();
    let same = before.iter().filter(|row| set.contains(row)).count();
    // What is told of a stream follows from others.
    assert!(same <= before.len() - 17, "{set:?}");
    run(&ada, "DISCARD ALL").await;
    assert_eq!(rows(&ada, all).await.unwrap(), before);
}

/// A zone that PostgreSQL does not know would fail for the first row: it is found before anything is paid.
#[tokio::test(flavor = "multi_thread")]
async fn zones_are_looked_up_before_anything_is_paid() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let ada = world.client("ada").await;
    let spent = "SELECT min(fraction_left) FROM noisegate.budget";
    let before = one(&ada, spent).await;
    let sql = "SELECT count(*) FROM trips WHERE started_at AT TIME ZONE 'Mars/Olympus' > '2024-01-01'";
    let refused = rows(&ada, sql).await.unwrap_err();
    let refused = refused.as_db_error().expect("an answer of the gateway");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("22023", "time zone \"Mars/Olympus\" not recognized")
    );
    assert_eq!(one(&ada, spent).await, before);
}

async fn one(client: &Client, sql: &str) -> String {
    let all = rows(client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    all.first().and_then(|r| r.first().cloned().flatten()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
}

async fn run(client: &Client, sql: &str) {
    client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

/// What psql writes on standard error: notices.
async fn notices(world: &World, script: &str) -> String {
    psql(&world.gate.url("ada", PASSWORD, "bikes"), script).await.stderr
}

#[tokio::test(flavor = "multi_thread")]
async fn formats_follow_the_session_everywhere() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    // Over public rows and constants, released values and group keys: the same session settings.
    let moment = "SELECT timestamptz '2024-07-01 12:00:00+00'";
    assert_eq!(one(&c, moment).await, "2024-07-01 12:00:00+00");
    run(&c, "SET TIME ZONE 'Europe/Berlin'; SET datestyle = 'German, DMY'; SET intervalstyle = iso_8601")
        .await;
    assert_eq!(one(&c, moment).await, "01.07.2024 14:00:00 CEST");
    assert_eq!(one(&c, "SELECT interval '1 day 2 hours'").await, "P1DT2H");
    let keys = "SELECT date_trunc('year', started_at) FROM trips WHERE started_at < '2024-01-01' GROUP BY 1 ORDER BY 1 LIMIT 1";
    assert_eq!(one(&c, keys).await, "01.01.2023 00:00:00");
    assert_eq!(one(&c, "SHOW timezone").await, "Europe/Berlin");
    assert_eq!(one(&c, "SHOW DateStyle").await, "German, DMY");
    run(&c, "RESET ALL").await;
    assert_eq!(one(&c, moment).await, "2024-07-01 12:00:00+00");
}

#[tokio::test(flavor = "multi_thread")]
async fn set_follows_transactions_and_is_judged_by_postgresql() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    run(&c, "BEGIN; SET timezone = 'Asia/Tokyo'; SET LOCAL noisegate.epsilon = 0.5").await;
    assert_eq!(one(&c, "SHOW timezone").await, "Asia/Tokyo");
    assert_eq!(one(&c, "SHOW noisegate.epsilon").await, "0.5");
    run(&c, "ROLLBACK").await;
    assert_eq!(one(&c, "SHOW timezone").await, "UTC");
    assert_eq!(one(&c, "SHOW noisegate.epsilon").await, "0.1");
    run(&c, "SET timezone = 'europe/paris'").await;
    assert_eq!(one(&c, "SHOW TIME ZONE").await, "Europe/Paris", "PostgreSQL's own spelling");
    for (sql, code) in [
        ("SET timezone = 'Nowhere/Land'", "22023"),
        ("SET datestyle = 'upside down'", "22023"),
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET standard_conforming_strings = off", "22023"),
        ("SET no_such_setting = 1", "42704"),
        ("SET noisegate.noise = off", "42704"),
        ("SET noisegate.epsilon = -1", "22023"),
        ("SET server_version = '9'", "55P02"),
        ("SET ROLE postgres", "42501"),
        ("SHOW config_file", "42704"),
        ("RESET no_such_setting", "42704"),
    ] {
        assert_eq!(sqlstate(&c, sql).await, code, "{sql}");
    }
    // What drivers and poolers send is taken.
    run(
        &c,
        "SET extra_float_digits = 3; SET client_encoding TO 'UTF8'; SET search_path TO \"$user\", public",
    )
    .await;
    run(&c, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").await;
    assert_eq!(one(&c, "SHOW TRANSACTION ISOLATION LEVEL").await, "read uncommitted");
    run(&c, "SELECT pg_advisory_unlock_all(); UNLISTEN *; RESET ALL").await;
    assert_eq!(one(&c, "SHOW transaction_isolation").await, "read committed");
    assert_eq!(one(&c, "SHOW search_path").await, "\"$user\", public");
}

#[tokio::test(flavor = "multi_thread")]
async fn access_modes_are_told_as_by_a_primary_and_writes_are_refused_in_both() {
    let world = World::new(&["ada"], RULES).await;
    let c = world.client("ada").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "off");
    run(&c, "BEGIN READ ONLY").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "on");
    assert_eq!(one(&c, "SHOW default_transaction_read_only").await, "off");
    run(&c, "COMMIT AND CHAIN").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "on");
    run(&c, "SET TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "off");
    assert_eq!(one(&c, "SHOW transaction_isolation").await, "serializable");
    run(&c, "COMMIT; START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE").await;
    assert_eq!(one(&c, "SHOW transaction_isolation").await, "repeatable read");
    assert_eq!(sqlstate(&c, "DELETE FROM trips").await, "42501");
    run(&c, "ROLLBACK; SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "on");
    assert_eq!(one(&c, "SHOW transaction_isolation").await, "read committed");
    run(&c, "SET default_transaction_read_only = f; SET TRANSACTION READ ONLY").await;
    assert_eq!(one(&c, "SHOW transaction_read_only").await, "off");
    assert_eq!(sqlstate(&c, "SET transaction_read_only = maybe").await, "22023");
    assert_eq!(sqlstate(&c, "DELETE FROM trips").await, "42501");
    // Who wants a read-only session gets one.
    let base = world.gate.url("ada", PASSWORD, "bikes");
    let wish = "target_session_attrs=read-only";
    let only = "SHOW transaction_read_only";
    let found = psql(&format!("{base}?options=-c%20default_transaction_read_only%3Dtrue&{wish}"), only).await;
    assert!(found.stdout.contains(" on"), "{found:?}");
    let found = psql(&format!("{base}?{wish}"), only).await;
    assert!(found.stderr.contains("session is not read-only"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_chooses_its_price_and_bounds() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    let explain = |c: Client| async move {
        let plan = rows(&c, "EXPLAIN VERBOSE SELECT count(*) FROM trips GROUP BY station").await.unwrap();
        let text: Vec<String> = plan.into_iter().filter_map(|r| r[0].clone()).collect();
        (c, text.join("\n"))
    };
    let (c, plan) = explain(c).await;
    assert!(plan.contains("epsilon 0.1") && plan.contains("at most 15 rows"), "{plan}");
    run(&c, "SET noisegate.epsilon = 0.25; SET noisegate.max_rows = 2; SET noisegate.max_groups = 1").await;
    let (_c, plan) = explain(c).await;
    assert!(plan.contains("epsilon 0.25") && plan.contains("at most 2 rows"), "{plan}");
    assert!(plan.contains("at most 2 rows per unit in all groups"), "{plan}");
    // The quota is pure: it has no price for Gaussian noise, and says so before anything is charged.
    let c = world.client("ada").await;
    run(&c, "SET noisegate.mechanism = gaussian").await;
    assert_eq!(sqlstate(&c, "SELECT count(*) FROM trips").await, "22023");
    run(&c, "SET noisegate.mechanism = laplace").await;
    assert_eq!(rows(&c, "SELECT count(*) FROM trips").await.unwrap().len(), 1);
    let told = notices(&world, "SET noisegate.epsilon = 0.25; SELECT count(*) FROM trips;").await;
    assert!(told.contains("NOTICE:  spent "), "{told}");
    for silence in ["noisegate.notices = off", "client_min_messages = warning", "client_min_messages = ERROR"]
    {
        let told = notices(&world, &format!("SET {silence}; SELECT count(*) FROM trips;")).await;
        assert!(!told.contains("spent"), "{silence}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn now_is_fixed_within_a_transaction_and_bounds_private_rows() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    run(&c, "BEGIN").await;
    let first = one(&c, "SELECT now()").await;
    assert_eq!(one(&c, "SELECT now()").await, first);
    run(&c, "COMMIT").await;
    assert_ne!(one(&c, "SELECT now()").await, first);
    // Every trip but one lies before now, and all lie after the day of a hundred years ago.
    run(&c, "SET noisegate.epsilon = 1").await;
    let near = |text: String, n: i64| (text.parse::<i64>().unwrap() - n).abs() < 400;
    let recent = one(&c, "SELECT count(*) FROM trips WHERE started_at > now() - interval '100 years'").await;
    assert!(near(recent.clone(), 1998), "{recent}");
    let none =
        one(&c, "SELECT count(*) FROM trips WHERE started_at < date '2023-12-31' - interval '2 months'")
            .await;
    assert!(near(none.clone(), 1), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_s_own_relations_work_in_any_sql() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    let budgets = rows(&c, "SELECT name, scope, accounting, epsilon, fraction_left, answers_left FROM noisegate.budget ORDER BY name").await.unwrap();
    let text = |r: usize, c: usize| budgets[r][c].clone().unwrap();
    assert_eq!((text(0, 0), text(0, 1), text(0, 2)), ("everyone".into(), "dataset".into(), "zcdp".into()));
    assert_eq!((text(1, 0), text(1, 3), text(1, 5)), ("quota".into(), "3".into(), "30".into()));
    run(&c, "SELECT count(*) FROM trips").await;
    let after = "SELECT answers_left FROM noisegate.budget WHERE name = 'quota'";
    assert_eq!(one(&c, after).await, "29");
    let forever = "SELECT lifetime, window IS NULL, next_window IS NULL, closed FROM noisegate.budget WHERE name = 'quota'";
    let forever = rows(&c, forever).await.unwrap();
    let text: Vec<&str> = forever[0].iter().map(|t| t.as_deref().unwrap()).collect();
    assert!(text[0].starts_with("for all time: epsilon 3"), "{text:?}");
    assert_eq!(text[1..], ["t", "t", "f"]);
    // The user's own statements, with their prices.
    let history = "SELECT statement, epsilon, price, cached, at <= now() FROM noisegate.history";
    let history = rows(&c, history).await.unwrap();
    let text: Vec<&str> = history[0].iter().map(|t| t.as_deref().unwrap()).collect();
    assert_eq!((history.len(), text[0].len(), text[1], &text[3..]), (1, 64, "0.1", ["f", "t"].as_slice()));
    assert!(text[2].contains("everyone: ρ = ") && text[2].contains("; quota: "), "{text:?}");
    // In joins, subqueries, CTEs, beside a release, and aggregated: exactly, because nothing in them is private.
    let joined = "WITH p AS (SELECT table_name, count(*) AS n FROM noisegate.columns WHERE privacy = 'private' GROUP BY 1)
        SELECT p.n FROM p JOIN (VALUES ('trips')) AS v(t) ON v.t = p.table_name";
    assert_eq!(one(&c, joined).await, "7");
    assert_eq!(
        one(&c, "SELECT low || ' to ' || high FROM noisegate.columns WHERE column_name = 'fare'").await,
        "0 to 60"
    );
    assert_eq!(
        one(&c, "SELECT count(*) FROM noisegate.columns WHERE column_name = 'email'").await,
        "0",
        "hidden"
    );
    let beside = rows(&c, "SELECT count(*), (SELECT min(answers_left) FROM noisegate.budget) FROM trips")
        .await
        .unwrap();
    assert_eq!(beside[0][1].as_deref(), Some("28"));
    assert_eq!(
        one(&c, "SELECT setting FROM noisegate.settings WHERE name = 'noisegate.max_rows'").await,
        "5"
    );
    assert_eq!(sqlstate(&c, "SELECT * FROM noisegate.nothing").await, "42P01");
    assert_eq!(sqlstate(&c, "SELECT count(*) FROM trips, noisegate.budget").await, "0A000");
}

#[tokio::test(flavor = "multi_thread")]
async fn start_up_options_take_effect() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let base = world.gate.url("ada", PASSWORD, "bikes");
    let c = connect(&format!(
        "{base}?options=-c%20timezone=Asia/Tokyo%20-c%20noisegate.epsilon=0.3%20-c%20unheard.of=1"
    ))
    .await;
    assert_eq!(one(&c, "SHOW timezone").await, "Asia/Tokyo");
    assert_eq!(one(&c, "SHOW noisegate.epsilon").await, "0.3");
    run(&c, "SET timezone = 'UTC'; RESET timezone").await;
    assert_eq!(one(&c, "SHOW timezone").await, "Asia/Tokyo");
    let refused = psql(&format!("{base}?options=-c%20timezone%3DNowhere"), "SELECT 1").await;
    assert!(refused.stderr.contains("invalid value for parameter \"TimeZone\""), "{}", refused.stderr);
}

/// Names of PostgreSQL's and plain offsets; a rule in POSIX notation could leave days out.
#[tokio::test(flavor = "multi_thread")]
async fn rule_37_time_zones_are_those_that_have_a_name() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    for (zone, shown) in [
        ("'UTC'", "UTC"),
        ("'Europe/Berlin'", "Europe/Berlin"),
        ("'america/new_york'", "America/New_York"),
        ("'GMT'", "GMT"),
        ("'EST5EDT'", "EST5EDT"),
        ("'+05:30'", "+05:30"),
        ("-7", "<-07>+07"),
        ("5.5", "<+05:30>-05:30"),
        ("INTERVAL '-08:00' HOUR TO MINUTE", "<-08>+08"),
    ] {
        run(&c, &format!("SET TIME ZONE {zone}")).await;
        assert_eq!(one(&c, "SHOW timezone").await, shown, "{zone}");
        // Drivers set again what they were told.
        run(&c, &format!("SET timezone = '{shown}'")).await;
        assert_eq!(one(&c, "SHOW timezone").await, shown);
    }
    run(&c, "SET TIME ZONE -7").await;
    assert_eq!(one(&c, "SELECT timestamptz '2024-07-01 12:00:00+00'").await, "2024-07-01 05:00:00-07");
    run(&c, "RESET timezone").await;
    let made =
        ["AAA97BBB-47,J57/2,J300/0", "X-30Y-100,J62/3,J280/0", "A-48", "UTC+3", "<X>-3", "100", "16", "-16"];
    for zone in made {
        for sql in [format!("SET timezone = '{zone}'"), format!("SET LOCAL TIME ZONE '{zone}'")] {
            let mut error = c.simple_query(&format!("BEGIN; {sql}")).await.unwrap_err();
            run(&c, "ROLLBACK").await;
            let told = error.as_db_error().unwrap();
            assert_eq!(told.code().code(), "22023", "{sql}");
            assert!(told.hint().unwrap().contains("pg_timezone_names"), "{told:?}");
            error = c.simple_query(&sql.replace("LOCAL ", "")).await.unwrap_err();
            assert_eq!(error.code().unwrap().code(), "22023", "{sql}");
        }
        assert_eq!(one(&c, "SHOW timezone").await, "UTC", "{zone}");
    }
    let base = world.gate.url("ada", PASSWORD, "bikes");
    let refused = psql(&format!("{base}?options=-c%20timezone%3DA-48"), "SELECT 1").await;
    assert!(refused.stderr.contains("time zone \"A-48\" is neither a name"), "{}", refused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_37_a_server_that_begins_in_a_zone_of_its_own_making_is_refused() {
    let db = city::bikes().await;
    // What a fetch reads does not depend on that.
    db.execute(&format!("ALTER ROLE {}_fetch SET timezone = 'A-48'", db.name)).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], RULES));
    drop(dir.serve().await);
    db.execute(&format!("ALTER ROLE {}_finish SET timezone = 'A-48'", db.name)).await;
    let out = dir.noisegate(&["serve"]).await;
    assert!(!out.status.success());
    let told = "the default time zone of the finish login, \"A-48\",";
    assert!(out.stderr.contains(told) && out.stderr.contains("ALTER ROLE"), "{}", out.stderr);
}

/// Below the least, time and errors would be worth more than answers.
#[tokio::test(flavor = "multi_thread")]
async fn rule_35_prices_have_a_floor() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let c = world.client("ada").await;
    assert_eq!(one(&c, "SHOW noisegate.min_epsilon").await, "0.0001");
    let refused = c.simple_query("SET noisegate.epsilon = 0.00009").await.unwrap_err();
    let told = refused.as_db_error().unwrap();
    assert_eq!(told.code().code(), "22023");
    assert!(told.hint().unwrap().contains("from 0.0001, the policy's statement.min_epsilon"), "{told:?}");
    run(&c, "SET noisegate.epsilon = 0.0001").await;
    one(&c, "SELECT count(*) FROM trips").await;
    assert_eq!(sqlstate(&c, "SET noisegate.min_epsilon = 0.00001").await, "55P02");
    assert_eq!(sqlstate(&c, "SET noisegate.max_rows = 1000001").await, "22023");
    let base = world.gate.url("ada", PASSWORD, "bikes");
    let refused = psql(&format!("{base}?options=-c%20noisegate.epsilon%3D1e-5"), "SELECT 1").await;
    assert!(
        refused.stderr.contains("invalid value for parameter \"noisegate.epsilon\""),
        "{}",
        refused.stderr
    );
}

/// What is asked again over public tables is not typed again, unless the table is another.
#[tokio::test(flavor = "multi_thread")]
async fn public_statements_follow_their_tables() {
    let db = city::bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], RULES));
    let gate = dir.serve().await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let ada = connect(&url).await;
    let most = "SELECT max(capacity) AS most FROM stations";
    let types = async || -> Vec<String> {
        let text = psql(&url, &format!("{most} \\gdesc")).await.stdout;
        text.lines().map(str::to_owned).collect()
    };
    let before = one(&ada, most).await;
    assert_eq!(one(&ada, most).await, before);
    db.execute("ALTER TABLE stations ALTER capacity TYPE numeric(8, 2)").await;
    let after = format!("{before}.00");
    for _ in 0..3 {
        assert_eq!(one(&ada, most).await, after);
    }
    assert!(types().await.iter().any(|l| l.contains("numeric")), "{:?}", types().await);
    db.execute("ALTER TABLE stations RENAME capacity TO room").await;
    for _ in 0..2 {
        let refused = rows(&ada, most).await.unwrap_err();
        let refused = refused.as_db_error().expect("an answer of the gateway");
        assert!(!refused.message().contains("incident") && !refused.message().contains("b0"), "{refused:?}");
    }
}

/// What is remembered of a text is right for who asks, when, and by which settings.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_of_a_statement_is_what_it_means_to_the_session() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let (ada, bob) = (world.client("ada").await, world.client("bob").await);
    let mut moments = std::collections::BTreeSet::new();
    for _ in 0..6 {
        for (client, name) in [(&ada, "ada"), (&bob, "bob")] {
            assert_eq!(one(client, "SELECT current_user FROM stations LIMIT 1").await, name);
            moments.insert(one(client, "SELECT 'now'::timestamp").await);
        }
        let date = "SELECT '2024-05-06'::date FROM stations LIMIT 1";
        assert_eq!(one(&bob, date).await, "2024-05-06");
        for (style, shown) in [("ISO, MDY", "2024-05-06"), ("German", "06.05.2024")] {
            ada.batch_execute(&format!("SET datestyle = '{style}'")).await.unwrap();
            assert_eq!(one(&ada, date).await, shown);
        }
        ada.batch_execute("BEGIN; SET LOCAL datestyle = 'SQL, DMY'").await.unwrap();
        assert_eq!(one(&ada, date).await, "06/05/2024");
        ada.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(one(&ada, date).await, "06.05.2024");
    }
    assert_eq!(moments.len(), 12, "each moment is its own: {moments:?}");
    let larger = ada.prepare("SELECT count(*) FROM stations WHERE capacity > $1").await.unwrap();
    for (than, same) in [(-1, true), (1_000_000, false), (-1, true), (1_000_000, false)] {
        let n: i64 = ada.query_one(&larger, &[&than]).await.unwrap().get(0);
        assert_eq!(n > 0, same);
    }
}

/// A plan that is remembered is one of the price, the budgets and the bounds that hold now.
#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_plan_is_of_the_settings_at_hand() {
    let world = World::new(&["ada"], RULES).await;
    let ada = world.client("ada").await;
    ada.batch_execute("SET noisegate.cache = off").await.unwrap();
    let asked = "SELECT count(*) FROM riders WHERE birth_year < 1980";
    for epsilon in ["0.5", "0.25", "0.5", "0.25"] {
        ada.batch_execute(&format!("SET noisegate.epsilon = {epsilon}")).await.unwrap();
        one(&ada, asked).await;
        let last = "SELECT epsilon FROM noisegate.history ORDER BY at DESC LIMIT 1";
        assert_eq!(one(&ada, last).await, epsilon);
    }
    let by_year = ada.prepare("SELECT count(*) FROM riders WHERE birth_year < $1").await.unwrap();
    for (year, high) in [(1900, false), (2010, true), (1900, false), (2010, true)] {
        let n: i64 = ada.query_one(&by_year, &[&year]).await.unwrap().get(0);
        assert_eq!(n > 200, high, "{n} born before {year}");
    }
}

/// Who asks, and what is asked, beside aggregates.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_the_session_stand_beside_aggregates() {
    let world = World::new(&["ada", "bob"], RULES).await;
    let ada = world.client("ada").await;
    for sql in [
        "SELECT current_user, current_database() AS db, count(*) > -1000000 FROM riders",
        "SELECT session_user AS who, plan, count(*) FROM riders GROUP BY plan LIMIT 1",
    ] {
        let described = psql(&world.gate.url("ada", PASSWORD, "bikes"), &format!("{sql} \\gdesc")).await;
        assert!(described.stdout.contains("name"), "{sql}: {}", described.stdout);
        rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    assert_eq!(
        one(&ada, "SELECT current_user, count(*) FROM riders WHERE plan <> current_user").await,
        "ada"
    );
}

/// What is remembered of a statement is known by all of its text.
#[tokio::test(flavor = "multi_thread")]
async fn long_statements_that_begin_alike_are_answered_each_for_itself() {
    let world = World::new(&["ada"], RULES).await;
    let c = world.client("ada").await;
    let long = "x".repeat(4_500);
    for _ in 0..2 {
        for n in ["1", "2"] {
            assert_eq!(one(&c, &format!("SELECT right('{long}{n}', 1) FROM stations")).await, n);
            let column = c.query_one(&format!("SELECT '{long}', {n}::int FROM stations LIMIT 1"), &[]).await;
            assert_eq!(column.unwrap().get::<_, i32>(1).to_string(), n);
        }
    }
}
