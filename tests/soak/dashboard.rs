//! Somebody who means well: a panel that asks again and again, and must always be answered.

use crate::city::{PASSWORD, rows};
use crate::support::Gate;
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

    /// Asks for so long; how long each answer took. Each twentieth question is asked by a connection that is made for it.
    pub async fn watch(&mut self, length: Duration) -> Vec<Duration> {
        let begun = Instant::now();
        let mut times = Vec::new();
        while begun.elapsed() < length {
            times.push(self.ask().await);
            tokio::time::sleep(PAUSE).await;
        }
        times
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
