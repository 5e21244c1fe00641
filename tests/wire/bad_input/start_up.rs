//! What the owner does wrong: `noisegate serve` ends with 1 and says what would be right.

use super::World;
use crate::city::{bikes, policy, room_for};
use crate::support::{Output, Workdir, run};
use std::net::TcpListener;

fn assert_fails(out: &Output, texts: &[&str]) {
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(out.stdout.is_empty(), "{out:?}");
    for text in texts {
        assert!(out.stderr.contains(text), "{text:?} is not in: {}", out.stderr);
    }
    assert!(!out.stderr.contains("panicked"), "{}", out.stderr);
}

#[tokio::test]
async fn a_wrong_policy_is_refused_with_file_line_and_remedy() {
    let db = bikes().await;
    let good = policy(&db.backend_toml(), &["ada"], &room_for(3));
    for (right, wrong, says) in [
        ("[privacy]", "[privacy", "unclosed table"),
        ("epsilon = 0.3", "epsilon = 0", "epsilon must be greater than 0"),
        ("epsilon = 0.3", "epsilon = -1", "epsilon must be greater than 0"),
        ("epsilon = 0.3", "epsilon = nan", "epsilon"),
        ("epsilon = 0.3", "epsilon = inf", "epsilon"),
        ("epsilon = 0.3", "epsilon = 1e400", "epsilon"),
        ("epsilon = 0.3", "epsilon = 0.3\nwindow = \"30 moons\"", "window"),
        ("accounting = \"pure\"", "accounting = \"rdp\"", "needs delta"),
        ("range = [1920, 2010]", "range = [2010, 1920]", "birth_year"),
        ("range = [0, 240]", "range = [0, 3000000000]", "minutes"),
        ("[table.stations]", "[table.station]", "station"),
        ("columns.city", "columns.town", "town"),
        ("[table.stations]", "[table.stations]\npubic = true", "pubic"),
        ("riders.rider_id", "riders.trip_id", "trip_id"),
    ] {
        assert!(good.contains(right), "{right}");
        let dir = Workdir::new(&good.replacen(right, wrong, 1));
        // For mistakes that only the database shows, `budget create` succeeds; for others both fail alike.
        dir.noisegate(&["budget", "create"]).await;
        let out = dir.noisegate(&["serve"]).await;
        assert_fails(&out, &["policy.toml:", says]);
    }
}

#[tokio::test]
async fn every_mistake_is_shown_at_once() {
    let db = bikes().await;
    let text = policy(&db.backend_toml(), &["ada"], &room_for(3))
        .replace("epsilon = 0.3", "epsilon = -2")
        .replace("columns.city", "columns.town")
        .replace("range = [0, 60]", "range = [60, 0]");
    let out = Workdir::new(&text).noisegate(&["serve"]).await;
    assert_fails(
        &out,
        &["epsilon must be greater than 0", "town", "\"fare\" has its low end above its high end"],
    );
}

#[tokio::test]
async fn a_policy_that_is_not_there_is_named() {
    let dir = Workdir::new("");
    std::fs::remove_file(dir.policy()).unwrap();
    assert_fails(&dir.noisegate(&["serve"]).await, &["policy.toml", "No such file"]);
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let db = bikes().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let text = policy(&db.backend_toml(), &["ada"], &room_for(1)).replace("127.0.0.1:0", &address);
    let dir = Workdir::new(&text);
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    assert_fails(&dir.noisegate(&["serve"]).await, &[&address, "in use"]);
    let mut demo = tokio::process::Command::new(crate::support::NOISEGATE);
    demo.args(["demo", "--listen", &address]);
    assert_fails(&run(demo, "").await, &[&address, "in use"]);
}

#[tokio::test]
async fn a_database_that_is_down_or_refuses_the_login_is_named_without_the_password() {
    let db = bikes().await;
    let port = db.fetch_url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0;
    let good = policy(&db.backend_toml(), &["ada"], &room_for(1));
    for (right, wrong, says) in [
        // Nobody listens on port 1.
        (&format!(":{port}/") as &str, ":1/", "backend.url"),
        ("only-for-this-test", "not-the-password", "password authentication failed"),
        (&format!("/{}\"", db.name), "/no_such_database\"", "no_such_database"),
    ] {
        let dir = Workdir::new(&good.replace(right, wrong));
        assert!(dir.noisegate(&["budget", "create"]).await.status.success());
        let out = dir.noisegate(&["serve"]).await;
        assert_fails(&out, &[says]);
        assert!(!out.stderr.contains("only-for-this-test"), "{}", out.stderr);
        assert!(!out.stderr.contains("not-the-password"), "{}", out.stderr);
    }
}

#[tokio::test]
async fn a_finish_login_that_could_read_private_rows_is_refused() {
    let db = bikes().await;
    db.publish(&["riders"]).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    assert_fails(&dir.noisegate(&["serve"]).await, &["finish login", "riders"]);
}

#[tokio::test]
async fn a_ledger_is_made_by_budget_create_alone_and_has_one_proxy() {
    let db = bikes().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &room_for(1)));
    assert_fails(&dir.noisegate(&["serve"]).await, &["noisegate.db", "noisegate budget create"]);
    assert_fails(&dir.noisegate(&["budget", "show"]).await, &["noisegate.db", "noisegate budget create"]);
    assert!(!dir.path().join("noisegate.db").exists());

    let gate = dir.serve().await;
    assert_fails(&dir.noisegate(&["budget", "create"]).await, &["exists already"]);
    assert_fails(&dir.noisegate(&["serve"]).await, &["noisegate.db", "in use by another noisegate process"]);
    World { db, dir, gate }.assert_alive().await;
}
