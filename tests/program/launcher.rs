//! The private server: that it starts, stands alone, and leaves nothing behind, however its owner ends.

use crate::support::{self, NOISEGATE, connect, database, own_cluster, psql};
use noisegate::demo::{Binaries, Cluster, Error, Options};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn start() -> Cluster {
    own_cluster(&[])
}

fn exists(pid: u32) -> bool {
    Command::new("sh").args(["-c", &format!("kill -0 {pid} 2>/dev/null")]).status().unwrap().success()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test]
async fn two_servers_stand_beside_each_other_and_leave_nothing_behind() {
    let (a, b) = tokio::join!(tokio::task::spawn_blocking(start), tokio::task::spawn_blocking(start));
    let clusters = [a.unwrap(), b.unwrap()];
    assert_ne!(clusters[0].port(), clusters[1].port());
    for cluster in clusters {
        let client = connect(&cluster.superuser_url("postgres")).await;
        let row =
            client.query_one("SELECT current_setting('server_encoding'), inet_server_addr()::text", &[]);
        let row = row.await.unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("UTF8", "127.0.0.1/32"));
        let (dir, pid) = (cluster.dir().to_owned(), cluster.server_pid().unwrap());
        cluster.stop().unwrap();
        assert!(!dir.exists() && !exists(pid));
    }
}

#[tokio::test]
async fn a_server_lets_nobody_in_without_its_password() {
    let cluster = tokio::task::spawn_blocking(support::cluster).await.unwrap();
    let port = cluster.port();
    for url in [
        format!("postgres://postgres@127.0.0.1:{port}/postgres"),
        format!("postgres://postgres:postgres@127.0.0.1:{port}/postgres"),
    ] {
        assert!(tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_err(), "{url}");
    }
    for private in ["data", "private"] {
        let mode = cluster.dir().join(private).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{private} is open to others: {mode:o}");
    }
    assert!(!cluster.dir().join("password").exists());
}

#[test]
fn dropping_a_cluster_stops_it() {
    let cluster = start();
    let (dir, pid) = (cluster.dir().to_owned(), cluster.server_pid().unwrap());
    drop(cluster);
    assert!(!dir.exists() && !exists(pid));
}

/// Runs itself as a child that starts a server and is then killed.
#[test]
fn kill_9_of_the_owner_stops_the_server_and_removes_its_folder() {
    const ROLE: &str = "NOISEGATE_TEST_HOLDS_A_SERVER";
    if std::env::var_os(ROLE).is_some() {
        let cluster = start();
        println!("\nserver {} {}", cluster.server_pid().unwrap(), cluster.dir().display());
        std::thread::sleep(Duration::from_secs(120));
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "launcher::kill_9_of_the_owner_stops_the_server_and_removes_its_folder",
            "--nocapture",
        ])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(owner.stdout.take().unwrap())
        .lines()
        .find_map(|line| line.unwrap().strip_prefix("server ").map(str::to_owned))
        .expect("the child starts a server");
    let (pid, dir) = said.split_once(' ').unwrap();
    let (pid, dir) = (pid.parse().unwrap(), PathBuf::from(dir));
    assert!(exists(pid) && dir.is_dir());
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until("the folder is still there", || !dir.exists());
    wait_until("the server still runs", || !exists(pid));
}

#[test]
fn a_program_that_is_no_watchdog_is_noticed_before_the_server_starts() {
    let error = Cluster::start(&Binaries::find().unwrap(), &Options::new("/bin/true")).err().unwrap();
    assert!(matches!(error, Error::Watchdog(_)), "{error}");
}

#[test]
fn a_server_that_does_not_start_is_explained_by_its_log() {
    let mut options = Options::new(NOISEGATE);
    options.settings.push(("work_mem".to_owned(), "a lot".to_owned()));
    let error = Cluster::start(&Binaries::find().unwrap(), &options).err().unwrap().to_string();
    assert!(error.contains("work_mem"), "{error}");
}

#[test]
fn binaries_are_taken_from_a_folder_that_has_them_only() {
    let found = Binaries::find().unwrap();
    assert_eq!(Binaries::in_dir(found.dir()).unwrap(), found);
    assert!(found.program("initdb").is_file());
    let error = Binaries::in_dir(Path::new("/")).unwrap_err();
    assert!(matches!(error, Error::BadBinaries { .. }), "{error}");
}

#[tokio::test]
async fn each_test_has_a_database_whose_finish_login_reads_what_is_published_only() {
    let setup =
        "CREATE TABLE trips (fare int); CREATE TABLE stations (name text); INSERT INTO trips VALUES (7)";
    let (one, other) = tokio::join!(database(setup), database("CREATE TABLE trips (other int)"));
    assert_ne!(one.name, other.name);
    one.publish(&["stations"]).await;
    let fetch = connect(&one.fetch_url).await;
    assert_eq!(fetch.query_one("SELECT fare FROM trips", &[]).await.unwrap().get::<_, i32>(0), 7);
    let finish = connect(&one.finish_url).await;
    assert!(finish.query("SELECT name FROM stations", &[]).await.unwrap().is_empty());
    let refused = finish.query("SELECT fare FROM trips", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE));
    let out = psql(&one.superuser_url, "SELECT fare AS f FROM trips;\nSELECT nonsense;\n").await;
    assert!(out.stdout.contains("(1 row)") && out.stderr.contains("nonsense"), "{out:?}");
}
