//! `noisegate check` against a database that is there, and one that is not.

use crate::city::{DATA, PASSWORD, bikes, policy, published, room_for, rows};
use crate::support::{TestDb, Workdir, connect, database, database_in, own_cluster};
use noisegate::cli::check::{self, Args};
use noisegate::schema::Snapshot;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// The schema that the policies of config/ fit.
const SCHEMA: &str = include_str!("../policy/schema.sql");

async fn report(policy: &Path) -> Result<String, String> {
    let said = check::report(&Args { policy: policy.to_owned(), write_schema: false, offline: false }).await;
    // In a folder of its own.
    said.map(|said| said.replace(&format!("{}: nobody", policy.display()), "FILE: nobody"))
}

/// What is said of every policy of config/.
const NOBODY: &str = "warning: FILE: nobody may log in: the policy names no user\n";

/// A policy of config/ with the logins of a database, which may read what they have to.
async fn over(db: &TestDb, text: &str) -> String {
    db.publish(&["stations"]).await;
    text.replace("postgres://noisegate@127.0.0.1/bikes", &db.fetch_url)
        .replace("postgres://noisegate_finish@127.0.0.1/bikes", &db.finish_url)
}

#[tokio::test]
async fn check_against_a_database() {
    let db = database(SCHEMA).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bikes.toml");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/bikes.toml")).unwrap();
    let text = over(&db, &text).await;

    std::fs::write(&file, &text).unwrap();
    let ok = report(&file).await.unwrap();
    assert!(ok.starts_with(NOBODY) && ok.contains("\npolicy ok\n"), "{ok}");

    std::fs::write(&file, text.replace("[0, 240]", "[240, 0]").replace("columns.method", "columns.methot"))
        .unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("low end above its high end"), "{errors}");
    assert!(errors.contains("did you mean \"method\"?"), "{errors}");

    // Nobody listens on port 1. The mistake that the text shows is reported with it.
    let down = text.replace(&db.fetch_url, "postgres://me:secret@127.0.0.1:1/bikes");
    std::fs::write(&file, down.replace("epsilon = 8.0", "epsilon = 0")).unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("epsilon must be greater than 0"), "{errors}");
    assert!(errors.contains("cannot connect to the database \"bikes\" at 127.0.0.1:1: "), "{errors}");
    assert!(!errors.contains("secret"), "{errors}");

    let absent = text.replace(&format!("/{}\"", db.name), "/absent\"");
    std::fs::write(&file, absent).unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("(SQLSTATE 3D000)"), "{errors}");
}

/// The demo's policy over a database that is there.
async fn policy_over(db: &TestDb, folder: &Path) -> std::path::PathBuf {
    let text = include_str!("../../config/bikes.toml");
    let file = folder.join("bikes.toml");
    std::fs::write(&file, over(db, text).await).unwrap();
    file
}

#[tokio::test]
async fn a_snapshot_stands_in_for_the_database() {
    let db = database(SCHEMA).await;
    let client = db.superuser().await;
    client.batch_execute("INSERT INTO stations VALUES ('a', 'x', 1), ('b', 'x', NULL)").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_over(&db, folder.path()).await;
    let (online, offline) =
        (Args { policy: policy.clone(), write_schema: false, offline: false }, |policy| Args {
            policy,
            write_schema: false,
            offline: true,
        });

    let none = check::report(&offline(policy.clone())).await.unwrap_err();
    assert!(none.contains("there is no schema snapshot") && none.contains("--write-schema"), "{none}");

    let written = check::report(&Args { write_schema: true, ..online }).await.unwrap();
    let file = folder.path().join("bikes.schema.json");
    assert!(written.contains("policy ok") && written.contains("wrote "), "{written}");
    let text = std::fs::read_to_string(&file).unwrap();
    let snapshot = Snapshot::from_json(&text).unwrap();
    let sizes: Vec<(&str, u64)> = snapshot.sizes.iter().map(|s| (s.column.as_str(), s.values)).collect();
    assert_eq!(sizes, [("station", 2), ("city", 1), ("capacity", 1)]);

    // With the database, nothing is said of a snapshot that fits.
    let fits = report(&policy).await.unwrap();
    assert!(fits.starts_with(&format!("{NOBODY}    add the [[user]]")), "{fits}");
    // Without it, the snapshot is used and said to be.
    let used = check::report(&offline(policy.clone())).await.unwrap();
    assert!(
        used.starts_with("warning: the database was not asked; checked against the schema snapshot"),
        "{used}"
    );
    let used = used.replace(&format!("{}: nobody", policy.display()), "FILE: nobody");
    assert!(used.contains("just now") && used.ends_with(fits.as_str()), "{used}");
    let away =
        std::fs::read_to_string(&policy).unwrap().replace(&db.fetch_url, "postgres://a@127.0.0.1:1/bikes");
    let moved = folder.path().join("away.toml");
    std::fs::write(&moved, away.replace("[backend]", "[backend]\nschema = \"bikes.schema.json\"")).unwrap();
    let away = report(&moved).await.unwrap();
    assert!(
        away.contains("cannot connect to") && away.contains("checked against the schema snapshot"),
        "{away}"
    );

    // A snapshot that has become wrong is a warning with the database, and says where.
    client
        .batch_execute(
            "ALTER TABLE trips ALTER fare TYPE numeric(8,3), ADD shoe int; ALTER TABLE riders DROP birth_year;
             ALTER TABLE odd.keys DROP extra",
        )
        .await
        .unwrap();
    std::fs::write(&policy, std::fs::read_to_string(&policy).unwrap().replace("columns.birth_year", "# "))
        .unwrap();
    let changed = report(&policy).await.unwrap();
    for part in [
        "is not the database's schema",
        "column public.trips.fare: type is numeric(8,3), was numeric(6,2)",
        "column public.trips.shoe is new",
        "column public.riders.birth_year is gone",
        "--write-schema",
    ] {
        assert!(changed.contains(part), "{part} in {changed}");
    }
    assert!(!changed.contains("odd.keys"), "the policy does not name it: {changed}");

    // Of no file is anything guessed.
    std::fs::write(&file, &text[..1000]).unwrap();
    let corrupt = check::report(&offline(policy.clone())).await.unwrap_err();
    assert!(corrupt.contains("cannot be used: it is not JSON, or was cut short"), "{corrupt}");
    std::fs::write(&file, text.replace("\"noisegate_schema\": 1", "\"noisegate_schema\": 7")).unwrap();
    let newer = check::report(&offline(policy)).await.unwrap_err();
    assert!(newer.contains("it has format 7"), "{newer}");
}

#[tokio::test]
async fn a_snapshot_holds_no_row_of_a_private_table() {
    let db = database(SCHEMA).await;
    let client = db.superuser().await;
    client
        .batch_execute("INSERT INTO riders VALUES (1, 1950, 'day', 'Zanzibar', 'zoe@example.org')")
        .await
        .unwrap();
    client.batch_execute("ANALYZE riders").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_over(&db, folder.path()).await;
    check::report(&Args { policy, write_schema: true, offline: false }).await.unwrap();
    let with = std::fs::read_to_string(folder.path().join("bikes.schema.json")).unwrap();
    assert!(!with.contains("Zanzibar") && !with.contains("zoe"));
    assert!(Snapshot::from_json(&with).unwrap().sizes.iter().all(|s| s.table == "stations"));
}

/// What `serve` would refuse is refused by `check`, in the same words: they are one function.
#[tokio::test]
async fn check_refuses_what_serve_would() {
    let db = bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let (fetch, finish) = (format!("{}_fetch", db.name), format!("{}_finish", db.name));
    assert!(dir.noisegate(&["check"]).await.status.success());
    for (harm, mend, said) in [
        (
            format!("CREATE VIEW v AS SELECT * FROM trips; GRANT SELECT ON v TO {finish}"),
            "DROP VIEW v".to_owned(),
            "may read the view public.v, which reads private tables",
        ),
        (
            format!("CREATE TABLE part () INHERITS (trips); GRANT SELECT ON part TO {finish}"),
            "DROP TABLE part".to_owned(),
            "REVOKE SELECT ON public.part FROM",
        ),
        (
            format!("REVOKE SELECT ON trips FROM {fetch}"),
            format!("GRANT SELECT ON trips TO {fetch}"),
            "the fetch login FETCH may not read the table public.trips; GRANT SELECT ON public.trips TO FETCH",
        ),
        (
            format!("REVOKE SELECT ON stations FROM {finish}"),
            format!("GRANT SELECT ON stations TO {finish}"),
            "the finish login FINISH may not read the public table public.stations; GRANT SELECT",
        ),
        (
            format!("ALTER ROLE {finish} SET timezone = 'XYZ+3ABC'"),
            format!("ALTER ROLE {finish} RESET timezone"),
            "the default time zone of the finish login, \"XYZ+3ABC\"",
        ),
    ] {
        db.execute(&harm).await;
        let said = said.replace("FETCH", &fetch).replace("FINISH", &finish);
        let (check, serve) = (dir.noisegate(&["check"]).await, dir.noisegate(&["serve"]).await);
        for out in [&check, &serve] {
            assert!(!out.status.success() && out.stderr.contains(&said), "{harm}: {out:?}");
        }
        let words = |text: &str| text.trim_start_matches("noisegate: ").to_owned();
        assert_eq!(words(&check.stderr), words(&serve.stderr), "{harm}");
        db.execute(&mend).await;
    }
    assert!(dir.noisegate(&["check"]).await.status.success());
}

/// A view over private rows is public by a sentence of its owner's, and then a warning, in `check` and in `serve`.
#[tokio::test]
async fn a_public_view_over_private_tables_is_signed() {
    let db = bikes().await;
    db.execute("CREATE VIEW busy AS SELECT station, count(*) AS n FROM trips GROUP BY 1").await;
    db.publish(&["busy"]).await;
    let users = policy(&db.backend_toml(), &["ada"], &room_for(1));
    let with = |key: &str| format!("{users}[table.busy]\npublic = true\n{key}");
    let dir = Workdir::new(&with(""));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    for command in ["check", "serve"] {
        let out = dir.noisegate(&[command]).await;
        assert!(!out.status.success(), "{out:?}");
        for part in
            ["the public view public.busy reads private tables", "public_view = \"I know that everybody"]
        {
            assert!(out.stderr.contains(part), "{out:?}");
        }
        assert!(!out.stderr.contains("REVOKE"), "{out:?}");
    }
    std::fs::write(dir.policy(), with("public_view = \"yes\"\n")).unwrap();
    let wrong = dir.noisegate(&["check"]).await.stderr;
    assert!(wrong.contains("public_view takes one sentence"), "{wrong}");
    std::fs::write(dir.policy(), with("public_view = \"I know that everybody gets its rows exactly\"\n"))
        .unwrap();
    let signed = dir.noisegate(&["check"]).await;
    let warning = "\"busy\" may read private tables, and its rows are answered exactly";
    assert!(signed.status.success() && signed.stdout.contains(warning), "{signed:?}");
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let gate = dir
        .serve_with(|c| {
            c.stderr(log);
        })
        .await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(rows(&ada, "SELECT sum(n) FROM busy").await.unwrap().len(), 1);
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(log.contains(warning), "{log}");
}

#[tokio::test]
async fn rule_51_check_and_serve_refuse_a_limit_of_temporary_files() {
    let db = bikes().await;
    let name = &db.name;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    db.execute(&format!("ALTER ROLE {name}_fetch SET temp_file_limit = '1GB'")).await;
    for command in ["check", "serve"] {
        let out = dir.noisegate(&[command]).await;
        assert!(!out.status.success(), "{command}: {out:?}");
        for part in [
            "backend.url: temp_file_limit is 1GB, so that the number of private rows",
            &format!(
                "as superuser: ALTER ROLE {name}_fetch SET temp_file_limit = -1, or set it so in postgresql.conf"
            ),
        ] {
            assert!(out.stderr.contains(part), "{command}: {out:?}");
        }
    }
    db.execute(&format!("ALTER ROLE {name}_fetch SET temp_file_limit = -1")).await;
    let out = dir.noisegate(&["check"]).await;
    assert!(out.status.success() && !out.stdout.contains("temporary files"), "{out:?}");
}

/// Of a server on this machine it can be told whether one statement may take all memory.
#[tokio::test]
async fn a_server_whose_sessions_may_take_all_memory_is_a_warning() {
    let cluster = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
    let db = published(database_in(&cluster, DATA).await).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    let warns = async || {
        let out = dir.noisegate(&["check"]).await;
        assert!(out.status.success(), "{out:?}");
        out.stdout.contains("nothing caps the memory of a session's process")
    };
    assert!(!warns().await, "the demo caps its own server");
    // By its own user, whom limits of no other process are any business of.
    let server = cluster.server_pid().unwrap();
    let user = std::fs::metadata(format!("/proc/{server}")).unwrap();
    let mut lift = std::process::Command::new("prlimit");
    lift.arg(format!("--pid={server}")).arg("--as=unlimited:").uid(user.uid()).gid(user.gid());
    assert!(lift.status().unwrap().success());
    assert!(warns().await);
}

#[tokio::test]
async fn what_is_left_undone_is_a_warning() {
    let db = bikes().await;
    let name = &db.name;
    db.execute(&format!(
        "ALTER ROLE {name}_fetch CONNECTION LIMIT -1; ALTER ROLE {name}_finish RESET temp_file_limit"
    ))
    .await;
    let text = policy(&db.backend_toml(), &[], &room_for(1));
    let dir = Workdir::new(
        &format!("{text}# TODO a range\n").replace("minutes = { range = [0, 240] }", "minutes = {}"),
    );
    let out = dir.noisegate(&["check"]).await;
    assert!(out.status.success(), "{out:?}");
    for warning in [
        "nobody may log in",
        "a line is marked TODO",
        "nobody can ask for a sum or an average of minutes in \"trips\"",
    ] {
        assert!(out.stdout.contains(warning), "{warning}: {}", out.stdout);
    }
    for warning in [
        format!("backend.url, {name}_fetch: connections have no limit"),
        format!("backend.finish_url, {name}_finish: temporary files or connections have no limit"),
    ] {
        assert!(out.stdout.contains(&warning), "{warning}: {}", out.stdout);
    }
}

/// A login that reads has no business with rights to write: each is named, with what takes it away.
#[tokio::test]
async fn rights_to_change_rows_are_a_warning_with_what_takes_them_away() {
    let db = bikes().await;
    let name = &db.name;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    let said = async || {
        let out = dir.noisegate(&["check"]).await;
        assert!(out.status.success(), "{out:?}");
        out.stdout
    };
    assert!(!said().await.contains("REVOKE"), "what init grants is what is needed");
    for (harm, expected, mend) in [
        (
            format!("GRANT INSERT, TRUNCATE ON riders, trips TO {name}_fetch"),
            format!(
                "backend.url, {name}_fetch: the fetch login has INSERT, TRUNCATE on public.riders, public.trips, and only \
                 reads; REVOKE INSERT, TRUNCATE ON public.riders, public.trips FROM {name}_fetch"
            ),
            format!("REVOKE INSERT, TRUNCATE ON public.riders, public.trips FROM {name}_fetch"),
        ),
        (
            "GRANT UPDATE (fare), DELETE ON trips TO PUBLIC".to_owned(),
            format!(
                "backend.finish_url, {name}_finish: the finish login has UPDATE, DELETE on public.trips, and only reads; \
                 REVOKE UPDATE, DELETE ON public.trips FROM PUBLIC"
            ),
            "REVOKE UPDATE, DELETE ON public.trips FROM PUBLIC".to_owned(),
        ),
        (
            format!(
                "CREATE ROLE {name}_load; GRANT DELETE ON riders TO {name}_load; GRANT {name}_load TO {name}_fetch"
            ),
            format!("REVOKE DELETE ON public.riders FROM {name}_load"),
            format!("DROP OWNED BY {name}_load; DROP ROLE {name}_load"),
        ),
        (
            format!("ALTER TABLE trips OWNER TO {name}_fetch"),
            "the fetch login owns public.trips, and so may change and drop it; ALTER TABLE public.trips OWNER TO"
                .to_owned(),
            format!("ALTER TABLE trips OWNER TO CURRENT_USER; GRANT SELECT ON trips TO {name}_fetch"),
        ),
        (
            format!("CREATE TABLE scratch (); ALTER TABLE scratch OWNER TO {name}_fetch"),
            "the fetch login owns tables that the policy does not name".to_owned(),
            "DROP TABLE scratch".to_owned(),
        ),
    ] {
        db.execute(&harm).await;
        let out = said().await;
        assert!(out.contains(&expected), "{expected}: {out}");
        db.execute(&mend).await;
    }
    assert!(!said().await.contains("REVOKE"));
}

/// Without the folder of its books no proxy begins.
#[tokio::test]
async fn a_folder_that_no_ledger_can_be_made_in_is_refused() {
    let db = bikes().await;
    let text = policy(&db.backend_toml(), &["ada"], &room_for(1));
    let dir = Workdir::new(&text.replace("sqlite:", "sqlite:books/"));
    let out = dir.noisegate(&["check"]).await;
    let folder = dir.path().join("books");
    for part in [
        format!("the folder of the ledger, {}, is not there", folder.display()),
        format!("install -d -m 0700 {}", folder.display()),
    ] {
        assert!(!out.status.success() && out.stderr.contains(&part), "{out:?}");
    }
    std::fs::create_dir(&folder).unwrap();
    assert!(dir.noisegate(&["check"]).await.status.success());
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    assert!(dir.noisegate(&["check"]).await.status.success());
}

/// Warnings can be mended; what is as it is stands below the summary.
#[tokio::test]
async fn what_nothing_mends_is_a_note() {
    let db = bikes().await;
    let text = policy(&db.backend_toml(), &["ada"], &room_for(1));
    let dir = Workdir::new(&text.replace("minutes = { range = [0, 240] }", "minutes = {}"));
    let out = dir.noisegate(&["check"]).await;
    let (before, after) = out.stdout.split_once("policy ok").unwrap();
    let said = "nobody can ask for a sum or an average of minutes in \"trips\"";
    assert!(out.status.success() && !before.contains(said), "{out:?}");
    assert!(after.lines().any(|l| l.starts_with("note: ") && l.ends_with(said)), "{out:?}");
}
