//! Somebody who means well: a panel that asks again and again, and must always be answered.

use crate::city::{PASSWORD, rows};
use crate::measure::percentile;
use crate::support::Gate;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;
use tokio_postgres::{Client, Config, NoTls};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(40);
/// The longest answer that anybody would wait for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What it asks, and whether that is paid for.
const QUESTIONS: [(&str, bool); 5] = [
    ("SELECT station, city FROM stations WHERE capacity > 12 ORDER BY 1", false),
    ("SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC", true),
    ("SHOW noisegate.epsilon", false),
    ("SELECT count(*) FROM trips WHERE fare > 10", true),
    ("EXPLAIN SELECT count(*) FROM trips", false),
];

/// How long answers took, each with what was asked.
pub struct Waits(Vec<(&'static str, Duration)>);

impl Waits {
    pub fn percentile(&self, percent: usize) -> Duration {
        percentile(self.0.iter().map(|w| w.1), percent)
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (half, most) = (self.percentile(50), self.percentile(99));
        write!(f, "p50 {half:?} and p99 {most:?} of {} answers", self.0.len())?;
        for what in QUESTIONS.iter().map(|q| q.0).chain(["login"]) {
            let of = || self.0.iter().filter(|w| w.0 == what).map(|w| w.1);
            write!(f, "\n  {:?} and {:?}: {what}", percentile(of(), 50), percentile(of(), 99))?;
        }
        Ok(())
    }
}

pub struct Dashboard {
    address: SocketAddr,
    config: Config,
    client: Client,
    paid: u64,
    asked: usize,
}

impl Dashboard {
    pub async fn open(gate: &Gate) -> Self {
        let address = gate.address.parse().unwrap();
        let config: Config = gate.url("ada", PASSWORD, "bikes").parse().unwrap();
        Self { address, client: connect(address, &config).await, config, paid: 0, asked: 0 }
    }

    /// How often it has paid.
    pub fn paid(&self) -> u64 {
        self.paid
    }

    /// Asks everything a few times.
    pub async fn warm(&mut self) {
        for _ in 0..4 * QUESTIONS.len() {
            self.ask().await;
        }
    }

    /// Asks for so long; how long each answer took, and to what. Each twentieth question is asked by a connection that is made
    /// for it.
    pub async fn watch(&mut self, length: Duration) -> Waits {
        let begun = Instant::now();
        let mut waits = Vec::new();
        while begun.elapsed() < length {
            let what = match (self.asked + 1).is_multiple_of(20) {
                true => "login",
                false => QUESTIONS[self.asked % QUESTIONS.len()].0,
            };
            waits.push((what, self.ask().await));
            tokio::time::sleep(PAUSE).await;
        }
        Waits(waits)
    }

    async fn ask(&mut self) -> Duration {
        let (sql, paid) = QUESTIONS[self.asked % QUESTIONS.len()];
        self.asked += 1;
        let begun = Instant::now();
        if self.asked.is_multiple_of(20) {
            self.client = tokio::time::timeout(PATIENCE, connect(self.address, &self.config))
                .await
                .expect("a login in time");
        }
        let answer = tokio::time::timeout(PATIENCE, rows(&self.client, sql)).await;
        let answer = answer.unwrap_or_else(|_| panic!("no answer in {PATIENCE:?}: {sql}"));
        let answer = answer.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert!(!answer.is_empty(), "{sql}");
        self.paid += u64::from(paid);
        begun.elapsed()
    }
}

/// A connection from an address of its own: that of the crowd has as many places before the login as it has.
async fn connect(to: SocketAddr, config: &Config) -> Client {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 3], 0).into()).unwrap();
    let stream = socket.connect(to).await.unwrap();
    let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap_or_else(|e| panic!("{e:?}"));
    tokio::spawn(connection);
    client
}
