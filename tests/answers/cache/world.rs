//! A proxy over the city, with room for a hundred statements, and what is left of it.

use crate::city::{self, PASSWORD, policy, rows};
use crate::support::{Gate, TestDb, Workdir, connect};
use tokio_postgres::Client;

/// Statements that the budget has room for.
pub const ROOM: usize = 90;

pub struct World {
    pub db: TestDb,
    pub dir: Workdir,
    pub gate: Gate,
}

impl World {
    /// `more` are further sections of the policy.
    pub async fn new(more: &str) -> Self {
        let db = city::bikes().await;
        let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], &rules(more)));
        let gate = dir.serve().await;
        Self { db, dir, gate }
    }

    pub async fn user(&self, name: &str) -> Client {
        connect(&self.gate.url(name, PASSWORD, "bikes")).await
    }

    pub async fn ada(&self) -> Client {
        self.user("ada").await
    }

    /// How many statements were paid for.
    pub async fn paid(&self) -> usize {
        let left = one(&self.ada().await, "SELECT answers_left FROM noisegate.budget").await;
        ROOM - left.parse::<usize>().unwrap()
    }
}

/// Statement, budget, and more sections; answers are kept unless these say otherwise.
pub fn rules(more: &str) -> String {
    let cache = if more.contains("[cache]") { "" } else { "[cache]\n" };
    format!(
        "[statement]\nepsilon = 0.1\n[[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = {}\ndelta = 1e-6\n{cache}{more}\n",
        ROOM / 10
    )
}

/// A user with a role.
pub fn user(name: &str, role: &str) -> String {
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    format!("[[user]]\nname = \"{name}\"\nrole = \"{role}\"\nscram = \"{verifier}\"\n")
}

pub type Cells = Vec<Vec<Option<String>>>;

pub async fn all(client: &Client, sql: &str) -> Cells {
    rows(client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

pub async fn one(client: &Client, sql: &str) -> String {
    let all = all(client, sql).await;
    all.first().and_then(|r| r.first().cloned().flatten()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
}
