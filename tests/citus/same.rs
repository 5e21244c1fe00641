//! Golden scripts on Citus, beside the same on PostgreSQL: plans, prices, fetches and answers, with the noise pinned.

use crate::bikes::{Bikes, POLICY, SETUP};
use crate::script::Runner;
use crate::support::{self, TestDb};
use goldenscript::{Command, Context};
use std::error::Error;
use std::path::Path;

/// The small data set, with keys that Citus can keep: those that have the unit's column.
fn setup() -> String {
    let mut text = SETUP.to_owned();
    for (old, new) in [
        (
            "trip_id bigint PRIMARY KEY,\n    rider_id int NOT NULL REFERENCES riders,\n    started_at",
            "trip_id bigint NOT NULL,\n    rider_id int NOT NULL REFERENCES riders,\n    PRIMARY KEY (rider_id, trip_id),\n    started_at",
        ),
        (
            "payment_id bigint PRIMARY KEY,\n    trip_id bigint NOT NULL REFERENCES trips,",
            "payment_id bigint NOT NULL,\n    trip_id bigint NOT NULL,",
        ),
        ("event_id bigint PRIMARY KEY,", "event_id bigint NOT NULL,"),
    ] {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text.replace(" REFERENCES riders", "").replace(" REFERENCES stations", "")
}

/// Keys that lead to another table, which Citus takes once all are spread.
const KEYS: &str = "
    ALTER TABLE trips ADD FOREIGN KEY (rider_id) REFERENCES riders;
    ALTER TABLE trips ADD FOREIGN KEY (station) REFERENCES stations;
    ALTER TABLE payments ADD FOREIGN KEY (rider_id) REFERENCES riders;
    ALTER TABLE devices ADD FOREIGN KEY (rider_id) REFERENCES riders;
    ALTER TABLE app_events ADD FOREIGN KEY (rider_id) REFERENCES riders;";

/// The rules without the tables that find their unit by a path: Citus cannot spread them by it.
fn rules(accounting: &str) -> String {
    let (before, rest) = POLICY.split_once("[table.legs]").unwrap();
    let (_, after) = rest.split_once("[table.devices]").unwrap();
    let rules = format!("{before}[table.devices]{after}");
    rules.replace("accounting = \"approx\"", &format!("accounting = \"{accounting}\""))
}

/// Tables of the small data set that Citus spreads by the rider.
const SPREAD: [&str; 5] = ["riders", "trips", "payments", "devices", "app_events"];

/// The small data set on PostgreSQL, and on so many shards.
async fn both(shards: u32) -> (TestDb, TestDb) {
    let plain = support::database(&format!("{}{KEYS}", setup())).await;
    plain.publish(&["stations"]).await;
    let db = crate::citus().await.database().await;
    db.execute(&setup()).await;
    // Each in a transaction of its own.
    db.execute("SELECT create_reference_table('stations')").await;
    for table in SPREAD {
        let to = match table {
            "riders" => format!("shard_count => {shards}, colocate_with => 'none'"),
            _ => "colocate_with => 'riders'".into(),
        };
        db.execute(&format!("SELECT create_distributed_table('{table}', 'rider_id', {to})")).await;
    }
    for key in KEYS.split_inclusive(';') {
        db.execute(key).await;
    }
    db.publish(&["stations"]).await;
    (plain, db)
}

/// Runs each command on both, and keeps where they differ.
struct Both {
    plain: Runner,
    citus: Runner,
    asked: usize,
    unlike: Vec<(String, String, String)>,
    refused: Vec<String>,
}

impl goldenscript::Runner for Both {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        let said = |r: &Result<String, Box<dyn Error>>| match r {
            Ok(text) => text.clone(),
            Err(e) => format!("Error: {e}"),
        };
        let (plain, citus) =
            (said(&self.plain.run(command, context)), said(&self.citus.run(command, context)));
        self.asked += 1;
        let own_text = plain.contains(OWN_TEXT);
        let own = |text: &str| match own_text {
            true => text.split_once("answer:").map_or_else(String::new, |(_, answer)| answer.to_owned()),
            false => text.to_owned(),
        };
        let (plain, citus) = (own(&plain), own(&citus));
        if citus.contains("Citus cannot read the private rows") {
            self.refused.push(command.name.clone());
        } else if plain != citus {
            self.unlike.push((command.name.clone(), plain, citus));
        }
        Ok(String::new())
    }
}

/// Statements of scripts that Citus does not read in one subplan, and that are refused for it.
const REFUSED: [&str; 5] = [
    "SELECT rider_id IS NULL AS none, count(*) FROM trips t FULL JOIN payments p USING (rider_id) GROUP BY 1",
    "SELECT count(*), count(DISTINCT coalesce(d.rider_id, t.rider_id)) FROM devices d FULL JOIN trips t ON t.rider_id = d.rider_id AND t.stars = d.slot",
    "SELECT count(*) FROM trips a FULL JOIN payments b ON a.rider_id = b.rider_id AND a.fare = b.amount",
    "SELECT count(*) FROM (SELECT rider_id, stars FROM trips EXCEPT SELECT rider_id, slot FROM devices) q",
    "SELECT count(*) FROM (SELECT rider_id FROM trips INTERSECT SELECT rider_id FROM payments) q JOIN riders USING (rider_id)",
];

/// A fetch that Citus has in another text: answers alone are the same.
const OWN_TEXT: &str = " OFFSET 0) AS o(";

/// Every statement of every script has the plan, the price, the fetches and the answer that it has on PostgreSQL, to the
/// byte: servers' own settings change nothing.
fn run(accounting: &str, shards: u32, scripts: &[&str]) {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (own, rules) = (runtime(), rules(accounting));
    let (plain, citus) = own.block_on(both(shards));
    let (mut asked, mut unlike, mut refused) = (0, Vec::new(), Vec::new());
    for name in scripts {
        // What a script sets holds to its end.
        let runner =
            |db: &TestDb| Runner { runtime: runtime(), bikes: own.block_on(Bikes::over(db.clone(), &rules)) };
        let mut both = Both {
            plain: runner(&plain),
            citus: runner(&citus),
            asked: 0,
            unlike: Vec::new(),
            refused: Vec::new(),
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
        // Which commands must fail scripts say of tables with other keys.
        let text = format!("\n{}", std::fs::read_to_string(path).unwrap()).replace("!> ", "> ");
        goldenscript::generate(&mut both, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
        asked += both.asked;
        unlike.extend(both.unlike);
        refused.extend(both.refused);
    }
    println!("{accounting}, {shards} shards: {asked} commands, {} refused", refused.len());
    for (sql, plain, citus) in unlike.iter().take(5) {
        println!("--- {sql}\n{plain}\n+++ Citus\n{citus}");
    }
    assert!(unlike.is_empty(), "{} differ", unlike.len());
    let new: Vec<&String> = refused.iter().filter(|sql| !REFUSED.contains(&sql.as_str())).collect();
    assert!(new.is_empty(), "refused: {new:#?}");
    // Those that are known to be are.
    assert!(scripts.len() < 10 || refused.len() == REFUSED.len(), "{refused:#?}");
}

/// Scripts whose data and budgets are those of [`both`].
fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    // Reports have tables of their own; a path to the unit is none of Citus's.
    let mut names: Vec<String> = names.filter(|n| !n.starts_with("collected") && n != "unit_path").collect();
    names.sort();
    names
}

const BY_RHO: [&str; 4] = ["both_norms", "gaussian", "groups_in_rounds", "profile_sums"];

#[test]
fn golden_scripts_on_twelve_shards() {
    let all = scripts();
    let all: Vec<&str> = all.iter().map(String::as_str).filter(|n| !BY_RHO.contains(n)).collect();
    run("approx", 12, &all);
}

#[test]
fn golden_scripts_by_rho_on_six_shards() {
    run("zcdp", 6, &BY_RHO);
}
