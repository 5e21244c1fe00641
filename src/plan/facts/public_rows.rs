//! Public rows that a statement computes and then meets with private ones: aggregates of public tables, ordered and cut
//! ones, series of constants. PostgreSQL is asked for them before the statement is planned, and they become constants of
//! it: they say nothing of private rows, and a fetch, which is certified from its text, holds their values.

use crate::refusals::Refusal;
use crate::refusals::meeting::Meeting;
use answer::ClientError;
use sql::ast::*;
use std::collections::BTreeMap;

/// Rows of VALUES: each is a SELECT, in a tree of them.
pub(crate) const MOST_CONSTANTS: usize = 1_000;

/// Meanings of names in FROM.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    /// The statement's bindings.
    pub bindings: &'k Bindings,
    /// Queries of CTEs by id.
    pub ctes: &'k BTreeMap<CteId, &'k Query>,
}

impl<'k> Known<'k> {
    /// The CTE that a binding reads.
    fn cte(self, binding: BindingId) -> Option<(CteId, &'k Query)> {
        match self.bindings.get(binding)?.source {
            Source::Cte(id) => Some((id, self.ctes.get(&id)?)),
            _ => None,
        }
    }
}

/// Rows that are needed before a plan can be made.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicRows {
    /// The query for them, over public tables alone, with the CTEs that it names.
    pub query: Query,
    place: Place,
    pos: Pos,
}

/// Where their values go.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// The relation of this binding.
    Relation(BindingId),
    /// A scalar subquery.
    Value(Box<Query>),
    /// The list of an IN.
    Members(Box<Query>),
}

impl PublicRows {
    fn new(query: &Query, place: Place, of: Known<'_>, pos: Pos) -> Self {
        let mut with = BTreeMap::new();
        definitions(query, of, &mut with);
        // A CTE's number is larger than those of the CTEs that it can name.
        let with = with.into_iter().map(|(id, query)| Cte { id, query }).collect();
        let body = Body::Query(Box::new(query.clone()));
        Self { query: Query { with, ..Query::of(body) }, place, pos }
    }

    /// Of what stands in FROM.
    pub(crate) fn relation(binding: BindingId, q: &Query, of: Known<'_>, pos: Pos) -> Self {
        Self::new(q, Place::Relation(binding), of, pos)
    }

    /// Of a scalar subquery.
    pub(crate) fn value(q: &Query, of: Known<'_>, pos: Pos) -> Self {
        Self::new(q, Place::Value(Box::new(q.clone())), of, pos)
    }

    /// Of the subquery of an IN.
    pub(crate) fn members(q: &Query, of: Known<'_>, pos: Pos) -> Self {
        Self::new(q, Place::Members(Box::new(q.clone())), of, pos)
    }

    /// The most rows that have a place; one more need not be read.
    pub fn most(&self, max_in_list: usize) -> usize {
        match self.place {
            Place::Relation(_) => MOST_CONSTANTS,
            Place::Value(_) => 1,
            Place::Members(_) => max_in_list,
        }
    }

    /// Puts rows into the statement. `types`: a NULL of each column's type.
    pub fn put(
        &self,
        statement: &mut Statement,
        rows: Vec<Vec<Expr>>,
        types: Vec<Expr>,
        max_in_list: usize,
    ) -> Result<(), ClientError> {
        let most = self.most(max_in_list);
        if rows.len() > most {
            return Err(self.too_many(most).into());
        }
        match &self.place {
            Place::Relation(binding) => {
                if let Some(b) = statement.bindings.get_mut(*binding) {
                    b.source = Source::Derived;
                }
                let body = if rows.is_empty() { nothing(types, self.pos) } else { Body::Values(rows) };
                let values = Query::of(body);
                let mut put = |of: &mut BindingId, query: &mut Option<Box<Query>>| {
                    if of == binding {
                        *query = Some(Box::new(values.clone()));
                    }
                };
                statement.query.each_relation(&mut put);
            }
            Place::Value(q) => {
                let value = rows.into_iter().next().unwrap_or(types).into_iter().next();
                statement.query.each_expr(&mut |e| {
                    if let (ExprKind::Subquery(of), Some(value)) = (&e.kind, &value)
                        && of == q
                    {
                        e.kind = value.kind.clone();
                    }
                });
            }
            Place::Members(q) => {
                let list: Vec<Expr> = rows.into_iter().flatten().collect();
                statement.query.each_expr(&mut |e| {
                    if let ExprKind::InQuery { expr, query, negated } = &e.kind
                        && query == q
                    {
                        e.kind = match list.is_empty() {
                            true => ExprKind::Literal(Literal::Bool(*negated)),
                            false => {
                                ExprKind::In { expr: expr.clone(), list: list.clone(), negated: *negated }
                            }
                        };
                    }
                });
            }
        }
        Ok(())
    }

    fn too_many(&self, most: usize) -> Refusal {
        match self.place {
            Place::Value(_) => Meeting::Value.at(self.pos),
            Place::Relation(_) | Place::Members(_) => Meeting::PublicRows(most).at(self.pos),
        }
    }
}

/// No rows, of these types.
fn nothing(types: Vec<Expr>, pos: Pos) -> Body {
    let items = types.into_iter().enumerate().map(|(i, expr)| Item { expr, name: format!("c{i}") });
    Body::Select(Box::new(Select {
        filter: Some(Expr::new(ExprKind::Literal(Literal::Bool(false)), pos)),
        ..Select::of(items.collect(), pos)
    }))
}

/// The CTEs that a query names, with those that these name.
pub(crate) fn definitions(q: &Query, of: Known<'_>, out: &mut BTreeMap<CteId, Query>) {
    for binding in q.defined() {
        if let Some((id, query)) = of.cte(binding)
            && out.insert(id, query.clone()).is_none()
        {
            definitions(query, of, out);
        }
    }
}

/// Whether a public query is read as it is, as joins of tables: it only projects and filters.
pub(crate) fn is_plain(q: &Query, of: Known<'_>) -> bool {
    q.limit.is_none() && q.offset.is_none() && q.order_by.is_empty() && is_plain_body(&q.body, of)
}

fn is_plain_body(body: &Body, of: Known<'_>) -> bool {
    match body {
        Body::Select(s) => {
            let exprs = s.items.iter().map(|i| &i.expr).chain(&s.filter);
            !crate::syntax::grouping::is_over_several(s)
                && s.from.iter().all(|f| is_plain_from(f, of))
                && !exprs.into_iter().any(has_query)
        }
        Body::SetOp { left, right, .. } => is_plain_body(left, of) && is_plain_body(right, of),
        Body::Query(q) => is_plain(q, of),
        Body::Values(rows) => !rows.iter().flatten().any(has_query),
        Body::Rows { .. } => false,
    }
}

fn is_plain_from(from: &From, of: Known<'_>) -> bool {
    match from {
        From::Join { left, right, on, .. } => {
            is_plain_from(left, of) && is_plain_from(right, of) && !on.iter().any(has_query)
        }
        From::Relation { binding, query, .. } => {
            let cte = of.cte(*binding).is_none_or(|(_, q)| is_plain(q, of));
            cte && query.as_ref().is_none_or(|q| is_plain(q, of))
        }
    }
}

fn has_query(e: &Expr) -> bool {
    e.any(&mut |e| {
        matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Exists { .. } | ExprKind::InQuery { .. })
    })
}
