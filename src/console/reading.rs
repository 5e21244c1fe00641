//! Readings of the books: every budget, how it went down, who drew on it, and the latest entries.
//! Reading proves the books as `noisegate budget verify` does; it happens beside the server, and no
//! more often than it is worth.

use crate::words;
use ledger::{BudgetSummary, Deed, Head, LedgerError, Owner, Recorded, Taken};
use policy::LedgerLocation;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Entries of each kind that are shown.
const LATEST: usize = 500;
/// Of the most expensive statements.
const DEAREST: usize = 10;
/// Time that a forecast looks back, in microseconds.
pub const LATELY: i64 = 14 * words::DAY;
/// Points of a curve that are kept, at most: beyond it every other one goes.
const POINTS: usize = 1024;
/// A reading is shown again for so long, and for so many times as long as it took.
const FRESH: Duration = Duration::from_secs(2);
const WORTH: u32 = 20;

/// A reading of the books.
pub struct Reading {
    /// When it was made, in microseconds since 1970.
    pub at: i64,
    /// The ledger's own name.
    pub id: String,
    /// The end of the entries.
    pub head: Head,
    /// Why nobody serves from this ledger, where that is so.
    pub mismatch: Option<String>,
    /// Every budget in force.
    pub budgets: Vec<BudgetSummary>,
    /// Spending of each owner in the present window of each budget.
    pub drawn: BTreeMap<(String, String), Drawn>,
    /// Openings of streams, by the stream's name and the user's.
    pub openings: BTreeMap<(String, String), Opened>,
    /// Answers that each user has ever got.
    pub users: BTreeMap<String, Answered>,
    /// The latest statements that were paid for or answered again, the latest first.
    pub statements: VecDeque<Recorded>,
    /// Entries that took the largest part of a budget, the most expensive first.
    pub dearest: Vec<Recorded>,
    /// The latest deeds of owners, the latest first.
    pub deeds: VecDeque<Recorded>,
}

/// A user's openings of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opened {
    /// Times.
    pub times: u64,
    /// The latest one, in microseconds since 1970.
    pub last: i64,
}

/// Answers of a user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    /// Statements that were paid for.
    pub paid: u128,
    /// Answers that were given again.
    pub again: u128,
    /// The latest of both, in microseconds since 1970.
    pub last: i64,
}

/// Spending of one owner's share of a budget in its present window.
#[derive(Default)]
pub struct Drawn {
    /// Moments, and the part that was left then.
    pub curve: Vec<(i64, f64)>,
    /// Every how many statements there is a point.
    every: usize,
    /// Statements that drew on it.
    pub statements: usize,
    /// The same by user, by role, and by the tables that were read.
    pub by: [BTreeMap<String, Part>; 3],
}

/// A part of a budget that was drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Statements.
    pub statements: usize,
    /// The part of the limit, from 0 to 1.
    pub part: f64,
    /// Spending in the last [`LATELY`].
    pub lately: f64,
    /// The latest one, in microseconds since 1970.
    pub last: i64,
}

impl Drawn {
    fn take(&mut self, recorded: &Recorded, paid: &ledger::PaidStatement, taken: &Taken, now: i64) {
        let every = self.every.max(1);
        if self.statements.is_multiple_of(every) {
            self.curve.push((recorded.at, taken.left));
        } else if let Some(last) = self.curve.last_mut() {
            *last = (recorded.at, taken.left);
        }
        self.statements += 1;
        if self.curve.len() >= POINTS {
            let mut keep = false;
            self.curve.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = every * 2;
        }
        let role = paid.role.clone().unwrap_or_else(|| "no role".into());
        let tables = paid.tables.as_ref().map_or_else(|| "not recorded".into(), |t| t.join(", "));
        for (by, name) in self.by.iter_mut().zip([recorded.who.clone(), role, tables]) {
            let part = by.entry(name).or_default();
            part.statements += 1;
            part.part += taken.part;
            part.lately += if recorded.at >= now - LATELY { taken.part } else { 0.0 };
            part.last = recorded.at;
        }
    }
}

impl Reading {
    /// Reads them. Blocks.
    pub fn of(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let at = words::now();
        let mut owner = Owner::read(location)?;
        let budgets = owner.budgets();
        let windows: BTreeMap<&str, Option<i64>> =
            budgets.iter().map(|b| (b.budget.name.as_str(), b.budget.window.map(|w| w.start(at)))).collect();
        let mut drawn: BTreeMap<(String, String), Drawn> = BTreeMap::new();
        let (mut statements, mut deeds) = (VecDeque::new(), VecDeque::new());
        let mut dearest = Vec::new();
        let mut openings: BTreeMap<(String, String), Opened> = BTreeMap::new();
        let mut users: BTreeMap<String, Answered> = BTreeMap::new();
        owner.recorded(|recorded| {
            if !matches!(recorded.deed, Deed::Other(_)) {
                let user = users.entry(recorded.who.clone()).or_default();
                let paid = matches!(recorded.deed, Deed::Paid(_));
                *(if paid { &mut user.paid } else { &mut user.again }) += 1;
                user.last = recorded.at;
            }
            if let Deed::Paid(paid) = &recorded.deed {
                among_dearest(&mut dearest, &recorded);
                if let Some(stream) = &paid.stream {
                    let opened = openings.entry((stream.clone(), recorded.who.clone())).or_default();
                    (opened.times, opened.last) = (opened.times + 1, recorded.at);
                }
                for taken in &paid.from {
                    if windows.get(taken.budget.as_str()).is_some_and(|w| *w == taken.window) {
                        let key = (taken.budget.clone(), taken.owner.clone());
                        drawn.entry(key).or_default().take(&recorded, paid, taken, at);
                    }
                }
            }
            let list = if matches!(recorded.deed, Deed::Other(_)) { &mut deeds } else { &mut statements };
            list.push_front(recorded);
            list.truncate(LATEST);
        })?;
        Ok(Self {
            at,
            id: owner.id().to_owned(),
            head: owner.head(),
            mismatch: owner.mismatch().map(ToString::to_string),
            budgets,
            drawn,
            openings,
            users,
            statements,
            dearest,
            deeds,
        })
    }

    /// Spending of an owner's share of a budget.
    pub fn drawn(&self, budget: &str, owner: &str) -> Option<&Drawn> {
        self.drawn.get(&(budget.to_owned(), owner.to_owned()))
    }
}

/// The largest part of a budget that an entry took.
fn price(recorded: &Recorded) -> f64 {
    let Deed::Paid(paid) = &recorded.deed else { return 0.0 };
    paid.from.iter().map(|taken| taken.part).fold(0.0, f64::max)
}

/// Keeps an entry if it is one of the most expensive; of two that cost the same, the later one.
fn among_dearest(dearest: &mut Vec<Recorded>, recorded: &Recorded) {
    let place = dearest.partition_point(|other| price(other) > price(recorded));
    if place < DEAREST && price(recorded) > 0.0 {
        dearest.insert(place, recorded.clone());
        dearest.truncate(DEAREST);
    }
}

/// The latest reading, and until when it is shown.
#[derive(Default)]
pub struct Readings(Mutex<Option<(Arc<Reading>, Instant)>>);

impl Readings {
    /// A reading that is fresh enough; requests that come while one is made wait for it.
    pub async fn latest(&self, location: &LedgerLocation) -> Result<Arc<Reading>, String> {
        let mut latest = self.0.lock().await;
        if let Some((reading, until)) = &*latest
            && Instant::now() < *until
        {
            return Ok(reading.clone());
        }
        let begun = Instant::now();
        let location = location.clone();
        let read = tokio::task::spawn_blocking(move || Reading::of(&location)).await;
        let read = read.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        let until = Instant::now() + FRESH.max(begun.elapsed() * WORTH);
        let reading = Arc::new(read);
        *latest = Some((reading.clone(), until));
        Ok(reading)
    }
}
