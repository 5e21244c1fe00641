//! Rules that write a statement in another way, which means the same and can be planned: a file for each, which says what it
//! matches, what that becomes, and why the meaning stays.
//!
//! Where they match is seen by `cut::look`, which knows the kind of each relation; they are applied before anything is planned, but
//! for `cap`, which follows from the work of a release. None is tried after a refusal.
//!
//! | rule | matches |
//! |---|---|
//! | `ages` | sums and averages of ages: `avg(age(a, b))` |
//! | `along_path` | a scalar subquery that is tied along the path to the unit |
//! | `by_group` | a scalar subquery that is tied by something else than the unit |
//! | `mixed_union` | UNION ALL of private rows and others |
//! | `cap` | a table of which each row meets all rows of its unit |

pub mod ages;
pub(crate) mod along_path;
pub(crate) mod by_group;
pub(crate) mod cap;
pub(crate) mod mixed_union;
mod partial_aggregates;

use crate::PlanError;
use crate::facts::Facts;
use along_path::AlongPath;
use answer::ClientError;
use by_group::ByGroup;
use cap::Cap;
use mixed_union::MixedUnion;
use policy::Policy;
use sql::ast::*;

/// A rule, with what it needs to know of the place that it matches.
#[derive(Clone)]
pub(crate) enum Rewrite {
    /// A subquery becomes a relation of groups.
    Groups(Box<ByGroup>),
    /// Rows of a union are aggregated apart by their kinds.
    Apart(MixedUnion),
    /// A subquery gets the unit among what ties it.
    AlongPath(Box<AlongPath>),
    /// Sums and averages of ages, in this SELECT, become those of their parts.
    Ages(Option<SelectId>),
    /// A table is read through a cap.
    Cap(Cap),
}

/// Whether a rule can match anywhere in a query, as far as its words tell: most statements need no look.
pub(crate) fn may_match(query: &Query) -> bool {
    query.parts().any(|part| match part {
        Part::Expr(e) => matches!(e.kind, ExprKind::Subquery(_)) || ages::is_of_ages(e),
        Part::Body(body) => matches!(body, Body::SetOp { op: SetOp::Union, all: true, .. }),
        Part::Query(_) | Part::From(_) => false,
    })
}

/// A place that a rule matches, and the refusal where the rule cannot be applied to it after all.
pub(crate) struct Match {
    pub rewrite: Rewrite,
    pub refused: Box<ClientError>,
}

/// Writes a statement anew at the places of these matches. One that an earlier one has moved is found again by whoever looks next.
///
/// # Errors
/// None can be applied, types are needed first, or the statement grows beyond its limits.
pub(crate) fn apply(
    statement: &mut Statement,
    matches: Vec<Match>,
    policy: &Policy,
    facts: &Facts<'_>,
) -> Result<(), PlanError> {
    let mut applied = false;
    let mut refused = None;
    for Match { rewrite, refused: own } in matches {
        match rewrite.apply(statement, policy, facts) {
            Ok(true) => applied = true,
            Ok(false) => refused = refused.or(Some(own)),
            Err(e) => refused = Some(Box::new(e)),
        }
    }
    facts.complete(())?;
    if let Some(refused) = refused.filter(|_| !applied) {
        return Err(PlanError::Refused(refused));
    }
    // Written again and again it would grow without end, and as deep as all that was put into each other.
    let size = statement.query.size();
    statement.spend.take(size.nodes, "the statement, as it is read,", &policy.limits)?;
    if size.levels > sql::spend::most_levels(&policy.limits) {
        return Err(sql::parse::nested(&policy.limits).into());
    }
    Ok(())
}

impl Rewrite {
    /// Whether there was something to write anew.
    fn apply(
        &self,
        statement: &mut Statement,
        policy: &Policy,
        facts: &Facts<'_>,
    ) -> Result<bool, ClientError> {
        Ok(match self {
            Self::Groups(groups) => groups.put(statement, policy),
            Self::Apart(union) => {
                let new = union.apart(statement.clone(), policy, facts)?;
                new.map(|new| *statement = new).is_some()
            }
            Self::AlongPath(along) => along.put(statement),
            Self::Ages(select) => ages::without_ages(&mut statement.query, *select),
            Self::Cap(cap) => {
                cap.put(statement, policy)?;
                true
            }
        })
    }
}
