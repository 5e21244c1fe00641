//! When answers end.

use super::world::{World, one, rules};
use crate::city::{self, policy};
use std::time::UNIX_EPOCH;

const ASK: &str = "SELECT sum(minutes) FROM trips";

#[tokio::test(flavor = "multi_thread")]
async fn another_policy_draws_afresh() {
    let world = World::new("").await;
    let c = world.ada().await;
    let first = one(&c, ASK).await;
    let text = policy(&world.db.backend_toml(), &["ada", "bob"], &rules(""));
    let write = |text: &str| std::fs::write(world.dir.policy(), text).unwrap();
    // What changes no answer's meaning leaves them.
    write(&text.replace("[statement]", "[limits]\nmax_in_list = 77\n[statement]"));
    world.gate.send("HUP").await;
    let long =
        format!("EXPLAIN SELECT count(*) FROM riders WHERE birth_year IN ({})", vec!["1"; 78].join(", "));
    city::eventually("the reload", async || c.simple_query(&long).await.is_err()).await;
    assert_eq!((one(&c, ASK).await, world.paid().await), (first.clone(), 1));
    write(&text.replace("columns.minutes = { range = [0, 240] }", "columns.minutes = { range = [0, 200] }"));
    world.gate.send("HUP").await;
    let high = "SELECT high FROM noisegate.columns WHERE column_name = 'minutes'";
    city::eventually("the reload", async || one(&c, high).await == "200").await;
    assert_ne!(one(&c, ASK).await, first);
    assert_eq!(world.paid().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_27_the_clock_ends_answers_and_new_rows_do_not() {
    let world = World::new("[cache]\nrefresh = \"4s\"").await;
    let c = world.ada().await;
    // Just after a boundary there is time to ask twice.
    let span = || UNIX_EPOCH.elapsed().unwrap().as_secs() / 4;
    let next_span = async || {
        let now = span();
        city::eventually("the next span", async || span() > now).await;
    };
    next_span().await;
    let first = one(&c, ASK).await;
    world.db.execute("INSERT INTO trips SELECT 5000 + i, i, '2024-05-05', 'Station 1', 99, 9, 'x', 1 FROM generate_series(1, 400) i").await;
    assert_eq!(one(&c, ASK).await, first);
    assert_eq!(world.paid().await, 1);
    next_span().await;
    assert_ne!(one(&c, ASK).await, first);
    assert_eq!(world.paid().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_33_bounds_from_now_are_snapped_and_nothing_else_is() {
    let world = World::new("[cache]\nsnap = \"365d\"").await;
    let c = world.ada().await;
    let range =
        "SELECT count(*) FROM trips WHERE started_at >= now() - interval '6000 days' AND started_at < now()";
    let first = one(&c, range).await;
    // Without snapping, each of these would be another question.
    assert_eq!(one(&c, range).await, first);
    let between = "SELECT count(*) FROM trips WHERE started_at BETWEEN now() - interval '6000 days' AND now() AND started_at <> now()";
    one(&c, between).await;
    one(&c, between).await;
    assert_eq!(world.paid().await, 2);
    let url = world.gate.url("ada", crate::city::PASSWORD, "bikes");
    let told = crate::support::psql(&url, &format!("{range};")).await.stderr;
    assert!(told.contains("NOTICE:  now() was rounded down to "), "{told}");
    // 365 days are no year: a multiple of them from 1970 on, at midnight in UTC.
    assert!(told.contains(" 00:00:00+00 where private rows are compared"), "{told}");
    let far = "SELECT now() - (SELECT timestamptz '2024-01-01 00:00:00.000001+00' - interval '1 microsecond') > interval '1 day'";
    assert_eq!(one(&c, far).await, "t");
    // Above a release, over public rows and in the select list now() is now.
    let shown = "SELECT (extract(epoch FROM now()) - extract(epoch FROM statement_timestamp()))::int, count(*) FROM riders";
    assert_eq!(one(&c, shown).await, "0");
    let public = "SELECT extract(epoch FROM now()) > 1.7e9 FROM stations WHERE now() > timestamptz '2025-11-01' LIMIT 1";
    assert_eq!(one(&c, public).await, "t");
    let told = crate::support::psql(
        &url,
        "SELECT now(), count(*) FROM riders; SELECT 1 FROM stations WHERE now() > '2000-01-01';",
    )
    .await;
    assert!(!told.stderr.contains("rounded"), "{}", told.stderr);
    let date =
        "SELECT count(*) FROM trips WHERE started_at < current_date - 10 AND localtimestamp > started_at";
    assert_eq!(one(&c, date).await, one(&c, date).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_snapping_a_moving_range_is_another_question_each_time() {
    let world = World::new("").await;
    let c = world.ada().await;
    for _ in 0..2 {
        one(&c, "SELECT count(*) FROM trips WHERE started_at >= now() - interval '6000 days'").await;
    }
    assert_eq!(world.paid().await, 2);
    for _ in 0..2 {
        one(&c, "SELECT count(*) FROM trips WHERE started_at >= current_date - 6000").await;
    }
    assert_eq!(world.paid().await, 3, "a day's date is the same all day");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_27_the_owner_and_load_jobs_end_answers() {
    let world = World::new(
        "[cache]\nrefresh = \"never\"\nnotify = \"it's \\\"loaded\\\"\"\nnotify_interval = \"1s\"",
    )
    .await;
    let c = world.ada().await;
    let first = one(&c, ASK).await;
    assert_eq!(one(&c, ASK).await, first);
    let said = world.dir.noisegate(&["ctl", "refresh"]).await;
    assert!(said.status.success() && said.stdout.starts_with("refreshed: "), "{said:?}");
    let second = one(&c, ASK).await;
    assert_eq!((second != first, world.paid().await), (true, 2));
    // A load job, some time after the proxy began to listen.
    let loader = world.db.superuser().await;
    let channel = "it''s \"loaded\"";
    city::eventually("the proxy listens", async || {
        loader.execute(&format!("SELECT pg_notify('{channel}', '')"), &[]).await.unwrap();
        one(&c, ASK).await != second
    })
    .await;
    // The last of these may not have been heard yet.
    tokio::time::sleep(std::time::Duration::from_millis(1_700)).await;
    // Any login can send a storm: it ends answers once, and once more when the pause is over.
    let before = world.dir.noisegate(&["budget", "history"]).await.stdout.matches("epoch ").count();
    for _ in 0..30 {
        loader.execute(&format!("SELECT pg_notify('{channel}', '')"), &[]).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(2_000)).await;
    let after = world.dir.noisegate(&["budget", "history"]).await.stdout.matches("epoch ").count();
    // A machine that is busy stretches the storm over another pause or two.
    assert!((2..=4).contains(&(after - before)), "{before} {after}");
    let third = one(&c, ASK).await;
    let paid = world.paid().await;
    loader.batch_execute("NOTIFY other_channel; INSERT INTO trips SELECT 6000, 1, '2024-05-05', 'Station 1', 99, 9, 'x', 1").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    assert_eq!((one(&c, ASK).await, world.paid().await), (third, paid));
    // A trigger on a private table would make the price a function of a row.
    world
        .db
        .execute(
            "CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_notify('it''s \"loaded\"', ''); RETURN NULL; END $$;
             CREATE FUNCTION told_by() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_notify(TG_ARGV[0], ''); RETURN NULL; END $$;
             CREATE TRIGGER t AFTER INSERT ON stations FOR EACH ROW EXECUTE FUNCTION told();",
        )
        .await;
    let check = world.dir.noisegate(&["check"]).await;
    assert!(check.status.success() && !check.stdout.contains("is named by a trigger"), "{check:?}");
    world
        .db
        .execute("CREATE TRIGGER t AFTER INSERT ON riders EXECUTE FUNCTION told_by('it''s \"loaded\"')")
        .await;
    let check = world.dir.noisegate(&["check"]).await;
    assert!(check.stdout.contains("is named by a trigger on public.riders"), "{check:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_ends_answers_of_a_ledger_that_nobody_serves() {
    let World { db, dir, gate } = World::new("").await;
    let ask = async |gate: &crate::support::Gate| {
        one(&crate::support::connect(&gate.url("ada", city::PASSWORD, "bikes")).await, ASK).await
    };
    let first = ask(&gate).await;
    gate.kill().await;
    let said = dir.noisegate(&["ctl", "refresh", "--reason", "loaded by hand"]).await;
    assert!(said.status.success(), "{said:?}");
    let gate = dir.serve_again().await;
    assert_ne!(ask(&gate).await, first);
    gate.kill().await;
    let history = dir.noisegate(&["budget", "history"]).await;
    assert!(history.stdout.contains("loaded by hand"), "{history:?}");
    drop(db);
}
