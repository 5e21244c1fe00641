//! The ledger's disk and file: full, read-only, gone, locked. Without a debit on disk there is no answer.

use super::{PRIVATE, RULES};
use crate::city::{self, PASSWORD, eventually, policy, rows, sqlstate};
use crate::support::{Gate, NOISEGATE, Workdir, connect, ready, run};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use tokio::process::Command;
use tokio_postgres::Client;

async fn books() -> Workdir {
    let db = city::bikes().await;
    let rules = format!("{RULES}[metrics]\nlisten = \"127.0.0.1:0\"\n");
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada"], &rules));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    dir
}

async fn ada(gate: &Gate) -> Client {
    connect(&gate.url("ada", PASSWORD, "bikes")).await
}

async fn shown(dir: &Workdir) -> String {
    dir.noisegate(&["budget", "show"]).await.stdout
}

fn tenths(n: u32) -> String {
    format!("ε = {}", f64::from(n) / 10.0)
}

/// A limit on the size of files stands in for a disk that is full.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_answers_and_room_brings_them_back() {
    let dir = books().await;
    let mut limited = Command::new("sh");
    // An ignored signal makes the write fail in place of the process.
    let script = "trap '' XFSZ; ulimit -S -f 256; exec \"$0\" serve --policy \"$1\"";
    limited.args(["-c", script, NOISEGATE]).arg(dir.policy());
    let gate = Gate::start_command(limited).await;
    let client = ada(&gate).await;
    let mut answers = 0;
    let code = loop {
        match rows(&client, PRIVATE).await {
            Ok(answer) => assert_eq!(answer.len(), 1),
            Err(e) => break e.code().unwrap().code().to_owned(),
        }
        answers += 1;
        assert!(answers < 500, "the disk never filled");
    };
    assert_eq!(code, "58030");
    assert!(answers > 0);
    // Who watches is told so, and in the same words however often they ask.
    eventually("it is not ready", async || ready(&gate).await.0 == 503).await;
    for _ in 0..20 {
        assert_eq!(ready(&gate).await, (503, "policy: the ledger cannot be written\n".into()));
    }
    // Each is tried, and refused; what costs nothing goes on.
    for _ in 0..3 {
        assert_eq!(sqlstate(&client, PRIVATE).await, "58030");
        assert_eq!(rows(&client, "SELECT count(*) FROM stations").await.unwrap().len(), 1);
    }
    assert!(shown(&dir).await.contains(&format!("{} of", tenths(answers))), "{}", shown(&dir).await);
    let mut room = Command::new("prlimit");
    room.args(["--fsize=unlimited:unlimited", "--pid", &gate.pid().to_string()]);
    let out = run(room, "").await;
    assert!(out.status.success(), "{out:?}");
    assert_eq!(rows(&client, PRIVATE).await.unwrap().len(), 1);
    eventually("it is ready", async || ready(&gate).await.0 == 200).await;
    assert!(shown(&dir).await.contains(&format!("{} of", tenths(answers + 1))), "{}", shown(&dir).await);
    gate.kill().await;
    let gate = dir.serve_again().await;
    assert_eq!(rows(&ada(&gate).await, PRIVATE).await.unwrap().len(), 1);
    assert!(shown(&dir).await.contains(&format!("{} of", tenths(answers + 2))), "{}", shown(&dir).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_be_written_is_refused_at_the_start() {
    let dir = books().await;
    let file = dir.path().join("noisegate.db");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let mut serve = Command::new(NOISEGATE);
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let place = tempfile::tempdir().unwrap();
    if root {
        // Nothing is read-only to root: somebody else serves from the same folder, by a program they can reach.
        let program = place.path().join("noisegate");
        std::fs::copy(NOISEGATE, &program).unwrap();
        for (path, mode) in [(place.path(), 0o755), (program.as_path(), 0o755), (dir.path(), 0o777)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(dir.policy(), PermissionsExt::from_mode(0o644)).unwrap();
        serve = Command::new(program);
        serve.uid(65534).gid(65534).current_dir("/");
    }
    serve.args(["serve", "--policy"]).arg(dir.policy());
    let out = run(serve, "").await;
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(out.stderr.contains("noisegate.db") && out.stdout.is_empty(), "{out:?}");
    assert!(!out.stderr.contains("panicked"), "{out:?}");
}

/// Debits that go to a file without a name would be forgotten at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_taken_away_ends_answers_until_it_is_back() {
    for name in ["noisegate.db", "noisegate.db-wal"] {
        let dir = books().await;
        let gate = dir.serve_again().await;
        let client = ada(&gate).await;
        assert_eq!(rows(&client, PRIVATE).await.unwrap().len(), 1);
        let (file, away) = (dir.path().join(name), dir.path().join("away"));
        assert!(file.exists(), "{name}");
        std::fs::rename(&file, &away).unwrap();
        for _ in 0..2 {
            assert_eq!(sqlstate(&client, PRIVATE).await, "57P03", "{name}");
            assert_eq!(rows(&client, "SELECT count(*) FROM stations").await.unwrap().len(), 1);
        }
        // An empty ledger in its place would forget what was spent: it is not made, and would not be taken.
        let out = dir.noisegate(&["budget", "create"]).await;
        assert!(!out.status.success() && out.stderr.contains("exists already"), "{name}: {out:?}");
        std::fs::copy(&away, &file).unwrap();
        assert_eq!(sqlstate(&client, PRIVATE).await, "57P03", "{name}");
        std::fs::rename(&away, &file).unwrap();
        assert_eq!(rows(&client, PRIVATE).await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_somebody_else_locks_ends_answers_until_it_is_free() {
    let dir = books().await;
    let gate = dir.serve_again().await;
    let client = ada(&gate).await;
    let other = rusqlite::Connection::open(dir.path().join("noisegate.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(sqlstate(&client, PRIVATE).await, "58030");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(rows(&client, PRIVATE).await.unwrap().len(), 1);
    assert!(shown(&dir).await.contains("ε = 0.1 of"), "{}", shown(&dir).await);
}
