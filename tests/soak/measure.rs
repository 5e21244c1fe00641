//! What processes take, and how long answers do.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Of a proxy and its database.
#[derive(Clone, Copy)]
pub struct Memory {
    proxy: u32,
    server: u32,
}

/// Megabytes of their own memory, and the proxy's connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    pub proxy: u64,
    pub database: u64,
    pub sockets: usize,
}

/// The most that was taken, seen twice a second.
pub struct Watched {
    end: Arc<AtomicBool>,
    task: JoinHandle<Taken>,
}

impl Memory {
    pub fn of(proxy: u32, server: u32) -> Self {
        Self { proxy, server }
    }

    pub fn now(self) -> Taken {
        let database = children(self.server).into_iter().chain([self.server]).map(own_megabytes).sum();
        Taken { proxy: own_megabytes(self.proxy), database, sockets: sockets(self.proxy) }
    }

    pub fn watch(self) -> Watched {
        let end = Arc::new(AtomicBool::new(false));
        let told = end.clone();
        let task = tokio::task::spawn_blocking(move || {
            let mut most = Taken::default();
            while !told.load(Ordering::Relaxed) {
                let now = self.now();
                most.proxy = most.proxy.max(now.proxy);
                most.database = most.database.max(now.database);
                most.sockets = most.sockets.max(now.sockets);
                std::thread::sleep(Duration::from_millis(500));
            }
            most
        });
        Watched { end, task }
    }
}

impl Watched {
    pub async fn end(self) -> Taken {
        self.end.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

/// Memory that a process shares with nobody.
fn own_megabytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

fn children(of: u32) -> Vec<u32> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may hold anything.
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok()) == Some(of)
    };
    processes.filter(is_child).collect()
}

fn sockets(pid: u32) -> usize {
    let is_socket =
        |path: PathBuf| std::fs::read_link(path).is_ok_and(|l| l.to_string_lossy().starts_with("socket:"));
    let all =
        std::fs::read_dir(format!("/proc/{pid}/fd")).map(|d| d.filter_map(Result::ok).collect::<Vec<_>>());
    all.unwrap_or_default().into_iter().filter(|e| is_socket(e.path())).count()
}

/// The time that so many in a hundred do not exceed.
pub fn percentile(times: impl Iterator<Item = Duration>, percent: usize) -> Duration {
    let mut sorted: Vec<Duration> = times.collect();
    sorted.sort();
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}
