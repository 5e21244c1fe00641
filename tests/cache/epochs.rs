//! When answers end.

use crate::city::{self, policy};
use crate::world::{World, one, rules};
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
