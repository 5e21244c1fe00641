//! Rules that write a statement in another way, which means the same and can be planned: a file for each, which says what it
//! matches, what that becomes, and why the meaning stays.
//!
//! `cut::look`, which knows the kind of each relation, offers its sites to [`RULES`], in their order; what matches is written anew
//! before anything is planned. `cap` alone follows from the work of a release, and is no entry of the table. No rule is tried
//! after a refusal.

pub mod ages;
mod along_path;
mod by_group;
pub(crate) mod cap;
pub(crate) mod mixed_union;
mod partial_aggregates;
mod rule;

use crate::PlanError;
use crate::facts::Facts;
use policy::Policy;
use sql::ast::*;

pub use rule::Entry;
pub(crate) use rule::{Around, Rewrite, Site};

/// All rules that sites are offered to.
pub const RULES: &[Entry] = &[along_path::RULE, by_group::RULE, mixed_union::RULE, ages::RULE];

/// Whether a rule can match anywhere in a query, as far as its words tell.
pub(crate) fn may_match(query: &Query) -> bool {
    query.parts().any(|part| RULES.iter().any(|rule| (rule.may)(&part)))
}

/// The rewrite of the first rule that matches a site.
pub(crate) fn matched(site: &Site<'_>, around: &dyn Around) -> Option<Box<dyn Rewrite>> {
    RULES.iter().find_map(|rule| (rule.matched)(site, around))
}

/// Writes a statement anew by these rewrites. A site that an earlier one has moved is found again by whatever looks next.
///
/// # Errors
/// None can be applied, types are needed first, or the statement grows beyond its limits.
pub(crate) fn apply(
    statement: &mut Statement,
    rewrites: Vec<Box<dyn Rewrite>>,
    policy: &Policy,
    facts: &Facts<'_>,
) -> Result<(), PlanError> {
    let mut applied = false;
    let mut refused = None;
    for rewrite in rewrites {
        match rewrite.put(statement, policy, facts) {
            Ok(true) => applied = true,
            Ok(false) => refused = refused.or_else(|| Some(rewrite.refused())),
            Err(e) => refused = Some(e),
        }
    }
    facts.complete(())?;
    if let Some(refused) = refused.filter(|_| !applied) {
        return Err(refused.into());
    }
    // Written again and again it would grow without end, and as deep as all that was put into each other.
    let size = statement.query.size();
    statement.spend.take(size.nodes, "the statement, as it is read,", &policy.limits)?;
    if size.levels > sql::spend::most_levels(&policy.limits) {
        return Err(sql::parse::nested(&policy.limits).into());
    }
    Ok(())
}
