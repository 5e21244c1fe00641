#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

fn place() -> (tempfile::TempDir, LedgerLocation) {
    let folder = tempfile::tempdir().unwrap();
    let location = LedgerLocation::Sqlite(folder.path().join("books.db").into());
    (folder, location)
}

#[test]
fn rows_are_chained_and_found_again() {
    let (_folder, location) = place();
    create(&location, &["first".into()]).unwrap();
    let mut log = open(&location).unwrap();
    log.replay(&mut |_| Ok(())).unwrap();
    let begun = log.begin(0).unwrap();
    assert_eq!(begun.rows.len(), 1);
    assert!(begun.now > 1_700_000_000_000_000);
    let row = log.append("second".into()).unwrap();
    assert_eq!((row.id, log.tip().id), (2, 1));
    log.commit().unwrap();
    assert_eq!(log.tip().id, 2);
    assert!(log.in_place());
    drop(log);
    let mut bodies = Vec::new();
    let tip = open(&location).unwrap().replay(&mut |row| {
        bodies.push(row.body.clone());
        Ok(())
    });
    assert_eq!(tip.unwrap().hash, row.hash);
    assert_eq!(bodies, ["first", "second"]);
}
