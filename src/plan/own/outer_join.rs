//! Public LEFT JOIN private, read as an inner join (soundness rule 8).

use super::scans::{Result, Scans};
use crate::refusals::join::Join;
use crate::syntax::null_extension::{null_test, refers, rejects, strict};
use sql::ast::*;
use std::collections::BTreeSet;

impl Scans<'_> {
    /// Soundness rule 8: read as an inner join, public LEFT JOIN private must mean the same. It does where rows without
    /// partners add nothing to any aggregate, and where all groups come back anyway.
    pub(crate) fn optional_side(
        &self,
        optional: &[BTreeSet<BindingId>],
        above: &[&Expr],
        keys: &[Expr],
    ) -> Result<()> {
        if optional.is_empty() {
            return Ok(());
        }
        let mut aggregates = Vec::new();
        above.iter().for_each(|e| collect(e, &mut aggregates));
        for (a, pos) in aggregates {
            let args = a.args.iter().map(|x| self.expand(x)).collect::<Result<Vec<_>>>()?;
            let filter = a.filter.as_ref().map(|f| self.expand(f)).transpose()?;
            for of in optional {
                if let Some(test) = args.iter().chain(&filter).find_map(|e| null_test(e, of)) {
                    return Err(Join::Absence.at(test.pos.or(pos)));
                }
                let nothing =
                    args.iter().any(|x| strict(x, of)) || filter.as_ref().is_some_and(|f| rejects(f, of));
                if !nothing {
                    return Err(Join::OptionalCounted.at(pos));
                }
            }
        }
        for k in keys {
            let e = self.expand(k)?;
            if optional.iter().any(|of| refers(&e, of)) {
                return Err(Join::OptionalKey.at(k.pos));
            }
        }
        Ok(())
    }
}

/// The aggregates in an expression above them; one over a window stands over results.
fn collect<'e>(e: &'e Expr, out: &mut Vec<(&'e Aggregate, Pos)>) {
    match &e.kind {
        ExprKind::Aggregate(a) => out.push((a, e.pos)),
        _ => e.operands().into_iter().for_each(|c| collect(c, out)),
    }
}
