//! Citus beside PostgreSQL: the same answers from the same scripts, and what becomes of a unit's rows that are spread over
//! servers. `./test citus` runs this where it finds Citus (`NOISEGATE_CITUS`).
//!
//! A coordinator and three workers, whose own settings are other than those of any session that noisegate opens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../bikes/mod.rs"]
mod bikes;
#[path = "../city/mod.rs"]
mod city;
mod faults;
#[allow(dead_code, reason = "another program uses the rest of it")]
#[path = "../ledger/faults/proxy.rs"]
mod proxy;
mod same;
#[path = "../golden/script.rs"]
mod script;
mod spread;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/usual.rs"]
mod usual;

use noisegate::demo::Cluster;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{LOGIN_PASSWORD, TestDb, connect};
use tokio_postgres::NoTls;

/// Settings of every server of the cluster. Nobody waits for a disk.
const NODE: &[(&str, &str)] = &[
    ("shared_preload_libraries", "citus"),
    ("wal_level", "logical"),
    ("max_connections", "200"),
    ("max_prepared_transactions", "200"),
    ("citus.node_conninfo", "sslmode=disable"),
];

/// Settings of the servers that hold rows: a session of the coordinator's does not bring its own along.
const FOREIGN: &[(&str, &str)] = &[
    ("timezone", "Asia/Tokyo"),
    ("datestyle", "SQL, DMY"),
    ("intervalstyle", "sql_standard"),
    ("extra_float_digits", "-3"),
    ("bytea_output", "escape"),
    ("xmlbinary", "hex"),
];

/// A coordinator, and the servers that hold rows.
pub struct Citus {
    /// The server that clients ask.
    pub coordinator: Cluster,
    /// The others.
    pub workers: Vec<Cluster>,
}

impl Citus {
    /// Blocks for some seconds.
    fn start(workers: usize) -> Self {
        let start = |more: &[(&str, &str)]| {
            let cluster = support::own_cluster(&[NODE, more].concat());
            // Servers of Citus log in to each other.
            let hba = cluster.dir().join("data/pg_hba.conf");
            std::fs::write(hba, "host all all 127.0.0.1/32 trust\n").unwrap();
            cluster
        };
        let (coordinator, workers) = std::thread::scope(|s| {
            let workers: Vec<_> = (0..workers).map(|_| s.spawn(|| start(FOREIGN))).collect();
            (start(&[]), workers.into_iter().map(|w| w.join().unwrap()).collect::<Vec<_>>())
        });
        Self { coordinator, workers }
    }

    /// Has servers read who may log in, and waits until they have.
    async fn trust(&self) {
        for node in self.nodes() {
            let admin = connect(&node.superuser_url("postgres")).await;
            admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
            let url = node.url("postgres", "none", "postgres");
            support::soon("a login", async || tokio_postgres::connect(&url, NoTls).await.is_ok()).await;
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.coordinator).chain(&self.workers)
    }

    /// A database over all servers, with the two logins that a gateway needs.
    pub async fn database(&self) -> TestDb {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        // Servers are told of each other's roles, which are those of all databases: one after the other.
        static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let _one = ONE.lock().await;
        let name = format!("spread_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let (fetch, finish) = (format!("{name}_fetch"), format!("{name}_finish"));
        for node in self.nodes() {
            support::make_database(&node.superuser_url("postgres"), &name).await;
            let own = connect(&node.superuser_url(&name)).await;
            own.batch_execute("CREATE EXTENSION citus").await.unwrap();
        }
        let coordinator = &self.coordinator;
        let db = TestDb {
            superuser_url: coordinator.superuser_url(&name),
            fetch_url: coordinator.url(&fetch, LOGIN_PASSWORD, &name),
            finish_url: coordinator.url(&finish, LOGIN_PASSWORD, &name),
            backend: "engine = \"citus\"\n",
            name,
        };
        let mut add = format!("SELECT citus_set_coordinator_host('127.0.0.1', {});", coordinator.port());
        for worker in &self.workers {
            add += &format!("SELECT citus_add_node('127.0.0.1', {});", worker.port());
        }
        db.execute(&add).await;
        db.execute(&format!(
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {fetch}"
        ))
        .await;
        db
    }
}

/// The servers of this test process.
pub async fn citus() -> &'static Citus {
    static CITUS: OnceLock<Citus> = OnceLock::new();
    let citus = tokio::task::spawn_blocking(|| CITUS.get_or_init(|| Citus::start(3))).await.unwrap();
    citus.trust().await;
    citus
}

/// Servers of a test's own, which stops some of them.
pub async fn own(workers: usize) -> Citus {
    let citus = tokio::task::spawn_blocking(move || Citus::start(workers)).await.unwrap();
    citus.trust().await;
    citus
}

/// The bike share of `city`, with keys that Citus can keep.
pub async fn bike_share(citus: &Citus) -> TestDb {
    let old = "trip_id int PRIMARY KEY, rider_id int NOT NULL REFERENCES riders,";
    let data = city::DATA
        .replace(old, "trip_id int NOT NULL, rider_id int NOT NULL, PRIMARY KEY (rider_id, trip_id),");
    let data = data.replace(" REFERENCES stations", "");
    assert!(!data.contains(old) && !data.contains("REFERENCES"));
    let db = citus.database().await;
    db.execute(&data).await;
    for sql in [
        "SELECT create_reference_table('stations')",
        "SELECT create_distributed_table('riders', 'rider_id', shard_count => 6, colocate_with => 'none')",
        "SELECT create_distributed_table('trips', 'rider_id', colocate_with => 'riders')",
    ] {
        db.execute(sql).await;
    }
    city::published(db).await
}
