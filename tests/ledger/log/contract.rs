//! What both logs promise.

use super::store::{BOTH, FIRST, Kind, Store, bodies, open, verify, write};
use noisegate::ledger::LedgerError;
use noisegate::ledger::log::{self, Forget, Kept};

#[test]
fn a_log_is_made_once_and_never_by_opening_it() {
    for kind in BOTH {
        let store = Store::absent(kind);
        let missing = open(&store.location).err().unwrap();
        assert!(matches!(missing, LedgerError::Missing(_) | LedgerError::NoSchema(_)), "{kind:?}: {missing}");
        assert!(missing.to_string().contains("noisegate budget create"), "{missing}");
        assert!(log::open_read_only(&store.location).is_err());
        assert!(open(&store.location).is_err(), "{kind:?}: it was made by being looked for");
        log::create(&store.location, &["one".into(), "two".into()]).unwrap();
        let exists = log::create(&store.location, &[]).unwrap_err();
        assert!(matches!(exists, LedgerError::Exists(_) | LedgerError::HasSchema(_)), "{kind:?}: {exists}");
        assert_eq!(bodies(&verify(&store.location).unwrap()), ["one", "two"]);
        assert!(!exists.to_string().contains("secret"));
    }
}

#[test]
fn a_batch_is_there_as_a_whole_or_not_at_all() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        assert_eq!(log.tip().id, 1);
        let begun = log.begin(1).unwrap();
        assert!(begun.rows.is_empty());
        log.append("gone".into()).unwrap();
        log.abandon();
        let written = write(&mut log, &["a", "β \u{1F980} \"\\\n", ""]).unwrap();
        assert_eq!(written.iter().map(|row| row.id).collect::<Vec<_>>(), [2, 3, 4], "{kind:?}");
        log.begin(4).unwrap();
        log.append("gone, too".into()).unwrap();
        drop(log);
        assert_eq!(
            bodies(&verify(&store.location).unwrap()),
            [FIRST, "a", "β \u{1F980} \"\\\n", ""],
            "{kind:?}"
        );
        let mut log = store.open();
        assert_eq!(log.tip().hash, written[2].hash);
        // A batch of nothing, and calls out of turn.
        log.begin(4).unwrap();
        log.commit().unwrap();
        assert!(matches!(log.append("x".into()), Err(LedgerError::NoBatch)));
        assert!(matches!(log.commit(), Err(LedgerError::NoBatch)));
        assert!(matches!(log.put(&[0; 32], 1, 0, vec![]), Err(LedgerError::NoBatch)));
        assert!(matches!(log.forget(Forget::All), Err(LedgerError::NoBatch)));
        assert!(matches!(log.make_room(0), Err(LedgerError::NoBatch)));
        log.abandon();
        assert!(log.in_place());
    }
}

#[test]
fn a_batch_begins_with_what_the_caller_does_not_know() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        let rows = write(&mut log, &["a", "b", "c"]).unwrap();
        for after in 0..=4 {
            let begun = log.begin(after).unwrap();
            assert_eq!(begun.rows.len() as i64, 4 - after, "{kind:?}");
            assert!(rows.ends_with(&begun.rows) || after == 0);
            log.abandon();
        }
        // Someone who knows more than there is knows another ledger.
        assert!(matches!(log.begin(5), Err(LedgerError::Behind { .. })), "{kind:?}");
        assert!(log.begin(4).unwrap().rows.is_empty());
    }
}

#[test]
fn the_clock_is_one_of_this_century() {
    for kind in BOTH {
        let mut log = Store::new(kind).open();
        let before = log.begin(0).unwrap().now;
        std::thread::sleep(std::time::Duration::from_millis(20));
        let after = log.begin(0).unwrap().now;
        assert!(after - before >= 20_000, "{kind:?}: {before} {after}");
        let system = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() as i64;
        assert!((system - after).abs() < 60_000_000, "{kind:?}: microseconds since 1970");
    }
}

/// More rows than are read at once.
#[test]
fn long_logs_are_read_in_parts() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        let mut other = match kind {
            Kind::Postgres => Some(store.open()),
            Kind::Sqlite => None,
        };
        for n in 0..3 {
            log.begin(log.tip().id).unwrap();
            for row in 0..7_999 + n {
                log.append(format!("{{\"n\":{row}}}")).unwrap();
            }
            log.commit().unwrap();
        }
        let all = 1 + 7_999 + 8_000 + 8_001;
        assert_eq!(verify(&store.location).unwrap().len(), all);
        assert_eq!(log.begin(0).unwrap().rows.len(), all);
        log.abandon();
        if let Some(other) = &mut other {
            // One that slept while others wrote.
            assert_eq!(other.begin(1).unwrap().rows.len(), all - 1);
            other.abandon();
        }
        let mut seen = 0;
        let stopped = log.replay(&mut |_| {
            seen += 1;
            if seen == 12_345 { Err(LedgerError::NoBatch) } else { Ok(()) }
        });
        assert!(matches!(stopped, Err(LedgerError::NoBatch)));
        assert_eq!(seen, 12_345, "{kind:?}: the reader decides when it has enough");
        assert_eq!(write(&mut log, &["on"]).unwrap()[0].id, all as i64 + 1);
    }
}

fn key(n: u8) -> [u8; 32] {
    [n; 32]
}

#[test]
fn releases_are_kept_with_their_batch() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        assert_eq!(log.get(&key(1)).unwrap(), None);
        log.begin(1).unwrap();
        log.append("paid".into()).unwrap();
        log.put(&key(1), 2, 7, vec![0, 1, 255]).unwrap();
        let kept = Some(Kept { entry: 2, epoch: 7, bytes: vec![0, 1, 255] });
        assert_eq!(log.get(&key(1)).unwrap(), kept, "{kind:?}: in its own batch");
        log.abandon();
        assert_eq!(log.get(&key(1)).unwrap(), None, "{kind:?}: with its batch it goes");
        log.begin(1).unwrap();
        log.append("paid".into()).unwrap();
        log.put(&key(1), 2, 7, vec![0, 1, 255]).unwrap();
        log.commit().unwrap();
        // The first one stays, and two at once are one.
        log.begin(2).unwrap();
        log.look(&[key(1), key(2), key(9)]).unwrap();
        assert_eq!(log.get(&key(1)).unwrap(), kept, "{kind:?}");
        assert_eq!(log.get(&key(2)).unwrap(), None);
        log.put(&key(1), 3, 8, vec![9]).unwrap();
        log.put(&key(2), 3, 8, vec![5; 100_000]).unwrap();
        log.put(&key(2), 3, 8, vec![6]).unwrap();
        log.put(&key(3), 3, 9, vec![]).unwrap();
        assert_eq!(
            log.get(&key(2)).unwrap().unwrap().bytes.len(),
            100_000,
            "{kind:?}: after it was looked for"
        );
        assert_eq!(log.stored().unwrap(), 100_003, "{kind:?}");
        log.commit().unwrap();
        drop(log);
        let mut log = store.open();
        assert_eq!(log.get(&key(1)).unwrap(), kept);
        assert_eq!(log.get(&key(2)).unwrap().unwrap().bytes, vec![5; 100_000]);
        assert_eq!(log.get(&key(3)).unwrap().unwrap().bytes, Vec::<u8>::new());
        log.begin(2).unwrap();
        assert_eq!(log.stored().unwrap(), 100_003, "{kind:?}");
        log.look(&[key(1)]).unwrap();
        assert_eq!(log.forget(Forget::Before(8)).unwrap(), 1);
        assert_eq!(log.get(&key(1)).unwrap(), None, "{kind:?}: looked for, and then forgotten");
        assert_eq!(log.stored().unwrap(), 100_000);
        assert_eq!(log.forget(Forget::Key(key(2))).unwrap(), 1);
        assert_eq!(log.forget(Forget::Key(key(2))).unwrap(), 0);
        log.put(&key(4), 3, 9, vec![4; 4]).unwrap();
        assert_eq!(log.forget(Forget::All).unwrap(), 2, "{kind:?}: what waits, too");
        assert_eq!(log.stored().unwrap(), 0);
        log.commit().unwrap();
        for n in 0..5 {
            assert_eq!(log.get(&key(n)).unwrap(), None, "{kind:?}");
        }
    }
}

#[test]
fn the_oldest_releases_make_room() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        log.begin(1).unwrap();
        // Stored in another order than paid for.
        for n in [5, 3, 9, 1, 7, 2, 8, 4, 6, 0] {
            log.put(&key(n), i64::from(n) + 1, 0, vec![n; 100]).unwrap();
        }
        assert_eq!(log.make_room(1000).unwrap(), 0, "{kind:?}: it fits");
        log.put(&key(10), 11, 0, vec![0; 100]).unwrap();
        // 900 of 1000 bytes stay.
        assert_eq!(log.make_room(1000).unwrap(), 2, "{kind:?}");
        assert_eq!(log.stored().unwrap(), 900);
        log.commit().unwrap();
        for n in 0..=10 {
            assert_eq!(log.get(&key(n)).unwrap().is_some(), n >= 2, "{kind:?} {n}");
        }
        log.begin(1).unwrap();
        assert_eq!(log.make_room(0).unwrap(), 9, "{kind:?}");
        assert_eq!(log.stored().unwrap(), 0);
        log.commit().unwrap();
    }
}

/// A log may be opened, used and dropped where a runtime runs already.
#[test]
fn a_log_can_be_used_within_a_runtime() {
    for kind in BOTH {
        let store = Store::new(kind);
        super::store::runtime().block_on(async {
            let mut log = store.open();
            assert_eq!(write(&mut log, &["a"]).unwrap()[0].id, 2);
            drop(log);
        });
    }
}
