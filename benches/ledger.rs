//! Debits per second, beside what the disk can sync: one caller cannot be faster than one sync per debit, many callers
//! share syncs.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group};
use noisegate::answer::Identity;
use noisegate::dp::{Charge, Ratio, Spec};
use noisegate::ledger::{Ledger, Terms};
use noisegate::policy::{Accounting, Budget, LedgerLocation, Scope};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// On the disk that builds go to: a temporary folder in memory would sync for free.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Time of `count` appends of one page, each followed by fdatasync.
fn syncs(count: u64) -> Duration {
    let folder = folder();
    let mut file = std::fs::File::create(folder.path().join("synced")).unwrap();
    let start = Instant::now();
    for _ in 0..count {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
    }
    start.elapsed()
}

fn charge() -> Charge {
    let epsilon = Ratio::new(1, 1_000_000);
    Charge::of(&epsilon, &[Spec::laplace(&epsilon, 4, &[1, 60], None).unwrap()]).unwrap()
}

/// A dataset-wide budget and a quota, as a policy has them.
fn terms() -> Terms {
    let budgets = [("everyone", Scope::Dataset), ("analyst", Scope::User)].map(|(name, scope)| {
        Budget::new(name, scope, Accounting::Zcdp, 1_000_000.into(), "1e-6".parse().unwrap())
    });
    Terms::unchecked(&budgets, "riders.rider_id")
}

/// Time in which `tasks` callers make `count` debits in all.
fn debits(runtime: &tokio::runtime::Runtime, tasks: u64, count: u64) -> Duration {
    let folder = folder();
    let place = LedgerLocation::Sqlite(folder.path().join("books.db"));
    Ledger::create(&place, &terms()).unwrap();
    let ledger = Arc::new(Ledger::open(&place, &terms()).unwrap());
    let charge = Arc::new(charge());
    runtime.block_on(async {
        let start = Instant::now();
        let callers: Vec<_> = (0..tasks)
            .map(|task| {
                let (ledger, charge) = (ledger.clone(), charge.clone());
                let share = count / tasks + u64::from(task < count % tasks);
                tokio::spawn(async move {
                    let who = Identity { user: format!("user{}", task % 8), role: None };
                    for _ in 0..share {
                        ledger.debit(&who, [0; 32], &charge).await.unwrap();
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        start.elapsed()
    })
}

fn bench(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut group = c.benchmark_group("ledger");
    group.throughput(Throughput::Elements(1)).sample_size(10).measurement_time(Duration::from_secs(3));
    group.bench_function("fdatasync", |b| b.iter_custom(syncs));
    for tasks in [1, 64] {
        group.bench_function(format!("debit, {tasks} tasks"), |b| {
            b.iter_custom(|count| debits(&runtime, tasks, count));
        });
    }
    group.finish();
    let rate = |count: u64, time: Duration| count as f64 / time.as_secs_f64();
    println!(
        "this disk: {:.0} fdatasync/s; debits/s: {:.0} with 1 task, {:.0} with 64 tasks",
        rate(500, syncs(500)),
        rate(500, debits(&runtime, 1, 500)),
        rate(10_000, debits(&runtime, 64, 10_000))
    );
}

criterion_group!(benches, bench);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
