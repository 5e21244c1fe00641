//! Debits per second, beside what this disk can sync: one caller cannot be faster than one sync for each debit, many
//! callers share syncs, and proxies that share a ledger in PostgreSQL take turns.
//!
//! Everything is measured in one run, by turns, because a disk is not as fast in one minute as in the next. What is
//! printed are medians of the rounds, and of their ratios.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use noisegate::answer::Identity;
use noisegate::demo::{Binaries, Cluster, Options};
use noisegate::dp::{Charge, Ratio, Spec};
use noisegate::ledger::{Ledger, Opened, Opens, Question, ReadTerms, Terms};
use noisegate::policy::{Accounting, Budget, LedgerDatabase, LedgerLocation, Scope};
use noisegate::price::Proven;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const ROUNDS: usize = 7;
/// How long each of a round's measurements takes.
const TURN: Duration = Duration::from_secs(1);

/// On the disk that builds go to: a temporary folder in memory would sync for free.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A dataset-wide budget and a quota, as a policy has them.
fn terms() -> Terms {
    let budgets = [("everyone", Scope::Dataset), ("analyst", Scope::User)].map(|(name, scope)| {
        Budget::new(
            name,
            scope,
            Accounting::Notion(noisegate::dp::Notion::Zcdp),
            1_000_000.into(),
            "1e-6".parse().unwrap(),
        )
    });
    Terms::unchecked(&budgets, "riders.rider_id")
}

fn charge() -> Proven {
    let epsilon = Ratio::new(1, 1_000_000);
    let charge = Charge::of(&epsilon, &[Spec::laplace(&epsilon, 4, &[1, 60], None).unwrap()]).unwrap();
    Proven::unproven(charge)
}

/// Appends of one page a second, each followed by fdatasync.
fn syncs() -> f64 {
    let folder = folder();
    let mut file = std::fs::File::create(folder.path().join("synced")).unwrap();
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < TURN {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// Debits a second by so many sessions on each of these ledgers.
fn debits(runtime: &Runtime, ledgers: &[Ledger], sessions: u32) -> f64 {
    let charge = Arc::new(charge());
    runtime.block_on(async {
        let start = Instant::now();
        let mut callers = Vec::new();
        for ledger in ledgers {
            for session in 0..sessions {
                let (ledger, charge) = (ledger.clone(), charge.clone());
                let who = Identity { user: format!("user{}", session % 8), role: None };
                callers.push(tokio::spawn(async move {
                    let mut count = 0;
                    while start.elapsed() < TURN {
                        ledger.debit(&who, [0; 32], &charge).await.unwrap();
                        count += 1;
                    }
                    count
                }));
            }
        }
        let mut count = 0;
        for caller in callers {
            count += caller.await.unwrap();
        }
        f64::from(count) / start.elapsed().as_secs_f64()
    })
}

/// Questions a second to a stream, by one session: a place for the read, with the books' word that the opening still pays,
/// and back. Without an opening there is nothing to ask the books for.
fn questions(runtime: &Runtime, ledger: &Ledger, opening: Option<i64>) -> f64 {
    let terms = ReadTerms { limit: 5, lease: Duration::from_secs(15) };
    runtime.block_on(async {
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < TURN {
            let opened = opening.map(|entry| Opened { user: "ada", stream: "bell", entry });
            // Giving a place back is not waited for: the next may come before it.
            match ledger.reserve("ada", opened, terms).await.unwrap() {
                Some(place) => {
                    place.ended_well();
                    count += 1;
                }
                None => tokio::task::yield_now().await,
            }
        }
        f64::from(count) / start.elapsed().as_secs_f64()
    })
}

/// Opens a stream, and gives the entry that paid.
fn open_stream(runtime: &Runtime, ledger: &Ledger) -> i64 {
    let (who, charge) = (Identity { user: "ada".into(), role: None }, charge());
    let question = Question {
        stream: Some(Opens { name: "bell", after: None }),
        ..Question::new(&who, [0; 32], &charge)
    };
    runtime.block_on(ledger.receipt(question)).unwrap().entry()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = folder();
    let file = LedgerLocation::Sqlite(folder.path().join("books.db").into());
    Ledger::create(&file, &terms()).unwrap();
    let file = [Ledger::open(&file, &terms()).unwrap()];

    // As servers are by default, and tests' servers are not: a commit is on disk when it returns.
    let mut options = Options::new(env!("CARGO_BIN_EXE_noisegate"));
    for name in ["fsync", "full_page_writes", "autovacuum"] {
        options.settings.push((name.into(), "on".into()));
    }
    let cluster = Cluster::start(&Binaries::find().unwrap(), &options).unwrap();
    let database = LedgerLocation::Postgres(LedgerDatabase {
        url: cluster.superuser_url("postgres").into(),
        password_file: None,
        schema: "noisegate_ledger".into(),
        timeout: Duration::from_secs(10),
        mark: folder.path().join("database.mark").into(),
    });
    Ledger::create(&database, &terms()).unwrap();
    // Two connections and two writers, as two processes have them.
    let proxies = [0, 1].map(|_| Ledger::open(&database, &terms()).unwrap());

    let opening = open_stream(&runtime, &file[0]);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (sync, one, many) = (syncs(), debits(&runtime, &file, 1), debits(&runtime, &file, 64));
        let (alone, shared) = (debits(&runtime, &proxies[..1], 32), debits(&runtime, &proxies, 32));
        let (unasked, asked) =
            (questions(&runtime, &file[0], None), questions(&runtime, &file[0], Some(opening)));
        println!("{sync:8.0} {one:8.0} {many:8.0} {alone:8.0} {shared:8.0} {unasked:8.0} {asked:8.0}");
        rounds.push([sync, one, many, alone, shared, unasked, asked]);
    }
    let rate = |n: usize| median(rounds.iter().map(|r| r[n]).collect());
    let ratio = |n: usize| median(rounds.iter().map(|r| r[n] / r[0]).collect());
    println!("this disk: {:.0} fdatasync/s of one page, by one writer", rate(0));
    println!(
        "SQLite, 1 session: {:.0} debits/s, {:.0} % of that (aim: 80 %, {})",
        rate(1),
        100.0 * ratio(1),
        { verdict(ratio(1) >= 0.8) }
    );
    println!(
        "SQLite, 64 sessions: {:.0} debits/s, {:.1} times that (aim: 40,000/s, {})",
        rate(2),
        ratio(2),
        verdict(rate(2) >= 40_000.0)
    );
    println!("PostgreSQL, 1 proxy with 32 sessions: {:.0} debits/s", rate(3));
    println!(
        "PostgreSQL, 2 proxies with 32 sessions each: {:.0} debits/s (aim: 1,000, {})",
        rate(4),
        verdict(rate(4) >= 1_000.0)
    );
    let checked = median(rounds.iter().map(|r| r[6] / r[5]).collect());
    println!(
        "SQLite, 1 session: {:.0} questions/s to a stream, {:.2} times as many as without asking whether its opening \
         still pays",
        rate(6),
        checked
    );
}
