//! `noisegate explain advise`: over the annotated policy of the bikes and the snapshot beside it.
//!
//! `UPDATE=1 cargo test --test golden advise` writes the expected output anew; read the difference before committing it.

use crate::support::{NOISEGATE, Output, run};
use serde_json::Value;
use std::path::Path;

async fn advise(args: &[&str], input: &str) -> Output {
    let mut command = tokio::process::Command::new(NOISEGATE);
    command.args(["explain", "advise", "--policy", "config/bikes.toml"]).args(args);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    run(command, input).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_statements_is_judged() {
    let out = advise(&["tests/advise/bikes.sql"], "").await;
    assert!(out.status.success(), "{out:?}");
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/advise/bikes.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&expected, &out.stdout).unwrap();
    }
    assert_eq!(out.stdout, std::fs::read_to_string(expected).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_and_browsers_are_told_the_same() {
    let sql = "SELECT sum(fare) FROM trips; SELECT count(*) AS \"<b>\" FROM riders; SELECT fare FROM trips; SELECT 2 * sum(fare) FROM trips";
    let json: Value = serde_json::from_str(&advise(&["--format", "json", "-"], sql).await.stdout).unwrap();
    let outcomes: Vec<_> =
        json["statements"].as_array().unwrap().iter().map(|s| s["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["priced", "priced", "refused", "priced"]);
    assert_eq!(json["statements"][2]["sqlstate"], "0A000");
    assert!(json["statements"][0]["helps"][1]["noise"].as_f64().unwrap() < 0.95, "{json}");
    // What the rows decide has no number.
    assert!(json["statements"][0]["helps"][0]["noise"].is_null(), "{json}");
    assert_eq!(json["shared"].to_string(), r#"[{"first":1,"free":true,"then":4}]"#);
    let html = advise(&["--format", "html", "-"], sql).await.stdout;
    assert!(
        html.starts_with("<!DOCTYPE html>")
            && html.contains("<svg")
            && html.contains("4 costs nothing after 1")
    );
    for never in ["<script", "http", "<b>", "src="] {
        assert!(!html.contains(never), "{never}: {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_said() {
    let none = advise(&["tests/advise/none.sql"], "").await;
    assert!(!none.status.success() && none.stderr.contains("none.sql cannot be read"), "{none:?}");
    let wrong = advise(&["-"], "SELECT count(*) FROM riders; SELEC").await;
    assert!(!wrong.status.success() && wrong.stderr.contains("42601"), "{wrong:?}");
    let cheap = advise(&["--epsilon", "0.000001", "-"], "SELECT 1").await;
    assert!(!cheap.status.success() && cheap.stderr.contains("min_epsilon"), "{cheap:?}");
}
