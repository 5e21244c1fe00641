//! Queries inside expressions: which are read with the rows around them, which are released before, and which neither.

use crate::PublicRows;
use crate::algebra::kinds::RelationKind;
use crate::cut::Walk;
use crate::facts::public_rows;
use crate::normalise::Site;
use crate::own::scans;
use crate::refusals::meeting::Meeting;
use crate::refusals::returned::Returned;
use crate::stop::Stop;
use crate::syntax::conditions;
use crate::syntax::subqueries::is_correlated;
use sql::ast::*;

impl<'a> Walk<'a> {
    /// Visits the queries inside an expression. `around` says whether releases may stand in them.
    pub(crate) fn subqueries(&mut self, e: &'a Expr, around: RelationKind) -> Result<(), Stop> {
        self.query_of(e, around)?;
        e.children().into_iter().try_for_each(|c| self.subqueries(c, around))
    }

    /// Visits the query that an expression is.
    pub(crate) fn query_of(&mut self, e: &'a Expr, around: RelationKind) -> Result<(), Stop> {
        match &e.kind {
            // It is read with the rows around it, when these are flattened.
            ExprKind::Subquery(q) if around == RelationKind::Private && is_correlated(q) => {
                let before = self.released;
                let single = conditions::single(q, e.pos)?.map(|(s, _)| s);
                let (mut kinds, mut on) = (Vec::new(), Vec::new());
                let mut from = single.iter().flat_map(|s| &s.from);
                from.try_for_each(|f| self.from(f, &mut kinds, &mut on))?;
                if self.is_rewritten(&Site::Subquery(q, e.pos))? {
                    return Ok(());
                }
                if let Some(s) = single {
                    on.into_iter().try_for_each(|e| self.subqueries(e, RelationKind::Public))?;
                    let inner = s.items.iter().map(|i| &i.expr).chain(&s.filter);
                    inner.into_iter().try_for_each(|e| self.subqueries(e, RelationKind::Private))?;
                }
                if self.released > before {
                    return Err(Meeting::InSubquery.at(e.pos).into());
                }
            }
            ExprKind::Subquery(q) if around == RelationKind::Private && self.is_asked(q, false) => {}
            ExprKind::Subquery(q) => {
                let before = self.released;
                let rel = self.query(q)?;
                if rel == RelationKind::Private {
                    return Err(Returned::Rows.at(e.pos).into());
                }
                if rel == RelationKind::Released && around == RelationKind::Private {
                    return self.stage(q, before..self.released, e.pos);
                }
                if around == RelationKind::Private
                    && rel == RelationKind::Public
                    && scans::constant(q).is_none()
                {
                    self.facts.want_rows(PublicRows::value(q, self.known(), e.pos));
                    return Ok(());
                }
                if self.released > before && around == RelationKind::Public {
                    return Err(Meeting::InPublic.at(e.pos).into());
                }
            }
            ExprKind::InQuery { query, .. }
                if around == RelationKind::Private && self.is_asked(query, true) => {}
            ExprKind::Exists { query, .. }
                if around == RelationKind::Private && self.is_asked(query, true) => {}
            ExprKind::Exists { query, .. } | ExprKind::InQuery { query, .. }
                if query.body.first_select().is_some_and(|s| self.over_stages.contains(&s)) => {}
            ExprKind::Exists { query, .. } | ExprKind::InQuery { query, .. } => {
                let before = self.released;
                let inside = self.query(query)?;
                let members = matches!(e.kind, ExprKind::InQuery { .. }) && around == RelationKind::Private;
                if around == RelationKind::Private
                    && inside != RelationKind::Public
                    && self.over_stages(query, before, e.pos)?
                {
                    return Ok(());
                }
                if around == RelationKind::Private
                    && inside == RelationKind::Released
                    && !is_correlated(query)
                {
                    return self.stage_rows(query, before..self.released, e.pos);
                }
                if members
                    && inside == RelationKind::Public
                    && !is_correlated(query)
                    && !public_rows::is_plain(query, self.known())
                {
                    self.facts.want_rows(PublicRows::members(query, self.known(), e.pos));
                    return Ok(());
                }
                let allowed = inside == RelationKind::Public
                    || (inside == RelationKind::Private && around == RelationKind::Private);
                if !allowed || self.released > before {
                    let released = inside == RelationKind::Released && around == RelationKind::Private;
                    let exists = matches!(e.kind, ExprKind::Exists { .. });
                    let tied = exists && released && is_correlated(query);
                    return Err(Meeting::Members { tied }.at(e.pos).into());
                }
            }
            _ => {}
        }
        Ok(())
    }
}
