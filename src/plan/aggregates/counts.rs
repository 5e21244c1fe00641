//! Counts: of rows, of those where a value is there, and of units.

use super::builder::{Asked, Builder, Call, Result};
use super::drawn::{Drawn, Released};
use super::entry::{Entry, Form};
use super::estimator::{Estimator, Followed, Output, Straight, linear_error95, linear_sentence};
use super::part::{Part, PartKind};
use super::sums::Zero;
use crate::expr::{Node, Scalar};
use crate::noise::number::Number;
use schema::SqlType;

const ROWS: &str = "count of the rows, or of those where x is not NULL";
const AND: &str = "may be negative; never NULL";

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "count",
    hint: "count, count(DISTINCT x)",
    within_group: false,
    forms: &[
        Form { written: "count(*)", from: ROWS, and: AND },
        Form { written: "count(x)", from: ROWS, and: AND },
        Form { written: "count(DISTINCT unit)", from: "count of units, each once in each group", and: AND },
        Form {
            written: "count(DISTINCT x)",
            from: "count of distinct values, in a release of its own",
            and: AND,
        },
    ],
    ask: |b, call| b.count(call),
}];

/// A count, as int8.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The count.
    pub part: usize,
}

impl Estimator for Count {
    fn parts(&self) -> Vec<usize> {
        vec![self.part]
    }

    fn text(&self, released: &Released<'_>) -> String {
        released.column(self.part)
    }

    fn number(&self, released: &Released<'_>) -> Number {
        released.part(self.part)
    }

    fn noise(&self) -> Followed {
        Followed::Known
    }

    fn linear(&self, _: &Drawn<'_>) -> Option<Vec<(usize, f64)>> {
        Some(vec![(self.part, 1.0)])
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        linear_error95(&[(self.part, 1.0)], drawn)
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        linear_sentence(&[(self.part, 1.0)], drawn, name)
    }

    fn straight(&self, _: &Drawn<'_>) -> Option<Straight> {
        Some(Straight::Part(self.part))
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        vec![(self.part, 1.0)]
    }
}

impl Builder<'_, '_> {
    fn count(&mut self, call: &Call<'_>) -> Result<Option<Output>> {
        let all = || call.when.is_some().then(|| call.only(Scalar::constant_truth(true)));
        let output = match (call.aggregate.args.as_slice(), call.aggregate.distinct) {
            ([], false) => Count { part: self.count_part(all().as_ref()) }.into(),
            ([x], false) => {
                let x = call.only(self.lower(x)?);
                self.count_output(&x)
            }
            ([x], true) => {
                let s = self.lower(x)?;
                if !self.is_unit(&s, true) {
                    return self.distinct(call, Asked::Count, s, x.pos);
                }
                Count { part: self.part(PartKind::Units(all()), "count of units") }.into()
            }
            _ => return call.takes("one argument"),
        };
        Ok(Some(output))
    }

    /// A count of the rows where the argument is not NULL.
    pub(super) fn count_output(&mut self, arg: &Scalar) -> Output {
        match arg.node() {
            Node::Null => Zero { ty: SqlType::Int8 }.into(),
            _ => Count { part: self.count_part(Some(arg)) }.into(),
        }
    }
}
