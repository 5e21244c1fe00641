//! `bool_and(x)` and `bool_or(x)`, from the number of rows that decide: one row alone decides nothing.

use super::builder::{Builder, Call, Result};
use super::drawn::{Drawn, Released};
use super::entry::{Entry, Form};
use super::estimator::{DECIDES, Estimator, Output};
use super::part::Part;
use crate::expr::{Scalar, filtered, not};
use crate::refusals::aggregate::Aggregation;
use schema::SqlType;

const FROM: &str =
    "count of the rows where x is false (of `bool_or`: true), and of those where it is not NULL";
const AND: &str = "`bool_or` is true, `bool_and` false, where the first count reaches a threshold that EXPLAIN states: one row alone decides nothing";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "bool_and",
        hint: "bool_and",
        within_group: false,
        forms: &[Form { written: "bool_and(x)", from: FROM, and: AND }],
        ask: |b, call| b.truth(call, true),
    },
    Entry {
        name: "bool_or",
        hint: "bool_or",
        within_group: false,
        forms: &[Form { written: "bool_or(x)", from: FROM, and: AND }],
        ask: |b, call| b.truth(call, false),
    },
    Entry {
        name: "every",
        hint: "",
        within_group: false,
        forms: &[Form { written: "every(x)", from: FROM, and: AND }],
        ask: |b, call| b.truth(call, true),
    },
];

/// Whether a condition is true in some row, or in all.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The count of the rows that decide: those where it is true, or for all, those where it is false.
    pub deciding: usize,
    /// The count of the rows where it is not NULL.
    pub count: usize,
    /// In all rows.
    pub all: bool,
}

impl Estimator for Truth {
    fn parts(&self) -> Vec<usize> {
        vec![self.deciding, self.count]
    }

    fn text(&self, released: &Released<'_>) -> String {
        let compared = if self.all { "<" } else { ">=" };
        let least = released.drawn.deciding(self.deciding);
        let [count, deciding] = [self.count, self.deciding].map(|part| released.column(part));
        format!("(CASE WHEN {count} >= 1 THEN {deciding} {compared} {least} END)")
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        let (what, otherwise) = if self.all { ("FALSE", "true") } else { ("TRUE", "false") };
        format!(
            "{otherwise} unless the noisy number of rows with {what} is at least {}: right in 95 % where it is none or twice that",
            drawn.deciding(self.deciding)
        )
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        format!("{name} right where no row decides it, or {} do", 2 * drawn.deciding(self.deciding))
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        vec![(self.deciding, 1.0), (self.count, DECIDES)]
    }
}

impl Builder<'_, '_> {
    fn truth(&mut self, call: &Call<'_>, all: bool) -> Result<Option<Output>> {
        let ([x], false) = (call.aggregate.args.as_slice(), call.aggregate.distinct) else {
            return call.takes("one argument");
        };
        let value = self.lower(x)?;
        if *value.ty() != SqlType::Bool {
            return Err(Aggregation::Boolean(if all { "bool_and" } else { "bool_or" }).at(x.pos).into());
        }
        let deciding = if all { not(value.clone()) } else { value.clone() };
        let deciding = filtered(deciding, Scalar::constant_truth(true));
        let deciding = self.count_part(Some(&call.only(deciding)));
        let count = self.count_part(Some(&call.only(value)));
        Ok(Some(Truth { deciding, count, all }.into()))
    }
}
