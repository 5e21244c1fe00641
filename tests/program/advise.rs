//! `noisegate explain advise --people` and `--measure`: the errors that it expects are those of answers to as many people, no row is read for
//! them, and what is measured is paid for.

use crate::city::{self, PASSWORD, rows};
use crate::support::{NOISEGATE, Output, Workdir, connect, run};
use crate::usual::rules;
use serde_json::Value;
use tokio::process::Command;

const ASKED: &str = "
    SELECT count(*) AS n FROM riders;
    SELECT plan, count(*) AS n FROM riders GROUP BY plan; -- with a remark
    SELECT station, avg(fare) AS fare, sum(minutes) FROM trips GROUP BY station;
    SELECT station FROM trips GROUP BY station HAVING count(*) > 10;
    SELECT count(*) FROM stations;
    SELECT fare FROM trips";

const RULES: &str = rules!([epsilon = 1, max_rows = 10] ["pure", epsilon = 20]);

async fn advise(work: &Workdir, args: &[&str], sql: &str) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(["explain", "advise", "--policy"]).arg(work.policy()).args(args).arg("-");
    run(command, sql).await
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_expected_as_of_so_many_people_and_no_row_is_read() {
    let db = city::bikes().await;
    let work = Workdir::new(&city::policy(&db.backend_toml(), &["ada"], RULES));
    assert!(work.noisegate(&["check", "--write-schema"]).await.status.success());
    db.execute("TRUNCATE trips, riders").await;
    let of = async |people: &str, trips: &str| {
        let rows = format!("trips={trips}");
        let out = advise(&work, &["--format", "json", "--people", people, "--rows", &rows], ASKED).await;
        assert!(out.status.success(), "{}", out.stderr);
        serde_json::from_str::<Value>(&out.stdout).unwrap()
    };
    let (few, many) = (of("1000", "4000").await, of("4000", "16000").await);
    let errors = |of: &Value, statement: usize| of["statements"][statement]["expected_errors"].clone();
    let all = errors(&few, 0)[0].clone();
    assert_eq!((number(&all["answer"]), number(&all["groups"])), (1000.0, 1.0), "{all}");
    // Laplace noise at ε = 1 stays within ±3 in 95 cases of 100, whoever is counted.
    assert_eq!((number(&all["error"]), number(&errors(&many, 0)[0]["error"])), (3.0, 3.0));
    assert_eq!(number(&all["relative"]), 0.003);
    let plans = errors(&few, 1)[0].clone();
    assert_eq!(number(&plans["groups"]), 3.0, "{plans}");
    assert!((0.008..0.010).contains(&number(&plans["relative"])), "{plans}");
    assert!(number(&plans["worst_relative"]) >= number(&plans["relative"]));
    // Averages and sums of 400 trips, and of 1,600.
    for column in [0, 1] {
        let (few, many) = (&errors(&few, 2)[column], &errors(&many, 2)[column]);
        let times = number(&few["relative"]) / number(&many["relative"]);
        assert!(number(&few["groups"]) == 10.0 && (3.0..5.0).contains(&times), "{few} {many}");
    }
    assert_eq!(few["made_up"]["rows"]["trips"], 4000);
    for none in [4, 5] {
        assert!(few["statements"][none].get("expected_errors").is_none(), "{few}");
    }
    // Nothing was booked: there is no ledger yet.
    assert!(!work.path().join("noisegate.db").exists());

    let out = advise(&work, &["--people", "1000"], ASKED).await.stdout;
    for part in [
        "Expected errors are those on made-up rows, drawn evenly from the policy's ranges and values: 1000 people, 6000 rows of trips.",
        "   Expected: n is about 1000 ±3 (0.300 %).",
        "   Expected: in the middle one of 3 groups n is about 33",
        "   No number of it has an interval",
    ] {
        assert!(out.contains(part), "{part:?} is missing in\n{out}");
    }
    let html = advise(&work, &["--people", "1000", "--format", "html"], ASKED).await.stdout;
    assert!(html.contains("expected error of n: 0.3 %") && !html.contains("Nothing was asked"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_people_and_rows_are_measured_for_a_price() {
    let db = city::bikes().await;
    let work = Workdir::new(&city::policy(&db.backend_toml(), &["ada"], RULES));
    assert!(work.noisegate(&["check", "--write-schema"]).await.status.success());
    let gate = work.serve().await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let measure = ["--measure", "5", "--proxy", &url, "--format", "json"];
    let out = advise(&work, &measure, ASKED).await;
    assert!(out.status.success(), "{}", out.stderr);
    let found: Value = serde_json::from_str(&out.stdout).unwrap();
    let measured = &found["made_up"]["measured"]["numbers"];
    // 500 riders within ±0.6, and 2,000 trips within ±6, were it not for one time in millions.
    let (people, trips) = (&measured[0], &measured[1]);
    assert!(people["what"] == "people" && (number(&people["count"]) - 500.0).abs() < 5.0, "{measured}");
    assert!(
        trips["what"] == "rows of trips" && (number(&trips["count"]) - 2000.0).abs() < 50.0,
        "{measured}"
    );
    assert_eq!(found["made_up"]["people"], number(&people["count"]).round() as u64);
    assert_eq!(
        number(&found["statements"][0]["expected_errors"][0]["answer"]),
        number(&people["count"]).round()
    );
    let ada = connect(&url).await;
    let left = rows(&ada, "SELECT fraction_left FROM noisegate.budget").await.unwrap();
    assert_eq!(left, [[Some("0.500000".to_owned())]], "two questions at ε 5 of 20");

    let out = advise(&work, &["--measure", "5", "--proxy", &url], "SELECT count(*) FROM riders").await.stdout;
    let paid = "1 question at epsilon 5 each, debited as any other";
    assert!(out.contains(paid) && out.contains("Measured through the proxy, with noise: people"), "{out}");
    // What the budget does not hold is not measured, and the refusal is told.
    let dear = advise(&work, &["--measure", "19", "--proxy", &url], ASKED).await;
    assert!(
        !dear.status.success() && dear.stderr.contains("people could not be measured"),
        "{}",
        dear.stderr
    );
    assert!(dear.stderr.contains("privacy budget"), "{}", dear.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_do_not_fit_are_refused() {
    let db = city::bikes().await;
    let work = Workdir::new(&city::policy(&db.backend_toml(), &["ada"], RULES));
    assert!(work.noisegate(&["check", "--write-schema"]).await.status.success());
    for (args, why) in [
        (&["--people", "0"][..], "0 is not in"),
        (&["--people", "10", "--rows", "stations=4"], "no private table of this name"),
        (&["--people", "10", "--rows", "riders=4"], "so that --people says how many"),
        (&["--people", "10", "--rows", "trips"], "written as TABLE=N"),
        (&["--rows", "trips=4"], "--people"),
        (&["--measure", "1"], "--proxy"),
        (&["--people", "10", "--measure", "1", "--proxy", "x"], "cannot be used with"),
    ] {
        let out = advise(&work, args, ASKED).await;
        assert!(!out.status.success() && out.stderr.contains(why), "{args:?}: {}", out.stderr);
    }
}
