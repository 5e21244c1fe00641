//! A user's first ten minutes, as examples/ten_minutes.sh has them.

use crate::support::{NOISEGATE, database, python, run};
use std::path::Path;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn from_a_database_to_the_first_answer_in_python() {
    let db = database("").await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ten_minutes.sh");
    let mut command = Command::new(script);
    command.arg(&db.superuser_url).env("NOISEGATE", NOISEGATE).env("PYTHON", python().await);
    let done = run(command, "").await;
    let shown = format!("{}\n--- stderr\n{}", done.stdout, done.stderr);
    assert!(done.status.success(), "{shown}");
    for part in [
        "noisegate 0.1.0",
        "policy ok",
        "listening on 127.0.0.1:",
        "-- spent ",
        "-- refused: a query that returns private rows is not supported",
        "more answers of this price",
    ] {
        assert!(done.stdout.contains(part), "{part:?} is missing in\n{shown}");
    }
    // Three public groups, each with its noisy count and average.
    for country in ["DE ", "FR ", "NL "] {
        let line = done
            .stdout
            .lines()
            .find(|l| l.starts_with(country))
            .unwrap_or_else(|| panic!("{country}: {shown}"));
        let mut words = line.split(' ').skip(1);
        let orders: i64 = words.next().unwrap().parse().unwrap();
        assert!((0..5_000).contains(&orders), "{line}");
        assert!((0.0..=100.0).contains(&words.next().unwrap().parse::<f64>().unwrap()), "{line}");
    }
    assert!(!shown.contains("correct horse"), "the password is shown\n{shown}");
}
