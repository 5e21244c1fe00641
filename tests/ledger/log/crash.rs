//! `kill -9` of writing processes at any moment: what was acknowledged is there, in one chain.

use super::store::{BOTH, Kind, Store, in_database, open, verify};
use noisegate::policy::LedgerLocation;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const CHILD: &str = "NOISEGATE_TEST_LOG";

/// Appends until it is killed, and prints each row once its batch is committed.
fn append_forever(place: &str) -> ! {
    let location = match place.strip_prefix("file:") {
        Some(path) => LedgerLocation::Sqlite(std::path::PathBuf::from(path).into()),
        None => in_database(place),
    };
    let mut log = open(&location).unwrap_or_else(|e| panic!("{e}"));
    let mut out = std::io::stdout().lock();
    for batch in 0u64.. {
        log.begin(log.tip().id).unwrap_or_else(|e| panic!("{e}"));
        let body = format!("{{\"batch\":{batch},\"filler\":\"{}\"}}", "x".repeat((batch % 900) as usize));
        let rows: Vec<_> = (0..=batch % 5).map(|_| log.append(body.clone()).unwrap()).collect();
        log.commit().unwrap_or_else(|e| panic!("{e}"));
        for row in rows {
            writeln!(out, "\ncommitted {} {}", row.id, hex(&row.hash)).unwrap();
        }
        out.flush().unwrap();
    }
    unreachable!()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn start(store: &Store) -> (Child, BufReader<ChildStdout>) {
    let place = match &store.location {
        LedgerLocation::Sqlite(file) => format!("file:{}", file.reveal().display()),
        LedgerLocation::Postgres(_) => store.db().superuser_url.clone(),
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "log::crash::what_was_committed_survives_kill_9", "--nocapture"])
        .env(CHILD, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

/// The rows that a child said were committed. A line that was cut off says nothing.
fn committed(lines: impl Iterator<Item = String>) -> HashMap<i64, String> {
    let row = |line: String| {
        let (id, hash) = line.strip_prefix("committed ")?.split_once(' ')?;
        (hash.len() == 64).then(|| (id.parse().unwrap(), hash.to_owned()))
    };
    lines.filter_map(row).collect()
}

/// The test starts itself as a child that writes, and kills it.
#[test]
fn what_was_committed_survives_kill_9() {
    if let Ok(place) = std::env::var(CHILD) {
        append_forever(&place);
    }
    for kind in BOTH {
        let store = Store::new(kind);
        let mut before = 1;
        for round in 0..8u64 {
            // In a database, two at once.
            let children: Vec<_> =
                (0..if kind == Kind::Postgres { 2 } else { 1 }).map(|_| start(&store)).collect();
            let mut said: HashMap<i64, String> = HashMap::new();
            let mut ends = Vec::new();
            for (mut child, lines) in children {
                let mut lines = lines.lines().map_while(Result::ok);
                let first = lines.by_ref().find(|l| l.starts_with("committed "));
                said.extend(committed(first.into_iter()));
                // What it says from now on must not fill the pipe.
                let reader = std::thread::spawn(move || committed(lines));
                std::thread::sleep(Duration::from_micros(round * round * 531));
                child.kill().unwrap();
                child.wait().unwrap();
                ends.push(reader);
            }
            for reader in ends {
                said.extend(reader.join().unwrap());
            }
            assert!(!said.is_empty(), "{kind:?}: no child committed anything");
            // Opening proves the chain. In a database the killed sessions' transactions may still be ending.
            let mut log = store.open();
            log.begin(log.tip().id).unwrap();
            log.commit().unwrap();
            drop(log);
            let rows = verify(&store.location).unwrap();
            assert!(rows.len() > before, "{kind:?}");
            before = rows.len();
            for (id, hash) in said {
                let row = rows.get(id as usize - 1);
                assert_eq!(
                    row.map(|row| hex(&row.hash)),
                    Some(hash),
                    "{kind:?}: entry {id} of {}",
                    rows.len()
                );
            }
        }
    }
}
