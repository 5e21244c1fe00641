//! `noisegate profile`: how much units weigh is measured once, paid for by everybody, kept, and
//! planned by.

use crate::city::{self, PASSWORD, rows};
use crate::support::{TestDb, Workdir, connect, database};

/// 210 riders with 3 trips, and 30 each with 6, 14 and 40; each trip has two legs.
const TRIPS: &str = "
    DELETE FROM trips; DELETE FROM riders;
    INSERT INTO riders SELECT i, 1980, 'day', 'City 1', 'x' FROM generate_series(1000, 1299) AS i;
    INSERT INTO trips
    SELECT row_number() OVER (), i, '2024-05-05', 'Station 1', 30, 12.5, NULL, 1 FROM generate_series(1000, 1299) AS i,
           generate_series(1, CASE WHEN i < 1210 THEN 3 WHEN i < 1240 THEN 6 WHEN i < 1270 THEN 14 ELSE 40 END);
    CREATE TABLE legs (leg_id int PRIMARY KEY, trip_id int NOT NULL REFERENCES trips);
    INSERT INTO legs SELECT row_number() OVER (), trip_id FROM trips, generate_series(1, 2);";

const BUDGETS: &str = "[statement]\nepsilon = 0.1
    [[budget]]\nname = \"everyone\"\naccounting = \"zcdp\"\nepsilon = 60\ndelta = 1e-6
    [[budget]]\nname = \"rides\"\ntables = [\"trips\"]\naccounting = \"pure\"\nepsilon = 50
    [[budget]]\nname = \"own\"\nper = \"user\"\naccounting = \"zcdp\"\nepsilon = 1\ndelta = 1e-6\n";

async fn world(more: &str, budgets: &str) -> (TestDb, Workdir) {
    let db = city::published(database(&[city::DATA, TRIPS].concat()).await).await;
    let policy = city::policy(&db.backend_toml(), &["ada"], budgets).replacen(
        "[table.trips]\n",
        &format!("[table.trips]\n{more}columns.trip_id = {{}}\n"),
        1,
    ) + "[table.legs]\nunit_path = \"trip_id -> trips.trip_id\"\ncolumns.trip_id = {}\n";
    let dir = Workdir::new(&policy);
    (db, dir)
}

async fn entries(dir: &Workdir) -> Vec<String> {
    let said = dir.noisegate(&["budget", "history"]).await;
    assert!(said.status.success(), "{}", said.stderr);
    said.stdout.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_proxy_measures_and_plans_by_it() {
    let (_db, dir) = world("", BUDGETS).await;
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let asked = "SELECT table_name, item, measured IS NULL, price, h, kappa FROM noisegate.bounds ORDER BY 1";
    let none =
        |name: &str| vec![Some(name.to_owned()), Some("rows".into()), Some("t".into()), None, None, None];
    assert_eq!(rows(&ada, asked).await.unwrap(), ["legs", "riders", "trips"].map(none));
    // Tools that show no NOTICE show comments.
    let comments = "SELECT obj_description(oid) FROM pg_class WHERE relname IN ('riders', 'stations', 'trips') ORDER BY relname";
    let private = "noisegate: private, the unit is rider_id; answers have noise, rows are refused";
    let unmeasured = [
        format!("{private}; a key proves that bounds cut no row"),
        "noisegate: public".into(),
        format!("{private}; nobody has measured what bounds cut (noisegate profile)"),
    ];
    assert_eq!(rows(&ada, comments).await.unwrap(), unmeasured.map(|c| [Some(c)]));
    let before = entries(&dir).await.len();
    // What it costs is said; without a terminal nobody says yes.
    let profile = async |more: &[&str]| dir.noisegate(&[&["profile", "--epsilon", "2"], more].concat()).await;
    let priced = profile(&["--table", "trips"]).await;
    assert!(!priced.status.success() && priced.stderr.contains("write --yes"), "{}", priced.stderr);
    for part in [
        "trips: how many rows each unit has; what its values of minutes, fare, speed add up to, about 0 and about their median: 7 items of 39 bins, at epsilon 2 each\n",
        "% of budget \"everyone\", as much as ",
        "40.0 % of budget \"rides\", as much as 200 questions at the policy's price; 100 % of it is left\n",
    ] {
        assert!(priced.stdout.contains(part), "{part:?} is missing in\n{}", priced.stdout);
    }
    assert!(!priced.stdout.contains("\"own\""), "{}", priced.stdout);
    assert_eq!(entries(&dir).await.len(), before);
    for (table, why) in [
        ("riders", "riders: a key proves that a unit has one row"),
        ("stations", "the policy has no private table \"stations\"; it has riders, trips, legs"),
    ] {
        let refused = profile(&["--yes", "--table", table]).await;
        assert!(!refused.status.success() && refused.stderr.contains(why), "{}", refused.stderr);
    }
    let done = profile(&["--yes", "--reason", "spring", "--author", "olga"]).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    for part in [
        "riders: a key proves that a unit has one row: there is nothing to measure\n",
        "trips: measured, and kept as entry ",
        "rows: what follows is true of each unit up to 64 rows (H); at most ",
        "rows: what follows is true of each unit up to 128 rows (H); at most ",
        "fare about ",
        "at epsilon 0.1 at most ",
        "the proxy that serves the policy plans by it from now on\n",
    ] {
        assert!(done.stdout.contains(part), "{part:?} is missing in\n{}", done.stdout);
    }
    // One debit and one profile for each of two tables, and the policy that has them.
    let all = entries(&dir).await;
    let new: Vec<&str> = all.iter().skip(before).map(String::as_str).collect();
    // Of trips rows, and of three columns the median and two items; of legs rows.
    assert_eq!(new.len(), 10 + 1 + 1 + 1 + 1, "{new:?}");
    assert!(
        new[..10].iter().all(|line| line.contains("epsilon 2 from everyone, rides, statement")),
        "{new:?}"
    );
    let profile = "olga:  profile of public.trips (rows at epsilon 2, Laplace noise of scale 1/2; minutes at epsilon 2, ";
    assert!(new[10].contains(profile) && new[10].ends_with(": spring"), "{new:?}");
    assert!(new[12].contains("profile of public.legs (rows at epsilon 2,"), "{new:?}");
    assert!(new[13].contains("policy with the budget(s) everyone"), "{new:?}");
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    let own = shown.split("own (").nth(1).unwrap();
    assert!(own.lines().nth(1).unwrap().contains("nothing spent"), "{shown}");
    assert!(dir.noisegate(&["budget", "verify"]).await.stdout.starts_with("ok: "));
    let export = dir.noisegate(&["budget", "export"]).await.stdout;
    assert_eq!(export.matches("{\"profile\":{\"profile\":{\"schema\":\"public\"").count(), 2, "{export}");
    // The open session sees it: 3 trips of most, 40 of some.
    let told = rows(&ada, asked).await.unwrap();
    let rows_of_trips =
        told.iter().find(|r| r[0].as_deref() == Some("trips") && r[1].as_deref() == Some("rows"));
    assert_eq!(told.len(), 1 + 1 + 7);
    let trips: Vec<_> = rows_of_trips.unwrap().iter().map(|cell| cell.as_deref().unwrap()).collect();
    assert_eq!(trips[..5], ["trips", "rows", "f", "2", "64"]);
    assert!(trips[5].parse::<i64>().unwrap() < 12, "{trips:?}");
    assert_eq!(told[0][4].as_deref(), Some("128"));
    rows(&ada, "SELECT count(*) FROM trips").await.unwrap();
    // All of them are at one station: groups by it are longer than any bound on rows.
    let again = dir.noisegate(&[
        "profile",
        "--epsilon",
        "2",
        "--yes",
        "--table",
        "trips",
        "--key",
        "station",
        "--column",
        "fare",
    ]);
    assert!(again.await.status.success());
    let by =
        "SELECT h FROM noisegate.bounds WHERE item IN ('rows', 'rows by station') AND table_name = 'trips'";
    assert_eq!(rows(&ada, by).await.unwrap(), [[Some("64".to_owned())], [Some("64".into())]]);
    let by = "SELECT count(DISTINCT h), count(*) FROM noisegate.bounds WHERE item LIKE 'fare about%'";
    assert_eq!(rows(&ada, by).await.unwrap(), [[Some("1".to_owned()), Some("2".into())]]);
    // Another one takes its place, and a restart has it.
    assert!(
        dir.noisegate(&["profile", "--epsilon", "1", "--yes", "--table", "trips", "--column", "none"])
            .await
            .status
            .success()
    );
    assert!(gate.signal("TERM").await.success());
    let gate = dir.serve_again().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let days = "SELECT (measured AT TIME ZONE 'UTC')::date, (valid_until AT TIME ZONE 'UTC')::date FROM noisegate.bounds \
        WHERE table_name = 'trips' AND measured IS NOT NULL LIMIT 1";
    let days = rows(&ada, days).await.unwrap();
    let [Some(measured), Some(until)] = &days[0][..] else { panic!("{days:?}") };
    let told = rows(&ada, "SELECT obj_description('trips'::regclass)").await.unwrap();
    let expected = format!("; what bounds cut was measured on {measured}, for answers until {until}");
    assert!(told[0][0].as_deref().is_some_and(|line| line.ends_with(&expected)), "{told:?} {expected}");
    let prices = rows(&ada, "SELECT price FROM noisegate.bounds WHERE measured IS NOT NULL ORDER BY 1").await;
    assert_eq!(prices.unwrap(), [[Some("1".to_owned())], [Some("2".to_owned())]]);
    let checked = dir.noisegate(&["check", "--write-schema"]).await;
    assert!(checked.status.success(), "{}", checked.stderr);
    let line = checked.stdout.lines().find(|l| l.starts_with("  bounds    trips: measured ")).unwrap();
    assert!(
        line.contains(", 1 item; at ε = 0.1 at most ") && line.contains(" units have more than 64"),
        "{line}"
    );
    assert!(!checked.stdout.contains("warning: bounds"), "{}", checked.stdout);
    // Away from database and ledger it is planned by, too.
    let offline = dir.noisegate(&["check", "--offline"]).await.stdout;
    assert!(offline.contains(line), "{offline}");
    assert!(dir.noisegate(&["explain", "SELECT count(*) FROM trips"]).await.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_proxy_the_command_measures_by_itself() {
    let budget = "[statement]\nepsilon = 0.1\n[[budget]]\nname = \"everyone\"\nepsilon = 60\ndelta = 1e-6\n";
    let (_db, dir) = world("most_rows = 48\nprofile_valid = \"2d\"\n", budget).await;
    let none = dir.noisegate(&["profile", "--yes"]).await;
    assert!(none.stderr.contains("noisegate budget create"), "{}", none.stderr);
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let unknown = dir.noisegate(&["check"]).await.stdout;
    assert!(unknown.contains("warning: bounds legs: totals may be too low by any amount"), "{unknown}");
    // The owner knows the most rows of trips.
    assert!(!unknown.contains("warning: bounds trips"), "{unknown}");
    let by = ["--key", "station", "--column", "fare"];
    let done = dir.noisegate(&[&["profile", "--yes", "--table", "trips"][..], &by].concat()).await;
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    for part in [
        "trips: first the number of units, at epsilon 0.05; ",
        "% of budget \"everyone\", as much as 0.25 questions at the policy's price; ",
        " units: 6 items of 39 bins, at epsilon ",
        "rows: no unit has more than 48 rows (H), as the policy says\n",
        "rows by station: no unit has more than 48 rows (H), as the policy says\n",
        "fare: no unit has more than 2880 (H), as the policy says\n",
        "noisegate serve plans by it from its next start or reload on\n",
    ] {
        assert!(done.stdout.contains(part), "{part:?} is missing in\n{}", done.stdout);
    }
    let all = entries(&dir).await;
    let debits = all.iter().filter(|line| line.contains(" from everyone, statement ")).count();
    // The number of units, items of rows, and of a column the median and items about 0 and about that, by stations and not.
    assert_eq!(debits, 1 + 2 + 1 + 4, "{all:?}");
    assert!(all.iter().any(|line| line.contains("Gaussian noise of variance")), "{all:?}");
    let gate = dir.serve_again().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let sql = "SELECT h, kappa, valid_until - measured FROM noisegate.bounds WHERE measured IS NOT NULL AND item = 'rows'";
    let told = rows(&ada, sql).await.unwrap();
    assert_eq!(told, [[Some("48".to_owned()), Some("0".into()), Some("2 days".into())]]);
    // The budget has less than this.
    let dear = dir.noisegate(&["profile", "--yes", "--table", "trips", "--epsilon", "100"]).await;
    let why = "budget \"everyone\" has not so much left: measure fewer columns";
    assert!(!dear.status.success() && dear.stderr.contains(why), "{}", dear.stderr);
    // A process that has the ledger and hears no commands is not gone around.
    std::fs::remove_file(dir.path().join("noisegate.db-control")).unwrap();
    let held = dir.noisegate(&["profile", "--yes", "--table", "trips"]).await;
    let why = "is in use by a noisegate that is not asked by commands";
    assert!(!held.status.success() && held.stderr.contains(why), "{}", held.stderr);
}
