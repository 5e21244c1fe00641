//! A private and a public table, and how the two logins reach them.

use crate::support::{self, LOGIN_PASSWORD, TestDb, cluster};
use noisegate::demo::Cluster;
use noisegate::policy;
use std::time::Duration;
use tokio_postgres::Client;

pub struct Database {
    pub name: String,
    /// The login that may read both tables, and its name alone in `fetch`.
    fetch_url: String,
    pub fetch: String,
    /// The login that may read `stations`.
    finish_url: String,
    pub finish: String,
    /// A superuser's connection.
    pub admin: Client,
}

impl Database {
    /// In the server that all tests share.
    pub async fn new() -> Self {
        Self::in_cluster(tokio::task::spawn_blocking(cluster).await.unwrap()).await
    }

    pub async fn in_cluster(cluster: &Cluster) -> Self {
        let setup = "CREATE TABLE riders (rider_id int PRIMARY KEY, name text NOT NULL);
             CREATE TABLE stations (id int PRIMARY KEY, name text NOT NULL);
             INSERT INTO riders SELECT g, 'r' || g FROM generate_series(1, 100) g;
             INSERT INTO stations VALUES (1, 'north'), (2, 'south')";
        let db = support::database_in(cluster, setup).await;
        db.publish(&["stations"]).await;
        let admin = db.superuser().await;
        let TestDb { name, fetch_url, finish_url, .. } = db;
        let (fetch, finish) = (format!("{name}_fetch"), format!("{name}_finish"));
        Self { name, fetch_url, fetch, finish_url, finish, admin }
    }

    /// Both logins, with one connection each.
    pub fn policy(&self) -> policy::Backend {
        policy::Backend {
            engine: Default::default(),
            url: self.fetch_url.clone().into(),
            finish_url: self.finish_url.clone().into(),
            passthrough_url: None,
            collect_url: None,
            password_file: None,
            pool: 1,
            pool_per_user: 1,
            pool_per_user_steady: 1,
            public_timeout: Duration::from_secs(20),
            statement_timeout: Duration::from_secs(30),
            work_mem: Some("16MB".into()),
            schema: policy::Given::default(),
        }
    }
}

/// The same place in another database of its server.
pub fn elsewhere(url: &policy::Given<String>, database: &str) -> policy::Given<String> {
    format!("{}/{database}", url.reveal().rsplit_once('/').unwrap().0).into()
}

/// The same place for somebody else: a name, or `name:password`.
pub fn somebody(url: &policy::Given<String>, login: &str) -> policy::Given<String> {
    let (_, place) = url.reveal().split_once(&format!(":{LOGIN_PASSWORD}@")).unwrap();
    format!("postgres://{login}@{place}").into()
}
