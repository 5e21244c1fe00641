//! The program from the outside: the README's tour, the demo, and the books across a crash and a race.

use crate::city::{self, PASSWORD, eventually, fetch_waits, hold_trips, policy, room_for, rows, sqlstate};
use crate::support::{Gate, Workdir, connect, psql};
use noisegate::demo::QUERIES;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Barrier;

const DEMO: [&str; 5] = ["demo", "--scale", "0.02", "--listen", "127.0.0.1:0"];

/// A block of the tour: statements, and the error lines and column names that the README shows beneath them.
#[derive(Debug, PartialEq)]
struct Step {
    sql: String,
    errors: Vec<String>,
    columns: Vec<String>,
}

/// The fenced `sql` blocks between `<!-- tour -->` and `<!-- /tour -->`. A fenced block of another kind right after one
/// shows its output.
fn tour(readme: &str) -> Vec<Step> {
    let (_, rest) = readme.split_once("<!-- tour -->").expect("the README has a tour");
    let (tour, _) = rest.split_once("<!-- /tour -->").expect("the tour has an end");
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = tour.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.trim().strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|l| l.trim() != "```").collect();
        match (kind, steps.last_mut()) {
            ("sql", _) => {
                steps.push(Step { sql: block.join("\n"), errors: Vec::new(), columns: Vec::new() });
            }
            (_, Some(step)) => {
                step.errors.extend(error_lines(&block.join("\n")));
                step.columns.extend(columns(&block.join("\n")));
            }
            (_, None) => {}
        }
    }
    steps
}

/// `ERROR:  …` with what may stand before it (psql names file and line) cut off.
fn error_lines(text: &str) -> Vec<String> {
    text.lines().filter_map(|l| l.find("ERROR:").map(|at| l[at..].trim_end().to_owned())).collect()
}

/// The names of psql's tables: what stands above a line of dashes.
fn columns(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let headers = lines.windows(2).filter(|w| w[1].contains("---") && w[1].chars().all(|c| "-+".contains(c)));
    headers.flat_map(|w| w[0].split('|').map(|name| name.trim().to_owned())).collect()
}

#[test]
fn the_tour_is_read_from_its_marked_blocks_only() {
    let readme = "```sql\nSELECT 0;\n```\n<!-- tour -->\ntext\n```sql\nSELECT 1;\nSELECT 2;\n```\n```\n a | b\n---+---\n 1 | 2\nERROR:  no\n```\n\
                  ```sql\nSELECT 3;\n```\n<!-- /tour -->\n```sql\nSELECT 4;\n```\n";
    let owned = |list: &[&str]| list.iter().map(|e| (*e).to_owned()).collect();
    let step = |sql: &str, errors: &[&str], columns: &[&str]| Step {
        sql: sql.to_owned(),
        errors: owned(errors),
        columns: owned(columns),
    };
    assert_eq!(
        tour(readme),
        [step("SELECT 1;\nSELECT 2;", &["ERROR:  no"], &["a", "b"]), step("SELECT 3;", &[], &[])]
    );
}

fn demo_url(gate: &Gate) -> String {
    format!("postgres://demo@{}/demo", gate.address)
}

/// Processes whose parent this is and whose command line holds `word`, with that line's arguments.
fn children(parent: u32, word: &str) -> Vec<(u32, Vec<String>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let is_child = read("status").lines().any(|l| l == format!("PPid:\t{parent}"));
        let arguments: Vec<String> = read("cmdline").split('\0').map(str::to_owned).collect();
        if is_child && arguments.iter().any(|a| a.contains(word)) {
            found.push((pid, arguments));
        }
    }
    found
}

/// The demo's folder, as its watchdog was told.
fn folder(gate: &Gate) -> PathBuf {
    let watchdogs = children(gate.pid(), "watchdog");
    let [(_, arguments)] = watchdogs.as_slice() else { panic!("{watchdogs:?}") };
    let at = arguments.iter().position(|a| a == "--dir").unwrap();
    PathBuf::from(&arguments[at + 1])
}

fn lives(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

#[tokio::test]
async fn the_demo_greets_and_every_statement_of_the_tour_does_what_the_readme_shows() {
    let gate = Gate::start(&DEMO).await;
    let port = gate.address.rsplit_once(':').unwrap().1;
    assert!(
        gate.greeting.contains(&format!("psql \"host=127.0.0.1 port={port} user=demo dbname=demo\"")),
        "{}",
        gate.greeting
    );
    assert!(gate.greeting.contains("Budget \"everyone\""), "{}", gate.greeting);
    for sql in QUERIES {
        assert!(gate.greeting.contains(sql), "the banner lacks {sql}");
        let out = psql(&demo_url(&gate), sql).await;
        let free = sql.starts_with("EXPLAIN");
        assert!(out.status.success() && !out.stderr.contains("ERROR"), "{sql}\n{out:?}");
        assert!(out.stdout.contains("row"), "{sql}\n{out:?}");
        assert_eq!(out.stderr.contains("NOTICE:  spent "), !free, "{sql}\n{out:?}");
    }
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let steps = tour(&readme);
    assert!(steps.len() >= 3, "a tour has more steps than {steps:?}");
    for step in steps {
        let out = psql(&demo_url(&gate), &step.sql).await;
        assert_eq!(error_lines(&out.stderr), step.errors, "{}\n{out:?}", step.sql);
        assert_eq!(columns(&out.stdout), step.columns, "{}\n{out:?}", step.sql);
        assert!(step.errors.len() + step.columns.len() > 0, "the README shows no output of {}", step.sql);
    }
}

#[tokio::test]
async fn ctrl_c_and_kill_9_both_remove_what_the_demo_made() {
    for signal in ["INT", "KILL"] {
        let gate = Gate::start(&DEMO).await;
        let dir = folder(&gate);
        assert!(dir.join("private").join("policy.toml").is_file(), "{}", dir.display());
        let servers = children(gate.pid(), "postgres");
        let [(server, _)] = servers.as_slice() else { panic!("{servers:?}") };
        let status = gate.signal(signal).await;
        assert_eq!(status.success(), signal == "INT", "{status}");
        eventually("the end of the private server", async || !lives(*server)).await;
        eventually("the end of its folder", async || !dir.exists()).await;
    }
}

#[tokio::test]
async fn a_debit_outlives_kill_9_of_the_proxy_before_the_answer() {
    let db = city::bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    let gate = dir.serve().await;
    let spent = async || dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(spent().await.contains("nothing spent"));

    let holder = hold_trips(&db).await;
    let client = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let asked = tokio::spawn(async move { rows(&client, "SELECT count(*) FROM trips").await });
    eventually("the debit", async || spent().await.contains("ε = 0.1 of 0.1 spent")).await;
    eventually("the fetch", async || fetch_waits(&db).await).await;
    assert!(!asked.is_finished());
    gate.kill().await;
    assert!(asked.await.unwrap().is_err(), "nothing was answered");
    drop(holder);

    assert!(spent().await.contains("ε = 0.1 of 0.1 spent, 0.0 % left"), "{}", spent().await);
    let gate = dir.serve_again().await;
    let client = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(sqlstate(&client, "SELECT count(*) FROM trips").await, "53400");
}

#[tokio::test]
async fn thirty_two_connections_race_for_seven_answers() {
    let db = city::bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(7)));
    let gate = dir.serve().await;
    let barrier = Arc::new(Barrier::new(32));
    let mut racers = Vec::new();
    for _ in 0..32 {
        let client = connect(&gate.url("ada", PASSWORD, "bikes")).await;
        let barrier = barrier.clone();
        racers.push(tokio::spawn(async move {
            barrier.wait().await;
            rows(&client, "SELECT plan, count(*) FROM riders GROUP BY plan").await
        }));
    }
    let (mut answers, mut refusals) = (0, 0);
    for racer in racers {
        match racer.await.unwrap() {
            Ok(rows) => {
                assert_eq!(rows.len(), 3);
                answers += 1;
            }
            Err(e) => {
                assert_eq!(e.code().map(|c| c.code()), Some("53400"), "{e:?}");
                refusals += 1;
            }
        }
    }
    assert_eq!((answers, refusals), (7, 25));
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("ε = 0.7 of 0.7 spent"), "{shown}");
}

/// Neighbours in the extreme: 500 riders, and none.
#[tokio::test]
async fn a_refusal_depends_on_text_and_history_only() {
    let mut heard = Vec::new();
    for empty in [false, true] {
        let db = city::bikes().await;
        if empty {
            db.execute("TRUNCATE trips, riders").await;
        }
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(3)));
        let gate = dir.serve().await;
        let history = "\\set VERBOSITY verbose
            SELECT count(*) FROM trips;
            SELECT station, sum(fare) FROM trips GROUP BY station;
            SELECT nonsense FROM trips;
            SELECT plan, count(*) FROM riders GROUP BY plan;
            SELECT count(*) FROM trips;
            SELECT avg(birth_year) FROM riders WHERE city = 'Nowhere';";
        let out = psql(&gate.url("ada", PASSWORD, "bikes"), history).await;
        assert_eq!(out.stderr.matches("ERROR:  53400: ").count(), 2, "{out:?}");
        assert!(out.stderr.contains("it needs 33.3 % of it, and 0 % is left"), "{out:?}");
        // What is said of noisy values follows these, and they differ.
        let of_values =
            ["smaller than ", "HINT:  Ask for fewer or larger groups", "HINT:  Average a narrower value"];
        let lines = out.stderr.lines().filter(|l| !of_values.iter().any(|v| l.contains(v)));
        heard.push(lines.collect::<Vec<_>>().join("\n"));
    }
    assert_eq!(heard[0], heard[1]);
}
