//! One of the crowd, and what the crowd has paid.

use crate::city::{PASSWORD, rows};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio_postgres::Client;

/// What the crowd has asked that is paid for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Books(Mutex<HashMap<String, (u64, u64)>>);

impl Books {
    pub fn asked(&self, user: &str) {
        self.0.lock().unwrap().entry(user.to_owned()).or_default().1 += 1;
    }

    pub fn answered(&self, user: &str) {
        self.0.lock().unwrap().entry(user.to_owned()).or_default().0 += 1;
    }

    /// How often the user was answered, and asked.
    pub fn of(&self, user: &str) -> (u64, u64) {
        self.0.lock().unwrap().get(user).copied().unwrap_or_default()
    }
}

/// How many questions a user has paid for.
pub async fn spent(client: &Client) -> u64 {
    let sql = "SELECT answers_left FROM noisegate.budget WHERE name = 'quota'";
    let cell = rows(client, sql).await.unwrap_or_else(|e| panic!("{e:?}"));
    let left: u64 = cell[0][0].as_ref().unwrap().parse().unwrap();
    crate::QUOTA - left
}

/// One of the crowd.
pub struct Guest {
    pub address: String,
    pub user: &'static str,
    pub policy: PathBuf,
    pub proxy: u32,
    pub books: Arc<Books>,
    /// Grows with each round.
    pub round: u64,
    pub number: u64,
}

impl Guest {
    pub fn url(&self) -> String {
        format!("postgres://{}:{PASSWORD}@{}/bikes", self.user, self.address)
    }

    /// A number below `n` that differs from round to round.
    pub fn draw(&self, n: u64) -> u64 {
        let mixed = (self.number << 32 | self.round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) % n.max(1)
    }
}
