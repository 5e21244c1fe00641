#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use dp::randomised::{Oracle, OracleKind, Report};
use dp::{Entropy, Ratio};
use std::collections::BTreeMap;

const WEEK: Window = Window { length: 604_800, most: 3 };

fn secret() -> Secret {
    Secret::new([7; 32])
}

fn file(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join("persons.db")
}

const BY: Signature<'static> = Signature { author: "owner", reason: "a test", at: 1_000_000 };

fn create(folder: &tempfile::TempDir) {
    let mut owner = Owner::create(&file(folder), "persons.db", secret()).unwrap();
    owner.sign(&[("survey", WEEK)], true, BY).unwrap();
}

fn spending(folder: &tempfile::TempDir) -> Spending {
    Spending::open(&file(folder), "persons.db", secret()).unwrap()
}

fn accept(folder: &tempfile::TempDir, window: Window, at: u64) -> Vec<String> {
    let mut owner = Owner::restore(&file(folder), "persons.db", secret()).unwrap();
    owner.sign(&[("survey", window)], false, Signature { at, ..BY }).unwrap()
}

fn exceeded(done: Result<(), ChargeError>) -> Option<usize> {
    match done {
        Err(ChargeError::Exceeded(at)) => Some(at),
        other => {
            other.unwrap();
            None
        }
    }
}

/// As many reports as there are, in each window, for each person; a list is charged as a whole or not at all; a process that ends
/// forgets nothing. Mutation: a limit that is off by one, or a window that begins anew with each process.
#[test]
fn a_person_gives_so_many_reports_in_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let (ada, bob) = (secret().person("survey", "ada"), secret().person("survey", "bob"));
    create(&folder);
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_000, &[ada, bob, ada])), None);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_000, &[bob, ada, ada, bob])), Some(2));
    drop(one);
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_001, &[ada, bob, bob])), None);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_209_599, &[ada])), Some(0));
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_209_599, &[bob])), Some(0));
    // The next window begins, and forgets the last one.
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_209_600, &[ada, ada, ada])), None);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_209_600, &[ada])), Some(0));
    drop(one);
    let file = rusqlite::Connection::open(file(&folder)).unwrap();
    let rows: i64 = file.query_row("SELECT count(*) FROM spent", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

/// The attack: a clock that jumps ahead and back freed a window, whose rows the jump had deleted. Mutation: the machine's clock in
/// place of the book's.
#[test]
fn rule_40_a_clock_that_jumps_ahead_and_back_frees_no_window() {
    let folder = tempfile::tempdir().unwrap();
    let (ada, bob) = (secret().person("survey", "ada"), secret().person("survey", "bob"));
    create(&folder);
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_000, &[ada; 3])), None);
    // Somebody writes while the clock is wrong.
    assert_eq!(exceeded(one.charge("survey", WEEK, 100_000_000, &[bob])), None);
    assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_001, &[ada; 3])), None, "the window of the jump");
    for back in [1_000_002, 50_000_000, 100_000_001] {
        assert_eq!(exceeded(one.charge("survey", WEEK, back, &[ada])), Some(0), "{back}");
        drop(one);
        one = spending(&folder);
    }
}

/// The attack: each change of the window gave a whole allowance. A window that is under way goes on under its own terms; what
/// admits more, or counts in other windows, waits for a signature, and then for the end of that window. Mutation: windows that are
/// numbered by their length.
#[test]
fn rule_40_another_window_gives_no_allowance() {
    let folder = tempfile::tempdir().unwrap();
    let ada = secret().person("survey", "ada");
    let day = 86_400;
    let of = |days: u64, most: u64| Window { length: days * day, most };
    let mut owner = Owner::create(&file(&folder), "persons.db", secret()).unwrap();
    owner.sign(&[("survey", of(30, 3))], true, BY).unwrap();
    drop(owner);
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge("survey", of(30, 3), 1_000_000, &[ada; 3])), None);
    for wanted in [of(31, 3), of(29, 3), of(30, 4), of(31, 1)] {
        assert!(matches!(one.admits("survey", wanted), Err(ChargeError::Unsigned)), "{wanted:?}");
        assert!(matches!(one.charge("survey", wanted, 1_000_000, &[ada]), Err(ChargeError::Unsigned)));
    }
    assert!(matches!(one.charge("poll", of(30, 3), 1_000_000, &[ada]), Err(ChargeError::Unsigned)));
    one.admits("survey", of(30, 2)).unwrap();
    drop(one);
    for days in [31, 29, 31, 30, 29] {
        let said = accept(&folder, of(days, 3), 1_000_000);
        assert!(said[0].contains("3 rows in") && said[0].contains("in place of"), "{said:?}");
        let mut one = spending(&folder);
        assert_eq!(exceeded(one.charge("survey", of(days, 3), 1_000_001, &[ada])), Some(0), "{days}");
        drop(one);
    }
    // From the end of the window of thirty days on, the first of another length is no shorter than that.
    let mut one = spending(&folder);
    let end = 30 * day;
    assert_eq!(exceeded(one.charge("survey", of(29, 3), end, &[ada; 3])), None);
    assert_eq!(exceeded(one.charge("survey", of(29, 3), end + 29 * day - 1, &[ada])), Some(0));
    drop(one);
    let file = rusqlite::Connection::open(file(&folder)).unwrap();
    let signed: (i64, String) = file
        .query_row("SELECT count(*), max(reason) FROM signed", [], |r| Ok((r.get(0)?, r.get(1)?)))
        .unwrap();
    assert_eq!(signed, (6, "a test".to_owned()));
}

/// Something that is done to a file, of which there is an older copy.
type Loss<'a> = &'a dyn Fn(&std::path::Path, &std::path::Path);

/// The attack: a file that was deleted was made anew without a word, and an older copy taken for the newest. Nothing is charged until
/// its owner has signed; then all counts as said until the window ends. Mutation: a file that is made where there is none.
#[test]
fn rule_40_what_is_deleted_or_put_back_is_refused_until_its_owner_has_signed() {
    let ada = secret().person("survey", "ada");
    let lose: [(&str, Loss<'_>); 5] = [
        ("deleted", &|file, _| std::fs::remove_file(file).unwrap()),
        ("deleted with its mark", &|file, _| {
            std::fs::remove_file(file).unwrap();
            std::fs::remove_file(file.with_file_name("persons.db-mark")).unwrap();
        }),
        ("without a mark", &|file, _| std::fs::remove_file(file.with_file_name("persons.db-mark")).unwrap()),
        ("an older copy", &|file, copy| std::fs::write(file, std::fs::read(copy).unwrap()).unwrap()),
        ("a copy elsewhere", &|file, _| {
            let bytes = std::fs::read(file).unwrap();
            std::fs::write(file.with_file_name("other"), bytes).unwrap();
            std::fs::rename(file.with_file_name("other"), file).unwrap();
        }),
    ];
    for (name, lose) in lose {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            Spending::open(&file(&folder), "persons.db", secret()),
            Err(SpendingError::Missing(_))
        ));
        assert!(!file(&folder).exists(), "nothing is made");
        create(&folder);
        let copy = folder.path().join("copy");
        std::fs::copy(file(&folder), &copy).unwrap();
        let mut one = spending(&folder);
        assert_eq!(exceeded(one.charge("survey", WEEK, 1_000_000, &[ada; 3])), None);
        drop(one);
        drop(spending(&folder));
        lose(&file(&folder), &copy);
        let refused = Spending::open(&file(&folder), "persons.db", secret());
        assert!(matches!(refused, Err(SpendingError::Missing(_) | SpendingError::Mark(..))), "{name}");
        if name != "deleted with its mark" {
            let made = Owner::create(&file(&folder), "persons.db", secret());
            assert!(matches!(made, Err(SpendingError::Exists(_))), "{name}");
        }
        let said = accept(&folder, WEEK, 1_000_000);
        assert!(said[0].contains("counts as all that may be said"), "{name}: {said:?}");
        let mut one = spending(&folder);
        assert!(matches!(one.charge("survey", WEEK, 1_000_001, &[ada]), Err(ChargeError::Lost)), "{name}");
        assert_eq!(exceeded(one.charge("survey", WEEK, 1_209_600, &[ada; 3])), None, "{name}");
    }
    // While it is open, too.
    let folder = tempfile::tempdir().unwrap();
    create(&folder);
    let mut one = spending(&folder);
    std::fs::rename(file(&folder), folder.path().join("away")).unwrap();
    assert!(matches!(one.charge("survey", WEEK, 1_000_000, &[ada]), Err(ChargeError::Gone)));
}

/// Nothing in the file tells who it is about, or how much they said; with another key, or bytes that were changed, nothing is let
/// through.
#[test]
fn the_file_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let ada = secret().person("survey", "ada@example.org");
    create(&folder);
    let mut one = spending(&folder);
    one.charge("survey", WEEK, 1_000_000, &[ada]).unwrap();
    drop(one);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(3).any(|w| w == b"ada") && !bytes.windows(32).any(|w| *w == ada.0));
    }
    let sql = rusqlite::Connection::open(&path).unwrap();
    let sealed: Vec<u8> = sql.query_row("SELECT sealed FROM spent", [], |row| row.get(0)).unwrap();
    assert_eq!(sealed.len(), 24 + 8 + 16);
    sql.execute("UPDATE spent SET sealed = ?1", [[&sealed[..47], &[sealed[47] ^ 1]].concat()]).unwrap();
    drop(sql);
    let mut one = spending(&folder);
    assert!(matches!(one.charge("survey", WEEK, 1_000_000, &[ada]), Err(ChargeError::Closed)));
    drop(one);
    // Another key's persons are others.
    let other = Secret::new([8; 32]);
    assert!(other.person("survey", "ada@example.org") != ada);
    assert!(secret().person("poll", "ada@example.org") != ada);
    assert!(secret().person("surveya", "da@example.org") != ada);
    drop(spending(&folder));
    // With another key nobody would be known again, and each would have a whole window.
    let opened = Spending::open(&path, "persons.db", Secret::new([8; 32]));
    assert!(matches!(opened, Err(SpendingError::Key(_))));
    let one = spending(&folder);
    let opened = Spending::open(&path, "persons.db", secret());
    assert!(matches!(opened, Err(SpendingError::InUse(_))));
    drop(one);
    std::fs::write(&path, "this is no file of ours, whatever it is").unwrap();
    assert!(Spending::open(&path, "persons.db", secret()).is_err());
}

/// What a person says again is reported the same; what another says, or the same person to another question, has coins of its own.
#[test]
fn coins_fall_the_same_way_for_a_person_a_question_and_a_value() {
    let (ada, bob) = (secret().person("survey", "ada"), secret().person("survey", "bob"));
    let words = |person: &Person, question: &str, value: u32| {
        let mut coins = secret().coins(person, question, &value.to_le_bytes());
        [coins.next_u64().unwrap(), coins.next_u64().unwrap()]
    };
    let first = words(&ada, "smokes", 1);
    assert_eq!(first, words(&ada, "smokes", 1));
    for other in [words(&ada, "smokes", 0), words(&ada, "drinks", 1), words(&bob, "smokes", 1)] {
        assert_ne!(first, other);
    }
}

/// Over persons a permanent response has the law of its randomiser, and the responses of one person to two values are independent:
/// were the coins the same for both, the two reports together would tell both values. Mutation: coins keyed without the value.
#[test]
fn permanent_responses_have_the_law_of_their_randomiser() {
    let oracle = Oracle::new(OracleKind::Response, 2, &Ratio::from_integer(1)).unwrap();
    let p = oracle.probabilities().0;
    const PEOPLE: i32 = 20_000;
    let mut counts: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    for person in 0..PEOPLE {
        let person = secret().person("survey", &person.to_string());
        let say = |value: u32| match oracle
            .randomise(value, &mut secret().coins(&person, "smokes", &value.to_le_bytes()))
            .unwrap()
        {
            Report::Symbol(symbol) => symbol,
            Report::Bits(_) => 9,
        };
        *counts.entry((say(0), say(1))).or_default() += 1;
    }
    for ((first, second), count) in
        [((0, 0), p * (1.0 - p)), ((0, 1), p * p), ((1, 0), (1.0 - p) * (1.0 - p)), ((1, 1), p * (1.0 - p))]
    {
        let expected = count * f64::from(PEOPLE);
        let got = f64::from(counts.get(&(first, second)).copied().unwrap_or(0));
        // Six deviations.
        assert!((got - expected).abs() < 6.0 * expected.sqrt(), "{first} {second}: {got} {expected}");
    }
}
