//! A service that answers a handful of made-up statements and remembers which it ran.

use bytes::{BufMut, Bytes, BytesMut};
use futures::{StreamExt, stream};
use noisegate::answer::{Field, Identity, Notice, Outcome};
use noisegate::error::{ClientError, SqlState};
use noisegate::frontend::{Account, Auth, Control, Server, Service, Session, Shutdown, Tls};
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
    pub rows: AtomicUsize,
    pub dropped: AtomicUsize,
}

impl Seen {
    pub fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
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

    fn parameters(&self) -> Vec<(String, String)> {
        [("server_version", "15.18"), ("integer_datetimes", "on"), ("is_superuser", "on")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .to_vec()
    }

    fn user(&self, name: &str) -> Option<Account> {
        let auth = match name {
            "ana" | "bo" | "broken" => Auth::Trust,
            "sam" => Auth::Scram(self.verifier.clone()),
            "spoilt" => Auth::Scram("SCRAM-SHA-256$none".to_owned()),
            "exploding" => panic!("a defect in the user store"),
            _ => return None,
        };
        Some(Account { identity: Identity { user: name.to_owned(), role: None }, auth })
    }

    async fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
    ) -> Result<FakeSession, ClientError> {
        if identity.user == "broken" {
            // Not FATAL by itself: the frontend must make it so.
            return Err(ClientError::new(SqlState::CANNOT_CONNECT_NOW, "the user store is down"));
        }
        Ok(FakeSession { seen: Arc::clone(&self.seen), startup, changed: Vec::new(), steps: Vec::new() })
    }
}

pub struct FakeSession {
    seen: Arc<Seen>,
    startup: BTreeMap<String, String>,
    changed: Vec<(String, String)>,
    steps: Vec<Control>,
}

impl Session for FakeSession {
    type Statement = String;

    fn parse(&mut self, sql: &str) -> Result<Vec<String>, ClientError> {
        if sql.contains("panic in parse") {
            panic!("a defect in the parser");
        }
        if sql.contains("syntax error") {
            return Err(ClientError::new(SqlState::SYNTAX_ERROR, "syntax error").at(Some(3)));
        }
        Ok(sql.split(';').map(|s| s.trim().to_lowercase()).filter(|s| !s.is_empty()).collect())
    }

    fn control(&self, statement: &String) -> Control {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.as_slice() {
            ["begin", ..] => Control::Begin,
            ["start", "transaction"] => Control::StartTransaction,
            ["commit" | "end"] => Control::Commit { chain: false },
            ["rollback" | "abort"] => Control::Rollback { chain: false },
            ["savepoint", name] => Control::Savepoint((*name).to_owned()),
            ["release", name] => Control::Release((*name).to_owned()),
            ["rollback", "to", name] => Control::RollbackTo((*name).to_owned()),
            _ => Control::None,
        }
    }

    async fn run(&mut self, statement: String, notices: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
        self.seen.ran.lock().unwrap().push(statement.clone());
        let (verb, argument) = statement.split_once(' ').unwrap_or((&statement, ""));
        match verb {
            "select" => Ok(rows(vec![Ok(row(&[argument]))])),
            "startup" => {
                let value = self.startup.get(argument).map_or("", String::as_str);
                Ok(rows(vec![Ok(row(&[value]))]))
            }
            "steps" => Ok(rows(vec![Ok(row(&[&format!("{:?}", self.steps)]))])),
            "explain" => Ok(Outcome::Rows {
                fields: vec![field("QUERY PLAN")],
                rows: stream::iter([Ok(row(&["Noise"]))]).boxed(),
                verb: "EXPLAIN",
                count: false,
            }),
            "rows" => {
                let n: usize = argument.parse().unwrap();
                let seen = Arc::clone(&self.seen);
                let rows = stream::iter(0..n).map(move |i| {
                    seen.rows.fetch_add(1, Ordering::SeqCst);
                    Ok(row(&[&format!("{i:01000}")]))
                });
                Ok(Outcome::Rows {
                    fields: vec![field("n")],
                    rows: rows.boxed(),
                    verb: "SELECT",
                    count: true,
                })
            }
            "half" => {
                let e = ClientError::incident(SqlState::INTERNAL, "the rows ended early", &"a test");
                Ok(rows(vec![Ok(row(&["1"])), Err(e)]))
            }
            "misshapen" => Ok(rows(vec![Ok(row(&["1", "2"]))])),
            "notice" => {
                notices.push(Notice {
                    message: "spent".into(),
                    code: "00000",
                    hint: Some("ask again".into()),
                });
                notices.push(Notice { message: "nearly spent".into(), code: "01000", hint: None });
                Ok(rows(vec![Ok(row(&["1"]))]))
            }
            "set" => {
                self.changed.push(("application_name".into(), argument.to_owned()));
                Ok(Outcome::Complete("SET".into()))
            }
            "sleep" => {
                let _guard = Dropped(Arc::clone(&self.seen));
                match argument.parse() {
                    Ok(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    Err(_) => std::future::pending().await,
                }
                Ok(Outcome::Complete("SLEEP".into()))
            }
            "panic" => panic!("a defect in a statement: {argument}"),
            "forge" => Err(ClientError::new(SqlState::UNDEFINED_COLUMN, "no column \0Hforged")),
            _ => {
                Err(ClientError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{verb}\" does not exist"))
                    .detail("It was never there.")
                    .hint("Ask for another.")
                    .at(Some(8)))
            }
        }
    }

    fn transaction(&mut self, step: &Control) {
        self.steps.push(step.clone());
    }

    fn changed_parameters(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.changed)
    }
}

struct Dropped(Arc<Seen>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

fn field(name: &str) -> Field {
    Field { name: name.into(), type_oid: 25, type_size: -1, type_modifier: -1, format: 0 }
}

fn rows(rows: Vec<Result<Bytes, ClientError>>) -> Outcome {
    Outcome::Rows {
        fields: vec![field("answer")],
        rows: stream::iter(rows).boxed(),
        verb: "SELECT",
        count: true,
    }
}

fn row(cells: &[&str]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u16(u16::try_from(cells.len()).unwrap());
    for cell in cells {
        body.put_i32(i32::try_from(cell.len()).unwrap());
        body.put_slice(cell.as_bytes());
    }
    body.freeze()
}

/// A server on a free port, in a runtime of its own.
pub struct Harness {
    pub runtime: Runtime,
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    pub shutdown: Shutdown,
    pub done: tokio::task::JoinHandle<()>,
}

impl Harness {
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
        let shutdown = server.shutdown_handle();
        let done = runtime.spawn(server.run());
        Self { runtime, address, seen, shutdown, done }
    }

    /// The server still answers somebody new.
    pub fn assert_alive(&self) {
        let mut client = crate::raw::Client::login(self.address, "ana");
        assert_eq!(client.query("select alive").rows(), ["alive"]);
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
