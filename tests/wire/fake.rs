//! A service with made-up [sessions](crate::session) that remembers what they ran, and a server around it.

use crate::session::FakeSession;
use noisegate::answer::Identity;
use noisegate::error::{ClientError, SqlState};
use noisegate::frontend::{Account, Auth, Client, InForce, Server, Service, Shutdown, Tls};
use noisegate::policy::Limits;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

pub const PASSWORD: &str = "correct horse";

/// What the service has seen.
#[derive(Default)]
pub struct Seen {
    pub ran: Mutex<Vec<String>>,
    pub prepared: Mutex<Vec<String>>,
    pub rows: AtomicUsize,
    pub dropped: AtomicUsize,
}

impl Seen {
    pub fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    /// What was described and bound, in order.
    pub fn prepared(&self) -> Vec<String> {
        self.prepared.lock().unwrap().clone()
    }
}

pub struct Fake {
    seen: Arc<Seen>,
    verifier: String,
}

impl Fake {
    /// One that nobody will ask.
    pub fn idle() -> Arc<Self> {
        Arc::new(Self { seen: Arc::default(), verifier: String::new() })
    }
}

impl Service for Fake {
    type Session = FakeSession;

    fn parameters(&self, _: &str, _: &str) -> Vec<(String, String)> {
        [("server_version", "15.18"), ("integer_datetimes", "on"), ("is_superuser", "on")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .to_vec()
    }

    async fn user(&self, name: &str, _: &str) -> Option<Account> {
        let auth = match name {
            "ana" | "bo" | "broken" => Auth::Trust,
            "cleo" => Auth::Certificate,
            "sam" | "sam and card" => Auth::Scram(self.verifier.clone()),
            "spoilt" => Auth::Scram("SCRAM-SHA-256$none".to_owned()),
            "exploding" => panic!("a defect in the user store"),
            _ => return None,
        };
        let certificate = matches!(name, "cleo" | "sam and card").then(|| "Cleo".to_owned());
        Some(Account { identity: Identity { user: name.to_owned(), role: None }, auth, certificate })
    }

    async fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
        _: Client,
    ) -> Result<FakeSession, ClientError> {
        if identity.user == "broken" {
            // Not FATAL by itself: the frontend must make it so.
            return Err(ClientError::new(SqlState::CANNOT_CONNECT_NOW, "the user store is down"));
        }
        Ok(FakeSession::new(Arc::clone(&self.seen), startup))
    }
}

/// A server on a free port, in a runtime of its own.
pub struct Harness {
    pub runtime: Runtime,
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    pub settings: InForce,
    pub shutdown: Shutdown,
    pub done: tokio::task::JoinHandle<()>,
}

impl Harness {
    /// A server, and a client that is logged in.
    pub fn session() -> (Self, crate::raw::Client) {
        let server = Self::new();
        let client = crate::raw::Client::login(server.address, "ana");
        (server, client)
    }

    pub fn new() -> Self {
        Self::with(Limits::default(), None)
    }

    pub fn with(limits: Limits, tls: Option<Tls>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let seen = Arc::new(Seen::default());
        let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
        let fake = Arc::new(Fake { seen: Arc::clone(&seen), verifier });
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let inside = runtime.enter();
        let server = Server::bind(&[any], fake, limits, tls).unwrap();
        drop(inside);
        let address = server.local_addrs().unwrap()[0];
        let (settings, shutdown) = (server.settings(), server.shutdown_handle());
        let done = runtime.spawn(server.run());
        Self { runtime, address, seen, settings, shutdown, done }
    }

    /// The server still answers somebody new.
    pub fn assert_alive(&self) {
        let mut client = crate::raw::Client::login(self.address, "ana");
        assert_eq!(client.query("select alive").rows(), ["alive"]);
    }

    /// The server holds back the 100,000 rows of a client that does not read, and answers others.
    pub fn assert_waits_for(&self, slow: &mut crate::raw::Client) {
        let rows = || self.seen.rows.load(Ordering::SeqCst);
        eventually("rows flow", || rows() > 0);
        eventually("rows stop", || {
            let before = rows();
            std::thread::sleep(Duration::from_millis(300));
            before == rows()
        });
        assert!(rows() < 100_000, "100 MB went to nobody");
        self.assert_alive();
        assert_eq!(slow.reply().completed(), ["SELECT 100000"]);
    }
}

/// Waits until `condition` holds, ten seconds at most.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10), "never happened: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
