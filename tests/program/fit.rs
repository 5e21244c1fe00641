//! `noisegate explain fit`: groups and ranges are proposed from noisy histograms; and what a bound cuts is told where the owner knows it.

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
        command.args(["explain", "fit", "--proxy", &gate.url("ada", PASSWORD, "db"), "--table"]).args(more);
        run(command, "").await
    };
    let done = fit(&["trips", "--epsilon", "20", "--key", "station", "--column", "fare"]).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    for part in [
        "half of them have at most 1 values, 90 % at most 1, 99 % at most 1",
        "max_groups = 1\n",
        "columns.fare = { range = [10, 20] }",
        "# 2 question(s) at epsilon 20 each",
    ] {
        assert!(done.stdout.contains(part), "{part:?} is missing in\n{}", done.stdout);
    }
    // How many rows units have is the profile's.
    assert!(!done.stdout.contains("rows"), "{}", done.stdout);
    for (more, why) in [
        (&["trips"][..], "--key <COLUMN>"),
        (&["stations", "--key", "station"], "is public"),
        (&["nowhere", "--key", "station"], "the policy has no table \"nowhere\""),
        (&["trips", "--key", "station", "--epsilon", "0"], "--epsilon is a number above 0"),
        (&["trips", "--key", "station", "--cut", "1"], "--cut is a share"),
        (&["trips", "--key", "station", "--epsilon", "999"], "privacy budget"),
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

/// 300 riders with the trips above, each of two legs, each leg of three stops.
const LEGS: &str = "
    CREATE TABLE legs (leg_id int PRIMARY KEY, trip_id int NOT NULL REFERENCES trips, km int NOT NULL);
    INSERT INTO legs SELECT 2 * trip_id + i, trip_id, 5 FROM trips, generate_series(0, 1) AS i;
    CREATE TABLE stops (leg_id int NOT NULL REFERENCES legs, \"at night\" bool NOT NULL);
    INSERT INTO stops SELECT leg_id, i = 0 FROM legs, generate_series(0, 2) AS i;";

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_path_leads_to_their_unit_are_measured() {
    let db = city::bikes().await;
    db.execute("DELETE FROM trips; DELETE FROM riders").await;
    db.execute(TRIPS).await;
    db.execute(LEGS).await;
    let budget =
        "[statement]\nepsilon = 20\n[[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = 1000\n";
    let legs = "[table.legs]\nunit_path = \"trip_id -> trips.trip_id\"\n";
    let stops = "[table.stops]\nunit_path = \"leg_id -> legs.leg_id\"\ncolumns.\"at night\" = {}\n";
    let keyless = city::policy(&db.backend_toml(), &["ada"], budget) + legs + stops;
    let shown = |t: &str, c: &str| format!("[table.{t}]\ncolumns.{c} = {{}}\n");
    let policy = keyless.replacen("[table.trips]\n", &shown("trips", "trip_id"), 1);
    let policy = policy.replacen("[table.legs]\n", &(shown("legs", "leg_id") + "columns.trip_id = {}\n"), 1);
    let policy = policy.replacen("[table.stops]\n", &shown("stops", "leg_id"), 1);
    let work = Workdir::new(&policy);
    let gate = work.serve().await;
    let fit = async |more: &[&str]| {
        let mut command = Command::new(NOISEGATE);
        command.args(["explain", "fit", "--proxy", &gate.url("ada", PASSWORD, "db"), "--table"]).args(more);
        run(command, "").await
    };
    for (more, parts) in [
        (
            &["legs", "--key", "leg_id"][..],
            &["half of them have at most 6 values, 90 % at most 6, 99 % at most 96", "max_groups = 96\n"][..],
        ),
        (
            &["stops", "--key", "at night"],
            &["at night: values of a unit, of about 300 units", "max_groups = 2\n"],
        ),
    ] {
        let done = fit(more).await;
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        for part in parts {
            assert!(done.stdout.contains(part), "{part:?} is missing in\n{}", done.stdout);
        }
    }
    gate.send("TERM").await;
    // What nobody may see cannot be counted by.
    let hidden =
        policy.replacen("[table.trips]\n", "[table.trips]\ncolumns.rider_id = { hidden = true }\n", 1);
    for (policy, why) in [(hidden, "shows the unit's column"), (keyless, "must be declared in the policy")] {
        let work = Workdir::new(&policy);
        let gate = work.serve().await;
        let mut command = Command::new(NOISEGATE);
        command.args(["explain", "fit", "--proxy", &gate.url("ada", PASSWORD, "db"), "--table", "legs"]);
        command.args(["--key", "trip_id"]);
        let refused = run(command, "").await;
        assert!(!refused.status.success() && refused.stderr.contains(why), "{}", refused.stderr);
        gate.send("TERM").await;
    }
}
