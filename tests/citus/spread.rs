//! How tables are spread, what `check` and `check prepare` say of it, and what the servers hold.

use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::support::{TestDb, Workdir, connect, database};
use crate::usual::rules;
use crate::{bike_share, citus};
use tokio_postgres::Client;

const RULES: &str = rules!([epsilon = 0.1] ["approx", epsilon = 100, delta = 1e-3]);

fn folder(db: &TestDb) -> Workdir {
    Workdir::new(&policy(&db.backend_toml(), &["ada"], RULES))
}

/// The shards of riders on the server at this port.
fn shards_of_riders(port: u16) -> String {
    format!("SELECT shard_name FROM citus_shards WHERE table_name = 'riders'::regclass AND nodeport = {port}")
}

/// What `check` says of a database that it refuses.
async fn refused(db: &TestDb) -> String {
    let out = folder(db).noisegate(&["check"]).await;
    assert!(!out.status.success(), "{}", out.stdout);
    out.stderr
}

async fn ada(gate: &crate::support::Gate) -> Client {
    connect(&gate.url("ada", PASSWORD, "bikes")).await
}

#[tokio::test]
async fn citus_is_named_and_is_there() {
    let plain = city::published(database(city::DATA).await).await;
    let said = refused(&TestDb { backend: "engine = \"citus\"\n", ..plain }).await;
    assert!(said.contains("engine = \"citus\", and the database does not have that extension"), "{said}");
    let spread = bike_share(citus().await).await;
    let said = refused(&TestDb { backend: "", ..spread }).await;
    assert!(said.contains("the database has the extension Citus"), "{said}");
    assert!(said.contains("write engine = \"citus\" into [backend]"), "{said}");
}

/// Each of these puts rows of one unit on several servers, or makes Citus read them apart; the hint mends it.
#[tokio::test]
async fn every_unit_is_on_one_server() {
    let db = citus().await.database().await;
    db.execute(&city::DATA.replace(" REFERENCES stations", "").replace(" REFERENCES riders", "")).await;
    db.publish(&["stations"]).await;
    let said = refused(&db).await;
    for hint in
        ["create_distributed_table('public.riders', 'rider_id')", "create_reference_table('public.stations')"]
    {
        assert!(said.contains(hint), "{said}");
    }
    db.execute("SELECT create_reference_table('stations')").await;
    db.execute("SELECT create_distributed_table('riders', 'rider_id', shard_count => 4)").await;
    db.execute("ALTER TABLE trips DROP CONSTRAINT trips_pkey").await;
    db.execute(
        "SELECT create_distributed_table('trips', 'trip_id', shard_count => 6, colocate_with => 'none')",
    )
    .await;
    let said = refused(&db).await;
    assert!(
        said.contains("Citus spreads \"trips\" by \"trip_id\": rows of one unit are on several servers"),
        "{said}"
    );
    assert!(said.contains("may be on different servers of Citus"), "{said}");
    // As the hints say.
    db.execute("SELECT alter_distributed_table('public.trips', distribution_column => 'rider_id')").await;
    db.execute("SELECT alter_distributed_table('public.trips', colocate_with => 'public.riders')").await;
    let out = folder(&db).noisegate(&["check"]).await;
    assert!(out.status.success(), "{}", out.stderr);
}

/// A table that is spread anew has the same OID, and other shards: what was planned on is not there any more.
#[tokio::test]
async fn another_distribution_is_another_schema() {
    let db = bike_share(citus().await).await;
    let dir = folder(&db);
    let gate = dir.serve().await;
    let ada = ada(&gate).await;
    rows(&ada, "SELECT count(*) FROM trips").await.unwrap();
    // Metadata alone, as a hand in the catalogs would.
    db.execute("UPDATE pg_dist_partition SET colocationid = colocationid + 1000 WHERE logicalrelid = 'trips'::regclass").await;
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM trips").await, "55000");
}

/// Rows of one unit that somebody writes into each shard, on their servers, are six units there. CHECKs keep them out.
#[tokio::test]
async fn rows_stay_where_their_units_are() {
    let (citus, db) = (citus().await, bike_share(citus().await).await);
    let dir = folder(&db);
    let promised = "is the owner's promise";
    let out = dir.noisegate(&["check"]).await;
    assert_eq!(
        out.stderr.matches(promised).count() + out.stdout.matches(promised).count(),
        2,
        "{}{}",
        out.stderr,
        out.stdout
    );
    let prepare = async || {
        let out =
            dir.noisegate(&["check", "prepare", "--backend", &db.superuser_url, "--apply", "--keys"]).await;
        assert!(out.status.success(), "{}", out.stderr);
        out.stdout
    };
    let made = prepare().await;
    assert!(made.contains("noisegate_placement"), "{made}");
    let out = dir.noisegate(&["check"]).await;
    assert!(
        out.status.success() && !out.stderr.contains(promised) && !out.stdout.contains(promised),
        "{}",
        out.stderr
    );
    assert!(!prepare().await.contains("noisegate_placement"));
    // On a server: a rider whose hash is another shard's.
    let mut kept = 0;
    for worker in &citus.workers {
        let (port, worker) = (worker.port(), connect(&worker.superuser_url(&db.name)).await);
        let shards = rows(&worker, &shards_of_riders(port)).await.unwrap();
        for shard in shards {
            let table = shard[0].clone().unwrap();
            let wrong = format!(
                "INSERT INTO {table} SELECT 500, 1980, 'day', NULL, NULL WHERE NOT EXISTS (SELECT FROM {table} WHERE rider_id = 500)"
            );
            // Their own server lets a superuser write into shards.
            worker.batch_execute("SET citus.enable_manual_changes_to_shards = on").await.unwrap();
            match worker.batch_execute(&wrong).await {
                Ok(()) => {}
                Err(e) => {
                    assert!(e.as_db_error().unwrap().message().contains("noisegate_placement"), "{e:?}");
                    kept += 1;
                }
            }
        }
    }
    assert_eq!(kept, 5);
}

/// The finish login reads no shard on any server.
#[tokio::test]
async fn rule_31_the_finish_login_reads_no_shard() {
    let (citus, db) = (citus().await, bike_share(citus().await).await);
    let worker = connect(&citus.workers[1].superuser_url(&db.name)).await;
    let shard = rows(&worker, &shards_of_riders(citus.workers[1].port())).await.unwrap();
    let shard = shard[0][0].clone().unwrap();
    worker.batch_execute(&format!("GRANT SELECT (plan) ON {shard} TO {}_finish", db.name)).await.unwrap();
    let said = refused(&db).await;
    assert!(said.contains("may read shards of the private table"), "{said}");
    worker.batch_execute(&format!("REVOKE SELECT (plan) ON {shard} FROM {}_finish", db.name)).await.unwrap();
    worker.batch_execute(&format!("ALTER ROLE {}_finish BYPASSRLS", db.name)).await.unwrap();
    let said = refused(&db).await;
    assert!(said.contains("may do more than log in, on a server of Citus"), "{said}");
    worker.batch_execute(&format!("ALTER ROLE {}_finish NOBYPASSRLS", db.name)).await.unwrap();
    assert!(folder(&db).noisegate(&["check"]).await.status.success());
}

/// What Citus would read in two snapshots, and what it refuses itself, is told before it is paid for, and suspends nobody.
#[tokio::test]
async fn what_citus_cannot_read_costs_nothing() {
    let db = bike_share(citus().await).await;
    let dir = folder(&db);
    let gate = dir.serve().await;
    let ada = ada(&gate).await;
    for _ in 0..6 {
        for sql in [
            "SELECT count(*) FROM (SELECT rider_id FROM riders EXCEPT SELECT rider_id FROM trips) q",
            "SELECT count(*) FROM riders r FULL JOIN trips t ON r.rider_id = t.rider_id AND r.birth_year = t.minutes",
        ] {
            assert_eq!(sqlstate(&ada, sql).await, "0A000", "{sql}");
        }
    }
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("nothing spent"), "{shown}");
    // As the hint says.
    let instead =
        "SELECT count(*) FROM riders r WHERE NOT EXISTS (SELECT FROM trips t WHERE t.rider_id = r.rider_id)";
    assert_eq!(rows(&ada, instead).await.unwrap().len(), 1);
}
