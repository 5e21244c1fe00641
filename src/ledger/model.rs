#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Random sessions, faults between every two steps of the writer, and restarts, against a model that only adds up.
//!
//! A crash is a copy of the files at that moment, from which the next process starts: that is what `kill -9` leaves. A torn
//! write cuts what the last commit wrote. Other faults are an error before a step, and an error after it (a commit that
//! may or may not be on disk). The clock jumps, backwards too. Behind a crash the end of the file may be lost, and an owner
//! restores it.
//!
//! It runs for 20 seconds, with `NIGHTLY=1` for ten minutes, with `LEDGER_MODEL_SECONDS=n` for n seconds.
//! `LEDGER_MODEL_SEED` runs one world again.

mod shared;

use super::log::{self, Begun, Forget, Kept, Log, ReadChange, Row, Shelf, Tip, Visit};
use super::mark::Mark;
use super::*;
use dp::{Ratio, Spec, UNITS_PER_ONE};
use policy::{Accounting, Scope, Window};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

const DAY: i64 = 86_400_000_000;
const NAME: &str = "books.db";

/// SplitMix64: a world is its seed.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Crash,
    TornCommit,
    ErrorBefore,
    ErrorAfter,
    /// Not one of the world's: a commit that says that it is on disk, and is not, before a crash.
    Forgotten,
}

/// When what goes wrong.
struct Plan {
    steps: u64,
    fault: Fault,
    /// The files of the next process.
    left: Option<PathBuf>,
    /// Moves the clock.
    clock: i64,
    dice: Dice,
}

struct Faulty {
    log: Box<dyn Log>,
    folder: PathBuf,
    plan: Arc<Mutex<Plan>>,
}

fn failed() -> LedgerError {
    LedgerError::Io { path: PathBuf::from(NAME).into(), cause: "a fault of the test".into() }
}

fn copy(from: &Path, cut: u64) -> PathBuf {
    let to = tempfile::tempdir().unwrap().keep();
    for name in [NAME.to_owned(), format!("{NAME}-wal")] {
        if from.join(&name).exists() {
            std::fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
    // The mark of the copy is its own: a crash leaves the file where it is.
    let mark = |folder: &Path| Mark::find(&LedgerLocation::Sqlite(folder.join(NAME).into()), true).unwrap();
    let found = mark(from);
    let (seen, tip) = (found.seen().unwrap(), found.tip().unwrap());
    mark(&to).write(seen.first, tip, seen.restored).unwrap();
    if cut > 0 {
        let wal = std::fs::OpenOptions::new().write(true).open(to.join(format!("{NAME}-wal"))).unwrap();
        let length = wal.metadata().unwrap().len();
        wal.set_len(length - cut).unwrap();
    }
    to
}

impl Faulty {
    /// One step: done, or not, or both.
    fn step<T>(
        &mut self,
        commit: bool,
        work: impl FnOnce(&mut dyn Log) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let wal = || std::fs::metadata(self.folder.join(format!("{NAME}-wal"))).map_or(0, |m| m.len());
        let (before, plan) = (wal(), self.plan.clone());
        let mut plan = plan.lock().unwrap();
        if plan.left.is_some() {
            return Err(failed());
        }
        plan.steps = plan.steps.saturating_sub(1);
        if plan.steps > 0 {
            drop(plan);
            return work(self.log.as_mut());
        }
        if plan.fault == Fault::Forgotten && !commit {
            plan.steps = 1;
            drop(plan);
            return work(self.log.as_mut());
        }
        plan.steps = u64::MAX;
        match plan.fault {
            Fault::Forgotten => {
                plan.left = Some(copy(&self.folder, 0));
                work(self.log.as_mut())
            }
            Fault::Crash => {
                plan.left = Some(copy(&self.folder, 0));
                Err(failed())
            }
            Fault::TornCommit if commit => {
                let done = work(self.log.as_mut());
                let written = wal().saturating_sub(before);
                let cut = if written == 0 { 0 } else { 1 + plan.dice.below(written) };
                plan.left = Some(copy(&self.folder, cut));
                done.and(Err(failed()))
            }
            Fault::ErrorBefore => Err(failed()),
            Fault::TornCommit | Fault::ErrorAfter => work(self.log.as_mut()).and(Err(failed())),
        }
    }
}

impl Log for Faulty {
    fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        self.step(false, |log| log.replay(visit))
    }

    fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
        let begun = self.step(false, |log| log.begin(after))?;
        let mut plan = self.plan.lock().unwrap();
        let jump = plan.dice.below(30);
        plan.clock += match jump {
            0 => DAY,
            1 => -2 * DAY,
            2 => 40 * DAY,
            n => i64::try_from(n).unwrap() * 1000,
        };
        Ok(Begun { now: plan.clock, ..begun })
    }

    fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        self.step(false, |log| log.append(body))
    }

    fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        self.step(false, |log| log.note(change))
    }

    fn relax(&mut self, relaxed: bool) {
        self.log.relax(relaxed);
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.step(true, |log| log.commit())
    }

    fn abandon(&mut self) {
        self.log.abandon();
    }

    fn in_place(&self) -> bool {
        self.log.in_place()
    }

    fn tip(&self) -> Tip {
        self.log.tip()
    }
}

impl Shelf for Faulty {
    fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError> {
        self.step(false, |log| log.put(key, entry, epoch, bytes))
    }

    fn look(&mut self, keys: &[[u8; 32]]) -> Result<(), LedgerError> {
        self.step(false, |log| log.look(keys))
    }

    fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        self.step(false, |log| log.get(key))
    }

    fn forget(&mut self, what: Forget) -> Result<u64, LedgerError> {
        self.step(false, |log| log.forget(what))
    }

    fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError> {
        self.step(false, |log| log.make_room(cap))
    }

    fn stored(&mut self) -> Result<u64, LedgerError> {
        self.step(false, |log| log.stored())
    }
}

const TENTH: u128 = UNITS_PER_ONE / 10;

/// Limits in tenths.
const EVERYONE: u128 = 40;
const PER_DAY: u128 = 3;
const TRIPS: u128 = 25;

fn terms() -> Terms {
    let pure = |name: &str, scope, tenths: u128| {
        let epsilon = bigdecimal::BigDecimal::from(tenths) / 10;
        Budget::new(name, scope, Accounting::Notion(dp::Notion::Pure), epsilon, 0.into())
    };
    Terms::unchecked(
        &[
            pure("everyone", Scope::Dataset, EVERYONE),
            Budget { window: Some(Window::Days(1)), ..pure("day", Scope::User, PER_DAY) },
            Budget { tables: vec!["trips".into()], ..pure("trips", Scope::Dataset, TRIPS) },
        ],
        "riders.rider_id",
    )
}

fn charge() -> Proven {
    let epsilon = Ratio::new(1, 10);
    Proven::unproven(Charge::of(&epsilon, &[Spec::laplace(&epsilon, 1, &[1], None).unwrap()]).unwrap())
}

/// What the clients know.
#[derive(Default)]
struct Known {
    /// Entries of receipts, and who has them.
    paid: HashMap<i64, String>,
    /// Debits that ended in an error: they may stand or not.
    unsure: usize,
    kept: HashMap<[u8; 32], Vec<u8>>,
    refused: usize,
    /// Receipts whose entries were lost with the end of the file.
    lost: usize,
}

/// What one client does for a while. Gives what it learned.
async fn client(ledger: Ledger, user: String, mut dice: Dice) -> Known {
    let mut known = Known::default();
    let who = Identity { user: user.clone(), role: None };
    for _ in 0..1 + dice.below(4) {
        let charge = charge();
        // Few keys: clients ask for the same releases.
        let key = [dice.below(6) as u8; 32];
        let release = (dice.below(2) == 0).then_some(key);
        let question = Question { release, ..Question::new(&who, [7; 32], &charge) };
        match ledger.pay(question).await {
            Ok(Payment::Paid(receipt)) => {
                assert_eq!(receipt.charge(), charge.charge());
                assert!(known.paid.insert(receipt.entry(), user.clone()).is_none());
                if release.is_some() {
                    let bytes = receipt.entry().to_be_bytes().to_vec();
                    if dice.below(3) == 0 {
                        let _ = ledger.give_up(receipt.entry(), key).await;
                    } else if ledger.keep(receipt.entry(), key, bytes.clone()).await.is_ok() {
                        known.kept.entry(key).or_insert(bytes);
                    }
                }
            }
            Ok(Payment::Kept(_)) => {
                let _ = ledger.reuse(&who, [7; 32], key).await;
            }
            Ok(Payment::Wait | Payment::Full) => {}
            Err(Refusal::Exhausted(_)) => known.refused += 1,
            Err(Refusal::Unavailable(_) | Refusal::Away(_)) => known.unsure += 1,
            Err(e) => panic!("{e}"),
        }
    }
    known
}

/// Adds up what the entries say, by a reading of its own.
fn tally(folder: &Path, known: &Known) -> u128 {
    let mut owner =
        Owner::read(&LedgerLocation::Sqlite(folder.join(NAME).into())).unwrap_or_else(|e| panic!("{e}"));
    let mut sums: HashMap<(String, String, i64), u128> = HashMap::new();
    let (mut debits, mut last_at, mut users) = (0, 0, HashMap::new());
    let mut ids = HashSet::new();
    // When an owner restored it, and for how many entries.
    let mut restored: Vec<(i64, u128)> = Vec::new();
    owner
        .export(|line| {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let entry = &line["entry"];
            assert!(entry["at"].as_i64().unwrap() >= last_at);
            last_at = entry["at"].as_i64().unwrap();
            if let Some(restore) = entry["what"].get("restore") {
                let times = restore["charge"]["events"][0]["times"].as_u64().unwrap();
                restored.push((last_at, times.into()));
            }
            let Some(debit) = entry["what"].get("debit") else { return };
            debits += 1;
            assert!(ids.insert(debit["id"].as_str().unwrap().to_owned()), "an asking was written twice");
            users.insert(line["id"].as_i64().unwrap(), debit["user"].as_str().unwrap().to_owned());
            for paid in debit["paid"].as_array().unwrap() {
                let text = |key: &str| paid[key].as_str().unwrap().to_owned();
                let window = paid.get("window").map_or(0, |w| w.as_i64().unwrap());
                if window != 0 {
                    assert!((window..window + DAY).contains(&last_at));
                }
                *sums.entry((text("budget"), text("owner"), window)).or_default() +=
                    text("loss").parse::<u128>().unwrap();
            }
        })
        .unwrap();
    // Nothing that was answered is forgotten, and nothing is there that nobody asked for.
    for (entry, user) in &known.paid {
        assert_eq!(users.get(entry), Some(user), "entry {entry} was acknowledged");
    }
    assert!(debits >= known.paid.len() && debits <= known.paid.len() + known.unsure, "{debits} debits");
    // Never one too many, with those that were lost.
    assert!(known.paid.len() + known.lost <= EVERYONE as usize, "{} lost", known.lost);
    for ((budget, owner, window), sum) in &sums {
        let limit = match budget.as_str() {
            "everyone" => EVERYONE,
            "day" => PER_DAY,
            _ => TRIPS,
        };
        assert!(*sum <= limit * TENTH, "{budget} of {owner:?} in {window}: {sum}");
    }
    // The books say the same.
    for summary in owner.budgets() {
        for share in summary.shares {
            let window = summary.budget.window.and(share.state.next).map_or(0, |next| next - DAY);
            let sum = sums.get(&(summary.budget.name.clone(), share.owner.clone(), window));
            let in_window = |at: i64| window == 0 || (window..window + DAY).contains(&at);
            let lost: u128 = restored.iter().filter(|(at, _)| in_window(*at)).map(|(_, n)| n * TENTH).sum();
            let spent = share.state.reading().unwrap().0;
            assert_eq!(spent, sum.copied().unwrap_or(0) + lost, "{}", summary.budget.name);
        }
    }
    debits as u128
}

/// The end of the WAL is lost behind a crash. Where that takes what the mark knows, nothing is served before its owner says
/// what it cost. Gives whether it did.
fn lose_the_end(folder: &Path, known: &mut Known, dice: &mut Dice) -> bool {
    let place = LedgerLocation::Sqlite(folder.join(NAME).into());
    let Ok(wal) = std::fs::OpenOptions::new().write(true).open(folder.join(format!("{NAME}-wal"))) else {
        return false;
    };
    wal.set_len(dice.below(1 + wal.metadata().unwrap().len())).unwrap();
    // Stored answers may be gone where no entry is: asking again is paid for.
    known.kept.clear();
    let Err(refused) = Ledger::open(&place, &terms()) else { return false };
    let LedgerError::Mark(Mismatch::Behind { .. }) = refused else { panic!("{refused}") };
    assert!(verify(&place).is_err());
    let found = Owner::read(&place).unwrap().head().id;
    let (epsilon, delta) = ("0.1".parse().unwrap(), 0.into());
    let missing = Missing { epsilon: &epsilon, delta: &delta, entries: None };
    Owner::restore(&place, Some(missing), "owner", "a crash").unwrap();
    let before = known.paid.len();
    known.paid.retain(|entry, _| *entry <= found);
    known.lost += before - known.paid.len();
    true
}

/// One ledger from its creation until its budget is spent, or its clients are tired; with one kind of fault, or with all.
/// Gives how often it was restarted, and how often it was restored.
fn world(seed: u64, runtime: &tokio::runtime::Runtime, only: Option<Fault>) -> [u32; 2] {
    let mut dice = Dice(seed);
    let mut folder = tempfile::tempdir().unwrap().keep();
    let place = |folder: &Path| LedgerLocation::Sqlite(folder.join(NAME).into());
    Ledger::create(&place(&folder), &terms()).unwrap();
    let clock = 20_000 * DAY + i64::try_from(dice.below(1 << 40)).unwrap();
    let (mut clock, mut known) = (crate::time::clock().max(clock), Known::default());
    let (mut restarts, mut restored) = (0, 0);
    for _ in 0..40 {
        let mut keeper = Keeper::open(&place(&folder)).unwrap_or_else(|e| panic!("{e}"));
        let fault =
            [Fault::Crash, Fault::TornCommit, Fault::ErrorBefore, Fault::ErrorAfter][dice.below(4) as usize];
        let fault = only.unwrap_or(fault);
        let steps = 1 + dice.below(40);
        let plan = Plan { steps, fault, left: None, clock, dice: Dice(dice.next()) };
        let plan = Arc::new(Mutex::new(plan));
        let (folder_now, plan_now) = (folder.clone(), plan.clone());
        keeper.log = Box::new(Faulty { log: keeper.log, folder: folder_now, plan: plan_now });
        let terms = terms();
        let ledger = Ledger::start(keeper, terms.check().unwrap(), terms.budgets()).unwrap();
        let ledger = ledger.with_lease(Duration::from_millis(dice.below(3) * 5));
        let clients: Vec<Dice> = (0..1 + dice.below(8)).map(|_| Dice(dice.next())).collect();
        let learned = runtime.block_on(async {
            let task =
                |(n, dice): (usize, Dice)| tokio::spawn(client(ledger.clone(), format!("u{}", n % 3), dice));
            let tasks: Vec<_> = clients.into_iter().enumerate().map(task).collect();
            let mut learned = Vec::new();
            for task in tasks {
                learned.push(task.await.unwrap());
            }
            learned
        });
        drop(ledger);
        for one in learned {
            known.paid.extend(one.paid);
            known.unsure += one.unsure;
            known.refused += one.refused;
            for (key, bytes) in one.kept {
                known.kept.entry(key).or_insert(bytes);
            }
        }
        let mut plan = plan.lock().unwrap();
        clock = plan.clock;
        if let Some(left) = plan.left.take() {
            std::fs::remove_dir_all(&folder).unwrap();
            folder = left;
            restarts += 1;
            if only.is_none() && dice.below(2) == 0 {
                restored += u32::from(lose_the_end(&folder, &mut known, &mut dice));
            }
        }
        let debits = tally(&folder, &known);
        // Kept releases are there, and are those that were kept first.
        let mut log = log::open(&place(&folder)).unwrap();
        for key in known.kept.keys() {
            assert!(log.get(key).unwrap().is_some(), "a kept release is gone");
        }
        if debits == EVERYONE || known.refused > 40 {
            break;
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    [restarts, restored]
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

/// After a failure at any step the books are those of the disk again: neither ahead of it nor behind.
#[test]
fn after_a_failed_batch_the_books_are_what_the_log_says() {
    let (runtime, who) = (runtime(), Identity { user: "u".into(), role: None });
    let folder = tempfile::tempdir().unwrap();
    let place = LedgerLocation::Sqlite(folder.path().join(NAME).into());
    Ledger::create(&place, &terms()).unwrap();
    let (mut failures, mut written, mut clock) = (0, 0, crate::time::clock());
    for fault in [Fault::ErrorBefore, Fault::ErrorAfter] {
        // One batch looks, begins, appends and commits.
        for steps in 1..=4 {
            let mut keeper = Keeper::open(&place).unwrap();
            clock += 2 * DAY;
            let plan = Plan { steps, fault, left: None, clock, dice: Dice(9) };
            let (folder, plan) = (folder.path().to_owned(), Arc::new(Mutex::new(plan)));
            keeper.log = Box::new(Faulty { log: keeper.log, folder, plan });
            let ledger = Ledger::start(keeper, terms().check().unwrap(), terms().budgets()).unwrap();
            runtime.block_on(async {
                for _ in 0..2 {
                    match ledger.debit(&who, [7; 32], &charge()).await {
                        Ok(_) => written += 1,
                        Err(e) => {
                            assert!(matches!(e, Refusal::Unavailable(_)), "{e}");
                            failures += 1;
                            written += u128::from(fault == Fault::ErrorAfter && steps == 4);
                        }
                    }
                    let states = ledger.remaining(&who).await.unwrap();
                    assert_eq!(states[0].reading().unwrap().0, written * TENTH, "{fault:?} at {steps}");
                }
            });
        }
    }
    assert_eq!(failures, 8);
}

/// Mutation: answers go out before their debits are on disk.
#[test]
fn an_answer_before_its_debit_is_on_disk_is_caught() {
    let runtime = runtime();
    let caught = (0..20).any(|seed| {
        let lying = || world(seed, &runtime, Some(Fault::Forgotten));
        let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(lying)) else { return false };
        panic.downcast_ref::<String>().is_some_and(|why| why.contains("was acknowledged"))
    });
    assert!(caught);
}

#[test]
fn whatever_happens_spent_is_what_was_answered_and_no_more_than_the_limit() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let runtime = runtime();
    if let Some(seed) = number("LEDGER_MODEL_SEED") {
        world(seed, &runtime, None);
        return;
    }
    let seconds = match (number("LEDGER_MODEL_SECONDS"), std::env::var_os("NIGHTLY")) {
        (Some(n), _) => n,
        (None, Some(_)) => 600,
        (None, None) => 20,
    };
    let (start, mut worlds, mut sums) = (Instant::now(), 0u64, [0; 2]);
    let first = u64::try_from(crate::time::clock()).unwrap();
    while worlds < 3 || start.elapsed() < Duration::from_secs(seconds) {
        let seed = first.wrapping_add(worlds);
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world(seed, &runtime, None)));
        let told = told.unwrap_or_else(|_| panic!("LEDGER_MODEL_SEED={seed} shows it again"));
        sums = [sums[0] + told[0], sums[1] + told[1]];
        worlds += 1;
    }
    println!("{worlds} worlds, {} crashes, {} restorations", sums[0], sums[1]);
    assert!(sums[0] > 0 && sums[1] > 0);
}
