//! Whoever may write to the ledger can change it. It is noticed, and said where.

use super::store::{BOTH, Kind, Store, open, verify, write};
use noisegate::ledger::LedgerError;
use noisegate::ledger::log::Broken;

/// What is done, and what is found.
const CHANGES: [(&str, &str, Broken); 9] = [
    ("a body", "UPDATE entries SET body = 'B' WHERE id = 3", Broken::Changed(3)),
    (
        "a hash",
        "UPDATE entries SET hash = (SELECT hash FROM entries WHERE id = 5) WHERE id = 3",
        Broken::Changed(3),
    ),
    ("one removed", "DELETE FROM entries WHERE id = 3", Broken::Missing { expected: 3, found: 4 }),
    ("the first removed", "DELETE FROM entries WHERE id = 1", Broken::Missing { expected: 1, found: 2 }),
    ("the last removed", "DELETE FROM entries WHERE id = 5", Broken::Short { last: 4, head: 5 }),
    (
        "two exchanged",
        "UPDATE entries SET id = 30 WHERE id = 3; UPDATE entries SET id = 3 WHERE id = 4;
         UPDATE entries SET id = 4 WHERE id = 30",
        Broken::Changed(3),
    ),
    (
        "one added",
        "INSERT INTO entries (id, body, hash) SELECT 6, body, hash FROM entries WHERE id = 5",
        Broken::Changed(6),
    ),
    ("the head's number", "UPDATE head SET id = 4", Broken::Head { head: 4 }),
    (
        "the head's hash",
        "UPDATE head SET hash = (SELECT hash FROM entries WHERE id = 1)",
        Broken::Head { head: 5 },
    ),
];

#[test]
fn what_was_changed_is_found_by_verify_and_at_the_start() {
    for kind in BOTH {
        for (what, sql, expected) in CHANGES {
            // Of a file, the mark has the end: see `lost`.
            if kind == Kind::Sqlite && matches!(expected, Broken::Short { .. } | Broken::Head { .. }) {
                continue;
            }
            let store = Store::new(kind);
            write(&mut store.open(), &["a", "b", "c", "d"]).unwrap();
            store.vandalise(sql);
            let found = verify(&store.location).unwrap_err();
            let LedgerError::Broken { broken, .. } = &found else { panic!("{kind:?} {what}: {found}") };
            assert_eq!(*broken, expected, "{kind:?}: {what}");
            let refused = open(&store.location).err().unwrap();
            assert_eq!(refused.to_string(), found.to_string());
            assert!(refused.to_string().contains("budget verify"), "{refused}");
        }
    }
}

/// A backup that is put back under a running process, or a standby that had not received everything.
#[test]
fn a_log_that_has_lost_entries_is_not_served_from() {
    for kind in BOTH {
        let store = Store::new(kind);
        let mut log = store.open();
        write(&mut log, &["a", "b", "c", "d"]).unwrap();
        store.vandalise(
            "CREATE TABLE kept AS SELECT * FROM entries WHERE id > 3; DELETE FROM entries WHERE id > 3",
        );
        if kind == Kind::Postgres {
            store.vandalise(
                "CREATE TABLE kept_head AS SELECT id, hash FROM head;
                 UPDATE head SET (id, hash) = (SELECT id, hash FROM entries WHERE id = 3)",
            );
        }
        assert_eq!(verify(&store.location).unwrap().len(), 3, "{kind:?}: nobody else could tell");
        for _ in 0..2 {
            let lost = log.begin(5).unwrap_err();
            assert!(matches!(lost, LedgerError::Behind { seen: 5, found: 3, .. }), "{kind:?}: {lost}");
        }
        // Another process has no memory of it, and goes on as the owner must have wanted: with other entries.
        if kind == Kind::Postgres {
            let mut other = store.open();
            write(&mut other, &["C", "D", "E"]).unwrap();
            let lost = log.begin(5).unwrap_err();
            assert!(matches!(lost, LedgerError::Behind { seen: 5, found: 6, .. }), "{kind:?}: {lost}");
            store.vandalise("DELETE FROM entries WHERE id > 3");
        }
        // Brought back, they are the same.
        store.vandalise("INSERT INTO entries SELECT * FROM kept");
        if kind == Kind::Postgres {
            store.vandalise("UPDATE head SET (id, hash) = (SELECT id, hash FROM kept_head)");
        }
        assert!(log.begin(5).unwrap().rows.is_empty(), "{kind:?}");
    }
}

#[test]
fn accidents_are_stopped_by_the_database() {
    for kind in BOTH {
        let store = Store::new(kind);
        write(&mut store.open(), &["a", "b"]).unwrap();
        let mut all =
            vec!["UPDATE noisegate_ledger.entries SET body = 'x'", "DELETE FROM noisegate_ledger.entries"];
        match kind {
            Kind::Sqlite => {
                all.push(
                    "INSERT INTO noisegate_ledger.entries (id, body, hash) VALUES (9, '', zeroblob(32))",
                );
                all.push(
                    "REPLACE INTO noisegate_ledger.entries (id, body, hash) VALUES (2, '', zeroblob(32))",
                );
                let connection = rusqlite::Connection::open(store.file()).unwrap();
                for sql in all {
                    let sql = sql.replace("noisegate_ledger.", "");
                    assert!(connection.execute_batch(&sql).is_err(), "{sql}");
                }
            }
            Kind::Postgres => {
                all.push("TRUNCATE noisegate_ledger.entries");
                all.push("TRUNCATE noisegate_ledger.head");
                all.push("DELETE FROM noisegate_ledger.head");
                all.push("UPDATE noisegate_ledger.head SET id = 1");
                super::store::runtime().block_on(async {
                    let superuser = store.db().superuser().await;
                    for sql in all {
                        let error = superuser.batch_execute(sql).await.unwrap_err();
                        assert!(error.as_db_error().unwrap().message().contains("append-only"), "{sql}");
                    }
                });
            }
        }
        assert_eq!(verify(&store.location).unwrap().len(), 3);
    }
}
