//! The way to the ledger's database, and the database itself: cut, hung, killed, at every step of a batch.

use super::store::{FIRST, Kind, Store, bodies, in_database, open, verify, with_timeout, write};
use crate::relay::{Mode, Relay, Trap};
use crate::support::own_cluster;
use noisegate::ledger::LedgerError;
use noisegate::ledger::log::{self, Log};
use noisegate::policy::LedgerLocation;
use std::time::{Duration, Instant};

/// What the database gets to answer in these tests.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A log behind a relay.
fn world() -> (Store, Relay, LedgerLocation, Box<dyn Log>) {
    let store = Store::new(Kind::Postgres);
    let (relay, url) = Relay::before(&store.db().superuser_url);
    let location = with_timeout(&in_database(&url), TIMEOUT);
    let log = open(&location).unwrap();
    (store, relay, location, log)
}

fn is_unavailable<T: std::fmt::Debug>(result: Result<T, LedgerError>) {
    let error = result.unwrap_err();
    assert!(matches!(error, LedgerError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("noisegate_ledger") && !error.to_string().contains("postgres:"));
}

/// Begins as soon as the database lets it.
fn eventually(log: &mut Box<dyn Log>, after: i64) -> Vec<String> {
    let start = Instant::now();
    loop {
        match log.begin(after) {
            Ok(begun) => return begun.rows.into_iter().map(|row| row.body).collect(),
            Err(LedgerError::Unavailable { .. }) if start.elapsed() < Duration::from_secs(30) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

const COMMIT: &[u8] = b"COMMIT\0";
const BEGIN: &[u8] = b"BEGIN ISOLATION";
const APPEND: &[u8] = b"\x00\x00\x00\x19"; // the type of text, in the array of bodies

#[test]
fn whether_a_lost_commit_happened_is_told_by_the_next_batch() {
    let (store, relay, _, mut log) = world();
    let mut known = 1;
    for (n, (trap, committed)) in [
        (Trap::CutBefore(COMMIT), false),
        (Trap::CutAnswer(COMMIT), true),
        (Trap::FreezeBefore(COMMIT), false),
        (Trap::FreezeAnswer(COMMIT), true),
        (Trap::CutBefore(APPEND), false),
    ]
    .into_iter()
    .enumerate()
    {
        log.begin(known).unwrap();
        log.append(format!("{n}")).unwrap();
        log.put(&[n as u8; 32], known + 1, 0, vec![1]).unwrap();
        relay.trap(trap);
        let start = Instant::now();
        is_unavailable(log.commit());
        assert!(relay.sprung() && start.elapsed() < TIMEOUT + Duration::from_secs(2), "{trap:?}");
        assert_eq!(log.tip().id, known, "{trap:?}: not known, so not claimed");
        relay.set(Mode::Pass);
        let rows = eventually(&mut log, known);
        let expected: Vec<String> = if committed { vec![format!("{n}")] } else { vec![] };
        assert_eq!(rows, expected, "{trap:?}");
        assert_eq!(log.get(&[n as u8; 32]).unwrap().is_some(), committed, "{trap:?}");
        known += rows.len() as i64;
        log.abandon();
    }
    write(&mut log, &["end"]).unwrap();
    assert_eq!(bodies(&verify(&store.location).unwrap()), [FIRST, "1", "3", "end"]);
}

#[test]
fn a_batch_does_not_begin_where_the_database_does_not_answer() {
    let (_store, relay, location, mut log) = world();
    for trap in [Trap::CutBefore(BEGIN), Trap::FreezeBefore(BEGIN), Trap::FreezeAnswer(b"BEGIN\0")] {
        relay.trap(trap);
        let start = Instant::now();
        // One that was lost while idle is replaced once.
        let begun = log.begin(log.tip().id);
        assert_eq!(begun.is_ok(), matches!(trap, Trap::CutBefore(_)), "{trap:?}");
        assert!(relay.sprung() && start.elapsed() < 2 * TIMEOUT, "{trap:?}");
        if begun.is_err() {
            is_unavailable(begun);
            let start = Instant::now();
            is_unavailable(log.begin(log.tip().id));
            assert!(start.elapsed() < 2 * TIMEOUT, "{:?}", start.elapsed());
            assert!(matches!(log.append("x".into()), Err(LedgerError::NoBatch)));
        }
        relay.set(Mode::Pass);
        let known = log.tip().id;
        eventually(&mut log, known);
        log.abandon();
        write(&mut log, &["a"]).unwrap();
    }
    // Gone, and nobody there.
    relay.set(Mode::Refuse);
    relay.cut();
    for _ in 0..2 {
        is_unavailable(log.begin(log.tip().id));
        is_unavailable(log.get(&[0; 32]));
        is_unavailable(open(&location).map(|_| ()));
    }
    relay.set(Mode::Pass);
    // Nothing of that needs a restart; and what died while idle is not noticed.
    write(&mut log, &["b"]).unwrap();
    relay.cut();
    assert_eq!(log.get(&[0; 32]).unwrap(), None);
    relay.cut();
    write(&mut log, &["c"]).unwrap();
    assert_eq!(verify(&location).unwrap().len(), 6);
}

/// A proxy that hangs with the lock does not stop the others for longer than the timeout, and writes nothing later.
#[test]
fn a_proxy_that_hangs_loses_its_batch() {
    let store = Store::new(Kind::Postgres);
    let location = with_timeout(&store.location, TIMEOUT);
    let (mut hung, mut other) = (open(&location).unwrap(), open(&location).unwrap());
    hung.begin(1).unwrap();
    hung.append("never".into()).unwrap();
    let start = Instant::now();
    is_unavailable(other.begin(1));
    assert!(start.elapsed() < TIMEOUT, "{:?}", start.elapsed());
    assert!(eventually(&mut other, 1).is_empty());
    assert!(start.elapsed() < 2 * TIMEOUT, "{:?}", start.elapsed());
    other.append("mine".into()).unwrap();
    other.commit().unwrap();
    is_unavailable(hung.commit());
    assert_eq!(eventually(&mut hung, 1), ["mine"]);
    hung.append("next".into()).unwrap();
    hung.commit().unwrap();
    assert_eq!(bodies(&verify(&location).unwrap()), [FIRST, "mine", "next"]);
}

/// Lets the lock go at once where it is dropped or given up.
#[test]
fn a_log_that_ends_leaves_no_lock() {
    let store = Store::new(Kind::Postgres);
    let (mut one, mut other) = (store.open(), store.open());
    one.begin(1).unwrap();
    drop(one);
    let start = Instant::now();
    other.begin(1).unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

/// The process of the server that works for this log is killed: the whole server recovers from its write-ahead log.
#[test]
fn a_server_that_crashes_in_a_batch_loses_that_batch_at_most() {
    let cluster = own_cluster(&[]);
    let location = in_database(&cluster.superuser_url("postgres"));
    log::create(&location, &[FIRST.to_owned()]).unwrap();
    let mut log = open(&location).unwrap();
    let mut written = vec![FIRST.to_owned()];
    for n in 0..4 {
        let body = format!("before {n}");
        write(&mut log, &[&body]).unwrap();
        written.push(body);
        log.begin(log.tip().id).unwrap();
        log.append(format!("in {n}")).unwrap();
        let backend = backends(cluster.server_pid().unwrap());
        assert!(!backend.is_empty(), "no process works for the ledger");
        assert!(signal("KILL", backend[0]));
        is_unavailable(log.commit());
        let known = log.tip().id;
        assert!(eventually(&mut log, known).is_empty());
        log.abandon();
    }
    let rows = verify(&location).unwrap();
    assert_eq!(bodies(&rows), written);
}

#[test]
fn a_server_that_stands_still_is_not_waited_for() {
    let cluster = own_cluster(&[]);
    let location = with_timeout(&in_database(&cluster.superuser_url("postgres")), TIMEOUT);
    log::create(&location, &[FIRST.to_owned()]).unwrap();
    let mut log = open(&location).unwrap();
    let mut known = 1;
    for step in 0..3 {
        if step > 0 {
            log.begin(known).unwrap();
            log.append(format!("{step}")).unwrap();
        }
        let postmaster = cluster.server_pid().unwrap();
        // The session of the step before may end between the list and the signal.
        let all = std::iter::once(postmaster).chain(backends(postmaster));
        let processes: Vec<u32> = all.filter(|pid| signal("STOP", *pid)).collect();
        assert_eq!(processes[0], postmaster);
        let start = Instant::now();
        match step {
            0 => is_unavailable(log.begin(known)),
            1 => is_unavailable(log.commit()),
            _ => is_unavailable(log.forget(noisegate::ledger::log::Forget::All)),
        }
        assert!(start.elapsed() < TIMEOUT + Duration::from_secs(1), "{:?}", start.elapsed());
        is_unavailable(log.begin(known));
        // The server last: it waits for sessions that had ended, and then they are no processes.
        assert!(processes.iter().rev().all(|pid| signal("CONT", *pid)));
        let rows = eventually(&mut log, known);
        known += rows.len() as i64;
        log.abandon();
        // What was sent before it stood still may have been done.
        assert!(rows.is_empty() || (step == 1 && rows == ["1"]), "{step}: {rows:?}");
    }
    write(&mut log, &["end"]).unwrap();
    verify(&location).unwrap();
}

/// `false` if there is no such process any more.
fn signal(name: &str, pid: u32) -> bool {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    status.unwrap().success()
}

/// Server processes for this login, by the titles that PostgreSQL gives them: `postgres: USER DATABASE …`.
fn backends(postmaster: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap();
    let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
    let works = |pid: &u32| {
        let title = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        title.starts_with("postgres: postgres postgres ")
    };
    children.filter(works).collect()
}
