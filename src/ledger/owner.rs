//! Tools of the owner of the data: reading a ledger beside a running server, proving it, granting,
//! closing, and accepting what a policy forgets. Nothing here runs for a client.

use super::books::{
    Accepted, Body, Books, BudgetSummary, Close, Closed, End, Entry, Grant, Head, Restore, Terms as BookTerms,
};
use super::change::Change;
use super::entry::Charged;
use super::error::LedgerError;
use super::faults::Mismatch;
use super::keeper::Keeper;
use super::log::Row;
use super::policy_view::Terms;
use super::time::{clock, time};
use bigdecimal::BigDecimal;
use dp::{Charge, Distribution, Guarantee};
use policy::{Budget, LedgerLocation, Measured};

/// A ledger in the owner's hands.
pub struct Owner {
    keeper: Keeper,
}

/// Knowledge of an owner about entries that are missing.
#[derive(Clone, Copy, Debug)]
pub struct Missing<'a> {
    /// No statement among them cost more ε.
    pub epsilon: &'a BigDecimal,
    /// Nor more δ.
    pub delta: &'a BigDecimal,
    /// There are no more of them; None where as many as the mark knows.
    pub entries: Option<u32>,
}

impl Missing<'_> {
    fn charge(&self, times: u32) -> Result<Charge, LedgerError> {
        let ratio = |name: &str, value: &BigDecimal| {
            let why = || LedgerError::Impossible(format!("{name} = {value} is out of range"));
            dp::ratio(value).ok_or_else(why)
        };
        let (epsilon, delta) = (ratio("epsilon", self.epsilon)?, ratio("delta", self.delta)?);
        let guarantee = if *delta.numer() == 0 {
            Guarantee::Pure { epsilon }
        } else {
            Guarantee::Approximate { epsilon, delta }
        };
        let wrong = |e: dp::DpError| LedgerError::Impossible(e.to_string());
        let mut charge = Charge::guaranteed(&guarantee).map_err(wrong)?;
        charge.events.iter_mut().for_each(|event| event.times = times);
        Ok(charge)
    }
}

/// An entry, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Number of the entry.
    pub id: i64,
    /// Microseconds since 1970.
    pub at: i64,
    /// User, or author.
    pub who: String,
    /// Deed, in words.
    pub what: String,
}

/// Reads everything and proves it: the chain, every price and every sum, and that nothing is missing that the mark knows.
/// Gives where it ends. A copy without a mark is proven, too: see [`Owner::mismatch`].
pub fn verify(location: &LedgerLocation) -> Result<Head, LedgerError> {
    let owner = Owner::read(location)?;
    match owner.mismatch() {
        None | Some(Mismatch::Missing { .. } | Mismatch::Copy { .. }) => Ok(owner.head()),
        Some(lost) => Err(lost.clone().into()),
    }
}

impl Owner {
    /// Opens a ledger for reading, beside a process that serves from it.
    pub fn read(location: &LedgerLocation) -> Result<Self, LedgerError> {
        Ok(Self { keeper: Keeper::read(location)? })
    }

    /// Opens a ledger for writing: a file must be served by nobody.
    pub fn open(location: &LedgerLocation) -> Result<Self, LedgerError> {
        Ok(Self { keeper: Keeper::open(location)? })
    }

    /// Why nobody serves from this ledger: it does not fit the mark that is kept outside of it. None where it does.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.keeper.mismatch.as_ref()
    }

    /// Makes the mark of a ledger that has none, or is another file than the one that was marked: the owner says that it is
    /// the newest copy, and names the hash of an entry that it must have. Nothing that a mark knows may be missing.
    pub fn mark(location: &LedgerLocation, hash: &str) -> Result<Head, LedgerError> {
        let mut owner = Self { keeper: Keeper::open_unmarked(location)? };
        match owner.mismatch() {
            None | Some(Mismatch::Missing { .. } | Mismatch::Copy { .. }) => {}
            Some(lost) => return Err(lost.clone().into()),
        }
        let mut found = false;
        owner.hashes(|_, of| found |= super::entry::hex(of).eq_ignore_ascii_case(hash))?;
        if !found {
            let what = format!(
                "no entry has the hash {hash}: this ledger is not one that grew from that one. Put the right one back; or \
                 have what is missing charged: `noisegate budget restore`"
            );
            return Err(LedgerError::Impossible(what));
        }
        owner.keeper.remark()?;
        Ok(owner.head())
    }

    /// Goes on from a ledger that has lost entries, or that may have. A charge in their place goes
    /// to every budget, and in a budget per user or role to each of them: `n` statements of this ε
    /// and δ, or, when that is not known, all that the budget has. Gives the entry that says so, in
    /// words.
    ///
    /// # Errors
    /// [`LedgerError::Impossible`] where nothing is missing, or fewer statements are named than are
    /// known to be missing.
    pub fn restore(
        location: &LedgerLocation,
        charge: Option<Missing<'_>>,
        author: &str,
        reason: &str,
    ) -> Result<Told, LedgerError> {
        let mut keeper = Keeper::open_unmarked(location)?;
        let impossible = |why: &str| Err(LedgerError::Impossible(why.to_owned()));
        match &keeper.mismatch {
            None => return impossible("nothing is missing: the ledger has every entry that its mark knows"),
            Some(other @ Mismatch::Other { .. }) => return Err(other.clone().into()),
            Some(_) => {}
        }
        let (end, seen) = (keeper.books.head(), keeper.seen());
        // Where another entry stands in its place, nobody knows how many were lost.
        let known = seen.and_then(|seen| u32::try_from(seen.id - end.id).ok()).filter(|n| *n > 0);
        let charge = match charge {
            None => None,
            Some(missing) => {
                let Some(times) = missing.entries.or(known) else {
                    return impossible("nobody knows how many entries are missing: say how many at most");
                };
                if known.is_some_and(|known| times < known) {
                    return impossible("more entries are missing than that: the mark knows them");
                }
                Some(missing.charge(times)?)
            }
        };
        let end_of = |id, hash: &[u8; 32]| End { id, hash: super::entry::hex(hash) };
        let restore = Restore {
            expected: seen.map(|seen| end_of(seen.id, &seen.hash)),
            found: end_of(end.id, &end.hash),
            charge: charge.as_ref().map(Charged::new),
            author: author.to_owned(),
            reason: reason.to_owned(),
        };
        let mut told = None;
        keeper.write(|books, clock| {
            let entry = Entry::new(books.now(clock), Body::Restore(restore));
            told = Some(self::told(end.id + 1, entry.clone()));
            Ok(Some(entry))
        })?;
        told.ok_or(LedgerError::NoBatch)
    }

    /// Entries of an earlier pricing that count for more than they paid, in words; nothing where
    /// there are none.
    pub fn dearer(&self) -> Vec<String> {
        self.keeper.books.dearer()
    }

    /// The latest profile of each table.
    pub fn profiles(&self) -> Vec<Measured> {
        self.keeper.books.profiles()
    }

    /// The end of the entries.
    pub fn head(&self) -> Head {
        self.keeper.books.head()
    }

    /// The identity that it was given when it was created.
    pub fn id(&self) -> &str {
        self.keeper.books.id()
    }

    /// Every budget in force, with its sums at this moment.
    pub fn budgets(&mut self) -> Vec<BudgetSummary> {
        self.keeper.books.summaries(clock())
    }

    /// Whether a budget of a policy is one in force.
    pub fn in_force(&self, budget: &Budget) -> bool {
        let settled = Terms::unchecked(std::slice::from_ref(budget), "").settled(&self.keeper.books);
        settled.budgets().iter().all(|b| self.keeper.books.in_force(b))
    }

    /// Shows each entry in words.
    pub fn history(&mut self, mut show: impl FnMut(Told)) -> Result<(), LedgerError> {
        self.each(|row, entry| show(told(row.id, entry)))
    }

    /// Shows each entry as it is, with its number and its hash, as a line of JSON.
    pub fn export(&mut self, mut show: impl FnMut(String)) -> Result<(), LedgerError> {
        self.each(|row, _| {
            // The body is JSON already, and stays as it is: its hash is of these very letters.
            let hash = super::entry::hex(&row.hash);
            show(format!("{{\"id\":{},\"hash\":\"{hash}\",\"entry\":{}}}", row.id, row.body));
        })
    }

    /// Shows number and hash of each entry.
    pub fn hashes(&mut self, mut show: impl FnMut(i64, &[u8; 32])) -> Result<(), LedgerError> {
        self.each(|row, _| show(row.id, &row.hash))
    }

    /// The entries, and what they mean.
    pub(super) fn parts(&mut self) -> (&mut dyn super::log::Log, &mut Books) {
        (self.keeper.log.as_mut(), &mut self.keeper.books)
    }

    fn each(&mut self, mut show: impl FnMut(&Row, Entry)) -> Result<(), LedgerError> {
        self.keeper.log.replay(&mut |row| {
            let entry = Entry::read(row.id, &row.body)?;
            show(row, entry);
            Ok(())
        })?;
        Ok(())
    }

    /// Changes that a policy would make.
    pub fn compare(&self, terms: &Terms) -> Result<Vec<Change>, LedgerError> {
        terms.check()?;
        let terms = terms.settled(&self.keeper.books);
        Ok(self.keeper.books.compare(terms.for_the_books(), self.keeper.books.now(clock())))
    }

    /// Brings a policy into force, whatever it forgets.
    pub fn accept(&mut self, terms: &Terms, author: &str, reason: &str) -> Result<Vec<Change>, LedgerError> {
        terms.check()?;
        let wanted = terms.settled(&self.keeper.books).for_the_books().clone();
        let changes = self.keeper.books.compare(&wanted, self.keeper.books.now(clock()));
        self.write(|books, clock| {
            // Tables that a policy's text alone does not show stay as they were.
            let mut wanted = wanted;
            if let Some(old) = books.terms().filter(|_| wanted.tables.is_empty()) {
                wanted.tables.clone_from(&old.tables);
            }
            Ok(books.accept(&wanted, true, author, reason, clock))
        })?;
        Ok(changes)
    }

    /// Grants more of a budget: to one user or role, or to each. Where it has a window, in the present one.
    pub fn grant(
        &mut self,
        budget: &str,
        owner: Option<&str>,
        [epsilon, delta, selection_delta]: [&BigDecimal; 3],
        author: &str,
        reason: &str,
    ) -> Result<(), LedgerError> {
        let text = |d: &BigDecimal| d.normalized().to_string();
        self.write(|books, clock| {
            let at = books.now(clock);
            let grant = Grant {
                budget: budget.to_owned(),
                owner: owner.map(Into::into),
                window: books.window(budget, at),
                epsilon: text(epsilon),
                delta: text(delta),
                selection_delta: text(selection_delta),
                author: author.to_owned(),
                reason: reason.to_owned(),
            };
            books.check_grant(&grant, at).map_err(LedgerError::Impossible)?;
            Ok(Entry::new(at, Body::Grant(grant)))
        })
    }

    /// Closes a budget for good: it pays for nothing any more.
    pub fn close_budget(&mut self, name: &str, author: &str, reason: &str) -> Result<(), LedgerError> {
        let known = self.keeper.books.knows(name);
        if !known {
            return Err(LedgerError::Impossible(format!("the ledger has no budget \"{name}\"")));
        }
        self.close(Closed::Budget(name.to_owned()), author, reason)
    }

    /// Closes a stream for good: it is not opened any more.
    pub fn close_stream(&mut self, name: &str, author: &str, reason: &str) -> Result<(), LedgerError> {
        self.close(Closed::Stream(name.to_owned()), author, reason)
    }

    /// Declares the data new, whatever the epoch is.
    pub fn refresh(&mut self, author: &str, reason: &str) -> Result<(), LedgerError> {
        let (author, reason) = (author.to_owned(), reason.to_owned());
        self.write(|books, clock| {
            let now = books.epoch_at(clock);
            let epoch = super::books::Epoch { number: now.number + 1, author, reason };
            Ok(Entry::new(now.now, Body::Epoch(epoch)))
        })
    }

    fn close(&mut self, what: Closed, author: &str, reason: &str) -> Result<(), LedgerError> {
        let (author, reason) = (author.to_owned(), reason.to_owned());
        self.write(|books, clock| {
            Ok(Entry::new(books.now(clock), Body::Close(Close { what, author, reason })))
        })
    }

    fn write(
        &mut self,
        edit: impl FnOnce(&mut Books, i64) -> Result<Entry, LedgerError>,
    ) -> Result<(), LedgerError> {
        self.keeper.write(|books, clock| edit(books, clock).map(Some))
    }
}

/// The entry that brings a policy into force; None where it is.
pub(super) fn change(books: &Books, wanted: &BookTerms, clock: i64) -> Result<Option<Entry>, LedgerError> {
    if books.terms() == Some(wanted) {
        return Ok(None);
    }
    let changes = books.compare(wanted, books.now(clock));
    if changes.iter().any(|c| c.forgets.is_some()) {
        return Err(LedgerError::Forgets(changes));
    }
    let mut reason: Vec<String> = changes.into_iter().map(|c| c.what).collect();
    if reason.is_empty() {
        reason.push("served for the first time".into());
    }
    Ok(Some(books.accept(wanted, false, &user(), &reason.join("; "), clock)))
}

pub(super) fn told(id: i64, entry: Entry) -> Told {
    let (who, what) = match entry.what {
        Body::Opening(o) => (String::new(), format!("ledger {} opened by {}", o.id, o.software)),
        Body::Policy(Accepted { terms, forgets, author, reason }) => {
            let names: Vec<&str> = terms.budgets.iter().map(|b| b.name.as_str()).collect();
            let accepted = if forgets { ", accepted with what it forgets" } else { "" };
            (author, format!("policy with the budget(s) {}{accepted}: {reason}", names.join(", ")))
        }
        Body::Debit(d) => {
            let Charged { epsilon, .. } = &d.charge;
            let from: Vec<&str> = d.paid.iter().map(|p| p.budget.as_str()).collect();
            let opened = d.stream.as_ref().map(|s| format!(", opens stream {s}")).unwrap_or_default();
            let statement = d.statement.get(..16).unwrap_or(&d.statement).to_owned();
            let text = d.text.map(|t| format!(": {t}")).unwrap_or_default();
            let what =
                format!("epsilon {epsilon} from {}, statement {statement}{opened}{text}", from.join(", "));
            // What was measured is nobody's own question.
            (if d.user.is_empty() { "the owner".into() } else { d.user }, what)
        }
        Body::Cached(c) => {
            let statement = c.statement.get(..16).unwrap_or(&c.statement).to_owned();
            (c.user, format!("answered again for nothing, statement {statement}"))
        }
        Body::Grant(g) => {
            let to = g.owner.map(|o| format!(" to {o}")).unwrap_or_default();
            let what = format!(
                "epsilon {} and delta {} granted{to} in {}: {}",
                g.epsilon, g.delta, g.budget, g.reason
            );
            (g.author, what)
        }
        Body::Close(c) => {
            let what = match c.what {
                Closed::Budget(name) => format!("budget {name} closed: {}", c.reason),
                Closed::Stream(name) => format!("stream {name} closed: {}", c.reason),
            };
            (c.author, what)
        }
        Body::Restore(r) => {
            let lost = match r.expected {
                Some(end) => format!("entries up to {} were lost", end.id),
                None => "nobody knows how many entries were lost".to_owned(),
            };
            let charged = match r.charge.and_then(|c| c.read()) {
                Some(c) => {
                    let n = c.events.first().map_or(1, |e| e.times);
                    format!("{n} of epsilon {} are charged for them", c.epsilon)
                }
                None => "every budget counts as spent in full".to_owned(),
            };
            (r.author, format!("restored after entry {}: {lost}, and {charged}: {}", r.found.id, r.reason))
        }
        Body::Profile(p) => {
            let item = |(of, histogram): &(policy::Measure, dp::profile::Histogram)| {
                let noise = match histogram.noise() {
                    Distribution::None => "no noise".to_owned(),
                    Distribution::Laplace { scale } => format!("Laplace noise of scale {scale}"),
                    Distribution::Gaussian { variance } => format!("Gaussian noise of variance {variance}"),
                };
                format!("{of} at epsilon {}, {noise}", histogram.epsilon())
            };
            let read = policy::Measured::read(0, &p.profile);
            let items: Vec<String> = read.iter().flat_map(|p| &p.items).map(item).collect();
            let paid: Vec<String> = p.paid_by.iter().map(ToString::to_string).collect();
            let what = format!(
                "profile of {}.{} ({}), valid until {}, paid for by {}: {}",
                p.profile.schema,
                p.profile.table,
                items.join("; "),
                time(p.profile.valid_until),
                paid.join(", "),
                p.reason
            );
            (p.author, what)
        }
        Body::Epoch(e) => (e.author, format!("epoch {} of the data: {}", e.number, e.reason)),
    };
    Told { id, at: entry.at, who, what }
}

/// User of the operating system who runs this program.
pub fn user() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into())
}
