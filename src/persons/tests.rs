#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use dp::randomised::{Oracle, OracleKind, Report};
use dp::{Entropy, Ratio};
use std::collections::BTreeMap;

const WEEK: Window = Window { length: 604_800, most: 3 };

fn secret() -> Secret {
    Secret::new([7; 32])
}

fn spending(folder: &tempfile::TempDir) -> Spending {
    Spending::open(&folder.path().join("persons.db"), "persons.db", secret()).unwrap()
}

/// As many reports as there are, in each window, for each person; a list is charged as a whole or not at all; a process that ends
/// forgets nothing. Mutation: a limit that is off by one, or a window that begins anew with each process.
#[test]
fn a_person_gives_so_many_reports_in_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let (ada, bob) = (secret().person("survey", "ada"), secret().person("survey", "bob"));
    let exceeded = |done: Result<(), ChargeError>| match done {
        Err(ChargeError::Exceeded(at)) => Some(at),
        other => {
            other.unwrap();
            None
        }
    };
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge(WEEK, 1_000_000, &[ada, bob, ada])), None);
    assert_eq!(exceeded(one.charge(WEEK, 1_000_000, &[bob, ada, ada, bob])), Some(2));
    drop(one);
    let mut one = spending(&folder);
    assert_eq!(exceeded(one.charge(WEEK, 1_000_001, &[ada, bob, bob])), None);
    assert_eq!(exceeded(one.charge(WEEK, 1_209_599, &[ada])), Some(0));
    assert_eq!(exceeded(one.charge(WEEK, 1_209_599, &[bob])), Some(0));
    // The next window begins, and forgets the last one.
    assert_eq!(exceeded(one.charge(WEEK, 1_209_600, &[ada, ada, ada])), None);
    assert_eq!(exceeded(one.charge(WEEK, 1_209_600, &[ada])), Some(0));
    drop(one);
    let file = rusqlite::Connection::open(folder.path().join("persons.db")).unwrap();
    let rows: i64 = file.query_row("SELECT count(*) FROM spent", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

/// Nothing in the file tells who it is about, or how much they said; with another key, or bytes that were changed, nothing is let
/// through.
#[test]
fn the_file_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("persons.db");
    let ada = secret().person("survey", "ada@example.org");
    let mut one = spending(&folder);
    one.charge(WEEK, 1_000_000, &[ada]).unwrap();
    drop(one);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(3).any(|w| w == b"ada") && !bytes.windows(32).any(|w| *w == ada.0));
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let sealed: Vec<u8> = file.query_row("SELECT sealed FROM spent", [], |row| row.get(0)).unwrap();
    assert_eq!(sealed.len(), 24 + 8 + 16);
    file.execute("UPDATE spent SET sealed = ?1", [[&sealed[..47], &[sealed[47] ^ 1]].concat()]).unwrap();
    drop(file);
    let mut one = spending(&folder);
    assert!(matches!(one.charge(WEEK, 1_000_000, &[ada]), Err(ChargeError::Closed)));
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
