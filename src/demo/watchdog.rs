//! The process that outlives the one that started a private server, to end the server and remove its folder.
//!
//! The starter holds the write end of a pipe and never writes; the watchdog reads the other end. However the
//! starter ends (return, panic, `kill -9`), the operating system closes the pipe, and the read returns. There is
//! no other way to stop a private server: an orderly stop closes the pipe, too, and waits for the watchdog.

use super::Error;
use super::postmaster::Postmaster;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder is removed only if this file is in it: the launcher's word that it made the folder.
pub(super) const MARKER: &str = "made-by-noisegate";

/// What the watchdog prints once it watches.
const WATCHING: &str = "watching";

/// The starter's end of the pipe.
pub(super) struct Watchdog {
    child: Child,
}

impl Watchdog {
    /// Starts `program watchdog --dir DIR` and waits until it watches.
    pub(super) fn start(program: &Path, dir: &Path) -> Result<Self, Error> {
        let mut child = Command::new(program)
            .args(["watchdog", "--dir"])
            .arg(dir)
            .current_dir("/")
            // Its own process group: Ctrl-C at the terminal goes to the foreground group only.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not inherited: whoever waits for the end of our stderr must not wait for the watchdog.
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io(format!("cannot start {} watchdog", program.display())))?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            // An unreadable answer is an empty one, refused below.
            let _ = BufReader::new(stdout).read_line(&mut said);
        }
        if said.trim() != WATCHING {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::Watchdog(format!("({} watchdog) did not start", program.display())));
        }
        Ok(Self { child })
    }

    /// Whether it still waits for the end of the pipe.
    pub(super) fn watches(&self) -> bool {
        self.child.stdin.is_some()
    }

    /// Lets it do its work, and waits for it.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(Error::io("cannot wait for the watchdog"))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Watchdog(format!("could not stop the private server or remove its folder ({status})")))
    }
}

/// The body of `noisegate watchdog`: says that it watches, waits for the end of `pipe`, then ends the server
/// whose folder `dir` is and removes it.
///
/// # Errors
///
/// A folder that the launcher did not make, a server that does not end, a folder that cannot be removed.
pub fn watch(dir: &Path, mut pipe: impl Read, mut out: impl Write) -> Result<(), Error> {
    if !dir.is_absolute() || !dir.join(MARKER).is_file() {
        let why = format!("refuses {}: it is not the folder of a private server", dir.display());
        return Err(Error::Watchdog(why));
    }
    // A starter that is already dead does not read this; the pipe says so at once.
    let _ = writeln!(out, "{WATCHING}").and_then(|()| out.flush());
    drop(out);
    let mut byte = [0u8; 1];
    loop {
        match pipe.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    clean_up(dir)
}

fn clean_up(dir: &Path) -> Result<(), Error> {
    let data = dir.join("data");
    // The starter may have died between starting the postmaster and the postmaster's writing of its pid file.
    let deadline = Instant::now() + Duration::from_secs(1);
    while data.is_dir() && !data.join("postmaster.pid").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    if let Some(postmaster) = Postmaster::of(&data)
        && !postmaster.end()
    {
        return Err(Error::Watchdog(format!("could not end PostgreSQL, process {}", postmaster.pid())));
    }
    // An initdb whose starter died still creates files: remove until nothing is left.
    let deadline = Instant::now() + Duration::from_secs(15);
    loop {
        match std::fs::remove_dir_all(dir) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !dir.exists() => return Ok(()),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(Error::io(format!("cannot remove {}", dir.display()))(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_the_launcher_did_not_make_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("precious"), "x").unwrap();
        assert!(watch(dir.path(), std::io::empty(), std::io::sink()).is_err());
        assert!(dir.path().join("precious").exists());
    }

    #[test]
    fn a_folder_without_a_server_is_removed_at_the_end_of_the_pipe() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(MARKER), "").unwrap();
        let mut said = Vec::new();
        watch(dir.path(), std::io::empty(), &mut said).unwrap();
        assert_eq!(said, b"watching\n");
        assert!(!dir.path().exists());
    }
}
