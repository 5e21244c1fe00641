//! Rule 42: a ledger that has lost its end is noticed by its mark, and goes on only as its owner says.

use crate::log::store::{in_database, runtime};
use crate::support::database;
use noisegate::answer::Identity;
use noisegate::dp::{Charge, Ratio, Spec, UNITS_PER_ONE};
use noisegate::ledger::{Ledger, LedgerError, Mismatch, Missing, Owner, Refusal, Terms, verify};
use noisegate::policy::{Accounting, Budget, LedgerLocation, Scope, Window};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHILD: &str = "NOISEGATE_TEST_LOST";
const TENTH: u128 = UNITS_PER_ONE / 10;

fn budgets() -> Vec<Budget> {
    let budget = |name: &str, scope, accounting, delta: &str| {
        Budget::new(name, scope, accounting, 2.into(), delta.parse().unwrap())
    };
    vec![
        budget("everyone", Scope::Dataset, Accounting::Notion(noisegate::dp::Notion::Pure), "0"),
        Budget {
            window: Some(Window::Month),
            ..budget("month", Scope::User, Accounting::Notion(noisegate::dp::Notion::Zcdp), "1e-6")
        },
    ]
}

fn terms() -> Terms {
    Terms::unchecked(&budgets(), "riders.rider_id")
}

fn charge() -> Charge {
    let epsilon = Ratio::new(1, 10);
    Charge::of(&epsilon, &[Spec::laplace(&epsilon, 1, &[1], None).unwrap()]).unwrap()
}

fn who(user: &str) -> Identity {
    Identity { user: user.into(), role: None }
}

fn pay(ledger: &Ledger, user: &str, times: usize) -> Result<i64, Refusal> {
    let mut last = 0;
    for _ in 0..times {
        last = runtime()
            .block_on(ledger.debit(&who(user), [7; 32], &price::Proven::unproven(charge())))?
            .entry();
    }
    Ok(last)
}

fn spent(ledger: &Ledger, user: &str) -> u128 {
    let states = runtime().block_on(ledger.remaining(&who(user))).unwrap();
    states.first().unwrap().reading().unwrap().0
}

fn open(location: &LedgerLocation) -> Result<Ledger, LedgerError> {
    Ledger::open(location, &terms())
}

/// A ledger in a file.
struct Books {
    folder: tempfile::TempDir,
}

impl Books {
    fn new() -> Self {
        let books = Self { folder: tempfile::tempdir().unwrap() };
        Ledger::create(&books.location(), &terms()).unwrap();
        books
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn location(&self) -> LedgerLocation {
        LedgerLocation::Sqlite(self.path("books.db").into())
    }

    /// Eight debits by a process that is killed.
    fn killed(&self) {
        let (mut child, _) = self.serving();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(std::fs::metadata(self.path("books.db-wal")).unwrap().len() > 0);
    }

    fn serving(&self) -> (Child, impl Iterator<Item = String> + use<>) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lost::rule_42_a_ledger_that_lost_its_end_is_refused", "--nocapture"])
            .env(CHILD, self.path("books.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.by_ref().any(|line| line == "paid"), "the child never paid");
        (child, lines)
    }

    /// What serve and verify say.
    fn refused(&self, location: &LedgerLocation) -> Mismatch {
        let refused = open(location).err().unwrap_or_else(|| panic!("it was served from"));
        let LedgerError::Mark(mismatch) = refused else { panic!("{refused}") };
        assert!(
            mismatch.to_string().contains("noisegate budget restore")
                || matches!(mismatch, Mismatch::Other { .. })
        );
        assert_eq!(Owner::read(location).unwrap().mismatch(), Some(&mismatch));
        mismatch
    }
}

fn is_behind(mismatch: &Mismatch) -> bool {
    matches!(mismatch, Mismatch::Behind { .. })
}

type Damage = fn(&Books) -> LedgerLocation;

const DAMAGES: [(&str, bool, Damage); 7] = [
    ("the WAL is lost", true, |books| {
        std::fs::remove_file(books.path("books.db-wal")).unwrap();
        books.location()
    }),
    ("half of the WAL is lost", true, |books| {
        let wal = std::fs::File::options().write(true).open(books.path("books.db-wal")).unwrap();
        wal.set_len(wal.metadata().unwrap().len() / 2).unwrap();
        books.location()
    }),
    ("the file is moved without its WAL", false, |books| {
        std::fs::rename(books.path("books.db"), books.path("moved.db")).unwrap();
        assert!(matches!(open(&books.location()), Err(LedgerError::Missing(_))));
        assert!(matches!(Ledger::create(&books.location(), &terms()), Err(LedgerError::Exists(_))));
        LedgerLocation::Sqlite(books.path("moved.db").into())
    }),
    ("an older copy is put back", true, |books| {
        for suffix in ["-wal", "-shm"] {
            std::fs::remove_file(books.path(&format!("books.db{suffix}"))).unwrap();
        }
        // In the same file, so that it is not seen by its number.
        std::fs::write(books.path("books.db"), std::fs::read(books.path("old.db")).unwrap()).unwrap();
        books.location()
    }),
    ("an older file is put in its place", true, |books| {
        for suffix in ["-wal", "-shm"] {
            std::fs::remove_file(books.path(&format!("books.db{suffix}"))).unwrap();
        }
        std::fs::rename(books.path("old.db"), books.path("books.db")).unwrap();
        books.location()
    }),
    ("the last entries are cut by hand", true, |books| {
        let file = rusqlite::Connection::open(books.path("books.db")).unwrap();
        file.execute_batch("DROP TRIGGER entries_no_delete; DELETE FROM entries WHERE id > 5").unwrap();
        books.location()
    }),
    ("a hard link that was made before is served alone", false, |books| {
        assert!(matches!(
            open(&LedgerLocation::Sqlite(books.path("link.db").into())),
            Err(LedgerError::Linked(_))
        ));
        std::fs::remove_file(books.path("books.db")).unwrap();
        LedgerLocation::Sqlite(books.path("link.db").into())
    }),
];

#[test]
fn rule_42_a_ledger_that_lost_its_end_is_refused() {
    if let Some(path) = std::env::var_os(CHILD) {
        let ledger = open(&LedgerLocation::Sqlite(PathBuf::from(path).into())).unwrap();
        pay(&ledger, "ada", 8).unwrap();
        println!("\npaid");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    for (what, behind, damage) in DAMAGES {
        let books = Books::new();
        pay(&open(&books.location()).unwrap(), "ada", 1).unwrap();
        std::fs::copy(books.path("books.db"), books.path("old.db")).unwrap();
        let link = what.contains("hard link");
        if link {
            let (mut child, _) = books.serving();
            std::fs::hard_link(books.path("books.db"), books.path("link.db")).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            books.killed();
        }
        let place = damage(&books);
        let mismatch = books.refused(&place);
        assert_eq!(is_behind(&mismatch), behind, "{what}: {mismatch}");
        assert_eq!(verify(&place).is_err(), behind, "{what}");
        // Nobody says how much: all is spent, for who was there and for who was not, and stays so after a restart.
        let told = Owner::restore(&place, None, "olga", "the disk died").unwrap();
        assert!(
            told.what.contains("every budget counts as spent in full: the disk died"),
            "{what}: {}",
            told.what
        );
        for _ in 0..2 {
            let ledger = open(&place).unwrap_or_else(|e| panic!("{what}: {e}"));
            for user in ["ada", "eve"] {
                let Err(Refusal::Exhausted(lacks)) = pay(&ledger, user, 1) else {
                    panic!("{what}: answered")
                };
                assert_eq!(lacks.len(), 2, "{what}: {lacks:?}");
            }
        }
        verify(&place).unwrap();
        // A grant is the way to go on.
        let none = 0.into();
        for (budget, owner) in [("everyone", None), ("month", Some("eve"))] {
            let mut books = Owner::open(&place).unwrap();
            books.grant(budget, owner, [&1.into(), &none, &none], "olga", "we know better").unwrap();
        }
        let ledger = open(&place).unwrap();
        assert!(pay(&ledger, "eve", 1).is_ok() && pay(&ledger, "ada", 1).is_err(), "{what}");
    }
}

#[test]
fn rule_42_an_owner_who_knows_says_what_was_lost() {
    let books = Books::new();
    let place = books.location();
    pay(&open(&place).unwrap(), "ada", 1).unwrap();
    assert!(
        matches!(Owner::restore(&place, None, "olga", "?"), Err(LedgerError::Impossible(_))),
        "all is well"
    );
    books.killed();
    std::fs::remove_file(books.path("books.db-wal")).unwrap();
    books.refused(&place);
    let (epsilon, delta) = ("0.1".parse().unwrap(), 0.into());
    let missing = |entries| Some(Missing { epsilon: &epsilon, delta: &delta, entries });
    // The mark knows eight.
    let fewer = Owner::restore(&place, missing(Some(7)), "olga", "?").err().unwrap();
    assert!(fewer.to_string().contains("more entries are missing than that"), "{fewer}");
    let told = Owner::restore(&place, missing(None), "olga", "each was a tenth").unwrap();
    assert!(told.what.contains("8 of epsilon 1/10 are charged"), "{}", told.what);
    let ledger = open(&place).unwrap();
    assert_eq!((spent(&ledger, "ada"), spent(&ledger, "eve")), (9 * TENTH, 9 * TENTH));
    let month = |user: &str| runtime().block_on(ledger.remaining(&who(user))).unwrap()[1].clone();
    // Nobody knows whose they were.
    assert_eq!(month("ada").fits(&charge()).unwrap() + 1, month("eve").fits(&charge()).unwrap());
    drop(ledger);
    // A budget that comes later is charged with them, too.
    let mut more = budgets();
    more.push(Budget { name: "late".into(), ..budgets()[0].clone() });
    let ledger = Ledger::open(&place, &Terms::unchecked(&more, "riders.rider_id")).unwrap();
    let states = runtime().block_on(ledger.remaining(&who("eve"))).unwrap();
    assert_eq!(states.last().unwrap().reading().unwrap().0, 9 * TENTH);
    drop(ledger);
    // And once more: what was mended before does not stand for what is lost now.
    let kept = std::fs::read(books.path("books.db")).unwrap();
    pay(&open(&place).unwrap(), "ada", 2).unwrap();
    std::fs::write(books.path("books.db"), kept).unwrap();
    assert!(is_behind(&books.refused(&place)));
}

#[test]
fn rule_42_a_copy_is_not_served_until_its_owner_says_so() {
    let books = Books::new();
    let place = books.location();
    pay(&open(&place).unwrap(), "ada", 3).unwrap();
    let hash = |place: &LedgerLocation| {
        verify(place).unwrap().hash.iter().map(|b| format!("{b:02x}")).collect::<String>()
    };
    let last = hash(&place);
    let copy = |to: &Path, mark: bool| {
        std::fs::create_dir(to).unwrap();
        for name in ["books.db", "books.db-mark"].into_iter().filter(|n| mark || !n.ends_with("mark")) {
            std::fs::copy(books.path(name), to.join(name)).unwrap();
        }
        LedgerLocation::Sqlite(to.join("books.db").into())
    };
    let whole = copy(&books.path("whole"), true);
    assert!(matches!(books.refused(&whole), Mismatch::Copy { .. }));
    let bare = copy(&books.path("bare"), false);
    assert!(matches!(books.refused(&bare), Mismatch::Missing { .. }));
    assert_eq!(hash(&bare), last, "it is proven all the same");
    // The owner says which entry it must have.
    pay(&open(&place).unwrap(), "ada", 1).unwrap();
    let newer = hash(&place);
    for copy in [&whole, &bare] {
        let refused = Owner::mark(copy, &newer).unwrap_err();
        assert!(refused.to_string().contains("no entry has the hash"), "{refused}");
        Owner::mark(copy, &last).unwrap();
        assert_eq!(spent(&open(copy).unwrap(), "ada"), 3 * TENTH);
    }
    // A mark that knows more does not give in to that; and one of another ledger to nothing.
    std::fs::copy(books.path("books.db-mark"), books.path("bare/books.db-mark")).unwrap();
    assert!(matches!(Owner::mark(&bare, &last), Err(LedgerError::Mark(Mismatch::Behind { .. }))));
    let other = Books::new();
    std::fs::copy(other.path("books.db-mark"), books.path("bare/books.db-mark")).unwrap();
    assert!(matches!(books.refused(&bare), Mismatch::Other { .. }));
    assert!(Owner::mark(&bare, &last).is_err());
    assert!(matches!(
        Owner::restore(&bare, None, "olga", "?"),
        Err(LedgerError::Mark(Mismatch::Other { .. }))
    ));
    // A damaged mark is none.
    std::fs::write(books.path("bare/books.db-mark"), "").unwrap();
    assert!(books.refused(&bare).to_string().contains("is damaged"));
}

/// A mark that is taken away from a running proxy, too, ends its answers.
#[test]
fn rule_42_without_its_mark_nothing_is_answered() {
    let books = Books::new();
    let ledger = open(&books.location()).unwrap();
    pay(&ledger, "ada", 1).unwrap();
    std::fs::rename(books.path("books.db-mark"), books.path("away")).unwrap();
    assert!(matches!(pay(&ledger, "ada", 1), Err(Refusal::Lost)));
    std::fs::rename(books.path("away"), books.path("books.db-mark")).unwrap();
    pay(&ledger, "ada", 1).unwrap();
    assert_eq!(spent(&ledger, "ada"), 3 * TENTH, "a debit that nobody was told of stands");
}

/// Each proxy has a mark of its own of a ledger in a database.
#[test]
fn rule_42_a_database_that_lost_entries_is_refused_by_who_has_seen_them() {
    let db = runtime().block_on(database(""));
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let LedgerLocation::Postgres(database) = in_database(&db.superuser_url) else { panic!() };
        LedgerLocation::Postgres(noisegate::policy::LedgerDatabase {
            mark: folder.path().join(name).into(),
            ..database
        })
    };
    Ledger::create(&place("one"), &terms()).unwrap();
    // Nothing is spent: another proxy may come.
    pay(&open(&place("two")).unwrap(), "ada", 1).unwrap();
    pay(&open(&place("one")).unwrap(), "ada", 3).unwrap();
    assert!(matches!(open(&place("late")), Err(LedgerError::Mark(Mismatch::Missing { .. }))));
    let hash: String = verify(&place("one")).unwrap().hash.iter().map(|b| format!("{b:02x}")).collect();
    Owner::mark(&place("late"), &hash).unwrap();
    // A standby that had not received the last three.
    runtime().block_on(db.execute(
        "SET session_replication_role = replica; SET search_path = noisegate_ledger;
         DELETE FROM entries WHERE id > 3; UPDATE head SET (id, hash) = (SELECT id, hash FROM entries WHERE id = 3)",
    ));
    for name in ["one", "late"] {
        assert!(
            matches!(open(&place(name)), Err(LedgerError::Mark(Mismatch::Behind { expected: 6, .. }))),
            "{name}"
        );
    }
    let (epsilon, delta) = ("0.1".parse().unwrap(), 0.into());
    let missing = Some(Missing { epsilon: &epsilon, delta: &delta, entries: None });
    Owner::restore(&place("one"), missing, "olga", "failover").unwrap();
    // What one owner has made up for holds for all who have seen no more than that.
    for name in ["late", "two", "one"] {
        let ledger = open(&place(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(spent(&ledger, "ada"), 4 * TENTH, "{name}");
    }
    verify(&place("late")).unwrap();
}
