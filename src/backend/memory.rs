//! Whether anything caps the memory of one process of PostgreSQL, as far as that can be told: SQL does not say, but where the server
//! runs on this machine its processes' limits can be read.
//!
//! Without a cap one statement can take all there is. What the system ends then is a process of PostgreSQL, which ends all
//! others: an outage for everybody, of which a cap on the whole service (`MemoryMax`) makes no less.

use std::path::{Path, PathBuf};
use tokio_postgres::config::Host;

/// How one is made, and looked for.
const HOW: &str = "as root: LimitAS=4G in the unit of PostgreSQL (systemctl edit postgresql@.service), or ulimit -v before it is started, \
     or vm.overcommit_memory = 2; MemoryMax alone ends all sessions when one takes too much";

/// What can be read of a process.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    name: String,
    limits: String,
}

/// Warning about memory, for a server of this URL, one of whose processes has this number.
pub(super) fn warning(config: &tokio_postgres::Config, pid: &str) -> Option<String> {
    let here = config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
    });
    // Of another process in this one’s name space nothing is believed.
    let process = Some(pid).filter(|pid| here && pid.bytes().all(|b| b.is_ascii_digit())).and_then(process);
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    judged(process.filter(|p| p.name.trim().starts_with("postgres")), overcommit.trim())
}

fn process(pid: &str) -> Option<Process> {
    let folder: PathBuf = Path::new("/proc").join(pid);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    Some(Process { name: read("comm")?, limits: read("limits")? })
}

fn judged(process: Option<Process>, overcommit: &str) -> Option<String> {
    // Of a server elsewhere nothing is known: docs/operations.md says how to look there.
    let limits = process?.limits;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let endless = line.split_whitespace().next() == Some("unlimited") && overcommit != "2";
    endless.then(|| format!("nothing caps the memory of a session's process; {HOW}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn limits(address_space: &str) -> Option<Process> {
        let limits = format!(
            "Limit                     Soft Limit           Hard Limit           Units\n\
             Max data size             unlimited            unlimited            bytes\n\
             Max address space         {address_space}            unlimited            bytes\n"
        );
        Some(Process { name: "postgres\n".into(), limits })
    }

    #[test]
    fn what_is_known_to_be_without_a_cap_is_a_warning() {
        assert!(judged(limits("unlimited"), "0").unwrap().contains("LimitAS"));
        assert_eq!(judged(limits("unlimited"), "2"), None, "the system gives no more than it has");
        assert_eq!(judged(limits("4294967296"), "0"), None);
        assert_eq!(judged(None, "0"), None, "a server elsewhere");
    }

    #[test]
    fn nothing_is_believed_of_processes_of_other_machines_and_of_other_programs() {
        let own = std::process::id().to_string();
        assert!(process(&own).unwrap().limits.contains("Max address space"));
        for url in ["postgres://u@db.example/d", "postgres://u@127.0.0.1/d"] {
            assert_eq!(warning(&url.parse().unwrap(), &own), None, "{url}");
        }
    }
}
