//! `noisegate check` against a database that is there, and one that is not.

use crate::support::{TestDb, database};
use noisegate::cli::check::{self, Args};
use noisegate::schema::Snapshot;
use std::path::Path;

/// The schema that the policies of config/ fit.
const SCHEMA: &str = include_str!("../policy/schema.sql");

async fn report(policy: &Path) -> Result<String, String> {
    check::report(&Args { policy: policy.to_owned(), write_schema: false, offline: false }).await
}

#[tokio::test]
async fn check_against_a_database() {
    let db = database(SCHEMA).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bikes.toml");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/bikes.toml")).unwrap();
    let text = text.replace("postgres://noisegate@127.0.0.1/bikes", &db.superuser_url);

    std::fs::write(&file, &text).unwrap();
    let ok = report(&file).await.unwrap();
    assert!(ok.starts_with("policy ok\n"), "{ok}");

    std::fs::write(&file, text.replace("[0, 240]", "[240, 0]").replace("columns.method", "columns.methot"))
        .unwrap();
    let errors = report(&file).await.unwrap_err();
    assert!(errors.contains("low end above its high end"), "{errors}");
    assert!(errors.contains("did you mean \"method\"?"), "{errors}");

    // Nobody listens on port 1. The mistake that the text shows is reported with it.
    let down = text.replace(&db.superuser_url, "postgres://me:secret@127.0.0.1:1/bikes");
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
fn policy_over(db: &TestDb, folder: &Path) -> std::path::PathBuf {
    let text = include_str!("../../config/bikes.toml");
    let file = folder.join("bikes.toml");
    let text = text.replace("postgres://noisegate@127.0.0.1/bikes", &db.superuser_url);
    std::fs::write(&file, text).unwrap();
    file
}

#[tokio::test]
async fn a_snapshot_stands_in_for_the_database() {
    let db = database(SCHEMA).await;
    let client = db.superuser().await;
    client.batch_execute("INSERT INTO stations VALUES ('a', 'x', 1), ('b', 'x', NULL)").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_over(&db, folder.path());
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
    assert!(fits.starts_with("policy ok"), "{fits}");
    // Without it, the snapshot is used and said to be.
    let used = check::report(&offline(policy.clone())).await.unwrap();
    assert!(
        used.starts_with("warning: the database was not asked; checked against the schema snapshot"),
        "{used}"
    );
    assert!(used.contains("just now") && used.ends_with(fits.as_str()), "{used}");
    let away = std::fs::read_to_string(&policy)
        .unwrap()
        .replace(&db.superuser_url, "postgres://a@127.0.0.1:1/bikes");
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
    client.batch_execute("ANALYZE").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let policy = policy_over(&db, folder.path());
    check::report(&Args { policy, write_schema: true, offline: false }).await.unwrap();
    let with = std::fs::read_to_string(folder.path().join("bikes.schema.json")).unwrap();
    assert!(!with.contains("Zanzibar") && !with.contains("zoe"));
    assert!(Snapshot::from_json(&with).unwrap().sizes.iter().all(|s| s.table == "stations"));
}
