//! Aggregates that are the values of rows themselves, which are refused.

use super::builder::{Builder, Call, Result};
use super::entry::Entry;
use super::estimator::Output;
use crate::refusals::aggregate::Shows;

pub(super) const ENTRIES: &[Entry] = &[refused("string_agg"), refused("array_agg")];

const fn refused(name: &'static str) -> Entry {
    Entry { name, hint: "", within_group: false, forms: &[], ask: |b, call| b.values_themselves(call) }
}

impl Builder<'_, '_> {
    fn values_themselves(&self, call: &Call<'_>) -> Result<Option<Output>> {
        Err(self.of_released(Shows::Values, call).into())
    }
}
