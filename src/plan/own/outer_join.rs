//! Public LEFT JOIN private, read as an inner join (soundness rule 8).

use super::flatten::{Flattener, Result};
use super::units::Block;
use crate::refusals::unsupported;
use crate::syntax::null_extension::{null_test, refers, rejects, strict};
use answer::ClientError;
use sql::ast::*;
use std::collections::HashSet;

impl Flattener<'_> {
    /// Soundness rule 8: read as an inner join, public LEFT JOIN private must mean the same. It does where rows without
    /// partners add nothing to any aggregate, and where all groups come back anyway.
    pub(crate) fn optional_side(
        &mut self,
        optional: &[HashSet<BindingId>],
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
                    return Err(absence(test.pos.or(pos)));
                }
                let nothing =
                    args.iter().any(|x| strict(x, of)) || filter.as_ref().is_some_and(|f| rejects(f, of));
                if !nothing {
                    let what = "an aggregate that counts public rows without private ones, under public LEFT JOIN private,";
                    return Err(unsupported(what, pos)
                        .hint("Aggregate a private column, count(t.x) in place of count(*), or write an inner JOIN: groups of a public key without rows come back, too."));
                }
            }
        }
        for k in keys {
            let e = self.expand(k)?;
            if optional.iter().any(|of| refers(&e, of)) {
                return Err(unsupported("GROUP BY a private column under public LEFT JOIN private", k.pos)
                    .hint("Group by columns of the public side, or write an inner JOIN."));
            }
        }
        Ok(())
    }

    /// Refuses public LEFT JOIN private where no aggregate says what it is for.
    pub(crate) fn no_optional(&self, pos: Pos) -> Result<()> {
        match self.optional.first() {
            None => Ok(()),
            Some((_, at)) => Err(unsupported("public LEFT JOIN private in this subquery", at.or(pos))
                .hint("Write private LEFT JOIN public, or an inner JOIN.")),
        }
    }

    /// Private relations elsewhere are tied to the optional ones: they are NULL, or their rows are gone, with them.
    pub(crate) fn private_optional(&mut self, block: &Block) {
        let private: Vec<BindingId> =
            block.bindings.iter().copied().filter(|b| self.private_scan(*b)).collect();
        for (of, _) in &mut self.optional {
            of.extend(&private);
        }
    }
}

/// The aggregates in an expression above them; one over a window stands over results.
fn collect<'e>(e: &'e Expr, out: &mut Vec<(&'e Aggregate, Pos)>) {
    match &e.kind {
        ExprKind::Aggregate(a) => out.push((a, e.pos)),
        _ => e.operands().into_iter().for_each(|c| collect(c, out)),
    }
}

/// Refuses to tell that private rows are not there (soundness rule 8).
pub(crate) fn absence(pos: Pos) -> ClientError {
    unsupported("IS NULL of a private column beside public LEFT JOIN private", pos)
        .detail("It asks which public rows have no private one, which would be told without noise.")
        .hint("Count the rows that are there, by the public key: count(t.x) … GROUP BY s.key.")
}
