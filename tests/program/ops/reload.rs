//! `noisegate ctl reload` and SIGHUP.

use super::{text, versions, with_server};
use crate::city::{PASSWORD, bikes, eventually, fetch_waits, hold_trips, rows, sqlstate};
use crate::support::{Gate, NOISEGATE, Workdir, connect, psql, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[tokio::test]
async fn open_sessions_see_the_new_policy_at_their_next_statement() {
    let db = bikes().await;
    let old = text(&db, &["ada", "bo"], "");
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let url = |user: &str| gate.url(user, PASSWORD, "bikes");
    let (ada, bo) = (connect(&url("ada")).await, connect(&url("bo")).await);
    let private = "SELECT sum(minutes) FROM trips";
    rows(&ada, private).await.unwrap();
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM riders WHERE email = 'x'").await, "42703");
    rows(&bo, "SELECT count(*) FROM stations").await.unwrap();
    ada.batch_execute("BEGIN").await.unwrap();

    let new = old
        .replace("columns.email = { hidden = true }", "columns.email = {}")
        .replace("minutes = { range = [0, 240] }", "minutes = { range = [0, 100] }")
        .replace("name = \"bo\"", "name = \"cy\"")
        + "[limits]\nmax_in_list = 2\n";
    std::fs::write(dir.policy(), &new).unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert_eq!(
        (out.status.success(), out.stdout.as_str()),
        (true, "reloaded: [[user]], [table], [limits]\n")
    );

    // The session, its transaction included, goes on under the new policy.
    rows(&ada, "SELECT count(*) FROM riders WHERE email = 'x'").await.unwrap();
    assert_eq!(sqlstate(&ada, "SELECT count(*) FROM riders WHERE rider_id IN (1, 2, 3)").await, "54000");
    ada.batch_execute("ROLLBACK").await.unwrap();
    let bound = rows(&ada, "EXPLAIN VERBOSE SELECT sum(minutes) FROM trips").await.unwrap();
    assert!(format!("{bound:?}").contains("by 3200 steps"), "{bound:?}");
    rows(&ada, private).await.unwrap();
    let versions = versions(&dir);
    assert!(versions.len() == 3 && versions[0] != versions[1] && versions[1] == versions[2], "{versions:?}");

    // Who is no longer in the policy may do nothing more; who is new may log in.
    let e = bo.simple_query("SELECT count(*) FROM stations").await.unwrap_err();
    let db_error = e.as_db_error().unwrap();
    assert_eq!((db_error.severity(), db_error.code().code()), ("FATAL", "28000"), "{db_error:?}");
    eventually("the end of the session", async || bo.is_closed()).await;
    assert!(psql(&url("bo"), "SELECT 1").await.stderr.contains("password authentication failed"));
    rows(&connect(&url("cy")).await, "SELECT count(*) FROM stations").await.unwrap();

    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert_eq!((out.status.success(), out.stdout.as_str()), (true, "reloaded: nothing has changed\n"));
    assert!(gate.signal("TERM").await.success());
}

/// By whatever path a policy is named, it is the same one when it is read again.
#[tokio::test]
async fn a_relative_path_and_a_link_name_the_same_policy() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let elsewhere = Workdir::new("");
    std::fs::remove_file(elsewhere.policy()).unwrap();
    std::os::unix::fs::symlink(dir.policy(), elsewhere.policy()).unwrap();
    for (folder, name) in [(&dir, "policy.toml"), (&elsewhere, "policy.toml"), (&dir, "../policy.toml")] {
        let within = folder.path().join("within");
        std::fs::create_dir_all(&within).unwrap();
        let at = if name.starts_with("..") { within.as_path() } else { folder.path() };
        if !folder.path().join("noisegate.db").exists() {
            assert!(folder.noisegate(&["budget", "create"]).await.status.success());
        }
        let gate = Gate::start_with(&["serve", "--policy", name], |c| {
            c.current_dir(at);
        })
        .await;
        for how in [name, folder.policy().to_str().unwrap()] {
            let mut reload = tokio::process::Command::new(NOISEGATE);
            reload.args(["ctl", "reload", "--policy", how]).current_dir(at);
            let out = run(reload, "").await;
            assert_eq!(out.stdout, "reloaded: nothing has changed\n", "{name}, {how}: {}", out.stderr);
        }
        assert!(gate.signal("TERM").await.success());
    }
}

/// As an orchestrator changes a mounted file: the policy is a link to one in a folder that is a link, which is swapped. What a
/// reload would change can be asked before; and a policy that is only half written is waited for.
#[tokio::test]
async fn swapped_links_are_followed_and_half_a_policy_is_not_taken() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let whole = std::fs::read_to_string(dir.policy()).unwrap();
    let at = |name: &str| dir.path().join(name);
    for (version, text) in [("one", whole.clone()), ("two", format!("{whole}[limits]\nmax_in_list = 2\n"))] {
        std::fs::create_dir(at(version)).unwrap();
        std::fs::write(at(version).join("policy.toml"), text).unwrap();
    }
    std::fs::remove_file(dir.policy()).unwrap();
    std::os::unix::fs::symlink("one", at("data")).unwrap();
    std::os::unix::fs::symlink("data/policy.toml", dir.policy()).unwrap();
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let long = "SELECT station FROM stations WHERE capacity IN (1, 2, 3)";
    std::os::unix::fs::symlink("two", at("next")).unwrap();
    std::fs::rename(at("next"), at("data")).unwrap();
    let out = dir.noisegate(&["ctl", "reload", "--check"]).await;
    assert_eq!(
        (out.status.success(), out.stdout.as_str()),
        (true, "would be reloaded: [limits]\n"),
        "{}",
        out.stderr
    );
    rows(&ada, long).await.unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert_eq!((out.status.success(), out.stdout.as_str()), (true, "reloaded: [limits]\n"));
    assert_eq!(sqlstate(&ada, long).await, "54000");

    // Written in pieces: at no moment is a part of it in force.
    let target = at("two").join("policy.toml");
    let writer = tokio::spawn(async move {
        for end in (0..=10).map(|n| whole.len() * n / 10) {
            std::fs::write(&target, whole.get(..end).unwrap_or(&whole)).unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
    });
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    gate.send("HUP").await;
    writer.await.unwrap();
    eventually("the whole policy", async || {
        // Where the writer stood still for long, a part was read, and refused.
        gate.send("HUP").await;
        rows(&ada, long).await.is_ok()
    })
    .await;
    std::fs::write(at("two").join("policy.toml"), "nonsense").unwrap();
    let out = dir.noisegate(&["ctl", "reload", "--check"]).await;
    assert!(!out.status.success());
    assert!(gate.signal("TERM").await.success());
}

#[tokio::test]
async fn a_changed_verifier_is_for_the_next_login() {
    let db = bikes().await;
    let old = text(&db, &["ada"], "");
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let at = old.find("SCRAM-SHA-256$").unwrap();
    let verifier = old[at..].split('"').next().unwrap();
    let other = postgres_protocol::password::scram_sha_256(b"battery staple");
    std::fs::write(dir.policy(), old.replace(verifier, &other)).unwrap();
    assert_eq!(dir.noisegate(&["ctl", "reload"]).await.stdout, "reloaded: [[user]]\n");
    rows(&ada, "SELECT count(*) FROM stations").await.unwrap();
    assert!(
        psql(&gate.url("ada", PASSWORD, "bikes"), "SELECT 1").await.stderr.contains("authentication failed")
    );
    rows(&connect(&gate.url("ada", "battery staple", "bikes")).await, "SELECT count(*) FROM stations")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_wrong_policy_leaves_the_old_one_in_force() {
    let db = bikes().await;
    let old = text(&db, &["ada"], "");
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    for (wrong, message) in [
        (old.replace("[table.trips]", "[table.trips"), ":13: not TOML"),
        (old.replace("minutes = { range", "minute = { range"), "\"trips\" has no column \"minute\""),
        (old.replace("epsilon = 0.1", "epsilon = 0"), "epsilon must be"),
        (old.replace("riders.rider_id", "trips.rider_id"), "trips.rider_id is not a key of \"trips\""),
    ] {
        assert_ne!(wrong, old);
        std::fs::write(dir.policy(), &wrong).unwrap();
        let out = dir.noisegate(&["ctl", "reload"]).await;
        assert!(!out.status.success() && out.stderr.contains(message), "{message}\n{out:?}");
        gate.send("HUP").await;
        rows(&ada, "SELECT sum(minutes) FROM trips").await.unwrap();
    }
    // Two mistakes are both told, by the process as by the command.
    let both = old.replace("minutes = { range", "minute = { range").replace("fare = {", "fair = {");
    std::fs::write(dir.policy(), both).unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    for part in
        ["not reloaded, the old policy stays in force", "\"minute\"", "\"fair\"", "did you mean \"fare\"?"]
    {
        assert!(out.stderr.contains(part), "{out:?}");
    }
    std::fs::write(dir.policy(), &old).unwrap();
    assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
}

#[tokio::test]
async fn what_needs_a_restart_is_named_and_stays() {
    let db = bikes().await;
    let old = text(&db, &["ada"], "");
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let new = with_server(&old, "listen = [\"127.0.0.1:1\", \"unix:.s.PGSQL.1\"]")
        .replace("name = \"everyone\"", "name = \"everybody\"")
        .replace("epsilon = 9.9", "epsilon = 0.2")
        .replace("[backend]", "[log]\nformat = \"json\"\n[backend]\npool = 3")
        .replace("minutes = { range = [0, 240] }", "minutes = { range = [0, 100] }");
    std::fs::write(dir.policy(), &new).unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert_eq!(
        out.stdout,
        "reloaded: [table]\n\
         needs a restart, and is as it was: server.listen, log.format, [backend], [[budget]]\n"
    );
    for _ in 0..4 {
        rows(&ada, "SELECT sum(minutes) FROM trips").await.unwrap();
    }
    assert!(!dir.path().join(".s.PGSQL.1").exists());

    // A unit of its own is a guarantee of its own: nothing of such a policy is used.
    let unit = old
        .replace("unit = \"riders.rider_id\"", "unit = \"trips.trip_id\"")
        .replace("[table.trips]\nunit_column = \"rider_id\"", "[table.trips]\nunit_column = \"trip_id\"");
    std::fs::write(dir.policy(), &unit).unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(
        !out.status.success() && out.stderr.contains("privacy.unit has changed, which needs a restart"),
        "{out:?}"
    );
    rows(&ada, "SELECT sum(minutes) FROM trips").await.unwrap();

    let moved = old.replace("sqlite:noisegate.db", "sqlite:other.db");
    std::fs::write(dir.policy(), &moved).unwrap();
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(
        !out.status.success() && out.stderr.contains("If one does and ledger.url has changed"),
        "{out:?}"
    );
    // Another policy over the same ledger is not the one that is served.
    let other = dir.path().join("other.toml");
    std::fs::write(&other, &old).unwrap();
    let mut command = tokio::process::Command::new(crate::support::NOISEGATE);
    command.args(["ctl", "reload", "--policy"]).arg(&other);
    let out = crate::support::run(command, "").await;
    assert!(
        !out.status.success() && out.stderr.contains("the process that holds this ledger serves"),
        "{out:?}"
    );
    std::fs::write(dir.policy(), &old).unwrap();
    gate.kill().await;
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(!out.status.success() && out.stderr.contains("no proxy serves from this ledger"), "{out:?}");
    // What a killed process left there is in nobody's way.
    let gate = dir.serve_again().await;
    assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
    drop(gate);
}

/// Soundness rule 7: a key that is gone must not bound anything any more, and one that is back may.
#[tokio::test]
async fn rule_07_a_schema_that_changed_is_served_again_after_a_reload() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let ask = "SELECT count(*) FROM trips";
    rows(&ada, ask).await.unwrap();

    db.execute("ALTER TABLE trips ADD COLUMN weather text").await;
    assert_eq!(sqlstate(&ada, ask).await, "55000");
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(out.stdout.contains("the schema of the tables"), "{out:?}");
    rows(&ada, ask).await.unwrap();

    db.execute("ALTER TABLE trips DROP CONSTRAINT trips_rider_id_fkey; ALTER TABLE riders DROP CONSTRAINT riders_pkey")
        .await;
    let riders = "SELECT count(*) FROM riders";
    assert_eq!(sqlstate(&ada, riders).await, "55000");
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(!out.status.success() && out.stderr.contains("riders.rider_id is not a key"), "{out:?}");
    assert_eq!(sqlstate(&ada, riders).await, "55000", "nothing rests on a key that is not there");
    db.execute("ALTER TABLE riders ADD PRIMARY KEY (rider_id)").await;
    gate.send("HUP").await;
    eventually("the signal's reload", async || rows(&ada, riders).await.is_ok()).await;
}

#[tokio::test]
async fn statements_that_run_meanwhile_end_under_the_policy_they_began_with() {
    let db = bikes().await;
    let old = text(&db, &["ada", "bo"], "");
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let holder = hold_trips(&db).await;
    let running = connect(&url).await;
    let asked = tokio::spawn(async move { rows(&running, "SELECT sum(speed) FROM trips").await });
    eventually("the fetch", async || fetch_waits(&db).await).await;
    let new = old
        .replace("columns.speed = { range = [0, 40], grid = 0.5 }\n", "")
        .replace("name = \"bo\"", "name = \"cy\"");
    std::fs::write(dir.policy(), &new).unwrap();
    // Reading the schema may wait for the same lock: both end when it is gone.
    let reload = dir.noisegate(&["ctl", "reload"]);
    let release = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    let (out, ()) = tokio::join!(reload, release);
    assert!(out.status.success(), "{out:?}");
    asked.await.unwrap().unwrap();
    assert_eq!(sqlstate(&connect(&url).await, "SELECT sum(speed) FROM trips").await, "42703");

    // A client that asks all the time notices none of ten reloads.
    let done = Arc::new(AtomicBool::new(false));
    let client = connect(&url).await;
    let asking = tokio::spawn({
        let done = done.clone();
        async move {
            let mut answers = 0;
            while !done.load(Ordering::SeqCst) {
                rows(&client, "SELECT count(*) FROM stations").await.unwrap();
                answers += 1;
            }
            answers
        }
    });
    for n in 0..10 {
        std::fs::write(dir.policy(), new.replace("[0, 240]", &format!("[0, {}]", 100 + n))).unwrap();
        assert!(dir.noisegate(&["ctl", "reload"]).await.status.success());
    }
    done.store(true, Ordering::SeqCst);
    assert!(asking.await.unwrap() > 10);
}

#[tokio::test]
async fn limits_and_access_rules_hold_for_the_next_connection() {
    let db = bikes().await;
    let limits = "[limits]\nmax_connections_per_user = 1\n";
    let old = text(&db, &["ada"], limits);
    let dir = Workdir::new(&old);
    let gate = dir.serve().await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let first = connect(&url).await;
    assert!(psql(&url, "SELECT 1").await.stderr.contains("too many connections for user"));
    std::fs::write(dir.policy(), old.replace("per_user = 1", "per_user = 2")).unwrap();
    assert_eq!(dir.noisegate(&["ctl", "reload"]).await.stdout, "reloaded: [limits]\n");
    let second = connect(&url).await;
    assert!(psql(&url, "SELECT 1").await.stderr.contains("too many connections for user"));
    let closed =
        old.replace("per_user = 1", "per_user = 9") + "[[access]]\nfrom = [\"::1\"]\naction = \"allow\"\n";
    std::fs::write(dir.policy(), closed).unwrap();
    assert_eq!(dir.noisegate(&["ctl", "reload"]).await.stdout, "reloaded: [[access]], [limits]\n");
    assert!(psql(&url, "SELECT 1").await.stderr.contains("no access rule for host"));
    for client in [&first, &second] {
        rows(client, "SELECT count(*) FROM stations").await.unwrap();
    }
}
