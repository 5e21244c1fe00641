//! The crowd: two hundred clients in a process of their own, which is this test program, started once more.
//!
//! Elsewhere clients have machines of their own. Here they must leave the processors to whom they ask: their threads are nice, and
//! as Linux shares processors among *sessions* before it looks at threads (sched(7), autogroups), theirs is a session of its own,
//! and nice as a whole.

use crate::attacks;
use crate::clients::{Books, Guest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// What one client does may take no longer: more than the longest timeout of the proxy, for each of those whose turn comes first.
const PATIENCE: Duration = Duration::from_secs(300);
/// How much less of a processor the crowd's own work gets, as `nice` counts.
const NICE: i32 = 10;
/// Tells this program that it is the crowd, and where it goes.
const VARIABLE: &str = "NOISEGATE_SOAK_CROWD";
/// Before what the crowd says at its end: the test runner says things, too.
const MARK: &str = "the crowd has left: ";

/// Where the crowd goes.
#[derive(Serialize, Deserialize)]
struct Destination {
    address: String,
    policy: PathBuf,
    proxy: u32,
    /// One kind of them, so many.
    only: Option<(String, usize)>,
}

/// Everybody, until they leave.
pub struct Crowd(Child);

/// What was done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Left {
    rounds: BTreeMap<String, u64>,
    /// Who never came to an end.
    pub hung: Vec<String>,
    pub books: Books,
}

impl Left {
    /// Of all.
    pub fn rounds(&self) -> u64 {
        self.rounds.values().sum()
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.rounds.iter().map(|(name, n)| format!("{name} {n}")).collect();
        write!(f, "rounds: {}", all.join(", "))
    }
}

impl Crowd {
    /// Starts `test` of this program once more, which is to begin with [`be_the_crowd`]; `only`: with so many of one kind.
    pub fn enter(test: &str, address: &str, policy: &Path, proxy: u32, only: Option<(&str, usize)>) -> Self {
        let only = only.map(|(kind, many)| (kind.to_owned(), many));
        let to = Destination { address: address.to_owned(), policy: policy.to_owned(), proxy, only };
        // A session of its own: a child leads no group of processes, so that it stays the same process.
        let child = Command::new("setsid")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", test])
            .env(VARIABLE, serde_json::to_string(&to).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        Self(child.unwrap())
    }

    /// Everybody ends what they are at.
    pub async fn leave(mut self) -> Left {
        drop(self.0.stdin.take());
        let mut said = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(self.0.wait().await.unwrap().success(), "{said}");
        let left = said.lines().find_map(|line| line.split_once(MARK)).expect("what the crowd did").1;
        serde_json::from_str(left).unwrap()
    }
}

/// Whether this process is the crowd; if so, it has been, until its standard input was closed.
pub async fn be_the_crowd() -> bool {
    let Ok(to) = std::env::var(VARIABLE) else { return false };
    let to: Destination = serde_json::from_str(&to).unwrap();
    // Where the kernel has no autogroups the threads' own niceness is all there is.
    let _ = std::fs::write("/proc/self/autogroup", NICE.to_string());
    let left = tokio::task::spawn_blocking(move || mingle(&to)).await.unwrap();
    println!("{MARK}{}", serde_json::to_string(&left).unwrap());
    true
}

fn mingle(to: &Destination) -> Left {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(4).enable_all();
    // On Linux a priority is a thread's.
    runtime.on_thread_start(|| {
        let _ = rustix::process::setpriority_process(None, NICE);
    });
    let runtime = runtime.build().unwrap();
    let (leaving, left) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Left::default())));
    let books = Arc::new(Books::default());
    let mut tasks = JoinSet::new();
    let many = |name: &str, usual: usize| match &to.only {
        Some((only, many)) => {
            if only == name {
                *many
            } else {
                0
            }
        }
        None => usual,
    };
    let kinds = attacks::ALL
        .iter()
        .flat_map(|(name, usual, user)| std::iter::repeat_n((*name, *user), many(name, *usual)));
    for ((name, user), number) in kinds.zip(0..) {
        let mut guest = Guest {
            address: to.address.clone(),
            user,
            policy: to.policy.clone(),
            proxy: to.proxy,
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
                *left.rounds.entry(name.to_owned()).or_default() += 1;
                if done.is_err() {
                    left.hung.push(name.to_owned());
                }
            }
        };
        tasks.spawn_on(everything, runtime.handle());
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    leaving.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
    runtime.shutdown_background();
    let left = std::mem::take(&mut *left.lock().unwrap());
    Left { books: Arc::into_inner(books).expect("everybody has left"), ..left }
}
