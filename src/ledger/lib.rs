//! The books: durable budgets, and the receipts without which nothing is released.
//!
//! A log of entries in a hash chain ([`log`]), a state machine that says what they mean (`books`), and one writer thread
//! that owns both. A debit is on disk before it is acknowledged, is atomic over all budgets that match, and is never
//! refunded. What is written is who, when, a hash of the statement, its events and prices: no value of any row, and no
//! statement text unless the policy asks for it.

mod account;
mod books;
mod capacity;
mod change;
mod entry;
mod error;
mod faults;
mod keeper;
pub mod log;
mod mark;
mod owner;
mod payment;
mod percent;
mod place;
mod policy_view;
mod pulse;
mod reads;
mod recorded;
mod time;
pub mod words;
mod writer;

pub use account::{Account, Amount, BudgetState, Counter, Granted};
pub use books::{BudgetSummary, Head, Line, Share};
pub use capacity::{Worth, Year, released, usual, usual_of, worth, year, year_of};
pub use change::Change;
pub use error::decimal;
pub use error::{Lack, Lacking, LedgerError, Refusal, StreamEnd};
pub use faults::{Mismatch, Wrong};
pub use mark::beside;
pub use owner::{Missing, Owner, Told, user, verify};
pub use payment::{Opened, Opens, Payment, Question, Receipt};
pub use place::ReadPlace;
pub use policy_view::Terms;
pub use pulse::Pulse;
pub use reads::{ReadTerms, Standing};
pub use recorded::{Deed, Paid as PaidStatement, Recorded, Taken};
pub use time::{Epoch, time};

use answer::Identity;
use books::{Ask, Body, Books, Entry, Opening};
use dp::{Charge, Notion};
use keeper::Keeper;
use policy::{Budget, LedgerLocation, Measured};
use price::Proven;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use time::micros;
use tokio::sync::{mpsc, oneshot};
use writer::{Edit, Paid, Request};

/// Debits that may wait for the writer; further callers wait for a place.
const QUEUE: usize = 1024;

/// How long a release that somebody has paid for is waited for where nothing is known of its read.
const LEASE: Duration = Duration::from_secs(15);

/// Bytes of stored releases.
const SHELF: u64 = 256 << 20;

/// An open ledger. Clones are handles on the same one; dropping the last finishes what is queued and gives the file
/// free.
#[derive(Clone)]
pub struct Ledger {
    terms: Arc<books::Terms>,
    budgets: Arc<[Budget]>,
    lease: Duration,
    shelf: u64,
    seen: reads::SharedSeen,
    held: Arc<place::Held>,
    pulse: Arc<Pulse>,
    /// Hash of the first entry, which has 128 random bits that no analyst is shown.
    first: [u8; 32],
    writer: Arc<Writer>,
}

/// The thread that writes, and the way to it. Both are taken in `drop` only.
struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ledger {
    /// Creates the ledger with these budgets, all unspent. An existing one is refused: it may hold what was spent.
    pub fn create(location: &LedgerLocation, terms: &Terms) -> Result<(), LedgerError> {
        let terms = terms.check()?;
        let (at, author) = (time::clock(), owner::user());
        let opening =
            Opening { id: random()?, software: concat!("noisegate ", env!("CARGO_PKG_VERSION")).into() };
        let opening = Entry::new(at, Body::Opening(opening));
        let policy = Books::new().accept(&terms, false, &author, "created", at);
        let bodies: Option<Vec<String>> = [opening, policy].iter().map(Entry::write).collect();
        let bodies = bodies.ok_or_else(|| LedgerError::Impossible("an entry cannot be written".into()))?;
        // A mark without a ledger is that of one that was here.
        let mark = mark::path(location);
        let none =
            matches!(log::open_read_only(location), Err(LedgerError::Missing(_) | LedgerError::NoSchema(_)));
        if none && mark.reveal().exists() {
            return Err(LedgerError::Exists(mark));
        }
        log::create(location, &bodies)?;
        Keeper::open_unmarked(location)?.remark()
    }

    /// Opens an existing ledger for a policy.
    ///
    /// * What is missing is an error that names `noisegate budget create`: it is never created here, because an empty
    ///   ledger forgets what was spent.
    /// * A file that another process has open is refused.
    /// * A policy that is not the one in force is taken over if nothing spent is forgotten by it: limits may differ, and
    ///   apply to the sums spent so far; a budget that is new (or was absent for a while) starts from what every entry of
    ///   the ledger costs in its notion. Anything else is [`LedgerError::Forgets`].
    ///
    /// Blocks: it reads all entries.
    pub fn open(location: &LedgerLocation, terms: &Terms) -> Result<Self, LedgerError> {
        terms.check()?;
        Self::open_as(location, |_| terms.clone())
    }

    /// The same for terms that depend on what the books hold of units: their profiles.
    pub fn open_as(
        location: &LedgerLocation,
        terms: impl FnOnce(&[Measured]) -> Terms,
    ) -> Result<Self, LedgerError> {
        let mut keeper = Keeper::open(location)?;
        let terms = terms(&keeper.books.profiles());
        terms.check()?;
        for dearer in keeper.books.dearer() {
            tracing::warn!("{dearer}");
        }
        let terms = terms.settled(&keeper.books);
        let wanted = terms.for_the_books().clone();
        keeper.write(|books, clock| owner::change(books, &wanted, clock))?;
        Self::start(keeper, wanted, terms.budgets())
    }

    fn start(keeper: Keeper, terms: books::Terms, budgets: &[Budget]) -> Result<Self, LedgerError> {
        let (requests, queue) = mpsc::channel(QUEUE);
        let seen = reads::SharedSeen::default();
        let shown = seen.clone();
        let pulse = Arc::new(Pulse::at(keeper.books.head().at));
        let (felt, first) = (pulse.clone(), keeper.first());
        let thread = std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || writer::run(keeper, queue, &shown, &felt))
            .map_err(|e| LedgerError::Thread(e.to_string()))?;
        let writer = Arc::new(Writer { requests: Some(requests), thread: Some(thread) });
        let (terms, budgets) = (Arc::new(terms), budgets.into());
        Ok(Self {
            terms,
            budgets,
            lease: LEASE,
            shelf: SHELF,
            seen,
            held: Arc::default(),
            pulse,
            first,
            writer,
        })
    }

    /// The same ledger for a policy that was read again. It is taken over as [`Self::open`] does.
    pub async fn renew(&self, terms: &Terms) -> Result<Self, LedgerError> {
        terms.check()?;
        let next = terms.clone();
        let taken = self.edit(move |books, clock| {
            let next = next.settled(books);
            Ok(match owner::change(books, next.for_the_books(), clock) {
                Ok(entry) => (Ok(next), entry),
                Err(e) => (Err(e), None),
            })
        });
        let terms = taken.await.map_err(|e| LedgerError::Impossible(e.to_string()))??;
        let wanted = Arc::new(terms.for_the_books().clone());
        Ok(Self { terms: wanted, budgets: terms.budgets().into(), ..self.clone() })
    }

    /// Sets how long a release that somebody else has paid for is waited for.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how many bytes of stored releases there may be.
    #[must_use]
    pub fn with_shelf(mut self, bytes: u64) -> Self {
        self.shelf = bytes;
        self
    }

    /// Debits `charge` from every budget that matches `who`: from all, or from none. As [`Self::pay`] for a release that
    /// nobody keeps, of whatever tables.
    pub async fn debit(
        &self,
        who: &Identity,
        statement: [u8; 32],
        charge: &Proven,
    ) -> Result<Receipt, Refusal> {
        self.receipt(Question::new(who, statement, charge)).await
    }

    /// As [`Self::pay`], for a release that nobody keeps and a read that nobody counts.
    pub async fn receipt(&self, q: Question<'_>) -> Result<Receipt, Refusal> {
        match self.pay(Question { release: None, read: None, ..q }).await? {
            Payment::Paid(receipt) => Ok(receipt),
            Payment::Kept(_) | Payment::Wait | Payment::Full => {
                Err(Refusal::Unavailable("nobody keeps this release".into()))
            }
        }
    }

    /// Debits a charge from every budget that matches: from all, or from none. Where its release is kept already, or
    /// somebody else has paid for it within the lease, nothing is charged.
    ///
    /// When this returns a receipt, the debit is on disk. If the future is dropped once the request is queued, the
    /// debit stands all the same. Whether it is refused depends on the charge and on earlier charges only.
    pub async fn pay(&self, q: Question<'_>) -> Result<Payment, Refusal> {
        let ask = Ask {
            tables: q.tables.and_then(|tables| self.private(tables)),
            release: q.release,
            stream: q.stream.map(|s| books::Opens { name: s.name.to_owned(), after: s.after }),
            text: q.text.map(Into::into),
            ..self.asked(q.who, q.statement, q.charge.charge())?
        };
        let (lease, read) = (micros(self.lease), q.read);
        // If nobody waits for the answer any more, its place is given back: nothing was read.
        let place = read.map(|terms| self.place(ask.id.clone(), terms)).transpose()?;
        let paid = self.ask(|reply| Request::Pay { ask: Box::new(ask), lease, read, reply }).await;
        let fresh = match &paid {
            Ok(paid) => matches!(paid, Paid::Fresh(..)),
            // After a failure it may be in the books all the same.
            Err(refusal) => refusal.is_failure(),
        };
        let place = match place {
            Some(place) if !fresh => {
                place.never_was();
                None
            }
            place => place,
        };
        Ok(match paid? {
            Paid::Fresh(entry, budgets) => Payment::Paid(Receipt {
                charge: q.charge.charge().clone(),
                entry,
                budgets,
                read: place,
                selected: false,
            }),
            Paid::Kept(bytes) => Payment::Kept(bytes),
            Paid::Wait => Payment::Wait,
            Paid::Full => Payment::Full,
        })
    }

    /// Whether a charge that is proposed would be admitted at this moment, of a statement that reads these tables of the policy.
    /// Nothing is debited, and nothing is set aside.
    pub async fn admits(&self, who: &Identity, tables: &[usize], proposed: &Charge) -> Result<(), Refusal> {
        let ask = Ask { tables: self.private(tables), ..self.asked(who, [0; 32], proposed)? };
        self.edit(move |books, clock| books.decide(&ask, clock).map(|_| ((), None))).await
    }

    fn asked(&self, who: &Identity, statement: [u8; 32], charge: &Charge) -> Result<Ask, Refusal> {
        let charged = entry::Charged::new(charge);
        Ok(Ask {
            who: who.clone(),
            terms: self.terms.clone(),
            statement: entry::hex(&statement),
            id: random().map_err(|e| Refusal::Unavailable(e.to_string()))?,
            charge: charge.clone(),
            key: serde_json::to_string(&charged).map_err(|e| Refusal::Unavailable(e.to_string()))?,
            charged,
            tables: None,
            release: None,
            stream: None,
            text: None,
        })
    }

    /// A place for a read that the opening of a stream has paid for; None where all places that are left are those of
    /// reads under way. It is in the books when this returns, but perhaps not on disk yet. `opened` is None where the
    /// stream has yet to be opened.
    ///
    /// # Errors
    /// [`Refusal::StreamOver`] and [`Refusal::Closed`] where that opening does not pay for questions any more.
    pub async fn reserve(
        &self,
        user: &str,
        opened: Option<Opened<'_>>,
        terms: ReadTerms,
    ) -> Result<Option<ReadPlace>, Refusal> {
        let id = random().map_err(|e| Refusal::Unavailable(e.to_string()))?;
        let place = self.place(id.clone(), terms)?;
        let (user, claim) = (user.to_owned(), opened.map(|o| self.claim(o)));
        match self.ask(|reply| Request::Reserve { id, user, claim, terms, reply }).await {
            Ok(Standing::Free) => Ok(Some(place)),
            Ok(Standing::Full | Standing::Suspended) => {
                place.never_was();
                Ok(None)
            }
            Err(refusal) => {
                if !refusal.is_failure() {
                    place.never_was();
                }
                Err(refusal)
            }
        }
    }

    /// Whether the opening of a stream still pays for questions.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub async fn still_open(&self, opened: Opened<'_>) -> Result<(), Refusal> {
        let claim = self.claim(opened);
        self.edit(move |books, clock| books.claim(&claim, clock).map(|()| ((), None))).await
    }

    fn claim(&self, opened: Opened<'_>) -> books::Claim {
        let Opened { user, stream, entry } = opened;
        books::Claim { user: user.to_owned(), stream: stream.to_owned(), entry, terms: self.terms.clone() }
    }

    fn place(&self, id: String, terms: ReadTerms) -> Result<ReadPlace, Refusal> {
        let writer = self.writer.requests.as_ref().ok_or_else(stopped)?.downgrade();
        Ok(ReadPlace::new(id, terms, writer, self.held.clone()))
    }

    /// Refuses a user of whom as many reads have failed as may, as far as is known here without asking the books.
    pub fn check_failures(&self, user: &str, limit: u32) -> Result<(), Refusal> {
        reads::refuse_suspended(self.seen.standing(user, time::clock(), limit))
    }

    /// Waits for a place, no longer than `patience`: until the list of reads has changed. Others may take the place.
    pub async fn place_or_change(&self, patience: Duration) {
        self.seen.change(patience).await;
    }

    /// Stores the release that an entry paid for. What is stored already stays.
    pub async fn keep(&self, entry: i64, key: [u8; 32], bytes: Vec<u8>) -> Result<(), Refusal> {
        let room = self.shelf;
        self.ask(|reply| Request::Keep { entry, key, bytes, room, reply }).await
    }

    /// A stored release.
    pub async fn kept(&self, key: [u8; 32]) -> Result<Option<Vec<u8>>, Refusal> {
        self.ask(|reply| Request::Kept { key, reply }).await
    }

    /// Notes that a stored release was given again: once a day for each user and release. Does not wait until that is on
    /// disk.
    pub async fn reuse(&self, who: &Identity, statement: [u8; 32], key: [u8; 32]) -> Result<(), Refusal> {
        let cached = writer::cached(&who.user, who.role.as_deref(), &statement, &key);
        self.send(Request::Reuse(cached)).await
    }

    /// Gives up the release that an entry paid for: sessions that wait for it here pay anew
    /// (soundness rule 26).
    pub async fn give_up(&self, entry: i64, key: [u8; 32]) -> Result<(), Refusal> {
        self.send(Request::GiveUp { entry, key }).await
    }

    /// Epoch of the data.
    pub async fn epoch(&self) -> Result<Epoch, Refusal> {
        self.edit(|books, clock| Ok((books.epoch_at(clock), None))).await
    }

    /// Declares the data new, if the epoch is still `from`. Stored releases of earlier epochs are forgotten.
    pub async fn refresh(&self, from: u64, author: &str, reason: &str) -> Result<Epoch, Refusal> {
        let (author, reason) = (author.to_owned(), reason.to_owned());
        self.edit(move |books, clock| {
            let before = books.epoch_at(clock);
            if before.number != from {
                return Ok((before, None));
            }
            let number = from + 1;
            let entry = Entry::new(before.now, Body::Epoch(books::Epoch { number, author, reason }));
            Ok((Epoch { number, since: before.now, now: before.now }, Some(entry)))
        })
        .await
    }

    /// The latest profile of each table.
    pub async fn profiles(&self) -> Result<Vec<Measured>, LedgerError> {
        let profiles = self.edit(|books, _| Ok((books.profiles(), None))).await;
        profiles.map_err(|e| LedgerError::Impossible(e.to_string()))
    }

    /// Writes down what was measured of a table's units, and which entries paid for it. Gives it with the number of its entry.
    pub async fn note_profile(
        &self,
        profile: &Measured,
        paid_by: &[i64],
        author: &str,
        reason: &str,
    ) -> Result<Measured, Refusal> {
        let key = (profile.schema.clone(), profile.table.clone());
        let entry = books::Profile {
            profile: profile.written(),
            paid_by: paid_by.to_vec(),
            author: author.to_owned(),
            reason: reason.to_owned(),
        };
        self.edit(move |books, clock| {
            let at = books.now(clock);
            books.check_profile(0, &entry, at).map_err(Refusal::Unavailable)?;
            Ok(((), Some(Entry::new(at, Body::Profile(entry)))))
        })
        .await?;
        let noted = self.edit(|books, _| Ok((books.profiles(), None))).await?;
        let noted = noted.into_iter().find(|p| (&p.schema, &p.table) == (&key.0, &key.1));
        noted.ok_or_else(|| Refusal::Unavailable("the profile was not written".into()))
    }

    /// Name and notion of every budget that `who` pays from: what decides which noise can be paid for.
    pub fn notions(&self, who: &Identity) -> Vec<(String, Notion)> {
        let matching =
            self.budgets.iter().filter(|b| account::owner(b.scope, &who.user, who.role.as_deref()).is_some());
        matching.map(|b| (b.name.clone(), b.notion())).collect()
    }

    /// The budgets that match `who`, and what is spent of them.
    pub async fn remaining(&self, who: &Identity) -> Result<Vec<BudgetState>, Refusal> {
        let who = who.clone();
        self.edit(move |books, clock| Ok((books.states(&who, clock), None))).await
    }

    /// Whether a debit could be written at this moment: writes and syncs what leaves nothing behind.
    ///
    /// # Errors
    /// What a debit would be refused with.
    pub async fn probe(&self) -> Result<(), Refusal> {
        self.ask(|reply| Request::Probe { reply }).await
    }

    /// A secret for one purpose, that lasts as long as the books and is the same at each proxy that shares them.
    pub fn secret(&self, purpose: &str) -> [u8; 32] {
        Sha256::new()
            .chain_update(b"noisegate ")
            .chain_update(purpose)
            .chain_update(self.first)
            .finalize()
            .into()
    }

    /// Pulse of the ledger.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// Budgets in force, with the part of each that is spent, from 0 to 1, by the user who has
    /// spent most of theirs.
    pub async fn spent(&self) -> Result<Vec<(String, f64)>, Refusal> {
        self.edit(move |books, clock| {
            let part = |b: BudgetSummary| {
                let spent = b.shares.iter().map(|s| 1.0 - s.state.fraction_left()).fold(0.0, f64::max);
                (b.budget.name.clone(), if b.closed { 1.0 } else { spent })
            };
            Ok((books.summaries(clock).into_iter().map(part).collect(), None))
        })
        .await
    }

    /// Budgets of [`Self::remaining`] that pay for a statement over these tables of the policy.
    pub async fn paying(&self, who: &Identity, tables: &[usize]) -> Result<Vec<BudgetState>, Refusal> {
        let (mut states, private) = (self.remaining(who).await?, self.private(tables));
        states.retain(|s| account::counts(&s.budget, private.as_deref()));
        Ok(states)
    }

    /// The latest statements of a user, the latest last.
    pub async fn history(&self, who: &Identity) -> Result<Vec<Line>, Refusal> {
        let user = who.user.clone();
        self.edit(move |books, _| Ok((books.lines(&user), None))).await
    }

    /// The latest entry by which a user opened a stream; None where there is none.
    pub async fn opened(&self, user: &str, stream: &str) -> Result<Option<i64>, Refusal> {
        let (user, stream) = (user.to_owned(), stream.to_owned());
        self.edit(move |books, _| Ok((books.opened(&user, &stream), None))).await
    }

    /// Names of private tables; None where there is none among them.
    fn private(&self, tables: &[usize]) -> Option<Vec<String>> {
        let named = tables.iter().filter_map(|t| self.terms.tables.get(*t));
        let mut names: Vec<String> =
            named.filter(|t| t.rows != books::PUBLIC).map(|t| t.name.clone()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    /// Runs a function over the books in the writer's thread; the entry that it gives is on disk when this returns.
    async fn edit<T: Send + 'static>(
        &self,
        edit: impl FnOnce(&mut Books, i64) -> Result<(T, Option<Entry>), Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (result, read) = std::sync::mpsc::channel();
        let edit: Edit = Box::new(move |books, clock| {
            let (value, entry) = edit(books, clock)?;
            let _ = result.send(value);
            Ok(entry)
        });
        self.ask(|reply| Request::Edit { edit, reply }).await?;
        read.try_recv().map_err(|_| stopped())
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, Refusal>>) -> Request,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.send(request(reply)).await?;
        answer.await.map_err(|_| stopped())?
    }

    async fn send(&self, request: Request) -> Result<(), Refusal> {
        self.writer.requests.as_ref().ok_or_else(stopped)?.send(request).await.map_err(|_| stopped())
    }
}

fn stopped() -> Refusal {
    Refusal::Unavailable("the ledger's writer has stopped".into())
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests.take();
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has been logged by the panic hook, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

/// A name that nobody else has, in 32 hexadecimal digits.
fn random() -> Result<String, LedgerError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| LedgerError::Impossible(format!("no randomness is available: {e}")))?;
    Ok(entry::hex(&bytes))
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
