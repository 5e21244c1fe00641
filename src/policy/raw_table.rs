//! A table of the policy as its text alone says it.

use super::declared::{Bound, Literal};
use super::error::{At, Span};
use bigdecimal::BigDecimal;
use std::time::Duration;

/// `[table.name]`
#[derive(Clone, Debug)]
pub(super) struct RawTable {
    pub name: At<String>,
    pub schema: At<String>,
    /// `public = true`.
    pub public: bool,
    /// The owner publishes a view over private tables; where that is said.
    pub public_view: Option<Span>,
    pub unit_column: Option<At<String>>,
    pub unit_path: Option<At<RawPath>>,
    /// A key says whose rows it holds, right or wrong: wrong ones were reported already.
    pub says_whose: bool,
    pub max_rows: Option<u32>,
    pub max_total_rows: Option<u32>,
    pub cut_rows: Option<At<BigDecimal>>,
    pub most_rows: Option<u32>,
    pub profile_valid: Option<Duration>,
    /// `bounds = "unmeasured"`; where that is said.
    pub unmeasured: Option<Span>,
    pub columns: Vec<RawColumn>,
}

/// `columns.name = { … }`
#[derive(Clone, Debug)]
pub(super) struct RawColumn {
    pub name: At<String>,
    pub hidden: bool,
    pub range: Option<At<(Bound, Bound)>>,
    pub grid: Option<At<BigDecimal>>,
    pub values: Option<At<Vec<At<Literal>>>>,
    pub references: Option<At<String>>,
    pub nan: Option<At<bool>>,
    pub paths: Vec<RawJsonPath>,
}

/// A step of a path, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawPath {
    pub columns: Vec<String>,
    pub table: String,
    pub key: Vec<String>,
}

/// A path, as its text alone says it.
#[derive(Clone, Debug)]
pub(super) struct RawJsonPath {
    pub path: At<String>,
    pub values: Option<At<Vec<At<Literal>>>>,
    pub range: Option<At<(Bound, Bound)>>,
}
