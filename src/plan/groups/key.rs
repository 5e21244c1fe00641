//! Group keys of a release.

use crate::expr::Scalar;
use crate::expr::domain::Domain;
use schema::SqlType;
use sql::ast::Expr;

/// A group key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The analyst's expression, to be found again above the aggregates.
    pub expr: Expr,
    /// The expression.
    pub scalar: Scalar,
    /// The public domain, and whether NULL belongs to it, when groups are public.
    pub domain: Option<(Domain, bool)>,
    /// Name in messages.
    pub label: String,
}

/// Whether equal values of this key always print the same, or are made to (soundness rule 4).
pub(crate) fn has_canonical_form(s: &Scalar) -> bool {
    s.canonical() && !matches!(s.ty(), SqlType::Bpchar | SqlType::Other { .. } | SqlType::Interval)
}
