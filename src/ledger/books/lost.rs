//! Entries that were lost, and what their owner has charged for them (soundness rule 42).
//!
//! Nobody knows whose they were. So what stands for them is charged to every budget, and to each of its owners, in the
//! window in which the ledger was restored. A budget of a later policy is charged, too: it starts from what was spent.

use super::body::Restore;
use super::state::{Books, Lost, Mend, Sum};
use crate::account::{Account, Amount};
use crate::entry::{Charged, unhex};
use dp::Charge;
use policy::Scope;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Books {
    pub(super) fn take_restore(&mut self, id: i64, restore: &Restore, at: i64) -> Result<(), String> {
        let (found, head) = (&restore.found, self.head);
        if found.id != head.id || unhex(&found.hash) != Some(head.hash) {
            return Err("it goes on from another entry than the one before it".into());
        }
        let read = |charged: &Charged| charged.read().ok_or("its charge cannot be read");
        let charge = restore.charge.as_ref().map(read).transpose()?;
        let mut full = Vec::with_capacity(self.accounts.len());
        for index in 0..self.accounts.len() {
            let Some(account) = self.accounts.get(index).cloned() else { continue };
            let window = account.window(at);
            // A name that nobody has: what was granted to everybody.
            full.push((account.budget.name.clone(), self.counter(&(index, "\u{0}".into()), window).limit()));
            for owner in self.sharers(index, &account, window) {
                let key = (index, owner);
                let all = self.counter(&key, window).limit();
                let spent = with(&account, charge.as_ref(), &self.spent(&key, window), &all);
                self.sums.insert(key, Sum { window, spent });
            }
        }
        self.lost.push(Lost { at, charge, full });
        self.mends.push(Mend { id, found: found.id, expected: restore.expected.as_ref().map(|e| e.id) });
        // Nobody brings what was paid for by an entry that is gone.
        self.pending.clear();
        Ok(())
    }

    /// Everybody who has spent something of an account in a window, or was granted something.
    fn sharers(&self, index: usize, account: &Account, window: Option<i64>) -> BTreeSet<Arc<str>> {
        let spenders = self.sums.iter().filter(|((i, _), sum)| *i == index && sum.window == window);
        let mut owners: BTreeSet<Arc<str>> = spenders.map(|((_, owner), _)| owner.clone()).collect();
        let granted = self.grants.iter().filter(|g| g.budget == account.budget.name && g.window == window);
        owners.extend(granted.filter_map(|g| g.owner.as_deref().map(Arc::from)));
        if account.budget.scope == Scope::Dataset {
            owners.insert("".into());
        }
        owners
    }

    /// Spending of an owner who asked for nothing yet: nothing, and the stand-in for lost entries.
    pub(super) fn base(&self, account: &Account, window: Option<i64>) -> Amount {
        let lost = self.lost.iter().filter(|lost| account.window(lost.at) == window);
        lost.fold(account.counter.nothing(), |spent, lost| {
            let full = lost.full.iter().find(|(name, _)| *name == account.budget.name);
            let all = full.map_or_else(|| account.counter.limit(), |(_, all)| all.clone());
            with(account, lost.charge.as_ref(), &spent, &all)
        })
    }

    /// A budget counts otherwise from now on: all that it has is what the new policy says.
    pub(super) fn recount(&mut self, budget: &str) {
        self.lost.iter_mut().for_each(|lost| lost.full.retain(|(name, _)| name != budget));
    }

    /// Forgets lost entries for another unit: they were spent on somebody else's privacy.
    pub(super) fn forget_lost(&mut self) {
        self.lost.clear();
    }

    /// The last entry by which the ledger was restored; 0 where there is none.
    pub(crate) fn restored(&self) -> i64 {
        self.mends.last().map_or(0, |mend| mend.id)
    }

    /// Whether an owner has made up for the loss of an entry that was seen after the restoration `since`.
    pub(crate) fn mended(&self, entry: i64, since: i64) -> bool {
        let mends = |m: &Mend| m.id > since && m.found < entry && m.expected.is_some_and(|e| e >= entry);
        self.mends.iter().any(mends)
    }

    /// Whether anything was ever paid for, or lost.
    pub(crate) fn is_unspent(&self) -> bool {
        self.history.is_empty() && self.mends.is_empty()
    }
}

/// A sum with what stands for lost entries. Where that has no price, or nobody knows what it was, it is all there is.
fn with(account: &Account, charge: Option<&Charge>, spent: &Amount, all: &Amount) -> Amount {
    match charge.map(|charge| account.counter.price(charge)) {
        Some(Ok(price)) => spent.plus(&price, 1),
        _ if all.covers(spent) => all.clone(),
        _ => spent.plus(all, 1),
    }
}
