//! The database goes away and comes back; the proxy stays.

use crate::World;
use crate::city::{DATA, eventually, fetch_waits, hold_trips, published, room_for, rows, sqlstate};
use crate::support::{NOISEGATE, database_in};
use noisegate::demo::{Binaries, Cluster, Options};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Ends the server as an administrator in a hurry does.
async fn stop(cluster: &Cluster) {
    let pid = cluster.server_pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let pid_file = cluster.dir().join("data/postmaster.pid");
    eventually("the end of the server", async || !pid_file.exists()).await;
    assert!(TcpStream::connect(("127.0.0.1", cluster.port())).is_err());
}

/// Starts it again as it was started before, by its own record of that.
async fn start_again(cluster: &Cluster) -> Child {
    let data = cluster.dir().join("data");
    let options = std::fs::read_to_string(data.join("postmaster.opts")).unwrap();
    // `/path/postgres "-D" "/folder" …`
    let (program, arguments) = options.trim().split_once(" \"").unwrap();
    let arguments = arguments.trim_end_matches('"').split("\" \"");
    let owner = std::fs::metadata(&data).unwrap();
    let child = Command::new(program)
        .args(arguments)
        .uid(owner.uid())
        .gid(owner.gid())
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let url = cluster.superuser_url("postgres");
    eventually("the start of the server", async || {
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok()
    })
    .await;
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_outlives_its_database_and_finds_it_again() {
    let cluster = tokio::task::spawn_blocking(|| {
        Cluster::start(&Binaries::find().unwrap(), &Options::new(NOISEGATE)).unwrap()
    })
    .await
    .unwrap();
    let db = published(database_in(&cluster, DATA).await).await;
    let world = World::over(db, &room_for(5)).await;
    let spent = async || world.dir.noisegate(&["budget", "show"]).await.stdout;
    let private = "SELECT count(*) FROM trips";
    let (ada, idle) = (world.ada().await, world.ada().await);
    assert_eq!(rows(&ada, private).await.unwrap().len(), 1);
    assert!(spent().await.contains("ε = 0.1 of 0.5 spent"));

    // Gone while private rows are read: which failure it was may depend on them, so it is the constant one. (The fetch
    // goes first: were the lock to go first, it might still be answered.)
    let holder = hold_trips(&world.db).await;
    let asked = tokio::spawn(async move { (sqlstate(&ada, private).await, ada) });
    eventually("the fetch", async || fetch_waits(&world.db).await).await;
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        world.db.name
    );
    assert_eq!(rows(&world.db.superuser().await, &end).await.unwrap().len(), 1);
    let (code, ada) = asked.await.unwrap();
    assert_eq!(code, "XX000");
    stop(&cluster).await;
    assert!(holder.is_closed());
    assert!(spent().await.contains("ε = 0.2 of 0.5 spent"), "the debit stands");

    // Gone before: nothing is charged, and the sessions live on. Logging in needs no database.
    let newcomer = world.ada().await;
    for client in [&ada, &idle, &newcomer] {
        for sql in [private, "SELECT 1", "SELECT count(*) FROM stations"] {
            let error = client.simple_query(sql).await.expect_err(sql);
            let db_error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
            assert_eq!(db_error.code().code(), "08006", "{sql}: {db_error:?}");
            assert_eq!(db_error.message(), "the database is not reachable");
        }
    }
    assert!(spent().await.contains("ε = 0.2 of 0.5 spent"));

    let mut server = start_again(&cluster).await;
    for client in [&ada, &idle, &newcomer] {
        assert_eq!(rows(client, private).await.unwrap().len(), 1);
    }
    assert!(spent().await.contains("ε = 0.5 of 0.5 spent"));
    tokio::task::spawn_blocking(move || cluster.stop()).await.unwrap().unwrap();
    server.wait().unwrap();
}
