//! `noisegate explain`: offline, over the annotated policies and the snapshots that are committed beside them.
//!
//! `UPDATE=1 cargo test --test golden explain` writes the snapshots and the expected output anew; read the difference before
//! committing it. A case is a file of `tests/explain`: its first line names policy and options, the rest is the SQL.

use crate::support::{self, NOISEGATE, Output, Workdir, database, run};
use noisegate::schema::{Snapshot, differences};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

async fn explain(args: &[&str], input: &str) -> Output {
    let mut command = tokio::process::Command::new(NOISEGATE);
    command.arg("explain").args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    run(command, input).await
}

async fn json(args: &[&str], sql: &str) -> Value {
    let out = explain(&[&["--format", "json"], args, &["-"]].concat(), sql).await;
    serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
}

/// The snapshots in config/ are what `check --write-schema` writes for the schemas in tests/schemas.
#[tokio::test(flavor = "multi_thread")]
async fn committed_snapshots_are_those_of_their_schemas() {
    for (policy, schema) in [("bikes", "bikes"), ("minimal", "bikes"), ("tpch", "tpch")] {
        let sql = std::fs::read_to_string(path(&format!("tests/schemas/{schema}.sql"))).unwrap();
        let db = database(&sql).await;
        let public: &[&str] = match policy {
            "bikes" => &["stations"],
            "tpch" => &["nation", "region", "supplier", "part", "partsupp"],
            _ => &[],
        };
        db.publish(public).await;
        let text = std::fs::read_to_string(path(&format!("config/{policy}.toml"))).unwrap();
        let (start, end) = (text.find("[backend]").unwrap(), text.find("[ledger]").unwrap());
        let dir = Workdir::new(&format!("{}{}{}", &text[..start], db.backend_toml(), &text[end..]));
        let out = dir.noisegate(&["check", "--write-schema"]).await;
        assert!(out.status.success(), "{policy}: {out:?}");
        let written = std::fs::read_to_string(dir.path().join("policy.schema.json")).unwrap();
        let committed = path(&format!("config/{policy}.schema.json"));
        if update() {
            std::fs::write(&committed, &written).unwrap();
        }
        let read = |text: &str| Snapshot::from_json(text).unwrap();
        let (written, committed) = (read(&written), read(&std::fs::read_to_string(&committed).unwrap()));
        let names = |s: &Snapshot| -> Vec<(String, String)> {
            s.schema.relations.iter().map(|r| (r.schema.clone(), r.name.clone())).collect()
        };
        assert_eq!(names(&written), names(&committed), "{policy}");
        let tables = names(&written);
        let tables: Vec<(&str, &str)> = tables.iter().map(|(s, n)| (s.as_str(), n.as_str())).collect();
        // Whatever server the tests run on.
        let same = noisegate::schema::Schema {
            engine: Default::default(),
            server_version: committed.schema.server_version,
            relations: written.schema.relations,
        };
        assert_eq!(differences(&committed.schema, &same, &tables), [""; 0], "{policy}");
        assert_eq!(written.sizes, committed.sizes, "{policy}");
    }
}

/// Each case of tests/explain, as text and as JSON.
#[tokio::test(flavor = "multi_thread")]
async fn cases() {
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(path("tests/explain")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|e| e != "sql") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&file).unwrap();
        let (head, sql) = text.split_once('\n').unwrap();
        let args: Vec<&str> = head.strip_prefix("-- ").unwrap().split_whitespace().collect();
        for format in ["text", "json"] {
            let out = explain(&[args.as_slice(), &["--format", format, "-"]].concat(), sql).await;
            let printed = format!("{}{}", out.stdout, out.stderr);
            let refused = file.file_name().unwrap().to_str().unwrap().starts_with("refused");
            assert_eq!(out.status.code(), Some(i32::from(refused)), "{}: {printed}", file.display());
            let golden = file.with_extension(if format == "text" { "txt" } else { "json" });
            if update() {
                std::fs::write(&golden, &printed).unwrap();
            }
            let expected = std::fs::read_to_string(&golden).unwrap_or_default();
            if printed != expected {
                wrong.push(format!("{}\n--- expected\n{expected}--- got\n{printed}", golden.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 10, "{count}");
}

const TPCH: &[&str] = &["--policy", "config/tpch.toml"];
const BIKES: &[&str] = &["--policy", "config/bikes.toml"];

/// Every statement of the golden cases: what the numbers must satisfy, whatever they are.
#[tokio::test(flavor = "multi_thread")]
async fn sensitivities_are_consistent() {
    for (args, sql) in [
        (
            TPCH,
            "SELECT o_orderpriority, count(*), sum(o_totalprice), avg(o_totalprice) FROM orders GROUP BY 1",
        ),
        (BIKES, "SELECT station, sum(fare), count(DISTINCT rider_id) FROM trips GROUP BY 1"),
        (BIKES, "SELECT city, count(*) FROM riders GROUP BY 1"),
    ] {
        let found = json(args, sql).await;
        let release = &found["releases"][0];
        let aggregates = release["aggregates"].as_array().unwrap();
        assert!(!aggregates.is_empty());
        for a in aggregates {
            let number = |key: &str| a[key].as_f64().unwrap_or_else(|| panic!("{key} of {a}"));
            // In each of so many groups by as much, or in however many by no more than this in all.
            let l1 = a["l1"].as_f64().unwrap_or(f64::INFINITY);
            assert!(l1 >= number("linf") && number("l2") <= l1 * (1.0 + 1e-11), "{a}");
            if let Some(l0) = a["l0"].as_f64() {
                let l2 = l0.sqrt() * number("linf");
                assert!(l1 <= l0 * number("linf") && number("l2") <= l2 * (1.0 + 1e-11), "{a}");
            }
            assert_eq!(a["per_unit_per_group"], a["linf"]);
            assert!(number("grid") > 0.0);
            let size = if a["noise"]["mechanism"] == "discrete_gaussian" { "sigma" } else { "scale" };
            assert!(a["noise"][size].as_f64().unwrap() > 0.0, "{a}");
        }
        let price = &found["price"];
        assert!(price["epsilon"].as_f64().unwrap() > 0.0);
        assert_eq!(price["delta"].as_f64().unwrap() > 0.0, !release["selection"].is_null());
        for b in price["budgets"].as_array().unwrap() {
            assert!(b["accounting"] != "zcdp" || b["cost"]["rho"].as_f64().unwrap() > 0.0, "{b}");
            assert!(b["fits"].as_u64().unwrap() > 0, "{b}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_stand_in_for_a_session() {
    let sql = "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1";
    let usual = json(TPCH, sql).await;
    let dear = json(&[TPCH, &["--epsilon", "1", "--max-groups", "2", "--max-rows", "7"]].concat(), sql).await;
    assert_eq!(usual["price"]["epsilon"], 0.5);
    assert_eq!(dear["price"]["epsilon"], 1);
    let of = |plan: &serde_json::Value, what: &str| plan["releases"][0]["aggregates"][0][what].clone();
    // Rows over all groups, in steps of 1/64.
    let rows = |plan, what| of(plan, what).as_f64().unwrap() * of(plan, "grid").as_f64().unwrap();
    assert_eq!((of(&usual, "l0"), of(&dear, "l0")), (serde_json::Value::Null, serde_json::Value::Null));
    assert_eq!((rows(&usual, "l2"), rows(&dear, "l2")), (500.0, 7.0));
    assert_eq!(dear["settings"]["max_rows"], 7);
    // What the session chooses holds for every table, as `SET noisegate.max_rows` does.
    assert_eq!(usual["releases"][0]["bounding"]["max_rows"], 500);
    assert_eq!(dear["releases"][0]["bounding"]["max_rows"], 7);
    let wrong = explain(&[TPCH, &["--max-groups", "0", sql]].concat(), "").await;
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    // What a session would refuse is refused.
    let cheap = explain(&[TPCH, &["--epsilon", "1e-5", sql]].concat(), "").await;
    assert_eq!(cheap.status.code(), Some(1), "{cheap:?}");
    assert!(
        cheap.stderr.contains("--epsilon 0.00001 is below 0.0001, the policy's statement.min_epsilon"),
        "{cheap:?}"
    );
}

/// Whether groups are public depends on how many they are: not known is not zero.
#[tokio::test(flavor = "multi_thread")]
async fn sizes_come_from_the_snapshot_or_the_command_line() {
    let dir = Workdir::new(&std::fs::read_to_string(path("config/bikes.toml")).unwrap());
    let snapshot = dir.path().join("policy.schema.json");
    let policy = dir.policy();
    let args = ["--policy", policy.to_str().unwrap()];
    let sql = "SELECT station, count(*) FROM trips GROUP BY 1";

    let none = json(&args, sql).await;
    let message = none["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("there is no schema snapshot") && message.contains("--write-schema"),
        "{message}"
    );

    let mut known =
        Snapshot::from_json(&std::fs::read_to_string(path("config/bikes.schema.json")).unwrap()).unwrap();
    known.sizes.clear();
    std::fs::write(&snapshot, known.to_json().unwrap()).unwrap();
    let unknown = json(&args, sql).await;
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("how many values stations.station has"), "{message}");
    for (n, public) in [("60", true), ("10001", false)] {
        let given = format!("stations.station={n}");
        let found = json(&[&args[..], &["--domain-size", &given]].concat(), sql).await;
        assert_eq!(found["releases"][0]["groups"]["public"], public, "{found}");
    }
    let wrong = json(&[&args[..], &["--domain-size", "stations.nowhere=5"]].concat(), sql).await;
    assert!(wrong["error"]["message"].as_str().unwrap().contains("no such column"), "{wrong}");
}

/// The text is the one that a session's EXPLAIN (VERBOSE) prints, but for what the session's budgets have left, and `fetch_sql` the one that PostgreSQL gets.
#[tokio::test(flavor = "multi_thread")]
async fn text_is_what_explain_prints() {
    let db = database(&std::fs::read_to_string(path("tests/schemas/bikes.sql")).unwrap()).await;
    db.publish(&["stations"]).await;
    let text = std::fs::read_to_string(path("config/bikes.toml")).unwrap();
    let (start, end) = (text.find("[backend]").unwrap(), text.find("[ledger]").unwrap());
    let user = format!(
        "\n[[user]]\nname = \"ada\"\nscram = \"{}\"\n",
        postgres_protocol::password::scram_sha_256(b"secret")
    );
    let server = "[server]\nlisten = [\"127.0.0.1:0\"]\n";
    let dir = Workdir::new(&format!("{server}{}{}{user}", db.backend_toml(), &text[end..]));
    assert!(start > 0);
    let written = dir.noisegate(&["check", "--write-schema"]).await;
    assert!(written.status.success(), "{written:?}");
    let gate = dir.serve().await;
    let client = support::connect(&gate.url("ada", "secret", "bikes")).await;
    for sql in [
        "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY 1",
        "SELECT t.station, sum(fare) FROM trips t JOIN stations s ON s.station = t.station GROUP BY 1",
        "SELECT city, count(*) FROM riders GROUP BY city HAVING count(*) > 10",
        "SELECT count(*) FROM stations",
    ] {
        let messages = client.simple_query(&format!("EXPLAIN (VERBOSE) {sql}")).await.unwrap();
        let online: Vec<String> = messages
            .iter()
            .filter_map(|m| match m {
                tokio_postgres::SimpleQueryMessage::Row(r) => Some(r.get(0).unwrap().to_owned()),
                _ => None,
            })
            .collect();
        let policy = dir.policy();
        let offline = explain(&["--policy", policy.to_str().unwrap(), sql], "").await;
        let after_cost = |lines: Vec<&str>| {
            let told: Vec<String> =
                lines.into_iter().skip_while(|l| l.starts_with("This costs")).map(str::to_owned).collect();
            assert!(!told.is_empty());
            told
        };
        let online = after_cost(online.iter().map(String::as_str).collect());
        assert_eq!(after_cost(offline.stdout.lines().collect()), online, "{sql}");
    }
    // fetch_sql runs as it is, and returns what the release says: keys, then one integer per aggregate.
    let sql = "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY 1";
    let found = json(&["--policy", dir.policy().to_str().unwrap()], sql).await;
    let superuser = db.superuser().await;
    let statement = superuser.prepare(found["releases"][0]["fetch_sql"].as_str().unwrap()).await.unwrap();
    let aggregates = found["releases"][0]["aggregates"].as_array().unwrap().len();
    assert_eq!(statement.columns().len(), 1 + aggregates);
}
