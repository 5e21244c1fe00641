//! `noisegate fit`: bounds are proposed from noisy histograms, and what a bound cuts is told.

use crate::city::{self, PASSWORD};
use crate::support::{NOISEGATE, Workdir, psql, run};
use tokio::process::Command;

/// 270 riders with 3 trips, and 30 with 40: 2,010 trips.
const TRIPS: &str = "
    INSERT INTO riders SELECT i, 1980, 'day', 'City 1', 'x' FROM generate_series(1000, 1299) AS i;
    INSERT INTO trips
    SELECT row_number() OVER (), i, '2024-05-05', 'Station 1', 30, 12.5, NULL, 1 FROM generate_series(1000, 1299) AS i,
           generate_series(1, CASE WHEN i < 1270 THEN 3 ELSE 40 END);";

#[tokio::test(flavor = "multi_thread")]
async fn bounds_are_measured_and_what_they_cut_is_told() {
    let db = city::bikes().await;
    db.execute("DELETE FROM trips; DELETE FROM riders").await;
    db.execute(TRIPS).await;
    let budget =
        "[statement]\nepsilon = 10\n[[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = 1000\n";
    let bounded = |more: &str| {
        let policy = city::policy(&db.backend_toml(), &["ada"], budget);
        policy.replacen("[table.trips]\n", &format!("[table.trips]\n{more}"), 1)
    };
    let work = Workdir::new(&bounded(""));
    let gate = work.serve().await;
    let fit = async |more: &[&str]| {
        let mut command = Command::new(NOISEGATE);
        command.args(["fit", "--proxy", &gate.url("ada", PASSWORD, "db"), "--table"]).args(more);
        run(command, "").await
    };
    let done = fit(&["trips", "--epsilon", "20", "--key", "station", "--column", "fare"]).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    for part in [
        "half of them have at most 3 rows, 90 % at most 3, 99 % at most 48",
        "[table.trips]\nmax_total_rows = 48\ncut_rows = 0.000",
        "max_groups = 1\n",
        "columns.fare = { range = [10, 20] }",
        "# 3 question(s) at epsilon 20 each",
    ] {
        assert!(done.stdout.contains(part), "{part:?} is missing in\n{}", done.stdout);
    }
    for (more, why) in [
        (&["stations"][..], "is public"),
        (&["nowhere"], "the policy has no table \"nowhere\""),
        (&["trips", "--epsilon", "0"], "--epsilon is a number above 0"),
        (&["trips", "--cut", "1"], "--cut is a share"),
        (&["trips", "--epsilon", "999"], "privacy budget"),
        (&["trips", "--column", "note"], "types that do not fit"),
    ] {
        let refused = fit(more).await;
        assert!(!refused.status.success() && refused.stderr.contains(why), "{more:?}: {}", refused.stderr);
    }
    gate.send("TERM").await;
    let work = Workdir::new(&bounded("max_total_rows = 6\ncut_rows = 0.51\n"));
    let gate = work.serve().await;
    let asked = "SELECT count(*) FROM trips; SELECT station, count(*) FROM trips GROUP BY 1;
                 EXPLAIN VERBOSE SELECT sum(minutes) FROM trips; SELECT DISTINCT cut_rows FROM noisegate.columns WHERE table_name = 'trips'";
    let told = psql(&gate.url("ada", PASSWORD, "db"), asked).await;
    let bias = "at most 6 rows of a unit count: about 51 % of the rows of trips do not, and counts and sums are too low by as much";
    assert_eq!(told.stderr.matches(&format!("NOTICE:  {bias}\n")).count(), 2, "{}", told.stderr);
    assert!(
        told.stdout.contains(&format!("Bias: {bias}")) && told.stdout.contains("0.51"),
        "{}",
        told.stdout
    );
}
