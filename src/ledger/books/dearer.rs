//! Entries of an earlier pricing that count for more than was debited.
//!
//! Laplace noise was once priced as a number of uses of the change in one group, where a unit could
//! bring all of them to one group. An entry does not say which of both it was: it counts as one use
//! of the product ([`crate::entry`]), in every budget that was debited for it.

use super::body::Debit;
use crate::account::{Amount, Counter};
use dp::Unpriced;
use std::collections::BTreeMap;

/// Such entries, by budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dearer(BTreeMap<String, Vec<i64>>);

impl Dearer {
    /// Amount that an entry counts for in a budget: what it paid, or what it costs as it is read
    /// now, whichever is more.
    pub(super) fn counted(
        &mut self,
        id: i64,
        debit: &Debit,
        budget: &str,
        counter: &Counter,
        paid: Amount,
        anew: Option<&Result<Amount, Unpriced>>,
    ) -> Amount {
        if !debit.charge.is_read_anew() {
            return paid;
        }
        let counted = match anew {
            Some(Ok(anew)) => paid.most(anew),
            // No number of declared uses is as much: then all of them are gone.
            _ => paid.most(&counter.limit()),
        };
        if counted != paid {
            self.0.entry(budget.to_owned()).or_default().push(id);
        }
        counted
    }

    /// A sentence for each budget.
    pub(crate) fn told(&self) -> Vec<String> {
        let one = |(budget, entries): (&String, &Vec<i64>)| {
            let (first, last) = (entries.first().unwrap_or(&0), entries.last().unwrap_or(&0));
            format!(
                "{} entries from {first} to {last} count for more in budget \"{budget}\" than was debited when they were written: \
                 their Laplace noise was priced as many small uses, and one unit could make it a large one",
                entries.len()
            )
        };
        self.0.iter().map(one).collect()
    }
}
