#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! The ledger as the gateway uses it, over a SQLite file.

use super::*;
use answer::SqlState;
use dp::{Outline, Preference, Ratio, Spec, UNITS_PER_ONE, choose};
use policy::{Accounting, Scope};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn budget(name: &str, scope: Scope, accounting: Accounting, epsilon: &str, delta: &str) -> Budget {
    Budget::new(name, scope, accounting, epsilon.parse().unwrap(), delta.parse().unwrap())
}

fn pure(name: &str, scope: Scope, epsilon: &str) -> Budget {
    budget(name, scope, Accounting::Notion(dp::Notion::Pure), epsilon, "0")
}

fn who(user: &str, role: Option<&str>) -> Identity {
    Identity { user: user.into(), role: role.map(Into::into) }
}

/// A statement of ε = n/d over public groups.
fn public(n: u128, d: u128) -> Proven {
    let epsilon = Ratio::new(n, d);
    Proven::unproven(Charge::of(&epsilon, &[Spec::laplace(&epsilon, 4, &[1, 60], None).unwrap()]).unwrap())
}

/// The same over private groups.
fn private(n: u128, d: u128) -> Proven {
    let epsilon = Ratio::new(n, d);
    let delta = Ratio::new(1, 1_000_000_000);
    Proven::unproven(
        Charge::of(&epsilon, &[Spec::laplace(&epsilon, 4, &[1], Some(&delta)).unwrap()]).unwrap(),
    )
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place { path: folder.path().join("books.db"), _folder: folder }
}

fn at(path: &Path) -> LedgerLocation {
    LedgerLocation::Sqlite(path.to_owned().into())
}

fn terms(budgets: &[Budget]) -> Terms {
    Terms::unchecked(budgets, "riders.rider_id")
}

fn create(path: &Path, budgets: &[Budget]) -> Result<(), LedgerError> {
    Ledger::create(&at(path), &terms(budgets))
}

fn open(path: &Path, budgets: &[Budget]) -> Result<Ledger, LedgerError> {
    Ledger::open(&at(path), &terms(budgets))
}

/// The owner signs a policy, whatever it forgets.
fn accept(path: &Path, budgets: &[Budget]) {
    Owner::open(&at(path)).unwrap().accept(&terms(budgets), "owner", "test").unwrap();
}

fn left(lack: &Lack) -> u128 {
    match lack.lacking {
        Lacking::Sum(shortfall) => shortfall.left,
        Lacking::Uses => panic!("an envelope"),
    }
}

fn loss(state: &BudgetState) -> u128 {
    state.reading().unwrap().0
}

fn ledger(budgets: &[Budget]) -> (Place, Ledger) {
    let place = place();
    create(&place.path, budgets).unwrap();
    let ledger = open(&place.path, budgets).unwrap();
    (place, ledger)
}

async fn spent(ledger: &Ledger, user: &Identity, name: &str) -> u128 {
    let states = ledger.remaining(user).await.unwrap();
    loss(states.iter().find(|s| s.budget.name == name).unwrap())
}

const HASH: [u8; 32] = [7; 32];
const TENTH: u128 = UNITS_PER_ONE / 10;

#[tokio::test]
async fn every_matching_budget_is_debited_or_none() {
    let budgets = [
        pure("everyone", Scope::Dataset, "1"),
        pure("user", Scope::User, "0.3"),
        pure("role", Scope::Role, "0.5"),
    ];
    let (_place, ledger) = ledger(&budgets);
    let (ada, bob, eve) = (who("ada", Some("research")), who("bob", Some("research")), who("eve", None));
    for n in 1..=3u128 {
        let receipt = ledger.debit(&ada, HASH, &public(1, 10)).await.unwrap();
        assert_eq!(receipt.charge(), public(1, 10).charge());
        let states = receipt.budgets();
        assert_eq!(states.iter().map(loss).collect::<Vec<_>>(), vec![n * TENTH; 3]);
        assert_eq!(states[0].fits(public(1, 10).charge()).unwrap(), 10 - n);
    }
    // Ada's quota is used up; the others are not touched by the refusal.
    let Err(Refusal::Exhausted(lacks)) = ledger.debit(&ada, HASH, &public(1, 10)).await else { panic!() };
    assert_eq!(lacks.len(), 1);
    assert_eq!((lacks[0].budget.as_str(), left(&lacks[0])), ("user", 0));
    assert_eq!(spent(&ledger, &ada, "everyone").await, 3 * TENTH);
    // A colleague has her own quota, and shares the role's.
    assert_eq!(loss(&ledger.debit(&bob, HASH, &public(2, 10)).await.unwrap().budgets()[2]), 5 * TENTH);
    let Err(Refusal::Exhausted(lacks)) = ledger.debit(&bob, HASH, &public(1, 10)).await else { panic!() };
    assert_eq!(lacks[0].budget, "role");
    // Who has no role draws on the other two only.
    let receipt = ledger.debit(&eve, HASH, &public(3, 10)).await.unwrap();
    assert_eq!(
        receipt.budgets().iter().map(|s| s.budget.name.as_str()).collect::<Vec<_>>(),
        ["everyone", "user"]
    );
    assert_eq!(loss(&receipt.budgets()[0]), 8 * TENTH);
}

#[tokio::test]
async fn a_refusal_says_which_budget_lacks_how_much() {
    let budgets = [pure("everyone", Scope::Dataset, "1"), pure("quota", Scope::User, "0.15")];
    let (_place, ledger) = ledger(&budgets);
    let ada = who("ada", None);
    ledger.debit(&ada, HASH, &public(1, 10)).await.unwrap();
    let Err(refusal) = ledger.debit(&ada, HASH, &public(1, 10)).await else { panic!() };
    let error = refusal.client();
    assert_eq!(error.code, SqlState::BUDGET_EXCEEDED);
    assert_eq!(
        error.message,
        "privacy budget \"quota\" does not cover this statement: it needs 66.7 % of it, and 33.3 % is left"
    );
    assert!(error.hint.unwrap().contains("Nothing was charged"));
    let Err(refusal) = ledger.debit(&ada, HASH, &public(2, 1)).await else { panic!() };
    assert!(
        refusal.client().detail.unwrap().starts_with("Budget \"quota\" (per user): it needs 1333.3 % of it,")
    );
    // Smaller questions still pass: a refusal costs nothing.
    ledger.debit(&ada, HASH, &public(1, 20)).await.unwrap();
    assert_eq!(spent(&ledger, &ada, "quota").await, 15 * UNITS_PER_ONE / 100);
}

#[tokio::test]
async fn rule_22_a_pure_budget_refuses_private_groups() {
    let (_place, ledger) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let ada = who("ada", None);
    let Err(refusal) = ledger.debit(&ada, HASH, &private(1, 10)).await else { panic!() };
    let error = refusal.client();
    assert_eq!(error.code, SqlState::BUDGET_EXCEEDED);
    assert!(error.message.contains("pure budget does not allow"), "{}", error.message);
    assert_eq!(spent(&ledger, &ada, "everyone").await, 0);
}

#[tokio::test]
async fn a_zcdp_budget_counts_rho_and_selection_delta() {
    let (_place, ledger) =
        ledger(&[budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "8", "4e-9")]);
    let ada = who("ada", None);
    // selection_delta = 2e-9: two statements of just under 1e-9 fit, the third does not.
    for _ in 0..2 {
        ledger.debit(&ada, HASH, &private(1, 10)).await.unwrap();
    }
    let Err(Refusal::Exhausted(lacks)) = ledger.debit(&ada, HASH, &private(1, 10)).await else { panic!() };
    assert!(matches!(lacks[0].lacking, Lacking::Sum(dp::Shortfall { of_delta: true, .. })));
    // Public groups need none.
    let state = &ledger.debit(&ada, HASH, &public(1, 10)).await.unwrap();
    let state = &state.budgets()[0];
    assert!(state.fraction_left() > 0.9 && state.selection_fraction_left().unwrap() < 0.2);
}

#[tokio::test]
async fn without_a_budget_nothing_is_answered() {
    let (_place, ledger) = ledger(&[pure("role", Scope::Role, "1")]);
    let Err(refusal) = ledger.debit(&who("eve", None), HASH, &public(1, 10)).await else { panic!() };
    assert_eq!(refusal, Refusal::NoBudget { user: "eve".into() });
    assert_eq!(refusal.client().code, SqlState::BUDGET_EXCEEDED);
}

/// 64 callers race for a budget that has room for 23.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_for_the_last_of_a_budget_has_the_right_number_of_winners() {
    let budgets = [pure("everyone", Scope::Dataset, "2.3"), pure("quota", Scope::User, "1")];
    let (_place, ledger) = ledger(&budgets);
    let ledger = Arc::new(ledger);
    for round in 0..3 {
        let tasks: Vec<_> = (0..64)
            .map(|n| {
                let (ledger, user) = (ledger.clone(), who(&format!("user{}", n % 8), None));
                tokio::spawn(async move { ledger.debit(&user, HASH, &public(1, 10)).await.is_ok() })
            })
            .collect();
        let mut winners = 0;
        for task in tasks {
            winners += usize::from(task.await.unwrap());
        }
        assert_eq!(winners, if round == 0 { 23 } else { 0 });
    }
    assert_eq!(spent(&ledger, &who("user0", None), "everyone").await, 23 * TENTH);
}

#[tokio::test]
async fn sums_survive_a_restart() {
    let budgets = [
        budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "8", "1e-6"),
        pure("q", Scope::User, "1"),
    ];
    let (place, first) = ledger(&budgets);
    let (ada, bob) = (who("ada", None), who("bob", Some("research")));
    first.debit(&ada, HASH, &public(1, 3)).await.unwrap();
    let after = first.debit(&bob, HASH, &public(1, 7)).await.unwrap();
    drop(first);
    let second = open(&place.path, &budgets).unwrap();
    let states = second.remaining(&bob).await.unwrap();
    for (then, now) in after.budgets().iter().zip(&states) {
        assert_eq!(then.spent, now.spent);
    }
    assert_eq!(second.debit(&ada, HASH, &public(1, 3)).await.unwrap().entry(), after.entry() + 1);
}

#[tokio::test]
async fn limits_may_change_but_not_what_is_counted() {
    let (place, first) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let ada = who("ada", None);
    for _ in 0..8 {
        first.debit(&ada, HASH, &public(1, 10)).await.unwrap();
    }
    drop(first);
    // Lowered below what is spent: nothing fits, and nothing is forgotten.
    let lowered = open(&place.path, &[pure("everyone", Scope::Dataset, "0.5")]).unwrap();
    assert!(lowered.debit(&ada, HASH, &public(1, 10)).await.is_err());
    assert_eq!(lowered.remaining(&ada).await.unwrap()[0].fraction_left(), 0.0);
    drop(lowered);
    let larger = [pure("everyone", Scope::Dataset, "0.9")];
    assert!(matches!(open(&place.path, &larger), Err(LedgerError::Forgets(_))), "a larger epsilon is signed");
    accept(&place.path, &larger);
    let raised = open(&place.path, &larger).unwrap();
    assert!(raised.debit(&ada, HASH, &public(1, 10)).await.is_ok());
    assert!(raised.debit(&ada, HASH, &public(1, 10)).await.is_err());
    drop(raised);
    for changed in [
        pure("everyone", Scope::User, "1"),
        budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Approx), "1", "1e-6"),
    ] {
        let Err(error) = open(&place.path, &[changed]) else { panic!() };
        assert!(matches!(error, LedgerError::Forgets(_)));
        assert!(error.to_string().contains("noisegate budget accept --policy"), "{error}");
    }
}

/// A budget that was not there when a charge was made counts it all the same.
#[tokio::test]
async fn a_new_budget_starts_from_what_was_spent() {
    let old = pure("everyone", Scope::Dataset, "10");
    let (place, first) = ledger(std::slice::from_ref(&old));
    let (ada, bob) = (who("ada", Some("research")), who("bob", None));
    first.debit(&ada, HASH, &public(1, 10)).await.unwrap();
    first.debit(&bob, HASH, &public(2, 10)).await.unwrap();
    drop(first);
    let zcdp = budget("concentrated", Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "8", "1e-6");
    let all = [old.clone(), pure("user", Scope::User, "1"), pure("role", Scope::Role, "1"), zcdp];
    let second = open(&place.path, &all).unwrap();
    assert_eq!(spent(&second, &ada, "user").await, TENTH);
    assert_eq!(spent(&second, &bob, "user").await, 2 * TENTH);
    assert_eq!(spent(&second, &ada, "role").await, TENTH);
    let price = |c: &Proven| dp::Notion::Zcdp.price(c.charge()).unwrap().loss;
    let both = price(&public(1, 10)) + price(&public(2, 10));
    assert_eq!(spent(&second, &ada, "concentrated").await, both);
    second.debit(&ada, HASH, &public(1, 10)).await.unwrap();
    drop(second);
    // Absent for a while, and back: what was charged meanwhile is counted.
    accept(&place.path, std::slice::from_ref(&old));
    let third = open(&place.path, std::slice::from_ref(&old)).unwrap();
    third.debit(&ada, HASH, &public(3, 10)).await.unwrap();
    drop(third);
    let fourth = open(&place.path, &all).unwrap();
    assert_eq!(spent(&fourth, &ada, "user").await, 5 * TENTH);
    assert_eq!(spent(&fourth, &ada, "everyone").await, 7 * TENTH);
}

#[tokio::test]
async fn a_new_pure_budget_cannot_take_over_private_groups() {
    let old = budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Approx), "10", "1e-6");
    let (place, first) = ledger(std::slice::from_ref(&old));
    first.debit(&who("ada", None), HASH, &private(1, 10)).await.unwrap();
    drop(first);
    let Err(error) = open(&place.path, &[old.clone(), pure("strict", Scope::Dataset, "10")]) else {
        panic!()
    };
    assert!(error.to_string().contains("\"strict\" cannot be charged with what was spent so far"), "{error}");
    // Nothing of the attempt is kept: the old policy still opens.
    open(&place.path, &[old]).unwrap();
}

#[test]
fn files_that_cannot_be_used_are_refused_by_name() {
    let budgets = [pure("everyone", Scope::Dataset, "1")];
    let place = place();
    let Err(missing) = open(&place.path, &budgets) else { panic!() };
    assert!(matches!(missing, LedgerError::Missing(_)));
    assert!(missing.to_string().contains("noisegate budget create"));
    assert!(!place.path.exists(), "open never creates");

    let nowhere = place.path.with_file_name("no folder").join("books.db");
    assert!(matches!(create(&nowhere, &budgets), Err(LedgerError::Io { .. })));
    assert!(matches!(open(&nowhere, &budgets), Err(LedgerError::Missing(_))));

    std::fs::write(&place.path, "not a database, but long enough to have a header: ".repeat(10)).unwrap();
    assert!(matches!(create(&place.path, &budgets), Err(LedgerError::Exists(_))));
    let Err(error) = open(&place.path, &budgets) else { panic!() };
    assert!(matches!(error, LedgerError::Foreign { .. }), "{error}");

    let other = place.path.with_file_name("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(matches!(open(&other, &budgets), Err(LedgerError::Foreign { .. })));
    let folder = place.path.with_file_name("folder");
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(open(&folder, &budgets), Err(LedgerError::Io { .. })));
    let Err(error) = create(&other.with_extension("x"), &[pure("none", Scope::User, "1e39")]) else {
        panic!()
    };
    assert!(matches!(error, LedgerError::Budget { .. }), "{error}");
}

#[tokio::test]
async fn a_second_opener_is_refused() {
    let budgets = [pure("everyone", Scope::Dataset, "1")];
    let (place, first) = ledger(&budgets);
    assert!(matches!(open(&place.path, &budgets), Err(LedgerError::InUse(_))));
    // By another name too.
    let link = place.path.with_file_name("link.db");
    std::os::unix::fs::symlink(&place.path, &link).unwrap();
    assert!(matches!(open(&link, &budgets), Err(LedgerError::InUse(_))));
    first.debit(&who("ada", None), HASH, &public(1, 10)).await.unwrap();
    drop(first);
    open(&link, &budgets).unwrap();
}

/// A debit whose caller goes away once it is queued stands.
#[tokio::test]
async fn a_dropped_caller_has_paid() {
    let (_place, ledger) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let ada = who("ada", None);
    let charge = public(1, 10);
    let mut debit = Box::pin(ledger.debit(&ada, HASH, &charge));
    // One poll: the request is in the queue, and nobody waits for the answer.
    let _ = futures::poll!(debit.as_mut());
    drop(debit);
    assert_eq!(spent(&ledger, &ada, "everyone").await, TENTH);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_refuses_and_recovers() {
    let budgets = [pure("everyone", Scope::Dataset, "1")];
    let (place, ledger) = ledger(&budgets);
    let ada = who("ada", None);
    // Another process holds the write lock for longer than we wait.
    let other = rusqlite::Connection::open(&place.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let Err(refusal) = ledger.debit(&ada, HASH, &public(1, 10)).await else { panic!() };
    assert_eq!(refusal.client().code, SqlState::IO_ERROR);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(loss(&ledger.debit(&ada, HASH, &public(1, 10)).await.unwrap().budgets()[0]), TENTH);
}

/// What is in the ledger about a statement: a hash, events, prices, and the policy's version.
#[tokio::test]
async fn an_entry_holds_no_data_and_can_be_priced_again() {
    let (place, ledger) =
        ledger(&[budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Approx), "1", "1e-6")]);
    ledger.debit(&who("ada", Some("r")), HASH, &private(1, 10)).await.unwrap();
    let (ada, charge) = (who("ada", Some("r")), public(1, 10));
    let question = Question { text: Some("SELECT 1"), ..Question::new(&ada, HASH, &charge) };
    ledger.receipt(question).await.unwrap();
    let mut lines = Vec::new();
    Owner::read(&at(&place.path)).unwrap().export(|line| lines.push(line)).unwrap();
    let told = |line: &str| -> serde_json::Value { serde_json::from_str(line).unwrap() };
    assert_eq!(lines.len(), 4);
    let debit = &told(&lines[2])["entry"]["what"]["debit"];
    assert_eq!(
        (&debit["user"], &debit["role"], &debit["statement"]),
        (&"ada".into(), &"r".into(), &"07".repeat(32).into())
    );
    assert!(debit.get("text").is_none());
    let charged: entry::Charged = serde_json::from_value(debit["charge"].clone()).unwrap();
    let (read, paid) = (charged.read().unwrap(), private(1, 10));
    assert_eq!(entry::Charged::new(&read), entry::Charged::new(paid.charge()));
    for notion in dp::Notion::ALL {
        assert_eq!(notion.price(&read), notion.price(paid.charge()));
    }
    let other = &told(&lines[3])["entry"]["what"]["debit"];
    assert_eq!(other["text"], "SELECT 1");
    assert_ne!(other["id"], debit["id"], "each asking has an id of its own");
    for wrong in [
        r#"{"epsilon":"1/0","selection_delta":"0","events":[]}"#,
        r#"{"epsilon":"x","selection_delta":"0","events":[]}"#,
    ] {
        assert_eq!(serde_json::from_str::<entry::Charged>(wrong).unwrap().read(), None);
    }
}

#[test]
fn amounts_are_rounded_to_the_safe_side() {
    use super::error::decimal;
    assert_eq!(decimal(0, true), "0");
    assert_eq!(decimal(TENTH, true), "0.1");
    assert_eq!(decimal(UNITS_PER_ONE * 12, false), "12");
    assert_eq!(decimal(UNITS_PER_ONE / 3, false), "0.333333");
    assert_eq!(decimal(UNITS_PER_ONE / 3, true), "0.333334");
    assert_eq!(decimal(1, true), "0.000000000000000000000001");
    assert_eq!(decimal(UNITS_PER_ONE * 1_234_567, true), "1234570");
    assert_eq!(decimal(u128::MAX, false), "340282000000000");
    assert!(!decimal(u128::MAX, true).is_empty());
}

/// A Gaussian event is read back as it was written: a budget that is added later counts the same.
#[tokio::test]
async fn rule_21_gaussian_entries_are_counted_in_zcdp_and_refused_elsewhere() {
    let zcdp = |name: &str| budget(name, Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "8", "1e-6");
    let epsilon = Ratio::new(1, 7);
    let outline = Outline::even(3, &[5, 1], None);
    let choice = choose(&epsilon, &[outline], Preference::Gaussian, &[Notion::Zcdp]).unwrap();
    let (place, ledger) = ledger(&[zcdp("first")]);
    let ada = who("ada", None);
    ledger.debit(&ada, HASH, &Proven::unproven(choice.charge.clone())).await.unwrap();
    let loss = spent(&ledger, &ada, "first").await;
    assert_eq!(loss, UNITS_PER_ONE.div_ceil(98));
    assert_eq!(ledger.notions(&ada), [("first".to_owned(), Notion::Zcdp)]);
    drop(ledger);
    let ledger = open(&place.path, &[zcdp("first"), zcdp("second")]).unwrap();
    assert_eq!(spent(&ledger, &ada, "second").await, loss);
    drop(ledger);
    let approx = budget("third", Scope::Dataset, Accounting::Notion(dp::Notion::Approx), "8", "1e-6");
    let refused = open(&place.path, &[zcdp("first"), approx.clone()]).err().unwrap();
    assert!(matches!(refused, LedgerError::Forgets(_)), "{refused}");
    // And where the budget is there from the start, the debit is.
    let (_place, ledger) = self::ledger(&[approx]);
    let refusal = ledger.debit(&ada, HASH, &Proven::unproven(choice.charge.clone())).await.err().unwrap();
    assert!(matches!(refusal, Refusal::Unpriced { .. }));
    assert_eq!(refusal.client().code, SqlState::BUDGET_EXCEEDED);
    assert!(refusal.client().hint.unwrap().contains("laplace"));
    assert_eq!(spent(&ledger, &ada, "third").await, 0);
}

/// 64 sessions race for the last of three budgets, whichever of the three it is: never one answer too many, and no other
/// budget is debited for an answer that there was not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_sessions_race_for_the_last_of_three_budgets() {
    for tight in 0..3 {
        let epsilon = |n: usize| if n == tight { "1.7" } else { "100" };
        let budgets = [
            pure("everyone", Scope::Dataset, epsilon(0)),
            pure("role", Scope::Role, epsilon(1)),
            pure("user", Scope::User, epsilon(2)),
        ];
        let (place, ledger) = ledger(&budgets);
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (ledger, user) = (ledger.clone(), who("ada", Some("research")));
                tokio::spawn(async move { ledger.debit(&user, HASH, &public(1, 10)).await.is_ok() })
            })
            .collect();
        let mut winners = 0;
        for task in tasks {
            winners += usize::from(task.await.unwrap());
        }
        assert_eq!(winners, 17, "{tight}");
        let ada = who("ada", Some("research"));
        for name in ["everyone", "role", "user"] {
            assert_eq!(spent(&ledger, &ada, name).await, 17 * TENTH, "{name}");
        }
        drop(ledger);
        assert_eq!(verify(&at(&place.path)).unwrap().id, 2 + 17);
    }
}

/// One of several who ask the same pays; the others wait for what they keep, and it is free for ever after.
#[tokio::test]
async fn rule_26_one_payer_for_a_release_that_is_kept() {
    let (place, ledger) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let ledger = ledger.with_lease(std::time::Duration::from_secs(3600));
    let (ada, bob, charge, key) = (who("ada", None), who("bob", None), public(1, 10), [9; 32]);
    let of = |who| Question { release: Some(key), ..Question::new(who, HASH, &charge) };
    let Ok(Payment::Paid(receipt)) = ledger.pay(of(&ada)).await else { panic!() };
    assert!(matches!(ledger.pay(of(&bob)).await, Ok(Payment::Wait)));
    assert_eq!(ledger.kept(key).await.unwrap(), None);
    // Another question does not wait.
    assert!(ledger.debit(&bob, HASH, &charge).await.is_ok());
    ledger.keep(receipt.entry(), key, b"42".to_vec()).await.unwrap();
    assert!(matches!(ledger.pay(of(&bob)).await, Ok(Payment::Kept(bytes)) if bytes == b"42"));
    ledger.keep(receipt.entry(), key, b"43".to_vec()).await.unwrap();
    assert_eq!(ledger.kept(key).await.unwrap().as_deref(), Some(b"42".as_slice()), "what is kept stays");
    // A dashboard that asks every second is noted once a day.
    for _ in 0..3 {
        ledger.reuse(&bob, HASH, key).await.unwrap();
    }
    assert_eq!(spent(&ledger, &bob, "everyone").await, 2 * TENTH);
    // The user's own history, and nobody else's.
    let lines = ledger.history(&bob).await.unwrap();
    let told: Vec<_> = lines.iter().map(|l| (l.entry, l.cached, l.price())).collect();
    assert_eq!(told, [(4, false, Some("everyone: ε = 0.1".to_owned())), (5, true, None)]);
    assert_eq!(ledger.history(&ada).await.unwrap().len(), 1);
    assert!(ledger.history(&who("eve", None)).await.unwrap().is_empty());
    // A restart remembers all of it.
    drop(ledger);
    let ledger = open(&place.path, &[pure("everyone", Scope::Dataset, "1")]).unwrap();
    assert!(matches!(ledger.pay(of(&bob)).await, Ok(Payment::Kept(_))));
    assert_eq!(ledger.history(&bob).await.unwrap(), lines);
    // New data: the old release is forgotten.
    let epoch = ledger.epoch().await.unwrap();
    assert_eq!(epoch.number, 0);
    assert_eq!(ledger.refresh(0, "owner", "loaded").await.unwrap().number, 1);
    assert_eq!(ledger.refresh(0, "owner", "loaded").await.unwrap().number, 1, "somebody else was first");
    assert!(ledger.epoch().await.unwrap().since >= epoch.since);
    assert_eq!(ledger.kept(key).await.unwrap(), None);
    assert!(matches!(ledger.pay(of(&bob)).await, Ok(Payment::Paid(_))));
}

#[tokio::test]
async fn rule_26_who_waits_in_vain_pays_anew() {
    let (_place, ledger) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let (ada, charge) = (who("ada", None), public(1, 10));
    let of = |n: u8| Question { release: Some([n; 32]), ..Question::new(&ada, HASH, &charge) };
    let paid = async |ledger: &Ledger, n| match ledger.pay(of(n)).await.unwrap() {
        Payment::Paid(receipt) => Some(receipt.entry()),
        Payment::Kept(_) => panic!("nothing was kept"),
        Payment::Wait | Payment::Full => None,
    };
    // The payer gives up.
    let entry = paid(&ledger, 1).await.unwrap();
    assert_eq!(paid(&ledger, 1).await, None);
    ledger.give_up(entry, [1; 32]).await.unwrap();
    let second = paid(&ledger, 1).await.unwrap();
    // A payer who gave up long ago does not end the wait for another.
    ledger.give_up(entry, [1; 32]).await.unwrap();
    assert_eq!(paid(&ledger, 1).await, None);
    ledger.give_up(second, [1; 32]).await.unwrap();
    // The payer is gone without a word.
    let hasty = ledger.clone().with_lease(std::time::Duration::ZERO);
    assert!(paid(&hasty, 2).await.is_some() && paid(&hasty, 2).await.is_some());
    assert_eq!(spent(&ledger, &ada, "everyone").await, 4 * TENTH);
}

/// A short lease, renewed while the read is under way: who waits need not wait for the longest read that there may be.
#[tokio::test]
async fn rule_40_a_payer_is_waited_for_as_long_as_its_read_is_under_way() {
    let (_place, ledger) = ledger(&[pure("everyone", Scope::Dataset, "1")]);
    let ledger = ledger.with_lease(Duration::ZERO);
    let (ada, charge) = (who("ada", None), public(1, 10));
    let terms = ReadTerms { limit: 3, lease: Duration::from_millis(1500) };
    let question =
        Question { release: Some([1; 32]), read: Some(terms), ..Question::new(&ada, HASH, &charge) };
    let Payment::Paid(mut receipt) = ledger.pay(question).await.unwrap() else { panic!() };
    let mut place = receipt.take_read().unwrap();
    place.begin();
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        assert!(matches!(ledger.pay(question).await.unwrap(), Payment::Wait), "long after its first lease");
    }
    // It fails: the next one pays, and holds the second of three places.
    drop(place);
    let Payment::Paid(mut second) = ledger.pay(question).await.unwrap() else { panic!() };
    // Its process is gone: nobody renews its lease, and then it has failed.
    ledger.held.places().ids.clear();
    let began = std::time::Instant::now();
    let third = loop {
        match ledger.pay(question).await.unwrap() {
            Payment::Wait => tokio::time::sleep(Duration::from_millis(10)).await,
            Payment::Paid(receipt) => break receipt,
            Payment::Kept(_) | Payment::Full => panic!(),
        }
    };
    assert!(began.elapsed() > Duration::from_millis(50));
    drop((second.take_read(), third));
}

/// A budget over tables, by the numbers that tables have in the policy.
#[tokio::test]
async fn tables_of_a_question_are_those_of_its_policy() {
    let trips = Budget { tables: vec!["trips".into()], ..pure("trips", Scope::Dataset, "0.1") };
    let budgets = [pure("everyone", Scope::Dataset, "1"), trips];
    let place = place();
    create(&place.path, &budgets).unwrap();
    let raw = policy::parse(include_str!("../../config/bikes.toml"), "bikes.toml", Path::new("")).unwrap();
    let schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
    let mut policy = raw.check(&schema).unwrap();
    policy.budgets = budgets.to_vec();
    let ledger = Ledger::open(&at(&place.path), &Terms::of(&policy)).unwrap();
    let names: Vec<&str> = policy.tables.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["riders", "trips", "payments", "stations"]);
    let (ada, charge) = (who("ada", None), public(1, 10));
    let asked = async |tables: &[usize]| {
        let question = Question { tables: Some(tables), ..Question::new(&ada, HASH, &charge) };
        ledger.receipt(question).await.map(|r| r.budgets().len())
    };
    assert_eq!(asked(&[0, 3]).await, Ok(1));
    assert_eq!(asked(&[3, 1]).await, Ok(2));
    assert!(matches!(asked(&[1]).await, Err(Refusal::Exhausted(_))));
    assert_eq!(asked(&[2]).await, Ok(1));
    // Another way to a unit is another protection; what is read again by the proxy is compared, too.
    let policy::Privacy::Private { unit, .. } = &mut policy.tables[1].privacy else { panic!() };
    *unit = "payer_id".into();
    let Err(refused) = ledger.renew(&Terms::of(&policy)).await else { panic!() };
    assert!(matches!(&refused, LedgerError::Forgets(c) if c.len() == 1), "{refused}");
    assert!(refused.to_string().contains("the rows of trips were by rider_id"), "{refused}");
}

/// Every accounting, over a file: what a budget is said to buy is what it pays for, and not one more.
#[tokio::test]
async fn each_accounting_pays_for_what_it_is_said_to_buy() {
    let usual = usual(&Ratio::new(1, 2), dp::Preference::Laplace, &[]).unwrap();
    let charge = Proven::unproven(usual.clone());
    for accounting in Accounting::all() {
        let delta = if accounting == Accounting::Notion(dp::Notion::Pure) { "0" } else { "1e-6" };
        let mut one = budget("everyone", Scope::Dataset, accounting, "3", delta);
        if accounting == Accounting::Envelope {
            let mechanism = usual.events[0].mechanism.clone();
            one.mechanisms = vec![policy::Declared { mechanism, uses: 7 }];
            one.epsilon = 4.into();
        }
        let answers = worth(&one, &usual).unwrap().answers.unwrap();
        assert!((1..30).contains(&answers), "{accounting:?}: {answers}");
        let (place, ledger) = ledger(std::slice::from_ref(&one));
        let ada = who("ada", None);
        for n in 0..answers {
            let receipt =
                ledger.debit(&ada, HASH, &charge).await.unwrap_or_else(|e| panic!("{accounting:?}: {e}"));
            assert_eq!(receipt.budgets()[0].fits(&usual).unwrap(), answers - n - 1, "{accounting:?}");
        }
        let Err(refusal) = ledger.debit(&ada, HASH, &charge).await else { panic!("{accounting:?}") };
        assert_eq!(refusal.client().code, SqlState::BUDGET_EXCEEDED);
        drop(ledger);
        let ledger = open(&place.path, std::slice::from_ref(&one)).unwrap();
        assert!(ledger.debit(&ada, HASH, &charge).await.is_err(), "{accounting:?}, after a restart");
    }
    // An envelope whose uses are more than its ε is none.
    let mechanism = usual.events[0].mechanism.clone();
    let mut wide = budget("wide", Scope::Dataset, Accounting::Envelope, "3", "1e-6");
    wide.mechanisms = vec![policy::Declared { mechanism, uses: 100 }];
    assert!(worth(&wide, &usual).unwrap_err().to_string().contains("declare fewer uses"));
}

/// What opened a stream is known to the next process; and what states a guarantee is read back as it was priced.
#[tokio::test]
async fn openings_of_streams_outlive_the_process() {
    use dp::{BigRatio, Event, Guarantee, Mechanism};
    let (place, ledger) =
        ledger(&[budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "10", "1e-6")]);
    let (epsilon, delta) = (Ratio::new(1, 2), Ratio::new(1, 1_000_000_000));
    let rho = BigRatio::new(1u8.into(), 700u16.into());
    let stated = [
        Guarantee::Pure { epsilon },
        Guarantee::BoundedRange { epsilon },
        Guarantee::Approximate { epsilon, delta },
        Guarantee::Concentrated { rho: rho.clone() },
        Guarantee::Gaussian { square: rho },
    ];
    let (ada, bob) = (who("ada", None), who("bob", None));
    assert_eq!(ledger.opened("ada", "bell").await.unwrap(), None);
    let mut last = None;
    for guarantee in &stated {
        let event = Event { mechanism: Mechanism::Guaranteed(guarantee.clone()), times: 2 };
        let charge = Charge { epsilon, events: vec![event], selection_delta: Ratio::from_integer(0) };
        assert_eq!(entry::Charged::new(&charge).read().unwrap(), charge);
        let charge = Proven::unproven(charge);
        let question = Question {
            stream: Some(Opens { name: "bell", after: last }),
            ..Question::new(&ada, [7; 32], &charge)
        };
        last = Some(ledger.receipt(question).await.unwrap().entry());
        // The same charge without a stream opens none.
        ledger.debit(&bob, [7; 32], &charge).await.unwrap();
    }
    assert_eq!(ledger.opened("ada", "bell").await.unwrap(), last);
    let before = ledger.remaining(&ada).await.unwrap();
    // A refused opening is none.
    let dear = Charge::guaranteed(&Guarantee::Pure { epsilon: Ratio::from_integer(1000) }).unwrap();
    let dear = Proven::unproven(dear);
    let question =
        Question { stream: Some(Opens { name: "dear", after: None }), ..Question::new(&ada, [7; 32], &dear) };
    assert!(matches!(ledger.receipt(question).await, Err(Refusal::Exhausted(_))));
    drop(ledger);
    let budgets = [budget("everyone", Scope::Dataset, Accounting::Notion(dp::Notion::Zcdp), "10", "1e-6")];
    let ledger = open(&place.path, &budgets).unwrap();
    assert_eq!(ledger.opened("ada", "bell").await.unwrap(), last);
    for (user, stream) in [("ada", "dear"), ("bob", "bell"), ("ada", "")] {
        assert_eq!(ledger.opened(user, stream).await.unwrap(), None, "{user} {stream}");
    }
    let after = ledger.remaining(&ada).await.unwrap();
    assert_eq!(after[0].spent, before[0].spent, "the same events have the same sums");
}
