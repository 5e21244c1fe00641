//! Whether a statement can be paid for: by every budget that matches, in one step, or by none.

use super::body::{Accepted, Body, Debit, Entry, Paid, TableTerms, Terms};
use super::state::{self, Books, Key, Prices};
use crate::account::{Account, Amount, Counter, Granted};
use crate::entry::Charged;
use crate::error::{Lack, Refusal, StreamEnd};
use answer::Identity;
use dp::Charge;
use std::sync::Arc;

/// A question: what a client wants to be charged for.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) who: Identity,
    /// The policy that it was planned under.
    pub(crate) terms: Arc<Terms>,
    pub(crate) statement: String,
    pub(crate) id: String,
    pub(crate) charge: Charge,
    pub(crate) charged: Charged,
    /// `charged` as text.
    pub(crate) key: String,
    /// Names of private tables; None where nobody says which.
    pub(crate) tables: Option<Vec<String>>,
    pub(crate) release: Option<[u8; 32]>,
    pub(crate) stream: Option<Opens>,
    pub(crate) text: Option<String>,
}

/// A stream that a statement opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opens {
    pub(crate) name: String,
    /// The latest entry by which the user opened it before; None where there is none.
    pub(crate) after: Option<i64>,
}

/// A question to a stream that was paid for.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) user: String,
    pub(crate) stream: String,
    /// The entry that opened it.
    pub(crate) entry: i64,
    /// The policy that the question was planned under.
    pub(crate) terms: Arc<Terms>,
}

/// Accounts that a statement draws on, with the key and the window of each.
pub(super) struct Match {
    pub(super) key: Key,
    pub(super) window: Option<i64>,
}

impl Books {
    /// The entry of a statement that can be paid for, or why it cannot be.
    pub(crate) fn decide(&mut self, ask: &Ask, clock: i64) -> Result<Entry, Refusal> {
        let at = self.now(clock);
        self.current(&ask.terms)?;
        if let Some(stream) = &ask.stream {
            self.is_open(&stream.name)?;
            if self.opened(&ask.who.user, &stream.name) != stream.after {
                return Err(Refusal::StreamOver { stream: stream.name.clone(), end: StreamEnd::Elsewhere });
            }
        }
        let tables = ask.tables.as_deref();
        let matches = self.matches(&ask.who.user, ask.who.role.as_deref(), tables, at);
        self.covered(&ask.who.user, &matches, tables)?;
        let prices = self.prices(&ask.key, &ask.charge);
        let (mut paid, mut lacks) = (Vec::with_capacity(matches.len()), Vec::new());
        for Match { key, window } in matches {
            let (Some(account), Some(price)) = (self.accounts.get(key.0), prices.get(key.0)) else {
                continue;
            };
            let budget = account.budget.clone();
            if self.closed.contains(&budget.name) {
                return Err(Refusal::Closed { what: "budget", name: budget.name.clone() });
            }
            let price =
                price.clone().map_err(|reason| Refusal::Unpriced { budget: budget.name.clone(), reason })?;
            let spent = self.spent(&key, window);
            let counter = self.counter(&key, window);
            match counter.admit(&spent, &price) {
                Ok(_) => {
                    let (loss, delta) = price.text();
                    paid.push(Paid {
                        budget: budget.name.clone(),
                        owner: key.1.to_string(),
                        window,
                        loss,
                        delta,
                    });
                }
                Err(lacking) => lacks.push(Lack {
                    budget: budget.name.clone(),
                    scope: budget.scope,
                    lacking,
                    next: budget.window.map(|w| w.next(at)),
                }),
            }
        }
        if !lacks.is_empty() {
            return Err(Refusal::Exhausted(lacks));
        }
        let debit = Debit {
            user: ask.who.user.clone(),
            role: ask.who.role.clone(),
            statement: ask.statement.clone(),
            id: ask.id.clone(),
            policy: ask.terms.version.clone().unwrap_or_default(),
            tables: ask.tables.clone(),
            charge: ask.charged.clone(),
            pricing: dp::PRICING,
            paid,
            release: ask.release.map(|key| crate::entry::hex(&key)),
            stream: ask.stream.as_ref().map(|s| s.name.clone()),
            text: ask.text.clone(),
        };
        Ok(Entry::new(at, Body::Debit(debit)))
    }

    /// The entry that brings a policy into force. Whether it may be written is said by [`Books::compare`].
    pub(crate) fn accept(
        &self,
        terms: &Terms,
        forgets: bool,
        author: &str,
        reason: &str,
        clock: i64,
    ) -> Entry {
        let (author, reason) = (author.to_owned(), reason.to_owned());
        Entry::new(self.now(clock), Body::Policy(Accepted { terms: terms.clone(), forgets, author, reason }))
    }

    /// Refuses who was started under a policy that is not in force any more, where that could make a difference to whom is
    /// protected. Budgets are always those in force.
    pub(super) fn current(&self, own: &Terms) -> Result<(), Refusal> {
        let Some(terms) = &self.terms else { return Err(Refusal::Superseded) };
        let moved = matches!((&terms.data, &own.data), (Some(now), Some(own)) if now != own);
        let known = |t: &TableTerms| self.known.tables.get(&t.name).is_none_or(|rows| *rows == t.rows);
        if !moved && terms.unit == own.unit && own.tables.iter().all(known) {
            Ok(())
        } else {
            Err(Refusal::Superseded)
        }
    }

    /// Refuses a stream that the owner has closed.
    fn is_open(&self, stream: &str) -> Result<(), Refusal> {
        match self.closed_streams.contains(stream) {
            true => Err(Refusal::Closed { what: "stream", name: stream.to_owned() }),
            false => Ok(()),
        }
    }

    /// Refuses a question to a stream whose opening does not pay for it any more: every budget that would have to pay
    /// for an opening now must count that one, in its present window.
    pub(crate) fn claim(&self, claim: &Claim, clock: i64) -> Result<(), Refusal> {
        let at = self.now(clock);
        self.current(&claim.terms)?;
        self.is_open(&claim.stream)?;
        let over = |end| Err(Refusal::StreamOver { stream: claim.stream.clone(), end });
        let key = (claim.user.clone(), claim.stream.clone());
        let Some(opening) = self.opened.get(&key).filter(|o| o.entry == claim.entry) else {
            return over(StreamEnd::Elsewhere);
        };
        if opening.entry < self.anew_since {
            return over(StreamEnd::Anew);
        }
        if Some(opening.policy.as_str()) != claim.terms.version.as_deref().or(Some("")) {
            return over(StreamEnd::Policy);
        }
        for m in self.matches(&claim.user, opening.role.as_deref(), None, at) {
            let Some(account) = self.accounts.get(m.key.0) else { continue };
            let budget = &account.budget.name;
            if self.closed.contains(budget) {
                return Err(Refusal::Closed { what: "budget", name: budget.clone() });
            }
            if m.window.is_some_and(|start| opening.at < start) {
                return over(StreamEnd::Window { budget: budget.clone() });
            }
        }
        Ok(())
    }

    /// Accounts that a statement draws on.
    pub(super) fn matches(
        &self,
        user: &str,
        role: Option<&str>,
        tables: Option<&[String]>,
        at: i64,
    ) -> Vec<Match> {
        let own = |(index, account): (usize, &Account)| {
            let owner = account.owner(user, role).filter(|_| account.counts(tables))?;
            Some(Match { key: (index, owner.into()), window: account.window(at) })
        };
        self.accounts.iter().enumerate().filter_map(own).collect()
    }

    /// Refuses what no budget bounds: everything that is read must be counted somewhere.
    fn covered(&self, user: &str, matches: &[Match], tables: Option<&[String]>) -> Result<(), Refusal> {
        let of =
            |m: &Match| self.accounts.get(m.key.0).map(|a| a.budget.tables.as_slice()).unwrap_or_default();
        let whole = matches.iter().any(|m| self.accounts.get(m.key.0).is_some() && of(m).is_empty());
        let each = |tables: &[String]| {
            !tables.is_empty() && tables.iter().all(|t| matches.iter().any(|m| of(m).contains(t)))
        };
        if whole || tables.is_some_and(each) {
            return Ok(());
        }
        Err(Refusal::NoBudget { user: user.to_owned() })
    }

    /// Spending in a window.
    pub(super) fn spent(&self, key: &Key, window: Option<i64>) -> Amount {
        let sum = self.sums.get(key).filter(|sum| sum.window == window).map(|sum| sum.spent.clone());
        let nothing = || self.accounts.get(key.0).map(|a| self.base(a, window));
        sum.or_else(nothing).unwrap_or(Amount::Cost(Box::default()))
    }

    /// Grants to one owner of an account, in a window.
    pub(super) fn granted(&self, key: &Key, window: Option<i64>) -> Vec<Granted> {
        let Some(account) = self.accounts.get(key.0) else { return Vec::new() };
        let applies = |g: &&state::Granted| {
            g.budget == account.budget.name
                && g.window == window
                && g.owner.as_deref().is_none_or(|owner| owner == &*key.1)
        };
        self.grants.iter().filter(applies).map(|g| g.more.clone()).collect()
    }

    /// The counter of an account for one owner, with what was granted.
    pub(super) fn counter(&mut self, key: &Key, window: Option<i64>) -> Counter {
        let Some(account) = self.accounts.get(key.0) else {
            // No such account: one that admits nothing.
            return Counter::Filter(Box::new(dp::Filter::of_loss(dp::Notion::Pure, 0)));
        };
        let granted = self.granted(key, window);
        if granted.is_empty() {
            return account.counter.clone();
        }
        let slot = (key.0, key.1.clone(), window);
        if let Some(counter) = self.raised.get(&slot) {
            return counter.clone();
        }
        // A grant that gives no filter was refused when it was made; were it here all the same, it would give nothing.
        let counter = Counter::of(&account.budget, &granted).unwrap_or_else(|_| account.counter.clone());
        self.raised.insert(slot, counter.clone());
        counter
    }

    /// Prices of a charge in each account.
    pub(super) fn prices(&mut self, key: &str, charge: &Charge) -> Arc<Prices> {
        let number = self.history.known(key);
        if let Some(prices) = number.and_then(|n| self.prices.get(&n)) {
            return prices.clone();
        }
        if let Some((fresh, prices)) = &self.fresh
            && fresh == key
        {
            return prices.clone();
        }
        let prices: Arc<Prices> = Arc::new(self.accounts.iter().map(|a| a.counter.price(charge)).collect());
        match number {
            Some(n) => {
                self.prices.insert(n, prices.clone());
            }
            // Charges that are refused are not remembered: there is no end of them.
            None => self.fresh = Some((key.to_owned(), prices.clone())),
        }
        prices
    }
}
