//! The one thread that writes: takes all that waits, decides in order, and makes it durable by one commit.
//!
//! While one batch is being synced, the next one gathers (group commit): the number of debits per second is not bound
//! by the disk's syncs per second.

use super::error::{Lack, Refusal};
use super::store::{Store, Sums};
use crate::dp::Cost;
use tokio::sync::{mpsc, oneshot};

/// Debits that share one commit at most.
const BATCH: usize = 256;

/// A price in one budget.
pub(super) struct Price {
    pub(super) account: usize,
    pub(super) owner: String,
    pub(super) price: Cost,
}

pub(super) struct Paid {
    pub(super) entry: i64,
    pub(super) after: Vec<(usize, Cost)>,
}

pub(super) struct Debit {
    pub(super) user: String,
    pub(super) role: Option<String>,
    pub(super) statement: String,
    pub(super) policy: String,
    pub(super) epsilon: String,
    pub(super) selection_delta: String,
    pub(super) events: String,
    pub(super) prices: Vec<Price>,
    pub(super) reply: oneshot::Sender<Result<Paid, Refusal>>,
}

pub(super) enum Request {
    Debit(Debit),
    Last { user: String, statement: String, reply: oneshot::Sender<Result<Option<i64>, Refusal>> },
    Spent { keys: Vec<(usize, String)>, reply: oneshot::Sender<Result<Vec<(usize, Cost)>, Refusal>> },
}

/// Serves until every sender is gone.
pub(super) fn run(mut store: Store, mut queue: mpsc::Receiver<Request>) {
    while let Some(first) = queue.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH {
            match queue.try_recv() {
                Ok(next) => batch.push(next),
                Err(_) => break,
            }
        }
        serve(&mut store, batch);
    }
}

/// A decision that waits for the commit. Its receiver may be gone by then: the debit stands.
type Reply = Box<dyn FnOnce(Result<(), Refusal>)>;

/// One transaction. No answer, not even a refusal, goes out before the commit: a refusal may rest on a debit of the
/// same batch.
fn serve(store: &mut Store, batch: Vec<Request>) {
    let mut replies: Vec<Reply> = Vec::with_capacity(batch.len());
    let mut failure: Option<rusqlite::Error> = store.begin().err();
    for request in batch {
        match request {
            Request::Debit(debit) => {
                let decision = match &failure {
                    None => decide(store, &debit),
                    Some(_) => Ok(Err(Refusal::Unavailable(String::new()))),
                };
                let decision = decision.unwrap_or_else(|e| {
                    failure = Some(e);
                    Err(Refusal::Unavailable(String::new()))
                });
                replies.push(Box::new(move |committed| {
                    let _ = debit.reply.send(committed.and(decision));
                }));
            }
            Request::Last { user, statement, reply } => {
                let last = store.last(&user, &statement).map_err(|e| Refusal::Unavailable(e.to_string()));
                replies.push(Box::new(move |committed| {
                    let _ = reply.send(committed.and(last));
                }));
            }
            Request::Spent { keys, reply } => {
                let spent = store.sums.as_ref().map(|sums| {
                    keys.into_iter().map(|key| (key.0, sums.get(&key).copied().unwrap_or_default())).collect()
                });
                let spent = spent.ok_or_else(|| Refusal::Unavailable("the ledger cannot be read".into()));
                replies.push(Box::new(move |committed| {
                    let _ = reply.send(committed.and(spent));
                }));
            }
        }
    }
    let outcome = match failure.map_or_else(|| store.commit(), Err) {
        // After the commit: a file that is taken away from now on takes what it holds with it, to be put back.
        Ok(()) if store.in_place() => Ok(()),
        Ok(()) => {
            tracing::error!("the privacy ledger's file was moved, removed or replaced");
            Err(Refusal::Lost)
        }
        Err(error) => {
            store.abandon();
            tracing::error!(%error, "the privacy ledger cannot be written");
            Err(Refusal::Unavailable(error.to_string()))
        }
    };
    for reply in replies {
        reply(outcome.clone());
    }
}

/// Admits and writes a debit, or refuses it. The outer error is the file's.
fn decide(store: &mut Store, debit: &Debit) -> rusqlite::Result<Result<Paid, Refusal>> {
    let Some(sums) = &store.sums else { return Err(rusqlite::Error::InvalidQuery) };
    let mut after = Vec::with_capacity(debit.prices.len());
    let mut lacks = Vec::new();
    for price in &debit.prices {
        let Some(account) = store.accounts.get(price.account) else {
            return Err(rusqlite::Error::InvalidQuery);
        };
        let spent = sums.get(&(price.account, price.owner.clone())).copied().unwrap_or_default();
        match account.filter.admit(spent, price.price) {
            Ok(sum) => after.push((price.account, sum)),
            Err(shortfall) => lacks.push(Lack {
                budget: account.budget.name.clone(),
                scope: account.budget.scope,
                symbol: if shortfall.of_delta { "δ" } else { account.filter.notion.symbol() },
                limit: if shortfall.of_delta {
                    account.filter.limit.delta
                } else {
                    account.filter.reading(spent).1
                },
                shortfall,
            }),
        }
    }
    if !lacks.is_empty() {
        return Ok(Err(Refusal::Exhausted(lacks)));
    }
    let entry = store.insert(debit)?;
    if let Some(sums) = &mut store.sums {
        record(sums, debit, &after);
    }
    Ok(Ok(Paid { entry, after }))
}

fn record(sums: &mut Sums, debit: &Debit, after: &[(usize, Cost)]) {
    for (price, (_, sum)) in debit.prices.iter().zip(after) {
        sums.insert((price.account, price.owner.clone()), *sum);
    }
}
