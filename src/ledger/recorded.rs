//! Entries as pages show them: who, when, what it took from which budget.

use super::account::{Amount, Counter};
use super::books::{Body, Books, Debit, Entry};
use super::error::LedgerError;
use super::owner::{Owner, told};
use std::collections::HashMap;

/// An entry, as readers of the books see it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Number of the entry.
    pub id: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// User, or author.
    pub who: String,
    /// Deed.
    pub deed: Deed,
}

/// Deed of an entry.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A statement that was paid for.
    Paid(Box<Paid>),
    /// An answer that was given again for nothing: the first letters of the statement's hash.
    Again(String),
    /// Deed of an owner, in words.
    Other(String),
}

/// A statement that was paid for.
#[derive(Clone, Debug)]
pub struct Paid {
    /// The first letters of its hash.
    pub statement: String,
    /// The user's role.
    pub role: Option<String>,
    /// Private tables that it read, by name; None where nobody said which.
    pub tables: Option<Vec<String>>,
    /// The stream that it opened.
    pub stream: Option<String>,
    /// Text that the database was sent, where the policy wants it written.
    pub text: Option<String>,
    /// Shares of each budget that is in force.
    pub from: Vec<Taken>,
}

/// Share that a statement took of one budget, measured against the limit that the budget has now,
/// with what was granted.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The budget's name.
    pub budget: String,
    /// User or role; empty for everybody.
    pub owner: String,
    /// When the window began; None for all time.
    pub window: Option<i64>,
    /// The part of the limit that it took, from 0 to 1.
    pub part: f64,
    /// The part that was left after it, from 0 to 1.
    pub left: f64,
}

/// Sums of the entries so far, by budget, owner and window.
type Sums = HashMap<(String, String, Option<i64>), (Counter, Amount)>;

impl Owner {
    /// Shows each entry, the oldest first.
    pub fn recorded(&mut self, mut show: impl FnMut(Recorded)) -> Result<(), LedgerError> {
        let mut sums = Sums::new();
        let (log, books) = self.parts();
        log.replay(&mut |row| {
            let entry = Entry::read(row.id, &row.body)?;
            show(recorded(row.id, entry, books, &mut sums));
            Ok(())
        })?;
        Ok(())
    }
}

fn recorded(id: i64, entry: Entry, books: &mut Books, sums: &mut Sums) -> Recorded {
    let at = entry.at;
    match entry.what {
        Body::Debit(debit) => {
            let from = debit.paid.iter().filter_map(|p| taken(p, books, sums)).collect();
            let Debit { user, role, statement, tables, stream, text, .. } = debit;
            let statement = short(&statement);
            let paid = Paid { statement, role, tables, stream, text, from };
            Recorded { id, at, who: user, deed: Deed::Paid(Box::new(paid)) }
        }
        Body::Cached(cached) => {
            Recorded { id, at, who: cached.user, deed: Deed::Again(short(&cached.statement)) }
        }
        other => {
            let told = told(id, Entry::new(at, other));
            Recorded { id, at, who: told.who, deed: Deed::Other(told.what) }
        }
    }
}

fn taken(paid: &super::books::Paid, books: &mut Books, sums: &mut Sums) -> Option<Taken> {
    let key = (paid.budget.clone(), paid.owner.clone(), paid.window);
    if !sums.contains_key(&key) {
        let counter = books.counter_of(&paid.budget, &paid.owner, paid.window)?;
        let nothing = counter.nothing();
        sums.insert(key.clone(), (counter, nothing));
    }
    let (counter, spent) = sums.get_mut(&key)?;
    let before = counter.fraction_left(spent);
    *spent = spent.plus(&counter.read(&paid.loss, &paid.delta)?, 1);
    let left = counter.fraction_left(spent);
    let (budget, owner, window) = key;
    Some(Taken { budget, owner, window, part: before - left, left })
}

fn short(hash: &str) -> String {
    hash.get(..16).unwrap_or(hash).to_owned()
}
