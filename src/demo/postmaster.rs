//! A postmaster seen from outside, by its `postmaster.pid`: whether it is ready, and how it is ended without
//! `unsafe` code.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A running postmaster of one data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postmaster {
    pid: u32,
    data: PathBuf,
}

impl Postmaster {
    /// The postmaster that `data/postmaster.pid` names, if that process lives and serves this folder. (After a
    /// crash the file stays, and its number may have become another program's.)
    pub fn of(data: &Path) -> Option<Self> {
        let pid = pid_file(data)?.pid;
        let found = Self { pid, data: data.to_owned() };
        found.lives().then_some(found)
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process exists and was started for this data folder. A zombie does not count.
    pub fn lives(&self) -> bool {
        command_line(self.pid).is_some_and(|line| line.contains(&*self.data.to_string_lossy()))
    }

    /// Ends it at once, without saving: what it holds is thrown away anyway. Returns whether it is gone.
    pub fn end(&self) -> bool {
        // QUIT is PostgreSQL's "immediate" shutdown: the postmaster still ends its children and frees what it
        // shares with them. KILL is for a postmaster that hangs.
        for (signal, patience) in [("QUIT", Duration::from_secs(6)), ("KILL", Duration::from_secs(3))] {
            if !self.lives() {
                return true;
            }
            send_signal(self.pid, signal);
            let deadline = Instant::now() + patience;
            while Instant::now() < deadline {
                if !self.lives() {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        !self.lives()
    }
}

/// Whether the server of this data folder accepts connections, by its own word (what `pg_ctl -w` looks at, too).
pub fn is_ready(data: &Path, pid: u32) -> bool {
    pid_file(data).is_some_and(|f| f.pid == pid && f.ready)
}

struct PidFile {
    pid: u32,
    ready: bool,
}

/// Line 1 is the process id, line 8 the state (`src/include/utils/pidfile.h`).
fn pid_file(data: &Path) -> Option<PidFile> {
    let text = std::fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    let ready = lines.nth(6).is_some_and(|state| state.trim() == "ready");
    Some(PidFile { pid, ready })
}

/// The arguments of a process; empty for a zombie, `None` if there is no such process.
fn command_line(pid: u32) -> Option<String> {
    if Path::new("/proc/self/cmdline").exists() {
        // Readable without the right to trace the process, unlike its `cwd`: root in a container lacks that.
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let out = Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid.to_string()]).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The shell's own `kill`, because the program of that name is missing in small containers.
fn send_signal(pid: u32, signal: &str) {
    let sent = Command::new("sh")
        .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &pid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // A process that is gone by now is no failure, and one that is left is seen by the caller.
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot run sh to stop PostgreSQL");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pid_file_whose_number_belongs_to_another_program_names_no_postmaster() {
        let data = tempfile::tempdir().unwrap();
        let me = std::process::id();
        let text =
            format!("{me}\n{}\n1700000000\n15432\n\n127.0.0.1\n  1 2\nready   \n", data.path().display());
        std::fs::write(data.path().join("postmaster.pid"), text).unwrap();
        assert!(is_ready(data.path(), me));
        assert!(!is_ready(data.path(), me + 1));
        assert_eq!(Postmaster::of(data.path()), None);
    }
}
