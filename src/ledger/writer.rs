//! The one thread that writes: takes all that waits, decides in order, and makes it durable by one commit.
//!
//! While one batch is being synced, the next one gathers (group commit): the number of debits per second is not bound
//! by the disk's syncs per second.

use super::account::BudgetState;
use super::books::{Ask, Body, Books, Cached, Claim, Entry};
use super::entry::hex;
use super::error::{LedgerError, Refusal};
use super::keeper::Keeper;
use super::log::{Log, PrivateRead, ReadChange};
use super::pulse::Pulse;
use super::reads::{self, ReadTerms, SharedSeen, Standing};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Requests that share one commit at most.
const BATCH: usize = 256;

/// The name of the read that a probe notes: no read has one of so few digits.
const PROBE: &str = "probe";

/// Outcome of [`Request::Pay`].
pub(super) enum Paid {
    /// The entry, and the budgets after it.
    Fresh(i64, Vec<BudgetState>),
    /// A kept release.
    Kept(Vec<u8>),
    /// Somebody else has paid.
    Wait,
    /// The user has no place for another read.
    Full,
}

/// Reads the books, and may give an entry to write.
pub(super) type Edit = Box<dyn FnOnce(&mut Books, i64) -> Result<Option<Entry>, Refusal> + Send>;

type Reply<T> = oneshot::Sender<Result<T, Refusal>>;

pub(super) enum Request {
    /// `lease`: for how long, in microseconds, a release that was paid for is waited for.
    /// `read`: on what terms the private rows are read that it is for.
    Pay { ask: Box<Ask>, lease: i64, read: Option<ReadTerms>, reply: Reply<Paid> },
    /// A read that was paid for before. What comes of it is not waited for on disk.
    Reserve { id: String, user: String, claim: Option<Claim>, terms: ReadTerms, reply: Reply<Standing> },
    /// Change of a read. Nobody waits for it.
    Note { change: ReadChange, limit: u32 },
    /// Reads that are still under way.
    Renew { reads: Vec<String>, lease: i64 },
    /// Stores a release; `room` is for all of them, in bytes.
    Keep { entry: i64, key: [u8; 32], bytes: Vec<u8>, room: u64, reply: Reply<()> },
    /// Reads a stored release.
    Kept { key: [u8; 32], reply: Reply<Option<Vec<u8>>> },
    /// Notes that a stored release was given again. Nobody waits for it.
    Reuse(Cached),
    /// A release will not come.
    GiveUp { entry: i64, key: [u8; 32] },
    /// Writes what is of no meaning, in a batch of its own: whether a debit could be written now.
    Probe { reply: Reply<()> },
    /// Anything else. Forgets releases of earlier epochs if it begins one.
    Edit { edit: Edit, reply: Reply<()> },
}

impl Request {
    /// The stored release that it will look for.
    fn reads(&self) -> Option<[u8; 32]> {
        match self {
            Self::Pay { ask, .. } => ask.release,
            Self::Kept { key, .. } => Some(*key),
            _ => None,
        }
    }

    /// The same once more, where nobody waits to ask again: a note on a read.
    fn again(&self) -> Option<Self> {
        match self {
            Self::Note { change, limit } => Some(Self::Note { change: change.clone(), limit: *limit }),
            _ => None,
        }
    }

    /// Whether it may be lost with the power: then a place for a failure is less or more, for one user.
    fn is_relaxed(&self) -> bool {
        matches!(self, Self::Reserve { .. } | Self::Note { .. } | Self::Renew { .. })
    }
}

/// Serves until every sender is gone.
pub(super) fn run(mut keeper: Keeper, mut queue: mpsc::Receiver<Request>, seen: &SharedSeen, pulse: &Pulse) {
    // What came of reads while the books were away: told again with the next batch, or their places would be lost.
    let mut untold = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        let mut batch = std::mem::take(&mut untold);
        batch.push(first);
        gather(&mut batch, &mut queue);
        // What a probe cannot write must not take a debit with it.
        let (probes, batch): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|r| matches!(r, Request::Probe { .. }));
        if !probes.is_empty() {
            serve(&mut keeper, probes, None, seen, pulse);
        }
        if batch.iter().all(|r| matches!(r, Request::Kept { .. })) {
            look(keeper.log.as_mut(), batch);
        } else {
            untold = serve(&mut keeper, batch, Some(&mut queue), seen, pulse);
        }
    }
}

/// Takes what waits.
fn gather(batch: &mut Vec<Request>, queue: &mut mpsc::Receiver<Request>) {
    while batch.len() < BATCH {
        match queue.try_recv() {
            Ok(next) => batch.push(next),
            Err(_) => break,
        }
    }
}

/// Reads of the shelf alone need no batch.
fn look(log: &mut dyn Log, batch: Vec<Request>) {
    for request in batch {
        if let Request::Kept { key, reply } = request {
            let kept = log.get(&key).map(|kept| kept.map(|k| k.bytes));
            let _ = reply.send(kept.map_err(|e| Refusal::from(&e)));
        }
    }
}

/// A decision that waits for the commit. Its receiver may be gone by then: the debit stands.
type Answer = Box<dyn FnOnce(Result<(), Refusal>)>;

fn answer<T: 'static>(reply: Reply<T>, decision: Result<T, Refusal>) -> Answer {
    Box::new(move |committed| {
        let _ = reply.send(committed.and(decision));
    })
}

/// One transaction. No answer, not even a refusal, goes out before the commit: a refusal may rest on a debit of the
/// same batch. `queue` has those who may still join it. Gives notes on reads that did not come into the books.
fn serve(
    keeper: &mut Keeper,
    mut requests: Vec<Request>,
    queue: Option<&mut mpsc::Receiver<Request>>,
    seen: &SharedSeen,
    pulse: &Pulse,
) -> Vec<Request> {
    let relaxed = requests.iter().all(Request::is_relaxed);
    let begun = keeper.begin(relaxed).and_then(|()| {
        // And those who came while another proxy had the lock.
        if let Some(queue) = queue.filter(|_| !relaxed) {
            gather(&mut requests, queue);
        }
        let keys: Vec<[u8; 32]> = requests.iter().filter_map(Request::reads).collect();
        keeper.log.look(&keys)
    });
    let mut failure = begun.err();
    let notes: Vec<Request> = requests.iter().filter_map(Request::again).collect();
    let mut answers: Vec<Answer> = Vec::with_capacity(requests.len());
    for request in requests {
        answers.push(keeper.take_request(request, &mut failure));
    }
    let begun = Instant::now();
    let outcome = match keeper.end(failure.map_or(Ok(()), Err)) {
        Ok(()) => {
            if keeper.wrote {
                pulse.committed(begun.elapsed(), keeper.books.head().at);
            }
            seen.publish(std::mem::take(&mut keeper.reads));
            // After the commit: a file that is taken away from now on takes what it holds with it, to be put back.
            if keeper.in_place() {
                Ok(())
            } else {
                tracing::error!("the privacy ledger's file was moved, removed or replaced");
                Err(Refusal::Lost)
            }
        }
        Err(error) => {
            pulse.failed();
            // Whether it is on disk all the same is told by the next batch.
            tracing::error!(%error, "the privacy ledger cannot be written");
            Err(Refusal::from(&error))
        }
    };
    for answer in answers {
        answer(outcome.clone());
    }
    if outcome.is_ok() { Vec::new() } else { notes }
}

impl Keeper {
    fn take_request(&mut self, request: Request, failure: &mut Option<LedgerError>) -> Answer {
        // After a failure nothing of the batch comes to pass.
        let failed = failure.is_some();
        let mut run = |work: &mut dyn FnMut(&mut Self) -> Result<(), LedgerError>| {
            if !failed && let Err(error) = work(self) {
                *failure = Some(error);
            }
        };
        let undecided = || Refusal::Unavailable(String::new());
        match request {
            Request::Pay { ask, lease, read, reply } => {
                let mut decision = Err(undecided());
                run(&mut |batch| {
                    decision = batch.pay(&ask, lease, read)?;
                    Ok(())
                });
                answer(reply, decision)
            }
            Request::Reserve { id, user, claim, terms, reply } => {
                let mut standing = Err(undecided());
                run(&mut |batch| {
                    standing = batch.reserve(&id, &user, claim.as_ref(), terms)?;
                    Ok(())
                });
                answer(reply, standing)
            }
            Request::Note { change, limit } => {
                run(&mut |batch| batch.ended(&change, limit));
                Box::new(drop)
            }
            Request::Renew { reads, lease } => {
                run(&mut |batch| batch.renew(&reads, lease));
                Box::new(drop)
            }
            Request::Keep { entry, key, bytes, room, reply } => {
                let mut bytes = Some(bytes);
                run(&mut |batch| batch.keep(entry, &key, bytes.take().unwrap_or_default(), room));
                answer(reply, Ok(()))
            }
            Request::Kept { key, reply } => {
                let mut kept = Err(undecided());
                run(&mut |batch| {
                    kept = Ok(batch.log.get(&key)?.map(|k| k.bytes));
                    Ok(())
                });
                answer(reply, kept)
            }
            Request::Reuse(cached) => {
                let mut cached = Some(cached);
                run(&mut |batch| match cached.take() {
                    Some(cached) if batch.books.noted(&cached, batch.now) => Ok(()),
                    Some(cached) => {
                        let at = batch.books.now(batch.now);
                        batch.append(&Entry::new(at, Body::Cached(cached))).map(drop)
                    }
                    None => Ok(()),
                });
                Box::new(drop)
            }
            Request::GiveUp { entry, key } => {
                run(&mut |batch| {
                    batch.books.arrived(&key, Some(entry));
                    Ok(())
                });
                Box::new(drop)
            }
            Request::Probe { reply } => {
                run(&mut Self::probe);
                answer(reply, Ok(()))
            }
            Request::Edit { edit, reply } => {
                let (mut edit, mut done) = (Some(edit), Err(undecided()));
                run(&mut |batch| {
                    let Some(edit) = edit.take() else { return Ok(()) };
                    done = match edit(&mut batch.books, batch.now) {
                        Ok(None) => Ok(()),
                        Ok(Some(entry)) => {
                            batch.append(&entry)?;
                            Ok(())
                        }
                        Err(refusal) => Err(refusal),
                    };
                    Ok(())
                });
                answer(reply, done)
            }
        }
    }

    /// Notes a read of nobody, and takes it back: pages are written and synced as for a debit, and nothing is left.
    fn probe(&mut self) -> Result<(), LedgerError> {
        if self.wrote {
            return Ok(());
        }
        let (id, user, began) = (PROBE.to_owned(), String::new(), self.now);
        self.note(ReadChange::Reserve(PrivateRead { id, user, began, until: began, failed: false }))?;
        self.note(ReadChange::Remove(PROBE.to_owned()))
    }

    /// Whether a user's read may begin now.
    fn standing(&self, user: &str, terms: ReadTerms) -> Standing {
        reads::standing(&self.reads, user, self.books.now(self.now), terms.limit)
    }

    /// Takes a place that is free, and forgets what counts no more.
    fn take_place(&mut self, id: &str, user: &str, terms: ReadTerms) -> Result<(), LedgerError> {
        let now = self.books.now(self.now);
        let past: Vec<String> =
            self.reads.iter().filter(|r| reads::is_past(r, now)).map(|r| r.id.clone()).collect();
        for id in past {
            self.note(ReadChange::Remove(id))?;
        }
        self.note(ReadChange::Reserve(reads::reserved(id, user, now, terms)))
    }

    fn reserve(
        &mut self,
        id: &str,
        user: &str,
        claim: Option<&Claim>,
        terms: ReadTerms,
    ) -> Result<Result<Standing, Refusal>, LedgerError> {
        if let Some(claim) = claim
            && let Err(refusal) = self.books.claim(claim, self.now)
        {
            return Ok(Err(refusal));
        }
        let standing = self.standing(user, terms);
        if let Err(refusal) = reads::refuse_suspended(standing) {
            return Ok(Err(refusal));
        }
        if standing == Standing::Free {
            self.take_place(id, user, terms)?;
        }
        Ok(Ok(standing))
    }

    /// Reads are still under way.
    fn renew(&mut self, ids: &[String], lease: i64) -> Result<(), LedgerError> {
        let until = self.books.now(self.now).saturating_add(lease);
        let under_way = self.reads.iter().filter(|r| !r.failed && ids.contains(&r.id));
        let renewed: Vec<PrivateRead> = under_way.map(|r| PrivateRead { until, ..r.clone() }).collect();
        for read in renewed {
            self.note(ReadChange::Remove(read.id.clone()))?;
            self.note(ReadChange::Reserve(read))?;
        }
        Ok(())
    }

    /// A read has ended.
    fn ended(&mut self, change: &ReadChange, limit: u32) -> Result<(), LedgerError> {
        let known = |id: &str| self.reads.iter().find(|r| r.id == id);
        let failed = match change {
            // It never came into the books, or was so long ago that it was taken out of them.
            ReadChange::Fail(id) | ReadChange::Remove(id) if known(id).is_none() => return Ok(()),
            ReadChange::Fail(id) => known(id).filter(|r| !r.failed).map(|r| r.user.clone()),
            _ => None,
        };
        self.note(change.clone())?;
        if let Some(user) = failed {
            let failures = reads::failures(&self.reads, &user, self.books.now(self.now));
            if u32::try_from(failures).is_ok_and(|n| n == limit) {
                tracing::error!(
                    %user, failures,
                    "a user's statements keep failing over private rows: suspended for a day"
                );
            }
        }
        Ok(())
    }

    fn pay(
        &mut self,
        ask: &Ask,
        lease: i64,
        read: Option<ReadTerms>,
    ) -> Result<Result<Paid, Refusal>, LedgerError> {
        if let Some(key) = &ask.release {
            if let Some(kept) = self.log.get(key)? {
                self.books.arrived(key, None);
                return Ok(Ok(Paid::Kept(kept.bytes)));
            }
            self.books.sweep(self.books.now(self.now), lease, &self.reads);
            if self.books.awaited(key, self.now, lease, &self.reads) {
                return Ok(Ok(Paid::Wait));
            }
        }
        match read.map(|terms| self.standing(&ask.who.user, terms)) {
            Some(Standing::Suspended) => return Ok(Err(Refusal::Suspended)),
            Some(Standing::Full) => return Ok(Ok(Paid::Full)),
            Some(Standing::Free) | None => {}
        }
        let entry = match self.books.decide(ask, self.now) {
            Ok(entry) => entry,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let id = self.append(&entry)?;
        if let Some(terms) = read {
            self.take_place(&ask.id, &ask.who.user, terms)?;
        }
        let states = match &entry.what {
            Body::Debit(debit) => self.books.states_of(debit, entry.at),
            _ => Vec::new(),
        };
        Ok(Ok(Paid::Fresh(id, states)))
    }

    fn keep(&mut self, entry: i64, key: &[u8; 32], bytes: Vec<u8>, room: u64) -> Result<(), LedgerError> {
        self.log.put(key, entry, self.epoch(), bytes)?;
        self.log.make_room(room)?;
        self.wrote = true;
        self.books.arrived(key, Some(entry));
        Ok(())
    }
}

/// An entry for a release that was given again.
pub(super) fn cached(user: &str, role: Option<&str>, statement: &[u8; 32], key: &[u8; 32]) -> Cached {
    let (user, role) = (user.to_owned(), role.map(Into::into));
    Cached { user, role, statement: hex(statement), release: hex(key) }
}
