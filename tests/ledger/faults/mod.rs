//! What fails around the proxy, and that it stays right: the database, the network to it, the ledger's disk, the schema.
//!
//! Everywhere the same is asked: the right SQLSTATE; no answer that was not paid for; nothing debited where nothing was
//! asked of private rows; and afterwards, without a restart, answers again.

mod ledger;
mod network;
pub mod proxy;
mod restart;
mod schema;

use crate::city::{self, PASSWORD, policy, rows, sqlstate};
use crate::support::{Gate, TestDb, Workdir, connect};
use crate::usual::rules;
use proxy::Proxy;
use std::time::Duration;
use tokio_postgres::Client;

/// A database, and a proxy of ours that serves it to `ada`, by way of two TCP proxies: one for each login.
struct World {
    db: TestDb,
    dir: Workdir,
    gate: Gate,
    fetch: Proxy,
    finish: Proxy,
}

/// A statement over private rows.
const PRIVATE: &str = "SELECT count(*) FROM trips";

/// Room for a thousand statements of ε = 0.1.
const RULES: &str = rules!([epsilon = 0.1] ["approx", epsilon = 100, delta = 1e-3]);

impl World {
    async fn new() -> Self {
        Self::over(city::bikes().await).await
    }

    async fn over(db: TestDb) -> Self {
        Self::with_timeout(db, "1s").await
    }

    /// With another statement timeout than the usual second.
    async fn with_timeout(db: TestDb, timeout: &str) -> Self {
        let server = db.fetch_url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0.parse().unwrap();
        let (fetch, finish) = (Proxy::to(server).await, Proxy::to(server).await);
        let backend = format!(
            "[backend]\nurl = \"{}\"\nfinish_url = \"{}\"\nstatement_timeout = \"{timeout}\"\npool = 4\n",
            fetch.by_way(&db.fetch_url),
            finish.by_way(&db.finish_url)
        );
        let dir = Workdir::new(&policy(&backend, &["ada"], RULES));
        let gate = dir.serve().await;
        Self { db, dir, gate, fetch, finish }
    }

    async fn ada(&self) -> Client {
        connect(&self.gate.url("ada", PASSWORD, "bikes")).await
    }

    /// Statements of ε = 0.1 that are in the books.
    async fn paid(&self) -> u32 {
        let shown = self.dir.noisegate(&["budget", "show"]).await.stdout;
        if shown.contains("nothing spent") {
            return 0;
        }
        let (_, spent) = shown.split_once("everybody: ε = ").unwrap_or_else(|| panic!("{shown}"));
        let spent: f64 = spent.split_once(' ').unwrap().0.parse().unwrap();
        (spent * 10.0).round() as u32
    }

    /// Both logins reach the database, and it answers: once, for a tenth of ε. What was lost in the very moment in which the
    /// database came back may still be told, for nothing.
    async fn assert_answers(&self, client: &Client) {
        let before = self.paid().await;
        for sql in [PRIVATE, "SELECT count(*) FROM stations"] {
            let mut answer = rows(client, sql).await;
            for _ in 0..2 {
                if answer.as_ref().is_err_and(|e| e.code().is_some_and(|c| c.code() == "08006")) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    answer = rows(client, sql).await;
                }
            }
            let answer = answer.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            assert_eq!(answer.len(), 1, "{sql}");
        }
        assert_eq!(self.paid().await, before + 1);
    }

    /// The statement fails with this SQLSTATE, and this many debits.
    async fn assert_fails(&self, client: &Client, sql: &str, code: &str, debits: u32) {
        let before = self.paid().await;
        assert_eq!(sqlstate(client, sql).await, code, "{sql}");
        assert_eq!(self.paid().await, before + debits, "{sql}");
    }
}
