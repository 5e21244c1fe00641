//! A folder of policies: several databases behind one port, each with a backend, users and books of its own.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{Gate, TestDb, connect, database, psql, run};
use std::path::Path;
use tokio::process::Command;

/// Bikes for Ada and Bob, and another database with the same tables and fewer rows for Ada and Cyd.
struct World {
    dir: tempfile::TempDir,
    gate: Gate,
}

async fn noisegate(args: &[&str], policy: &Path) -> crate::support::Output {
    let mut command = Command::new(crate::support::NOISEGATE);
    command.args(args).arg("--policy").arg(policy);
    run(command, "").await
}

fn text(db: &TestDb, users: &[&str], books: &str) -> String {
    policy(&db.backend_toml(), users, &room_for(50)).replace("noisegate.db", books)
}

/// The folder, with the ledgers of both.
async fn folder() -> tempfile::TempDir {
    let bikes = city::bikes().await;
    let small = database("").await;
    small.execute(city::DATA).await;
    small.execute("DELETE FROM trips; DELETE FROM riders WHERE rider_id > 100").await;
    let small = city::published(small).await;
    let dir = tempfile::tempdir().unwrap();
    let small = text(&small, &["ada", "cyd"], "small.db")
        .replace("[server]\n", "[server]\ndatabase = \"Small one\"\n");
    std::fs::write(dir.path().join("bikes.toml"), text(&bikes, &["ada", "bob"], "bikes.db")).unwrap();
    std::fs::write(dir.path().join("other.toml"), small).unwrap();
    for file in ["bikes.toml", "other.toml"] {
        let created = noisegate(&["budget", "create"], &dir.path().join(file)).await;
        assert!(created.status.success(), "{created:?}");
    }
    dir
}

impl World {
    async fn new() -> Self {
        let dir = folder().await;
        let gate = Gate::start(&["serve", "--policy", dir.path().to_str().unwrap()]).await;
        Self { dir, gate }
    }

    fn url(&self, user: &str, database: &str) -> String {
        self.gate.url(user, PASSWORD, database)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_choose_among_the_databases_of_a_folder() {
    let world = World::new().await;
    let ada = world.url("ada", "bikes");
    let out = psql(
        &ada,
        "\\l\n\\c \"Small one\"\nSELECT current_database() AS here;\n\\c bikes\nSELECT current_database();\n\\c nowhere",
    )
    .await;
    for part in [
        "bikes",
        "Small one",
        "You are now connected to database \"Small one\"",
        "here    \n-----------\n Small one",
    ] {
        assert!(out.stdout.contains(part), "{part}: {out:?}");
    }
    assert!(out.stderr.contains("FATAL:  database \"nowhere\" does not exist"), "{out:?}");
    let state = |e: tokio_postgres::Error| e.code().map(|c| c.code().to_owned());
    let refused = async |user: &str, database: &str| {
        let url = world.url(user, database);
        state(tokio_postgres::connect(&url, tokio_postgres::NoTls).await.err().unwrap()).unwrap()
    };
    assert_eq!(refused("ada", "nowhere").await, "3D000");
    assert_eq!(refused("cyd", "nowhere").await, "3D000");
    assert_eq!(refused("nobody", "nowhere").await, "28P01");
    assert_eq!(refused("bob", "Small%20one").await, "28P01", "each policy knows its own users");
    assert_eq!(refused("cyd", "bikes").await, "28P01");
    // What there is for a user is what the policies that list the user have.
    let listed = async |user: &str, database: &str| {
        let client = connect(&world.url(user, database)).await;
        rows(&client, "SELECT datname FROM pg_database ORDER BY datname").await.unwrap().concat()
    };
    let names = |list: &[&str]| list.iter().map(|n| Some((*n).to_owned())).collect::<Vec<_>>();
    assert_eq!(listed("ada", "Small%20one").await, names(&["Small one", "bikes"]));
    assert_eq!(listed("bob", "bikes").await, names(&["bikes"]));
    assert_eq!(listed("cyd", "Small%20one").await, names(&["Small one"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_database_has_books_of_its_own_and_is_reloaded_by_itself() {
    let world = World::new().await;
    let (bikes, small) =
        (connect(&world.url("ada", "bikes")).await, connect(&world.url("ada", "Small%20one")).await);
    rows(&bikes, "SELECT count(*) FROM riders").await.unwrap();
    let left = async |client| {
        rows(client, "SELECT fraction_left FROM noisegate.budget").await.unwrap()[0][0].clone()
    };
    assert_eq!(
        (left(&bikes).await.unwrap(), left(&small).await.unwrap()),
        ("0.980000".into(), "1.000000".into())
    );
    let file = world.dir.path().join("other.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("[statement]\n", "[statement]\nmax_groups = 7\n")).unwrap();
    let reloaded = noisegate(&["ctl", "reload"], &file).await;
    assert!(reloaded.stdout.contains("reloaded: [statement]"), "{reloaded:?}");
    let shown =
        async |client| rows(client, "SHOW noisegate.max_groups").await.unwrap()[0][0].clone().unwrap();
    assert_ne!(shown(&bikes).await, "7");
    assert_eq!(shown(&small).await, "7");
    // What all share is as the first policy says.
    let limits = "[limits]\nmax_portals = 3\n";
    std::fs::write(&file, before.clone() + limits).unwrap();
    let refused = noisegate(&["ctl", "reload"], &file).await;
    assert!(!refused.status.success() && refused.stderr.contains("[limits] must be as in"), "{refused:?}");
    let first = world.dir.path().join("bikes.toml");
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, text + limits).unwrap();
    let both = noisegate(&["ctl", "reload"], world.dir.path()).await;
    assert!(both.stdout.matches("reloaded: ").count() == 2 && both.stdout.contains("[limits]"), "{both:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_checked_as_a_whole() {
    let dir = folder().await;
    let checked = noisegate(&["check"], dir.path()).await;
    assert!(checked.status.success(), "{checked:?}");
    for part in ["bikes.toml:", "database  bikes", "database  Small one", "other.toml:"] {
        assert!(checked.stdout.contains(part), "{part}: {checked:?}");
    }
    let file = dir.path().join("other.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let wrong =
        text.replace("small.db", "bikes.db").replace("Small one", "bikes") + "[limits]\nmax_portals = 3\n";
    std::fs::write(&file, wrong).unwrap();
    for command in ["check", "serve"] {
        let refused = noisegate(&[command], dir.path()).await;
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(!refused.status.success(), "{said}");
        for part in ["[limits] must be as in", "the database \"bikes\" is", "its ledger is"] {
            assert!(said.contains(part), "{command}, {part}: {said}");
        }
    }
    std::fs::write(&file, "[server]\ndatabase = 1").unwrap();
    let refused = noisegate(&["check"], dir.path()).await;
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(
        !refused.status.success() && said.contains("policy ok") && said.contains("other.toml:2"),
        "{said}"
    );
    let none = tempfile::tempdir().unwrap();
    let refused = noisegate(&["serve"], none.path()).await;
    assert!(refused.stderr.contains("no policy is in this folder"), "{refused:?}");
}

/// Two policies of one database, the second with this books' file, rules of its own, and a finish login of its own.
async fn twice(books: &str, change: impl Fn(String) -> String) -> (TestDb, tempfile::TempDir) {
    let bikes = city::bikes().await;
    let password = bikes.finish_url.split([':', '@']).nth(2).unwrap();
    let name = &bikes.name;
    bikes
        .execute(&format!(
            "CREATE ROLE {name}_wide LOGIN PASSWORD '{password}' CONNECTION LIMIT 100;
             ALTER ROLE {name}_wide SET temp_file_limit = '1GB';
             GRANT CONNECT ON DATABASE {name} TO {name}_wide; GRANT SELECT ON stations TO {name}_wide;
             CREATE TABLE members AS SELECT rider_id AS member_id FROM riders;
             ALTER TABLE members ADD PRIMARY KEY (member_id);
             CREATE TABLE journeys (LIKE trips) PARTITION BY RANGE (trip_id);
             ALTER TABLE journeys ATTACH PARTITION trips DEFAULT;
             GRANT SELECT ON members, journeys TO {name}_fetch"
        ))
        .await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("one.toml"), text(&bikes, &["ada"], "one.db")).unwrap();
    let two = text(&bikes, &["bob"], books).replace("_finish:", "_wide:");
    std::fs::write(dir.path().join("two.toml"), change(two)).unwrap();
    for file in ["one.toml", "two.toml"] {
        if file == "one.toml" || books != "one.db" {
            let created = noisegate(&["budget", "create"], &dir.path().join(file)).await;
            assert!(created.status.success(), "{created:?}");
        }
    }
    (bikes, dir)
}

fn trips_public(text: String) -> String {
    let private = ["[table.trips]\nunit_column = \"rider_id\"", "[table.trips]\npublic = true"];
    text.replace(private[0], private[1])
        .replace("columns.started_at = { range = [2023-01-01, 2025-12-31] }\n", "")
}

/// Each policy had books of its own, and the two together sold the guarantee twice.
#[tokio::test(flavor = "multi_thread")]
async fn rule_52_policies_of_one_database_share_their_books() {
    let part = |text: &str, from: &str, to: &str| {
        let (start, end) = (text.find(from).unwrap(), text.find(to).unwrap());
        format!("{}{}", &text[..start], &text[end..])
    };
    // Other tables by name: one of them has a table of the first policy as its partition.
    let members = "[table.members]\nunit_column = \"member_id\"\n";
    let parent = |text: String| {
        let text =
            part(&text, "[table.riders]", "[table.trips]").replace("[table.trips]", "[table.journeys]");
        text.replace("riders.rider_id", "members.member_id") + members
    };
    let dearer = |text: String| text.replace("epsilon = 5.0", "epsilon = 6.0");
    let payer = |text: String| {
        let text = text
            .replace(
                "[table.riders]\nunit_column = \"rider_id\"",
                "[table.riders]\nunit_path = \"rider_id -> members.member_id\"",
            )
            .replace(
                "[table.trips]\nunit_column = \"rider_id\"",
                "[table.trips]\nunit_path = \"rider_id -> riders.rider_id\"",
            );
        text.replace("unit = \"riders.rider_id\"", "unit = \"members.member_id\"") + members
    };
    for (books, why, change) in [
        ("two.db", "write [ledger] and every [[budget]] as in", &(|text| text) as &dyn Fn(String) -> String),
        ("two.db", "rows of journeys are those of trips", &parent),
        ("two.db", "public in one of the two", &trips_public),
        ("one.db", "public in one of the two", &trips_public),
        ("one.db", "one ledger has one list of budgets", &dearer),
        ("one.db", "one ledger has one privacy.unit", &payer),
    ] {
        let (db, dir) = twice(books, change).await;
        if why.starts_with("public") {
            db.execute(&format!("GRANT SELECT ON trips TO {}_wide", db.name)).await;
        }
        for command in ["check", "serve"] {
            let refused = noisegate(&[command], dir.path()).await;
            let said = format!("{}{}", refused.stdout, refused.stderr);
            assert!(!refused.status.success() && said.contains(why), "{command} {books} {why}: {said}");
            assert!(said.contains("one.toml") && said.contains("two.toml"), "{said}");
        }
    }
    // Public tables are everybody's, and other rows have other books.
    let others = |text: String| {
        let text = part(&text, "[table.riders]", "[table.stations]");
        text.replace("riders.rider_id", "members.member_id") + members
    };
    let (_db, dir) = twice("two.db", others).await;
    let checked = noisegate(&["check"], dir.path()).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_52_one_ledger_is_debited_by_both_policies() {
    let (db, dir) = twice("one.db", |text| text).await;
    let gate = Gate::start(&["serve", "--policy", dir.path().to_str().unwrap()]).await;
    let one = connect(&gate.url("ada", PASSWORD, "one")).await;
    let two = connect(&gate.url("bob", PASSWORD, "two")).await;
    rows(&one, "SELECT count(*) FROM riders").await.unwrap();
    rows(&two, "SELECT count(*) FROM trips").await.unwrap();
    for client in [&one, &two] {
        let left = rows(client, "SELECT fraction_left FROM noisegate.budget").await.unwrap();
        assert_eq!(left[0][0].as_deref(), Some("0.960000"));
    }
    // Both are reached by the socket beside the ledger, and either may be reloaded; but to no books of its own.
    let (file, first) = (dir.path().join("two.toml"), dir.path().join("one.toml"));
    for file in [&file, &first] {
        let reloaded = noisegate(&["ctl", "reload"], file).await;
        assert!(reloaded.stdout.contains("nothing has changed"), "{reloaded:?}");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    db.execute(&format!("GRANT SELECT ON trips TO {}_wide", db.name)).await;
    let public = trips_public(text);
    std::fs::write(&file, public).unwrap();
    let refused = noisegate(&["ctl", "reload"], &file).await;
    assert!(!refused.status.success() && refused.stderr.contains("public in one of the two"), "{refused:?}");
    drop((one, two));
    drop(gate);
    let shown = noisegate(&["budget", "verify"], &first).await;
    assert!(shown.stdout.starts_with("ok: "), "{shown:?}");
}

/// Books are of the rows of one database: of another one, which may be the same restored, they are once the owner says so.
#[tokio::test(flavor = "multi_thread")]
async fn rule_52_books_of_another_database_are_the_owners_to_accept() {
    let (bikes, restored) = (city::bikes().await, city::bikes().await);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bikes.toml");
    std::fs::write(&file, text(&bikes, &["ada"], "bikes.db")).unwrap();
    assert!(noisegate(&["budget", "create"], &file).await.status.success());
    let serve = ["serve", "--policy", file.to_str().unwrap()];
    let gate = Gate::start(&serve).await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    rows(&ada, "SELECT count(*) FROM riders").await.unwrap();
    drop((ada, gate));
    std::fs::write(&file, text(&restored, &["ada"], "bikes.db")).unwrap();
    let refused = noisegate(&["serve"], &file).await;
    assert!(
        refused.stderr.contains("the data were database ") && refused.stderr.contains("budget accept"),
        "{refused:?}"
    );
    let accepted = noisegate(&["budget", "accept", "--reason", "restored"], &file).await;
    assert!(accepted.status.success() && accepted.stdout.contains("the data were"), "{accepted:?}");
    let gate = Gate::start(&serve).await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let left = rows(&ada, "SELECT fraction_left FROM noisegate.budget").await.unwrap();
    assert_eq!(left[0][0].as_deref(), Some("0.980000"), "what was spent is spent");
}
