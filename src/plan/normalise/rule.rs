//! A rule: the sites that it may match, and a rewrite of one.

use crate::facts::Facts;
use crate::refusals::Refusal;
use policy::Policy;
use sql::ast::*;

/// A place in a statement that rules may match.
pub(crate) enum Site<'s> {
    /// A scalar subquery among private rows that looks at the row around it.
    Subquery(&'s Query, Pos),
    /// A SELECT of aggregates over private rows, with all expressions above these.
    Aggregates(&'s Select, &'s [&'s Expr]),
    /// A set operation, and which of its branches are private: some, and not all.
    Mixed(&'s Body, &'s [bool]),
}

/// The statement around a site, as far as a rule may know it.
pub(crate) trait Around {
    /// The policy.
    fn policy(&self) -> &Policy;
    /// The statement's bindings.
    fn bindings(&self) -> &Bindings;
    /// Whether a SELECT whose FROM was visited is over private rows, and has groups of several units.
    fn is_of_several_units(&self, select: &Select) -> bool;
}

/// A rule.
pub struct Entry {
    /// The mark of what it adds to a statement.
    pub adds: Rule,
    /// A statement that it matches, over the tables of `tests/bikes`.
    pub example: &'static str,
    /// Whether it may match somewhere around this part of a statement, as far as words tell: most statements need no look.
    pub(super) may: fn(&Part<'_>) -> bool,
    /// The rewrite of a site that it matches.
    pub(super) matched: fn(&Site<'_>, &dyn Around) -> Option<Box<dyn Rewrite>>,
}

/// A rule at a site that it matches.
pub(crate) trait Rewrite {
    /// Writes the site anew. False where it is there no more, or has no form that the rule could give it.
    ///
    /// # Errors
    /// The site cannot be written so.
    fn put(&self, statement: &mut Statement, policy: &Policy, facts: &Facts<'_>) -> Result<bool, Refusal>;

    /// The refusal of the site as it stands.
    fn refused(&self) -> Refusal;
}
