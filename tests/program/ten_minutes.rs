//! A user's first ten minutes, as examples/ten_minutes.sh has them.

use crate::support::{NOISEGATE, Output, database, python, run};
use std::path::Path;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn from_a_database_to_the_first_answer_in_python() {
    let db = database("").await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ten_minutes.sh");
    let command = || {
        let mut command = Command::new(&script);
        command.arg(&db.superuser_url).env("NOISEGATE", NOISEGATE);
        command
    };
    // What is missing is said at its start, all of it, and nothing is made.
    db.execute("CREATE TABLE orders (mine int)").await;
    let mut lacking = command();
    lacking.env("PYTHON", "no-such-python");
    let refused = run(lacking, "").await;
    assert!(refused.stderr.contains("psycopg for no-such-python"), "{}", refused.stderr);
    let mut ready = command();
    ready.env("PYTHON", python().await);
    let refused = run(ready, "").await;
    assert!(
        !refused.status.success() && refused.stderr.contains("there is one called orders"),
        "{}",
        refused.stderr
    );
    db.execute("DROP TABLE orders").await;
    // It cleans up after itself, and so runs twice.
    for _ in 0..2 {
        let mut ready = command();
        ready.env("PYTHON", python().await);
        shows_the_way(&run(ready, "").await);
    }
    let left = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT rolname FROM pg_roles WHERE rolname IN ('noisegate', 'noisegate_finish')";
    let left = db.superuser().await.query(left, &[]).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

fn shows_the_way(done: &Output) {
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
    // Three public groups, each with its noisy count and average, and how far to trust them: 95 of 100 lie within.
    for country in ["DE: ", "FR: ", "NL: "] {
        let line = done.stdout.lines().find_map(|l| l.strip_prefix(country));
        let line = line.unwrap_or_else(|| panic!("{country}: {shown}"));
        let words = line.split([' ', '(', ')', ',']);
        let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let [orders, fewest, most, average, low, high] = *numbers else { panic!("{line}") };
        assert!((0.0..5_000.0).contains(&orders) && fewest < orders && orders < most, "{line}");
        assert!((0.0..=100.0).contains(&average) && low < average && average < high, "{line}");
    }
    assert!(!shown.contains("correct horse"), "the password is shown\n{shown}");
}
