//! The demo's database: the same rows for a scale, logins with no more rights than they need, nothing left behind.

mod headlines;
mod private_copy;

use crate::support::{self, NOISEGATE, connect, database};
use noisegate::demo::{DEMO_USER, Demo, DemoOptions, Error, banner, prove_finish_login};
use tokio_postgres::error::SqlState;

fn options(scale: f64) -> DemoOptions {
    let listen = "127.0.0.1:6432".parse().unwrap();
    DemoOptions { noisegate: NOISEGATE.into(), backend: None, binaries: None, scale, listen }
}

/// A database in the test's own server.
async fn lent(scale: f64) -> DemoOptions {
    let cluster = tokio::task::spawn_blocking(support::cluster).await.unwrap();
    DemoOptions { backend: Some(cluster.superuser_url("postgres")), ..options(scale) }
}

/// One number that depends on every field of every row of a table.
const CHECKSUM: &str = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text FROM ";

#[tokio::test]
async fn a_scale_gives_the_same_rows_in_every_database_and_no_database_stays() {
    // All of this server's databases are counted.
    let cluster = tokio::task::spawn_blocking(|| support::own_cluster(&[])).await.unwrap();
    let options = DemoOptions { backend: Some(cluster.superuser_url("postgres")), ..options(0.01) };
    let (a, b) = tokio::try_join!(Demo::prepare(&options), Demo::prepare(&options)).unwrap();
    let mut sums: Vec<Vec<(i64, String)>> = Vec::new();
    for demo in [&a, &b] {
        let client = connect(&demo.fetch_url).await;
        let mut tables = Vec::new();
        for table in ["stations", "riders", "trips", "payments"] {
            let row = client.query_one(&format!("{CHECKSUM} {table} t"), &[]).await.unwrap();
            tables.push((row.get(0), row.get(1)));
        }
        sums.push(tables);
    }
    assert_eq!(sums[0], sums[1]);
    let counts: Vec<i64> = sums[0].iter().map(|(count, _)| *count).collect();
    assert_eq!(counts[..3], [60, 500, 5000]);
    assert!((4300..4700).contains(&counts[3]), "{counts:?}");

    let folders = [&a, &b].map(|d| d.policy_file.parent().unwrap().to_owned());
    assert!(folders.iter().all(|f| f.is_dir()));
    a.close().await.unwrap();
    b.close().await.unwrap();
    assert!(folders.iter().all(|f| !f.exists()));
    let admin = connect(&cluster.superuser_url("postgres")).await;
    let left = "SELECT (SELECT count(*) FROM pg_database WHERE datname LIKE 'noisegate%')
                     + (SELECT count(*) FROM pg_roles WHERE rolname LIKE 'noisegate%')";
    assert_eq!(admin.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn the_finish_login_reads_stations_and_can_do_nothing_else() {
    let demo = Demo::prepare(&options(0.002)).await.unwrap();
    let finish = connect(&demo.finish_url).await;
    assert_eq!(finish.query("SELECT * FROM stations", &[]).await.unwrap().len(), 60);
    for sql in [
        "SELECT 1 FROM trips",
        "SELECT 1 FROM riders",
        "SELECT 1 FROM payments",
        "DELETE FROM stations",
        "CREATE TABLE mine (x int)",
        "CREATE TEMP TABLE mine (x int)",
        "CREATE SCHEMA mine",
    ] {
        let refused = finish.batch_execute(sql).await.expect_err(sql);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
    }
    let fetch = connect(&demo.fetch_url).await;
    assert_eq!(fetch.query_one("SELECT count(*) FROM trips", &[]).await.unwrap().get::<_, i64>(0), 1000);
    for sql in ["DELETE FROM trips", "CREATE TABLE mine (x int)", "CREATE TEMP TABLE mine (x int)"] {
        let refused = fetch.batch_execute(sql).await.expect_err(sql);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
    }
    demo.close().await.unwrap();
}

#[tokio::test]
async fn a_finish_login_with_any_right_too_many_is_found_out() {
    let db = database("CREATE TABLE trips (fare int); CREATE TABLE stations (name text)").await;
    let role = format!("{}_finish", db.name);
    db.publish(&["stations"]).await;
    let finish = connect(&db.finish_url).await;
    prove_finish_login(&finish, &["stations"]).await.unwrap();
    for (grant, revoke) in [
        (
            format!("GRANT SELECT (fare) ON trips TO {role}"),
            format!("REVOKE SELECT (fare) ON trips FROM {role}"),
        ),
        ("GRANT SELECT ON trips TO PUBLIC".to_owned(), "REVOKE SELECT ON trips FROM PUBLIC".to_owned()),
        (format!("GRANT UPDATE ON stations TO {role}"), format!("REVOKE UPDATE ON stations FROM {role}")),
        (format!("GRANT pg_monitor TO {role}"), format!("REVOKE pg_monitor FROM {role}")),
        (
            format!("GRANT TEMP ON DATABASE {} TO PUBLIC", db.name),
            format!("REVOKE TEMP ON DATABASE {} FROM PUBLIC", db.name),
        ),
        (
            format!("GRANT CREATE ON SCHEMA public TO {role}"),
            format!("REVOKE CREATE ON SCHEMA public FROM {role}"),
        ),
        (format!("ALTER ROLE {role} SUPERUSER"), format!("ALTER ROLE {role} NOSUPERUSER")),
        (
            format!("ALTER TABLE stations OWNER TO {role}"),
            "ALTER TABLE stations OWNER TO postgres".to_owned(),
        ),
    ] {
        db.execute(&grant).await;
        let found = prove_finish_login(&finish, &["stations"]).await;
        assert!(matches!(found, Err(Error::FinishLogin(_))), "{grant}");
        db.execute(&revoke).await;
        db.publish(&["stations"]).await;
        prove_finish_login(&finish, &["stations"]).await.unwrap_or_else(|e| panic!("after {revoke}: {e}"));
    }
}

#[tokio::test]
async fn what_a_failed_preparation_made_is_removed() {
    let mut options = lent(0.01).await;
    // A login that may create databases but no roles: the step after the first fails.
    let db = database("").await;
    db.execute(&format!("ALTER ROLE {}_fetch CREATEDB", db.name)).await;
    options.backend = Some(db.fetch_url.clone());
    let error = Demo::prepare(&options).await.err().expect("roles cannot be created").to_string();
    assert!(
        error.contains("CREATE ROLE") && error.contains("42501") && !error.contains("PASSWORD"),
        "{error}"
    );
    let admin = db.superuser().await;
    let owned = format!(
        "SELECT 1 FROM pg_database d JOIN pg_roles r ON r.oid = datdba WHERE rolname = '{}_fetch'",
        db.name
    );
    assert!(admin.query(&owned, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_policy_and_the_banner_name_what_was_made() {
    let demo = Demo::start(&lent(0.01).await).await.unwrap();
    let policy: toml::Table = demo.policy.parse().unwrap();
    assert_eq!(policy["backend"]["url"].as_str(), Some(demo.fetch_url.as_str()));
    assert_eq!(policy["user"][0]["name"].as_str(), Some(DEMO_USER));
    let ledger = policy["ledger"]["url"].as_str().unwrap().strip_prefix("sqlite:").unwrap();
    assert_eq!(demo.policy_file.with_file_name(ledger), demo.ledger_file);
    let text = banner("127.0.0.1:6433".parse().unwrap(), &demo.psql, "budget: 8 of 8 left");
    assert!(
        text.contains("psql \"host=127.0.0.1 port=6433 user=demo dbname=demo\"")
            && text.contains("8 of 8 left")
    );
    demo.close().await.unwrap();
}
