//! History of charges, in a form that a budget of tomorrow can be charged with: how often which
//! charge, by whom, over which tables, on which day.
//!
//! Days are enough: windows begin at midnight. Statements repeat, so this is much smaller than the
//! entries; prices are computed when a budget asks, and a charge's price times its number is the
//! sum of its prices exactly.

use crate::account::{Account, Amount};
use dp::Charge;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The day of a moment.
pub(super) fn day(at: i64) -> i64 {
    at.div_euclid(DAY)
}

/// Names are kept once, and called by number.
#[derive(Clone, Debug, Default)]
struct Names<T> {
    numbers: HashMap<T, u32>,
    list: Vec<T>,
}

impl<T: Clone + Eq + std::hash::Hash> Names<T> {
    fn number(&mut self, name: &T) -> u32 {
        if let Some(n) = self.numbers.get(name) {
            return *n;
        }
        // 2^32 names do not fit any memory.
        let n = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(name.clone());
        self.numbers.insert(name.clone(), n);
        n
    }

    fn name(&self, number: u32) -> Option<&T> {
        self.list.get(number as usize)
    }
}

/// Statements that are alike for every budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bucket {
    day: i64,
    user: u32,
    role: Option<u32>,
    tables: Option<u32>,
    charge: u32,
}

/// All charges.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    people: Names<String>,
    tables: Names<Vec<String>>,
    charges: HashMap<Arc<str>, u32>,
    list: Vec<Charge>,
    counts: HashMap<Bucket, u64>,
}

impl History {
    /// The number of a charge that was seen, by its text.
    pub(super) fn known(&self, key: &str) -> Option<u32> {
        self.charges.get(key).copied()
    }

    /// The number of a charge, seen or not.
    pub(super) fn charge(&mut self, key: &str, charge: &Charge) -> u32 {
        if let Some(n) = self.known(key) {
            return n;
        }
        let n = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(charge.clone());
        self.charges.insert(key.into(), n);
        n
    }

    /// Counts one charge.
    pub(super) fn count(
        &mut self,
        at: i64,
        user: &str,
        role: Option<&str>,
        tables: Option<&[String]>,
        charge: u32,
    ) {
        let bucket = Bucket {
            day: day(at),
            user: self.people.number(&user.to_owned()),
            role: role.map(|r| self.people.number(&r.to_owned())),
            tables: tables.map(|t| self.tables.number(&t.to_vec())),
            charge,
        };
        *self.counts.entry(bucket).or_default() += 1;
    }

    /// Amounts that an account would have been charged up to now, in the window of `at`, by owner.
    /// An error is why a charge has no price there.
    pub(super) fn sums(&self, account: &Account, at: i64) -> Result<HashMap<Arc<str>, Amount>, dp::Unpriced> {
        let since = account.window(at).map(|start| start.div_euclid(DAY));
        let mut prices: HashMap<u32, Amount> = HashMap::new();
        let mut sums: HashMap<Arc<str>, Amount> = HashMap::new();
        for (bucket, n) in &self.counts {
            if since.is_some_and(|since| bucket.day < since) {
                continue;
            }
            let user = self.people.name(bucket.user).map_or("", String::as_str);
            let role = bucket.role.and_then(|r| self.people.name(r)).map(String::as_str);
            let tables = bucket.tables.and_then(|t| self.tables.name(t)).map(Vec::as_slice);
            let Some(owner) = account.owner(user, role).filter(|_| account.counts(tables)) else { continue };
            let Some(charge) = self.list.get(bucket.charge as usize) else { continue };
            let price = match prices.get(&bucket.charge) {
                Some(price) => price.clone(),
                None => {
                    let price = account.counter.price(charge)?;
                    prices.insert(bucket.charge, price.clone());
                    price
                }
            };
            let sum = sums.entry(owner.into()).or_insert_with(|| account.counter.nothing());
            *sum = sum.plus(&price, *n);
        }
        Ok(sums)
    }

    /// Whether nothing was ever charged.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Forgets what was charged for statements that read some of these tables and no other.
    pub(super) fn forget(&mut self, tables: &BTreeSet<String>) {
        let names = &self.tables;
        self.counts.retain(|bucket, _| {
            let read = bucket.tables.and_then(|t| names.name(t));
            !read.is_some_and(|read| !read.is_empty() && read.iter().all(|t| tables.contains(t)))
        });
    }

    /// Forgets all of it.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
    }
}
