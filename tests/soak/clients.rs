//! The crowd: who is in it, how each of them comes and goes, and what they have paid.

use crate::attacks;
use crate::city::{PASSWORD, rows};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio_postgres::Client;

/// What one client does may take no longer: more than the longest timeout of the proxy, for each of those whose turn comes first.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the crowd has asked that is paid for.
#[derive(Default)]
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

/// How much less of a processor the crowd's own work gets (as `nice` counts): elsewhere, clients have machines of their own.
const NICE: i32 = 10;

/// Everybody, until they leave.
pub struct Crowd {
    runtime: Runtime,
    leaving: Arc<AtomicBool>,
    tasks: JoinSet<()>,
    left: Arc<Mutex<Left>>,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Left {
    rounds: BTreeMap<&'static str, u64>,
    /// Who never came to an end.
    pub hung: Vec<&'static str>,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.rounds.iter().map(|(name, n)| format!("{name} {n}")).collect();
        write!(f, "rounds: {}", all.join(", "))
    }
}

impl Crowd {
    pub fn enter(address: &str, policy: &Path, proxy: u32, books: Arc<Books>) -> Self {
        let leaving = Arc::new(AtomicBool::new(false));
        let left = Arc::new(Mutex::new(Left::default()));
        let mut tasks = JoinSet::new();
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(4).enable_all();
        // On Linux a priority is a thread's.
        runtime.on_thread_start(|| {
            let _ = rustix::process::setpriority_process(None, NICE);
        });
        let runtime = runtime.build().unwrap();
        let next = AtomicU64::new(0);
        for (name, many, user) in attacks::ALL {
            for _ in 0..many {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let mut guest = Guest {
                    address: address.to_owned(),
                    user,
                    policy: policy.to_owned(),
                    proxy,
                    books: books.clone(),
                    round: 0,
                    number,
                };
                let (leaving, left) = (leaving.clone(), left.clone());
                let everything = async move {
                    while !leaving.load(Ordering::Relaxed) {
                        guest.round += 1;
                        let done = tokio::time::timeout(PATIENCE, attacks::run(name, &guest)).await;
                        let mut left = left.lock().unwrap();
                        *left.rounds.entry(name).or_default() += 1;
                        if done.is_err() {
                            left.hung.push(name);
                        }
                    }
                };
                tasks.spawn_on(everything, runtime.handle());
            }
        }
        Self { runtime, leaving, tasks, left }
    }

    /// Everybody ends what they are at.
    pub async fn leave(mut self) -> Left {
        self.leaving.store(true, Ordering::Relaxed);
        while let Some(done) = self.tasks.join_next().await {
            done.unwrap();
        }
        self.runtime.shutdown_background();
        self.left.lock().unwrap().clone()
    }
}
