//! Statements that are written in another way, which means the same and can be planned: a file for each rule.

pub mod ages;
pub(crate) mod along_path;
pub(crate) mod by_group;
pub(crate) mod cap;
pub(crate) mod mixed_union;
mod partial_aggregates;

use crate::PlanError;
use along_path::AlongPath;
use by_group::ByGroup;
use cap::Cap;
use mixed_union::MixedUnion;
use policy::Policy;
use sql::ast::*;

/// What is refused as it stands, of a statement that can be written in another way.
#[derive(Clone)]
pub(crate) enum Otherwise {
    /// A subquery that is to become a relation of groups.
    Groups(Box<ByGroup>),
    /// Rows whose kinds are to be aggregated apart.
    Apart(MixedUnion),
    /// A subquery that lacks the unit among what ties it.
    AlongPath(Box<AlongPath>),
    /// Sums and averages of ages, in the SELECT of this number.
    Ages(Option<SelectId>),
    /// A table that is to be read through a cap.
    Cap(Cap),
}

impl Otherwise {
    /// The statement in that way, where there is one.
    pub(crate) fn written(
        &self,
        statement: &Statement,
        policy: &Policy,
    ) -> Result<Option<Statement>, PlanError> {
        let mut new = statement.clone();
        let new = match self {
            Self::Groups(groups) => groups.put(&mut new, policy).then_some(new),
            Self::Apart(union) => union.apart(new, policy)?,
            Self::AlongPath(along) => Some(along.put(new)),
            Self::Ages(select) => Some(ages::without_ages(new, *select)),
            Self::Cap(cap) => Some(cap.put(new, policy)?),
        };
        // Written again and again it would grow without end, and as deep as all that was put into each other.
        if let Some(new) = &new {
            let size = new.query.size();
            new.spend.take(size.nodes, "the statement, as it is read,", &policy.limits)?;
            if size.levels > sql::spend::most_levels(&policy.limits) {
                return Err(sql::parse::nested(&policy.limits).into());
            }
        }
        Ok(new)
    }
}
