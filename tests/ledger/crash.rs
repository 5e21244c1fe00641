//! `kill -9` at any moment: what was acknowledged is still known.

use noisegate::answer::Identity;
use noisegate::dp::{Charge, Ratio, Spec, UNITS_PER_ONE};
use noisegate::ledger::{Ledger, Terms};
use noisegate::policy::{Accounting, Budget, LedgerLocation, Scope};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const CHILD: &str = "NOISEGATE_TEST_LEDGER";

fn terms() -> Terms {
    let budget = Budget::new(
        "everyone",
        Scope::Dataset,
        Accounting::Notion(noisegate::dp::Notion::Pure),
        1_000_000.into(),
        0.into(),
    );
    Terms::unchecked(&[budget], "riders.rider_id")
}

fn open(path: &Path) -> Ledger {
    Ledger::open(&LedgerLocation::Sqlite(path.to_owned().into()), &terms()).unwrap()
}

fn charge() -> Charge {
    let epsilon = Ratio::new(1, 10);
    Charge::of(&epsilon, &[Spec::laplace(&epsilon, 1, &[1], None).unwrap()]).unwrap()
}

fn ada() -> Identity {
    Identity { user: "ada".into(), role: None }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// What the child does until it is killed: debits from several tasks, and prints a line for each that returned.
fn debit_forever(path: &Path) -> ! {
    runtime().block_on(async {
        let ledger = std::sync::Arc::new(open(path));
        for _ in 0..4 {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                loop {
                    let receipt = ledger
                        .debit(&ada(), [0; 32], &price::Proven::unproven(charge()))
                        .await
                        .unwrap_or_else(|e| panic!("{e}"));
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\npaid {}", receipt.entry()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
        std::future::pending().await
    })
}

fn entries(path: &Path) -> u128 {
    let ledger = open(path);
    let states = runtime().block_on(ledger.remaining(&ada())).unwrap();
    let spent = states.first().unwrap().reading().unwrap().0;
    assert_eq!(spent % (UNITS_PER_ONE / 10), 0, "no part of a debit");
    spent / (UNITS_PER_ONE / 10)
}

/// The test starts itself as a child that debits, and kills it.
#[test]
fn what_was_acknowledged_survives_kill_9() {
    if let Some(path) = std::env::var_os(CHILD) {
        debit_forever(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("books.db");
    Ledger::create(&LedgerLocation::Sqlite(path.clone().into()), &terms()).unwrap();
    let mut before = 0u128;
    for round in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::what_was_acknowledged_survives_kill_9", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // At least one debit has returned: then kill at once, or some time later.
        let first = lines.by_ref().map(Result::unwrap).find(|l| l.starts_with("paid "));
        assert!(first.is_some(), "the child never paid");
        std::thread::sleep(Duration::from_micros(round * round * 337));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = 1 + lines.map_while(Result::ok).filter(|l| l.starts_with("paid ")).count() as u128;
        let after = entries(&path);
        assert!(after >= before + acknowledged, "{after} known, {before} + {acknowledged} acknowledged");
        // Four callers: at most four debits were under way and unacknowledged, and four lines unread.
        assert!(after <= before + acknowledged + 8, "{after} known, {before} + {acknowledged} acknowledged");
        before = after;
    }
}
