//! Keys with the ranges of their columns narrowed by what conditions say.

use super::ranges::Ranges;
use crate::algebra::equivalence_classes::Col;
use crate::expr::interval::Interval;
use crate::expr::{ColumnInfo, Columns, Scalar, lower};
use crate::own::scans::Scans;
use bigdecimal::{BigDecimal, Signed, ToPrimitive};
use policy::{Column, Range};
use schema::SqlType;
use schema::time::{FIRST, LAST};
use sql::ast::{BindingId, Expr};
use std::collections::BTreeMap;

/// The columns of a relation, of which some have narrower ranges.
///
/// A key moves a value into its column's declared range before it computes with it, so that what a condition leaves of a
/// range is both of its ends moved into the declared one: wherever a row's value lies, if it meets the condition, what the
/// key makes of it lies there. What is lowered here is looked at for its domain and never printed over rows.
pub(super) struct Narrowed<'f, 'a> {
    scans: &'f Scans<'a>,
    columns: BTreeMap<Col, Column>,
    /// Relations whose rows an outer join never misses.
    kept: Vec<BindingId>,
}

impl<'f, 'a> Narrowed<'f, 'a> {
    pub fn new(scans: &'f Scans<'a>, ranges: &Ranges) -> Self {
        let columns = ranges.iter().filter_map(|(col, range)| {
            let column = scans.table_of(col.0)?.column(&col.1)?;
            Some((col.clone(), Column { range: Some(moved(column, range)?), ..column.clone() }))
        });
        Self { scans, columns: columns.collect(), kept: Vec::new() }
    }

    /// The same, where the rows of these relations are NULL for none of those that they are joined to.
    pub fn of_kept(self, kept: Vec<BindingId>) -> Self {
        Self { kept, ..self }
    }

    /// The key with narrower ranges.
    pub fn lower(&self, key: &Scalar, expr: &Expr) -> Scalar {
        match self.columns.is_empty() && self.kept.is_empty() {
            true => key.clone(),
            // Nothing is refused for a narrower range that is not for a wider one; if it were, the wider one is right, too.
            false => lower(expr, self).ok().filter(|s| s.ty() == key.ty()).unwrap_or_else(|| key.clone()),
        }
    }
}

/// What a condition leaves of a column's range: the range moved into the declared one.
fn moved(column: &Column, range: &Interval) -> Option<Range> {
    Some(match (&column.range, range.finite()) {
        (Some(Range::Number { low, high }), _) => {
            let end = |x: &Option<BigDecimal>, other: &BigDecimal| {
                x.clone().unwrap_or_else(|| other.clone()).max(low.clone()).min(high.clone())
            };
            Range::Number { low: end(&range.lo, low), high: end(&range.hi, high) }
        }
        (Some(Range::Time { low, high }), _) => {
            let end = |x: &Option<BigDecimal>, other: i64, beyond: i64| match x {
                None => other,
                // Microseconds that no i64 holds are beyond either end.
                Some(x) => x.to_i64().unwrap_or(beyond).clamp(*low, *high),
            };
            let sign = |x: &Option<BigDecimal>| match x.as_ref().is_some_and(Signed::is_positive) {
                true => i64::MAX,
                false => i64::MIN,
            };
            Range::Time {
                low: end(&range.lo, *low, sign(&range.lo)),
                high: end(&range.hi, *high, sign(&range.hi)),
            }
        }
        (None, Some((low, high))) if column.ty.is_number() => {
            Range::Number { low: low.clone(), high: high.clone() }
        }
        (None, Some((low, high))) if column.ty.is_datetime() => {
            let within = |x: &BigDecimal| x.to_i64().filter(|x| (FIRST..=LAST).contains(x));
            Range::Time { low: within(low)?, high: within(high)? }
        }
        (None, _) => return None,
    })
}

impl Columns for Narrowed<'_, '_> {
    fn column(&self, binding: BindingId, column: usize) -> Option<ColumnInfo<'_>> {
        let info = self.scans.column(binding, column)?;
        let narrower = self.columns.get(&(binding, info.column.name.clone()));
        let nullable = match self.kept.contains(&binding) {
            true => !info.column.not_null,
            false => info.nullable,
        };
        Some(ColumnInfo { column: narrower.unwrap_or(info.column), nullable, ..info })
    }

    fn computed(&self, binding: BindingId, column: usize) -> Option<Scalar> {
        self.scans.computed(binding, column)
    }

    fn prepared(&self, e: &Expr) -> Option<Scalar> {
        self.scans.prepared(e)
    }

    fn extract_type(&self) -> SqlType {
        self.scans.extract_type()
    }

    fn iso(&self) -> bool {
        self.scans.iso()
    }

    fn utc(&self) -> bool {
        self.scans.utc()
    }

    fn spend(&self) -> Result<(), answer::ClientError> {
        self.scans.spend()
    }
}
