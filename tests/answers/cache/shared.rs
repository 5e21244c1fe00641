//! Two proxies that share a ledger share its answers.

use super::world::{ROOM, all, one, rules};
use crate::city::{self, PASSWORD, eventually, fetch_waits, hold_trips};
use crate::support::{Gate, TestDb, Workdir, connect, database};
use tokio_postgres::{Client, NoTls};

const ASK: &str = "SELECT station, sum(minutes) FROM trips GROUP BY station ORDER BY 1";

struct Pair {
    db: TestDb,
    dirs: [Workdir; 2],
    gates: [Gate; 2],
}

impl Pair {
    async fn new(more: &str) -> Self {
        let (db, books) = (city::bikes().await, database("").await);
        let policy = city::policy(&db.backend_toml(), &["ada", "bob"], &rules(more));
        let shared = format!("url = \"{}\"", books.superuser_url);
        let policy = policy.replace("url = \"sqlite:noisegate.db\"", &shared);
        let dirs = [Workdir::new(&policy), Workdir::new(&policy)];
        let gates = [dirs[0].serve().await, dirs[1].serve_again().await];
        Self { db, dirs, gates }
    }

    async fn at(&self, gate: usize) -> Client {
        connect(&self.gates[gate].url("ada", PASSWORD, "bikes")).await
    }

    async fn paid(&self) -> usize {
        let left = one(&self.at(0).await, "SELECT answers_left FROM noisegate.budget").await;
        ROOM - left.parse::<usize>().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_proxy_answered_the_other_answers_the_same() {
    let pair = Pair::new("[cache]\nrefresh = \"never\"\nnotify = \"loaded\"").await;
    let first = all(&pair.at(0).await, ASK).await;
    assert_eq!(all(&pair.at(1).await, ASK).await, first);
    assert_eq!(all(&pair.at(1).await, &ASK.replace("sum", "count(*), avg")).await.len(), 10);
    let two = "SELECT (SELECT count(*) FROM trips), (SELECT count(*) FROM riders)";
    assert_eq!(all(&pair.at(1).await, two).await, all(&pair.at(0).await, two).await);
    assert_eq!(pair.paid().await, 3);
    // The owner's command reaches both, from wherever it is given; so does a load job, and both hear it as one.
    let said = pair.dirs[1].noisegate(&["ctl", "refresh"]).await;
    assert!(said.status.success(), "{said:?}");
    let second = new_at_both(&pair, &first).await;
    assert_eq!(pair.paid().await, 4);
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    let admin = pair.db.superuser().await;
    eventually("both listen", async || one(&admin, listening).await == "2").await;
    admin.batch_execute("NOTIFY loaded").await.unwrap();
    new_at_both(&pair, &second).await;
    assert_eq!(pair.paid().await, 5);
    let history = pair.dirs[0].noisegate(&["budget", "history"]).await.stdout;
    assert_eq!(history.matches("epoch ").count(), 2, "{history}");
}

/// Asks at both until both have the same new answer.
async fn new_at_both(pair: &Pair, old: &super::world::Cells) -> super::world::Cells {
    let (a, b) = (pair.at(0).await, pair.at(1).await);
    let mut answer = old.clone();
    eventually("both are new", async || {
        answer = all(&a, ASK).await;
        answer != *old && all(&b, ASK).await == answer
    })
    .await;
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_26_of_two_proxies_that_are_asked_at_once_one_pays() {
    let pair = Pair::new("").await;
    let holder = hold_trips(&pair.db).await;
    let mut tasks = Vec::new();
    for n in 0..6 {
        let client = pair.at(n % 2).await;
        tasks.push(tokio::spawn(async move { all(&client, ASK).await }));
    }
    eventually("a fetch waits", async || fetch_waits(&pair.db).await).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:?}");
    assert_eq!(pair.paid().await, 1);
}

/// The other proxy waits for a short lease, not for the longest statement that there may be.
#[tokio::test(flavor = "multi_thread")]
async fn rule_40_who_waits_for_a_proxy_that_died_goes_on_soon() {
    let pair = Pair::new("").await;
    let holder = hold_trips(&pair.db).await;
    let payer = pair.at(0).await;
    let paying = tokio::spawn(async move { payer.simple_query(ASK).await.map(|_| ()) });
    eventually("the payer's fetch waits", async || fetch_waits(&pair.db).await).await;
    pair.gates[0].send("KILL").await;
    assert!(paying.await.unwrap().is_err());
    holder.batch_execute("ROLLBACK").await.unwrap();
    let waiter = pair.at(1).await;
    let began = std::time::Instant::now();
    assert_eq!(all(&waiter, ASK).await.len(), 10);
    let took = began.elapsed();
    assert!(
        took > std::time::Duration::from_secs(5) && took < std::time::Duration::from_secs(30),
        "{took:?}"
    );
    assert_eq!(all(&waiter, "SELECT 1").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_26_what_a_cancelled_payer_bought_is_there_for_the_other_proxy() {
    let pair = Pair::new("").await;
    let holder = hold_trips(&pair.db).await;
    let payer = pair.at(0).await;
    let cancel = payer.cancel_token();
    let paying = tokio::spawn(async move { payer.simple_query(ASK).await.map(|_| ()) });
    eventually("the payer's fetch waits", async || fetch_waits(&pair.db).await).await;
    let waiter = pair.at(1).await;
    let waiting = tokio::spawn(async move { all(&waiter, ASK).await });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(pair.paid().await, 1);
    cancel.cancel_query(NoTls).await.unwrap();
    assert!(paying.await.unwrap().is_err());
    holder.batch_execute("ROLLBACK").await.unwrap();
    let answer = waiting.await.unwrap();
    assert_eq!(all(&pair.at(0).await, ASK).await, answer);
    assert_eq!(pair.paid().await, 1);
}
