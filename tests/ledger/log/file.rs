//! What happens to a file: another process, another place, another format, a torn end, a full disk.

use super::store::{FIRST, Kind, Store, bodies, open, verify, write};
use noisegate::ledger::LedgerError;
use noisegate::ledger::log;
use noisegate::policy::LedgerLocation;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn one_process_has_a_file() {
    let store = Store::new(Kind::Sqlite);
    assert_eq!(std::fs::metadata(store.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut log = store.open();
    let second = open(&store.location).err().unwrap();
    assert!(matches!(second, LedgerError::InUse(_)), "{second}");
    assert!(second.to_string().contains("in use by another noisegate process"));
    write(&mut log, &["a"]).unwrap();
    // The owner's tools read beside it.
    assert_eq!(verify(&store.location).unwrap().len(), 2);
    let mut reader = log::open_read_only(&store.location).unwrap();
    assert!(reader.begin(0).is_err() || reader.append("x".into()).is_err(), "and do not write");
    // By another name it is the same file, and no file for a lock is left for others to hold.
    let link = store.file().with_file_name("link.db");
    std::fs::hard_link(store.file(), &link).unwrap();
    for name in [&store.file(), &link] {
        let refused = open(&LedgerLocation::Sqlite(name.clone().into())).err().unwrap();
        assert!(matches!(refused, LedgerError::Linked(_)), "{refused}");
    }
    std::fs::rename(store.file(), store.file().with_file_name("away")).unwrap();
    std::fs::remove_file(store.file().with_file_name("away")).unwrap();
    let refused = open(&LedgerLocation::Sqlite(link.clone().into())).err().unwrap();
    assert!(matches!(refused, LedgerError::InUse(_)), "{refused}");
    let other = Command::new("flock").args(["--nonblock", "--exclusive"]).arg(&link).arg("true").status();
    assert!(!other.unwrap().success(), "another process would have it");
    std::fs::rename(&link, store.file()).unwrap();
    assert!(log.in_place());
    drop(log);
    store.open();
    assert!(!store.file().with_file_name("books.db-lock").exists());
}

#[test]
fn a_file_that_is_moved_or_replaced_is_noticed_until_it_is_back() {
    let store = Store::new(Kind::Sqlite);
    let mut log = store.open();
    write(&mut log, &["a"]).unwrap();
    for suffix in ["", "-wal"] {
        let file = store.file().with_file_name(format!("books.db{suffix}"));
        let away = file.with_file_name("away");
        assert!(log.in_place());
        std::fs::rename(&file, &away).unwrap();
        assert!(!log.in_place(), "{suffix}: gone");
        assert!(matches!(log::create(&store.location, &[]), Err(LedgerError::Exists(_))), "{suffix}");
        std::fs::copy(&away, &file).unwrap();
        assert!(!log.in_place(), "{suffix}: a copy");
        std::fs::rename(&away, &file).unwrap();
        assert!(log.in_place(), "{suffix}");
        write(&mut log, &["b"]).unwrap();
    }
}

#[test]
fn what_is_no_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("books.db");
    let location = LedgerLocation::Sqlite(file.clone().into());
    let refused = |what: &str| {
        for refused in [open(&location).err(), log::open_read_only(&location).err()] {
            let refused = refused.unwrap();
            assert!(matches!(refused, LedgerError::Foreign { .. } | LedgerError::Old(_)), "{refused}");
            assert!(refused.to_string().contains(what), "{refused}");
        }
        let _ = std::fs::remove_file(&file);
    };
    std::fs::write(&file, "this is a text of more than a hundred bytes ".repeat(40)).unwrap();
    refused("not a SQLite file");
    let sqlite = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    sqlite("CREATE TABLE t (x)");
    refused("another kind of SQLite file");
    sqlite("PRAGMA application_id = 0x6e674c47; PRAGMA user_version = 4; CREATE TABLE t (x)");
    refused("its format is 4");
    // Those of versions before the mark: what they hold is not forgotten silently.
    for version in [1, 2] {
        sqlite(&format!(
            "PRAGMA application_id = 0x6e674c47; PRAGMA user_version = {version}; CREATE TABLE entries (x)"
        ));
        refused("lower the budgets");
    }
}

/// The file and its WAL as a crash leaves them, without the process that wrote them.
fn crashed(from: &Path) -> (tempfile::TempDir, LedgerLocation) {
    let folder = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("books.db{suffix}");
        std::fs::copy(from.with_file_name(&name), folder.path().join(&name)).unwrap();
    }
    let location = LedgerLocation::Sqlite(folder.path().join("books.db").into());
    (folder, location)
}

#[test]
fn a_torn_end_leaves_whole_batches_in_order() {
    let store = Store::new(Kind::Sqlite);
    let mut log = store.open();
    for n in 0..12 {
        let body = format!("{n}{}", "x".repeat(n * 333));
        write(&mut log, &vec![body.as_str(); n % 3 + 1]).unwrap();
    }
    let all = verify(&store.location).unwrap();
    let ends: Vec<usize> =
        (0..=12).map(|batches| 1 + (0..batches).map(|n| n % 3 + 1).sum::<usize>()).collect();
    let wal = std::fs::metadata(store.file().with_file_name("books.db-wal")).unwrap().len();
    let mut lengths = Vec::new();
    for cut in (0..=wal).step_by(1237).chain([wal]) {
        for flip in [false, true] {
            let (folder, location) = crashed(&store.file());
            let path = folder.path().join("books.db-wal");
            if flip {
                // The sector was being written.
                let mut bytes = std::fs::read(&path).unwrap();
                let Some(byte) = bytes.get_mut(cut as usize) else { continue };
                *byte ^= 0x40;
                std::fs::write(&path, bytes).unwrap();
            } else {
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            }
            let mut log = open(&location).unwrap_or_else(|e| panic!("{cut} {flip}: {e}"));
            let rows = log.begin(0).unwrap().rows;
            assert!(ends.contains(&rows.len()), "{cut}: {} rows are no whole batches", rows.len());
            assert_eq!(rows[..], all[..rows.len()], "{cut}");
            log.abandon();
            // And it goes on from there.
            write(&mut log, &["on"]).unwrap();
            drop(log);
            assert_eq!(verify(&location).unwrap().len(), rows.len() + 1);
            lengths.push(rows.len());
        }
    }
    assert!(lengths.contains(&1) && lengths.contains(&all.len()), "{lengths:?}");
}

/// A disk that lies: a byte of the file is another one. Nothing is read as if it were right.
#[test]
fn a_damaged_page_is_noticed() {
    let store = Store::new(Kind::Sqlite);
    let mut log = store.open();
    for n in 0..40 {
        write(&mut log, &[&format!("{n}{}", "y".repeat(200))]).unwrap();
    }
    // Closing writes everything to the file.
    drop(log);
    let all = verify(&store.location).unwrap();
    let bytes = std::fs::read(store.file()).unwrap();
    let mut noticed = 0;
    for at in (0..bytes.len()).step_by(97) {
        let folder = tempfile::tempdir().unwrap();
        let location = LedgerLocation::Sqlite(folder.path().join("books.db").into());
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x11;
        std::fs::write(folder.path().join("books.db"), bytes).unwrap();
        match verify(&location) {
            // Most of a page may be free.
            Ok(rows) => assert_eq!(rows, all, "byte {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 50, "{noticed}");
}

const CHILD: &str = "NOISEGATE_TEST_FULL";

/// Appends until the disk is full, three times more, and once more when it is told that there is room.
fn fill(path: &Path) {
    let mut log = open(&LedgerLocation::Sqlite(path.to_owned().into())).unwrap();
    let body = "z".repeat(500);
    let mut errors = 0;
    while errors < 3 {
        match write(&mut log, &[&body]) {
            Ok(rows) => println!("\ncommitted {}", rows[0].id),
            Err(error) => {
                errors += 1;
                println!("\nfull: {error}");
            }
        }
    }
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("\ncommitted {}", write(&mut log, &["room"]).unwrap()[0].id);
}

/// A limit on the size of files stands in for a disk that is full.
#[test]
fn a_full_disk_loses_nothing_and_room_is_enough() {
    if let Some(path) = std::env::var_os(CHILD) {
        fill(Path::new(&path));
        return;
    }
    let store = Store::new(Kind::Sqlite);
    // An ignored signal makes the write fail in place of the process.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -S -f 200; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "log::file::a_full_disk_loses_nothing_and_room_is_enough", "--nocapture"])
        .env(CHILD, store.file())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut committed = 0;
    let mut errors = Vec::new();
    while errors.len() < 3 {
        let line = lines.next().expect("the disk never filled");
        if line.starts_with("committed ") {
            assert!(errors.is_empty(), "{line} after {errors:?}");
            committed += 1;
        } else if let Some(error) = line.strip_prefix("full: ") {
            errors.push(error.to_owned());
        }
    }
    assert!(committed > 5, "{committed}");
    assert!(errors.iter().all(|e| e.contains("books.db")), "{errors:?}");
    let room = Command::new("prlimit")
        .args(["--fsize=unlimited:unlimited", "--pid", &child.id().to_string()])
        .status();
    assert!(room.unwrap().success());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let last = lines.find(|l| l.starts_with("committed ")).unwrap();
    assert!(child.wait().unwrap().success());
    let rows = verify(&store.location).unwrap();
    assert_eq!(rows.len(), 1 + committed + 1, "{last}");
    assert_eq!((bodies(&rows)[0], rows.last().unwrap().body.as_str()), (FIRST, "room"));
}
