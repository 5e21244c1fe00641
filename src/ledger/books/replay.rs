//! Entries, one after the other: each is verified before it counts.

use super::body::{Accepted, Body, BudgetTerms, Cached, Close, Closed, Debit, Entry, Grant, Terms, decimal};
use super::compare::{Measure, same_sums};
use super::history;
use super::line::{Line, Price};
use super::report::KEPT;
use super::state::{Books, Granted, Head, Measurement, Pending, StreamOpening, Sum};
use crate::account::{Account, Counter};
use crate::change::{Anew, Change};
use crate::entry::unhex;
use crate::faults::Wrong;
use crate::log::{PrivateRead, Row};
use std::collections::{BTreeSet, HashMap};

/// No release is waited for longer, in microseconds.
const LONGEST: i64 = 86_400_000_000;

/// Releases that are waited for before anybody looks which of them are not.
pub(super) const SWEEP: usize = 1024;

impl Books {
    /// Takes the next entry, if it follows.
    pub(crate) fn apply(&mut self, row: &Row) -> Result<(), Wrong> {
        if row.id <= self.head.id {
            return Err(Wrong { id: row.id, why: "its number was there before".to_owned() });
        }
        self.follow(row, Entry::read(row.id, &row.body)?)
    }

    /// Takes the next entry, if it follows. It was written here, and `row` has what [`Entry::write`] made of it: only its
    /// meaning is verified, not its spelling.
    pub(crate) fn follow(&mut self, row: &Row, entry: Entry) -> Result<(), Wrong> {
        let wrong = |why: &str| Wrong { id: row.id, why: why.to_owned() };
        if row.id <= self.head.id {
            return Err(wrong("its number was there before"));
        }
        if !entry.is_dated() {
            return Err(wrong("its time is no time"));
        }
        if entry.at < self.head.at {
            return Err(wrong("it is older than the entry before it"));
        }
        if matches!(entry.what, Body::Opening(_)) != (self.head.id == 0) {
            return Err(wrong("a ledger begins with one opening"));
        }
        let (id, at) = (row.id, entry.at);
        self.take(id, entry).map_err(|why| Wrong { id, why })?;
        self.head = Head { id, hash: row.hash, at };
        Ok(())
    }

    fn take(&mut self, id: i64, entry: Entry) -> Result<(), String> {
        match entry.what {
            Body::Opening(opening) => {
                (self.id, self.epoch_since) = (opening.id, entry.at);
            }
            Body::Policy(accepted) => self.take_policy(id, accepted, entry.at)?,
            Body::Debit(debit) => self.take_debit(id, debit, entry.at)?,
            Body::Cached(cached) => self.take_cached(id, &cached, entry.at)?,
            Body::Grant(grant) => {
                self.check_grant(&grant, entry.at)?;
                self.take_grant(&grant)?;
            }
            Body::Close(Close { what, .. }) => match what {
                Closed::Budget(name) => {
                    if !self.known.budgets.contains_key(&name) {
                        return Err(format!("there is no budget \"{name}\""));
                    }
                    self.closed.insert(name);
                }
                Closed::Stream(name) => {
                    self.closed_streams.insert(name);
                }
            },
            Body::Restore(restore) => self.take_restore(id, &restore, entry.at)?,
            Body::Profile(profile) => self.take_profile(id, &profile, entry.at)?,
            Body::Epoch(epoch) => {
                if epoch.number != self.epoch + 1 {
                    return Err(format!("epoch {} does not follow epoch {}", epoch.number, self.epoch));
                }
                (self.epoch, self.epoch_since) = (epoch.number, entry.at);
            }
        }
        Ok(())
    }

    /// Budgets of a policy that have no price for something of the past.
    pub(super) fn cannot_take_over(&self, terms: &Terms, at: i64) -> Vec<Change> {
        let mut changes = Vec::new();
        for own in terms.budgets.iter().filter(|b| !self.keeps(b)) {
            let Some(account) = own.read().and_then(|b| Account::new(&b).ok()) else { continue };
            if let Err(reason) = self.history.sums(&account, at) {
                let what =
                    format!("budget \"{}\" cannot be charged with what was spent so far: {reason}", own.name);
                changes.push(Change { what, forgets: Some("it starts unspent".into()), anew: Anew::Nothing });
            }
        }
        changes
    }

    /// Whether a budget of a new policy goes on with the sums of the same one in force.
    fn keeps(&self, new: &BudgetTerms) -> bool {
        let old = self.terms.iter().flat_map(|t| &t.budgets).find(|b| b.name == new.name);
        old.is_some_and(|old| same_sums(old, new))
    }

    fn take_policy(&mut self, id: i64, accepted: Accepted, at: i64) -> Result<(), String> {
        let Accepted { mut terms, forgets, .. } = accepted;
        // Who asked no server says nothing new of it.
        terms.data = terms.data.or_else(|| self.terms.as_ref()?.data.clone());
        let measure = if terms.data.is_some() { Measure::Coordinates } else { Measure::Keys };
        let changes = self.compare_by(&terms, at, measure);
        if let Some(change) = changes.iter().find(|c| c.forgets.is_some() && !forgets) {
            return Err(format!("nobody accepted this: {}", change.what));
        }
        let mut accounts = Vec::with_capacity(terms.budgets.len());
        for own in &terms.budgets {
            let budget = own.read().ok_or_else(|| format!("budget \"{}\" cannot be read", own.name))?;
            if accounts.iter().any(|a: &Account| a.budget.name == budget.name) {
                return Err(format!("two budgets are called \"{}\"", own.name));
            }
            // What an envelope comes to takes a while to compute.
            let same = self.accounts.iter().find(|a| *a.budget == budget).cloned();
            accounts.push(match same {
                Some(account) => account,
                None => Account::new(&budget).map_err(|e| e.to_string())?,
            });
        }
        let anew = self.start_anew(id, &changes);
        // A grant is for the budget that it was made for, not for its name.
        let granted: BTreeSet<&str> =
            terms.budgets.iter().filter(|b| self.keeps(b)).map(|b| b.name.as_str()).collect();
        let granted: Vec<Granted> =
            self.grants.iter().filter(|g| granted.contains(g.budget.as_str())).cloned().collect();
        let mut sums = HashMap::new();
        for (index, (account, own)) in accounts.iter().zip(&terms.budgets).enumerate() {
            let before = self.accounts.iter().position(|a| a.budget.name == account.budget.name);
            if let Some(before) = before.filter(|_| !anew && self.keeps(own)) {
                let kept = self.sums.iter().filter(|((account, _), _)| *account == before);
                sums.extend(kept.map(|((_, owner), sum)| ((index, owner.clone()), sum.clone())));
                continue;
            }
            // What has no price there was accepted to be forgotten.
            let taken_over = self.history.sums(account, at).unwrap_or_default();
            if !self.keeps(own) {
                self.recount(&account.budget.name);
            }
            let window = account.window(at);
            let base = self.base(account, window);
            let sum = |(owner, spent)| ((index, owner), Sum { window, spent: base.plus(&spent, 1) });
            sums.extend(taken_over.into_iter().map(sum));
        }
        self.grants = granted;
        self.sums = sums;
        self.accounts = accounts;
        self.known.learn(&terms);
        self.terms = Some(terms);
        self.raised.clear();
        self.prices.clear();
        self.fresh = None;
        Ok(())
    }

    /// Forgets what was spent on somebody else's privacy. Whether there is such.
    fn start_anew(&mut self, id: i64, changes: &[Change]) -> bool {
        let (mut everything, mut tables) = (false, BTreeSet::new());
        for change in changes {
            match &change.anew {
                Anew::Nothing => {}
                Anew::Table(name) => drop(tables.insert(name.clone())),
                Anew::Everything => everything = true,
            }
        }
        if everything {
            self.history.clear();
            self.forget_lost();
            self.grants.clear();
            self.forget_profiles(None);
        } else {
            self.history.forget(&tables);
            self.forget_profiles(Some(&tables));
        }
        let any = everything || !tables.is_empty();
        if any {
            self.anew_since = id;
        }
        any
    }

    fn take_debit(&mut self, id: i64, debit: Debit, at: i64) -> Result<(), String> {
        let charge = debit.charge.read().ok_or("its charge cannot be read")?;
        if debit.pricing > dp::PRICING {
            return Err("it was priced by a later version of noisegate: use that one".into());
        }
        // What an earlier pricing found stands as it was paid, since another one may find less, but for what it found too little for.
        let earlier = debit.pricing < dp::PRICING;
        let key = serde_json::to_string(&debit.charge).map_err(|e| e.to_string())?;
        let (user, role, tables) = (&debit.user, debit.role.as_deref(), debit.tables.as_deref());
        let prices = self.prices(&key, &charge);
        let matches = self.matches(user, role, tables, at);
        if matches.is_empty() || matches.len() != debit.paid.len() {
            return Err(format!("{} budgets match it, and {} were debited", matches.len(), debit.paid.len()));
        }
        let (mut sums, mut short) = (Vec::with_capacity(matches.len()), Vec::with_capacity(matches.len()));
        for (m, paid) in matches.into_iter().zip(&debit.paid) {
            let account = self.accounts.get(m.key.0).ok_or("an account is missing")?;
            let name = account.budget.name.clone();
            if self.closed.contains(&name) {
                return Err(format!("budget \"{name}\" was closed before it"));
            }
            if (paid.budget.as_str(), paid.owner.as_str(), paid.window)
                != (name.as_str(), &*m.key.1, m.window)
            {
                return Err(format!("budget \"{}\" was debited for budget \"{name}\"", paid.budget));
            }
            let price = account.counter.read(&paid.loss, &paid.delta);
            let mut price = price.ok_or_else(|| format!("its price in budget \"{name}\" is no price"))?;
            match prices.get(m.key.0) {
                anew if earlier => {
                    price = self.dearer.counted(id, &debit, &name, &account.counter, price, anew);
                }
                Some(Ok(least)) if price.covers(least) => {}
                Some(Ok(_)) => {
                    return Err(format!("budget \"{name}\" was debited less than its events cost"));
                }
                Some(Err(reason)) => return Err(format!("budget \"{name}\" has no price for it: {reason}")),
                None => return Err("an account is missing".into()),
            }
            let spent = self.spent(&m.key, m.window);
            let counter = self.counter(&m.key, m.window);
            short.push((name.clone(), Price::new(&counter, &price)));
            let sum = match counter.admit(&spent, &price) {
                Ok(sum) => sum,
                Err(_) if earlier => spent.plus(&price, 1),
                Err(_) => return Err(format!("it is over budget \"{name}\"")),
            };
            sums.push((m.key, Sum { window: m.window, spent: sum }));
        }
        let release = match &debit.release {
            Some(text) => Some(unhex(text).ok_or("its release's key is no key")?),
            None => None,
        };
        // Nothing fails from here on.
        for (key, sum) in sums {
            self.sums.insert(key, sum);
        }
        if let Some(stream) = &debit.stream {
            let opening =
                StreamOpening { entry: id, at, role: debit.role.clone(), policy: debit.policy.clone() };
            self.opened.insert((debit.user.clone(), stream.clone()), opening);
        }
        let number = self.history.charge(&key, &charge);
        if let Some((_, prices)) = self.fresh.take_if(|(fresh, _)| *fresh == key) {
            self.prices.insert(number, prices);
        }
        self.history.count(at, user, role, tables, number);
        if user.is_empty() {
            let tables = debit.tables.clone().unwrap_or_default();
            self.measurements.insert(id, Measurement { tables, charge: charge.clone() });
        }
        if let Some(key) = release {
            self.pending.insert(key, Pending { entry: id, at, read: debit.id.clone() });
            // Where nobody asks here, and so nobody says how long is waited.
            if self.pending.len() > self.sweep_at {
                self.sweep(at, LONGEST, &[]);
            }
        }
        let line = Line {
            entry: id,
            at,
            statement: debit.statement,
            epsilon: charge.epsilon,
            selection_delta: charge.selection_delta,
            cached: false,
            paid: short,
        };
        self.remember(debit.user, line);
        Ok(())
    }

    fn take_cached(&mut self, id: i64, cached: &Cached, at: i64) -> Result<(), String> {
        unhex(&cached.release).ok_or("its release's key is no key")?;
        if self.noted_on != history::day(at) {
            self.noted.clear();
            self.noted_on = history::day(at);
        }
        self.noted.insert((cached.user.clone(), cached.release.clone()));
        let zero = dp::Ratio::from_integer(0);
        let statement = cached.statement.clone();
        let line = Line {
            entry: id,
            at,
            statement,
            epsilon: zero,
            selection_delta: zero,
            cached: true,
            paid: Vec::new(),
        };
        self.remember(cached.user.clone(), line);
        Ok(())
    }

    fn remember(&mut self, user: String, line: Line) {
        let lines = self.recent.entry(user).or_default();
        lines.push_back(line);
        if lines.len() > 2 * KEPT {
            lines.drain(..KEPT);
        }
    }

    /// Whether a grant can be made.
    pub(crate) fn check_grant(&self, grant: &Grant, at: i64) -> Result<(), String> {
        let account = self.accounts.iter().find(|a| a.budget.name == grant.budget);
        let account = account.ok_or_else(|| format!("there is no budget \"{}\" in force", grant.budget))?;
        if self.closed.contains(&grant.budget) {
            return Err(format!("budget \"{}\" is closed", grant.budget));
        }
        if grant.window != account.window(at) {
            return Err("it is not for the present window".into());
        }
        if grant.owner.is_some() == (account.budget.scope == policy::Scope::Dataset) && grant.owner.is_some()
        {
            return Err(format!("budget \"{}\" is everybody's: a grant names no owner", grant.budget));
        }
        let mut more: Vec<_> = self.grants.iter().filter(|g| g.budget == grant.budget).collect();
        more.retain(|g| g.window == grant.window);
        let mut all: Vec<_> = more.into_iter().map(|g| g.more.clone()).collect();
        all.push(amounts(grant)?);
        // With all grants together, to whomever they were made, there is a filter.
        Counter::of(&account.budget, &all).map(drop).map_err(|e| e.to_string())
    }

    fn take_grant(&mut self, grant: &Grant) -> Result<(), String> {
        let more = amounts(grant)?;
        let (budget, owner, window) = (grant.budget.clone(), grant.owner.clone(), grant.window);
        self.grants.push(Granted { budget, owner, window, more });
        self.raised.clear();
        Ok(())
    }

    /// Whether it was noted today already that a user was given a release again: a dashboard that asks every second would
    /// fill the ledger with nothing new.
    pub(crate) fn noted(&self, cached: &Cached, clock: i64) -> bool {
        self.noted_on == history::day(self.now(clock))
            && self.noted.contains(&(cached.user.clone(), cached.release.clone()))
    }

    /// A release was kept, or its payer gives up: nobody waits for it any more.
    pub(crate) fn arrived(&mut self, key: &[u8; 32], entry: Option<i64>) {
        if self.pending.get(key).is_some_and(|p| entry.is_none_or(|e| e == p.entry)) {
            self.pending.remove(key);
        }
    }

    /// Notes that nobody else has this ledger: an answer that is paid for and not kept never will
    /// be.
    pub(crate) fn alone(&mut self) {
        self.pending.clear();
    }

    /// Forgets who is not waited for any more, at times: others keep their releases without saying so here, or never.
    pub(crate) fn sweep(&mut self, now: i64, lease: i64, reads: &[PrivateRead]) {
        if self.pending.len() >= self.sweep_at {
            self.pending.retain(|_, p| p.is_awaited(now, lease, reads));
            self.sweep_at = SWEEP.max(2 * self.pending.len());
        }
    }

    /// Whether somebody has paid for a release and is still about to keep it: its read is under way, or it was paid for
    /// within `lease` microseconds and nothing is known of a read.
    pub(crate) fn awaited(&self, key: &[u8; 32], clock: i64, lease: i64, reads: &[PrivateRead]) -> bool {
        self.pending.get(key).is_some_and(|p| p.is_awaited(self.now(clock), lease, reads))
    }
}

impl Pending {
    fn is_awaited(&self, now: i64, lease: i64, reads: &[PrivateRead]) -> bool {
        match reads.iter().find(|r| r.id == self.read) {
            Some(read) => !read.failed && now < read.until,
            None => now < self.at.saturating_add(lease),
        }
    }
}

fn amounts(grant: &Grant) -> Result<crate::account::Granted, String> {
    let number = |text: &str| {
        let value = decimal(text).filter(|d| !num_traits::Signed::is_negative(d));
        value.ok_or_else(|| format!("{text:?} is no amount to grant"))
    };
    Ok(crate::account::Granted {
        epsilon: number(&grant.epsilon)?,
        delta: number(&grant.delta)?,
        selection_delta: number(&grant.selection_delta)?,
    })
}
