//! Windows over the rows of a unit.

use crate::expr::Scalar;
use sql::ast::Frame;

/// An aggregate or a window function of the list in `per_unit`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name in `pg_catalog`.
    pub name: &'static str,
    /// DISTINCT.
    pub distinct: bool,
    /// Argument; `count(*)` and calls that number rows have none.
    pub arg: Option<Scalar>,
    /// Number of rows between a row and the one that `lag` and `lead` look at.
    pub offset: Option<u32>,
}

/// A call over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The call.
    pub call: Call,
    /// PARTITION BY, behind the unit.
    pub partition: Vec<Scalar>,
    /// ORDER BY.
    pub order: Vec<Sorted>,
    /// The frame clause.
    pub frame: Option<Frame>,
}

impl Window {
    pub(crate) fn scalars(&self) -> Vec<&Scalar> {
        let order = self.order.iter().map(|o| &o.by);
        self.call.arg.iter().chain(&self.partition).chain(order).collect()
    }
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted {
    /// By what.
    pub by: Scalar,
    /// DESC.
    pub desc: bool,
    /// NULLS FIRST (true), NULLS LAST (false).
    pub nulls_first: Option<bool>,
    /// By what of it.
    pub of: Sort,
}

impl Sorted {
    /// Steps that it takes for one row.
    pub(super) fn cost(&self) -> u64 {
        match self.of {
            Sort::Text => self.by.cost().saturating_add(self.by.written().saturating_mul(2)),
            Sort::Value | Sort::Bytes => self.by.cost(),
        }
    }
}

/// The property of a value that an order goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The value: rows tie where it is equal.
    Value,
    /// Text, which tells numbers of different scale apart.
    Text,
    /// A text by its bytes, whatever its collation takes for equal.
    Bytes,
}
