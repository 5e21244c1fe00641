//! The books: durable budgets, and the receipts without which nothing is released.
//!
//! One SQLite file, one process, one writer thread that owns the connection. A debit is on disk before it is
//! acknowledged, is atomic over all budgets that match, and is never refunded. What is written is who, when, a hash of
//! the statement, its events and prices: no statement text and no value of any row.

mod account;
mod entry;
mod error;
mod last;
mod schema;
mod store;
mod summary;
mod writer;

pub use account::BudgetState;
pub use error::{Lack, LedgerError, Refusal};
pub use summary::{BudgetSummary, summary};

use crate::answer::Identity;
use crate::dp::{Charge, Notion};
use crate::policy::Budget;
use account::Account;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use writer::{Debit, Request};

/// Debits that may wait for the writer; further callers wait for a place.
const QUEUE: usize = 1024;

/// An open ledger. Clones are handles on the same one; dropping the last finishes what is queued and gives the file
/// free.
#[derive(Clone)]
pub struct Ledger {
    accounts: Arc<[Account]>,
    version: [u8; 32],
    writer: Arc<Writer>,
}

/// The thread that writes, and the way to it. Both are taken in `drop` only.
struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Proof that a charge was paid, and to be spent on the one release it was paid for.
///
/// There is no way to one but [`Ledger::debit`], and no way to two from one.
pub struct Receipt {
    charge: Charge,
    entry: i64,
    budgets: Vec<BudgetState>,
}

impl Receipt {
    /// What was paid.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// The number of the ledger's entry.
    pub fn entry(&self) -> i64 {
        self.entry
    }

    /// Every budget that was debited, after the debit.
    pub fn budgets(&self) -> &[BudgetState] {
        &self.budgets
    }
}

impl Ledger {
    /// Creates the file with these budgets, all unspent. An existing file is refused: it may hold what was spent.
    pub fn create(path: &Path, budgets: &[Budget]) -> Result<(), LedgerError> {
        schema::create(path, &accounts(budgets)?)
    }

    /// Opens an existing ledger for these budgets.
    ///
    /// * A missing file is an error that names `noisegate budget create`: it is never created here, because an empty
    ///   ledger forgets what was spent.
    /// * A file that another process has open is refused.
    /// * Limits may differ from the stored ones, and apply to the sums spent so far. A budget may not change its
    ///   notion or scope. A budget that is new (or was absent from the policy for a while) starts from what every
    ///   entry of the ledger costs in its notion.
    ///
    /// Blocks: it reads all entries.
    pub fn open(path: &Path, budgets: &[Budget]) -> Result<Self, LedgerError> {
        let accounts: Arc<[Account]> = accounts(budgets)?.into();
        let store = store::Store::open(path, accounts.clone())?;
        Self::start(store, accounts)
    }

    fn start(store: store::Store, accounts: Arc<[Account]>) -> Result<Self, LedgerError> {
        let (requests, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("ledger".into())
            .spawn(move || writer::run(store, queue))
            .map_err(|e| LedgerError::Thread(e.to_string()))?;
        let writer = Arc::new(Writer { requests: Some(requests), thread: Some(thread) });
        Ok(Self { accounts, version: [0; 32], writer })
    }

    /// Sets the policy version that this handle writes to every entry from now on.
    #[must_use]
    pub fn with_policy_version(mut self, version: [u8; 32]) -> Self {
        self.version = version;
        self
    }

    /// Debits `charge` from every budget that matches `who`: from all, or from none.
    ///
    /// When this returns a receipt, the debit is on disk. If the future is dropped once the request is queued, the
    /// debit stands all the same. Whether it is refused depends on the charge and on earlier charges only.
    pub async fn debit(
        &self,
        who: &Identity,
        statement_hash: [u8; 32],
        charge: &Charge,
    ) -> Result<Receipt, Refusal> {
        let mut prices = Vec::new();
        for (index, account) in self.accounts.iter().enumerate() {
            if let Some(owner) = account.owner(who) {
                let price = account
                    .filter
                    .notion
                    .price(charge)
                    .map_err(|reason| Refusal::Unpriced { budget: account.budget.name.clone(), reason })?;
                prices.push(writer::Price { account: index, owner, price });
            }
        }
        if prices.is_empty() {
            return Err(Refusal::NoBudget { user: who.user.clone() });
        }
        let (reply, answer) = oneshot::channel();
        let debit = Debit {
            user: who.user.clone(),
            role: who.role.clone(),
            statement: entry::hex(&statement_hash),
            policy: entry::hex(&self.version),
            epsilon: charge.epsilon.to_string(),
            selection_delta: charge.selection_delta.to_string(),
            events: entry::encode(&charge.events),
            prices,
            reply,
        };
        self.send(Request::Debit(debit)).await?;
        let paid =
            answer.await.map_err(|_| Refusal::Unavailable("the ledger's writer has stopped".into()))??;
        Ok(Receipt { charge: charge.clone(), entry: paid.entry, budgets: self.states(paid.after) })
    }

    /// Name and notion of every budget that `who` pays from: what decides which noise can be paid for.
    pub fn notions(&self, who: &Identity) -> Vec<(String, Notion)> {
        let matching = self.accounts.iter().filter(|a| a.owner(who).is_some());
        matching.map(|a| (a.budget.name.clone(), a.filter.notion)).collect()
    }

    /// The budgets that match `who`, and what is spent of them.
    pub async fn remaining(&self, who: &Identity) -> Result<Vec<BudgetState>, Refusal> {
        let matching = self.accounts.iter().enumerate();
        let keys = matching.filter_map(|(i, a)| Some((i, a.owner(who)?))).collect();
        let (reply, answer) = oneshot::channel();
        self.send(Request::Spent { keys, reply }).await?;
        let spent =
            answer.await.map_err(|_| Refusal::Unavailable("the ledger's writer has stopped".into()))??;
        Ok(self.states(spent))
    }

    async fn send(&self, request: Request) -> Result<(), Refusal> {
        let stopped = || Refusal::Unavailable("the ledger's writer has stopped".into());
        self.writer.requests.as_ref().ok_or_else(stopped)?.send(request).await.map_err(|_| stopped())
    }

    fn states(&self, spent: Vec<(usize, crate::dp::Cost)>) -> Vec<BudgetState> {
        let state = |(index, spent): (usize, _)| self.accounts.get(index).map(|a| a.state(spent));
        spent.into_iter().filter_map(state).collect()
    }
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

fn accounts(budgets: &[Budget]) -> Result<Vec<Account>, LedgerError> {
    budgets.iter().map(Account::new).collect()
}

#[cfg(test)]
mod tests;
