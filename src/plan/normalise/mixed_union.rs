//! UNION ALL of private rows and others: `SELECT k, count(*) FROM (SELECT rider_id, station AS k FROM trips UNION ALL SELECT
//! rider_id, station FROM archive) t GROUP BY k`, where the archive is public.
//!
//! A public row belongs to nobody, whatever stands in it where others have their unit: it must take no part in what bounds a
//! unit's rows. So rows of the two kinds are aggregated apart, the private ones by a release and the others as they are, and
//! what came out is added up above (`partial_aggregates`):
//!
//! ```sql
//! SELECT c0, sum(c1)::int8
//! FROM (SELECT k, count(*) FROM (SELECT rider_id, station AS k FROM trips) t GROUP BY k UNION ALL
//!       SELECT k, count(*) FROM (SELECT rider_id, station FROM archive) t GROUP BY k) AS apart(c0, c1) GROUP BY c0
//! ```
//!
//! A SELECT without aggregates is applied to both kinds, and the UNION ALL moves up. The statement is written anew, and planned
//! as if that had been asked: nothing here is trusted with more than the meaning.

use super::partial_aggregates::{Partials, above, aggregates, typed};
use super::rule::{Around, Entry, Rewrite, Site};
use crate::facts::Facts;
use crate::refusals::set_operation::SetOperation;
use crate::refusals::{Refusal, position};
use crate::syntax::grouping::has_aggregate;
use crate::syntax::grouping::is_over_several;
use crate::syntax::grouping::keys;
use crate::syntax::renumber::Numbers;
use crate::syntax::subqueries::is_correlated;
use policy::Policy;
use schema::SqlType;
use sql::ast::*;
use std::collections::{BTreeSet, HashMap};

type Result<T> = std::result::Result<T, Refusal>;

/// The mark of a relation of branches that are aggregated apart: it is not taken apart again.
const APART: Origin = Origin::AddedBy(Rule::MixedUnion);

/// Whether rows of such a one are aggregated apart in a statement.
pub(crate) fn is_in(statement: &Statement) -> bool {
    statement.bindings.iter().any(|(_, b)| b.origin == APART)
}

/// The rule.
pub(super) const RULE: Entry = Entry {
    adds: Rule::MixedUnion,
    example: "SELECT count(*) FROM (SELECT station FROM trips UNION ALL SELECT station FROM stations) q",
    may: |part| matches!(part, Part::Body(Body::SetOp { op: SetOp::Union, all: true, .. })),
    matched,
};

fn matched(site: &Site<'_>, _: &dyn Around) -> Option<Box<dyn Rewrite>> {
    let Site::Mixed(body @ Body::SetOp { op: SetOp::Union, all: true, left, .. }, private) = site else {
        return None;
    };
    let (private, pos) = (private.to_vec(), position(left));
    Some(Box::new(MixedUnion { first: body.first_select()?, private, pos }))
}

/// A UNION ALL of which some branches are private rows, and others not.
struct MixedUnion {
    /// The number of its first SELECT.
    first: SelectId,
    /// Which of its branches are private, in order.
    private: Vec<bool>,
    pos: Pos,
}

/// The branches of a UNION ALL, in order; what is none is one.
pub(crate) fn branches(body: &Body) -> Vec<&Body> {
    match body {
        Body::SetOp { op: SetOp::Union, all: true, left, right } => {
            let mut all = branches(left);
            all.extend(branches(right));
            all
        }
        Body::Query(q) if is_bare(q) => branches(&q.body),
        body => vec![body],
    }
}

fn each_branch(body: &mut Body, f: &mut dyn FnMut(&mut Body)) {
    match body {
        Body::SetOp { op: SetOp::Union, all: true, left, right } => {
            each_branch(left, f);
            each_branch(right, f);
        }
        Body::Query(q) if is_bare(q) => each_branch(&mut q.body, f),
        body => f(body),
    }
}

fn is_bare(q: &Query) -> bool {
    q.with.is_empty() && q.order_by.is_empty() && q.limit.is_none() && q.offset.is_none()
}

impl MixedUnion {
    fn is(&self, q: &Query) -> bool {
        let same = is_bare(q) && q.body.first_select() == Some(self.first);
        same && self.private.len() > 1 && branches(&q.body).len() == self.private.len()
    }

    /// The statement in which it does not stand under the SELECT above it any more; None where there is no such form, or types are
    /// missing for it.
    ///
    /// # Errors
    /// What is computed of its rows does not follow from results for each kind.
    fn apart(&self, mut new: Statement, policy: &Policy, facts: &Facts<'_>) -> Result<Option<Statement>> {
        let ctes = &mut new.query.with;
        if let Some(place) = ctes.iter().position(|c| self.is(&c.query)) {
            let cte = ctes.remove(place);
            inline(&mut new, &cte, policy)?;
            return Ok(Some(new));
        }
        let with = new.query.with.clone();
        let Statement { query, bindings, types, .. } = &mut new;
        let numbers = Numbers::new(query, bindings);
        let mut rewriting = Rewriting { union: self, numbers, types, facts, with };
        let mut done = Ok(false);
        query.each_query(&mut |q| {
            if matches!(done, Ok(false)) {
                done = rewriting.query(q);
            }
        });
        Ok(done?.then_some(new))
    }
}

impl Rewrite for MixedUnion {
    fn put(&self, statement: &mut Statement, policy: &Policy, facts: &Facts<'_>) -> Result<bool> {
        let new = self.apart(statement.clone(), policy, facts)?;
        Ok(new.map(|new| *statement = new).is_some())
    }

    fn refused(&self) -> Refusal {
        SetOperation::Mixed.at(self.pos)
    }
}

/// Puts a CTE's query wherever its name stands.
fn inline(statement: &mut Statement, cte: &Cte, policy: &Policy) -> Result<()> {
    let Statement { query, bindings, spend, .. } = statement;
    let reads = |b: &Binding| b.source == Source::Cte(cte.id);
    let named: Vec<BindingId> = bindings.iter().filter(|(_, b)| reads(b)).map(|(id, _)| id).collect();
    let copies = cte.query.size().nodes.saturating_mul(named.len());
    spend.take(copies, "the statement, with what its CTEs stand for,", &policy.limits)?;
    for named in named {
        let copy = Numbers::new(query, bindings).copy(&cte.query);
        if let Some(b) = bindings.get_mut(named) {
            b.source = Source::Derived;
        }
        query.each_relation(&mut |of, query| {
            if *of == named {
                *query = Some(Box::new(copy.clone()));
            }
        });
    }
    Ok(())
}

struct Rewriting<'s> {
    union: &'s MixedUnion,
    numbers: Numbers<'s>,
    types: &'s HashMap<TypesOf, Vec<SqlType>>,
    facts: &'s Facts<'s>,
    /// What the statement's names stand for.
    with: Vec<Cte>,
}

impl Rewriting<'_> {
    /// Rewrites the SELECT of this query, or of a branch of it, over the union. Whether there is one.
    fn query(&mut self, q: &mut Query) -> Result<bool> {
        let Query { body, order_by, limit, offset, .. } = q;
        if let Body::Select(s) = body {
            let cut = limit.is_some() || offset.is_some();
            return match self.select(s, order_by, cut)? {
                Some((new, order)) => {
                    (*body, *order_by) = (new, order);
                    Ok(true)
                }
                None => Ok(false),
            };
        }
        self.branches(body)
    }

    fn branches(&mut self, body: &mut Body) -> Result<bool> {
        match body {
            Body::SetOp { left, right, .. } => Ok(self.branches(left)? || self.branches(right)?),
            Body::Select(s) => match self.select(s, &[], false)? {
                Some((new, _)) => {
                    *body = new;
                    Ok(true)
                }
                None => Ok(false),
            },
            Body::Values(_) | Body::Rows { .. } | Body::Query(_) => Ok(false),
        }
    }

    fn select(
        &mut self,
        s: &Select,
        order_by: &[OrderItem],
        cut: bool,
    ) -> Result<Option<(Body, Vec<OrderItem>)>> {
        let Some(binding) = s.from.iter().find_map(|f| self.kept(f)) else { return Ok(None) };
        // It has no types alone.
        if is_correlated(&Query::of(Body::Select(Box::new(s.clone())))) {
            return Ok(None);
        }
        if self.numbers.bindings.get(binding).is_some_and(|b| b.origin == APART) {
            return Ok(None);
        }
        let exprs = s.items.iter().map(|i| &i.expr).chain(&s.having);
        let aggregated = exprs.chain(order_by.iter().map(|o| &o.expr)).any(has_aggregate);
        if aggregated || s.has_group_by() || s.distinct == Distinct::All {
            // The types of aggregates are the same before branches are cast to those of all: both are asked for at once.
            let (calls, one_type) = (self.calls(s, order_by), self.of_one_type(s, binding)?);
            let (Some(calls), Some(s)) = (calls, one_type) else { return Ok(None) };
            let (select, order_by) = self.grouped(&s, order_by, binding, calls)?;
            return Ok(Some((Body::Select(Box::new(select)), order_by)));
        }
        if is_over_several(s) || cut || !order_by.is_empty() {
            return Ok(None);
        }
        let Some(s) = self.of_one_type(s, binding)? else { return Ok(None) };
        let [left, right] = [true, false].map(|private| self.kind(&s, binding, private));
        Ok(Some((union_all(left, right), Vec::new())))
    }

    /// The union's binding, where it stands in a FROM so that the rows of this FROM are those for each of its branches, taken
    /// together.
    fn kept(&self, from: &From) -> Option<BindingId> {
        match from {
            From::Relation { binding, query, .. } => {
                query.as_ref().filter(|q| self.union.is(q) && !is_correlated(q)).map(|_| *binding)
            }
            From::Join { kind: JoinKind::Inner, left, right, .. } => {
                self.kept(left).or_else(|| self.kept(right))
            }
            From::Join { kind: JoinKind::Left, left, .. } => self.kept(left),
            From::Join { kind: JoinKind::Right, right, .. } => self.kept(right),
            From::Join { kind: JoinKind::Full, .. } => None,
        }
    }

    /// The SELECT over the private rows, or over the others.
    fn kind(&mut self, s: &Select, binding: BindingId, private: bool) -> Body {
        let chosen = |q: &Query| {
            let each = branches(&q.body).into_iter().zip(&self.union.private);
            each.filter(|(_, p)| **p == private).map(|(b, _)| b.clone()).reduce(union_all)
        };
        let mut query = Query::of(Body::Select(Box::new(s.clone())));
        query.each_relation(&mut |of, query| {
            if *of == binding
                && let Some(chosen) = query.as_deref().and_then(chosen)
            {
                *query = Some(Box::new(Query::of(chosen)));
            }
        });
        self.numbers.copy(&query).body
    }

    /// The aggregates of a SELECT, with their types; None where these are missing.
    fn calls(&self, s: &Select, order_by: &[OrderItem]) -> Option<Vec<(Aggregate, SqlType)>> {
        let mut calls: Vec<Aggregate> = Vec::new();
        let exprs = s.items.iter().map(|i| &i.expr).chain(&s.having);
        exprs.chain(order_by.iter().map(|o| &o.expr)).for_each(|e| aggregates(e, &mut calls));
        if calls.is_empty() {
            return Some(Vec::new());
        }
        let item = |a: &Aggregate| Item {
            expr: Expr::new(ExprKind::Aggregate(Box::new(a.clone())), s.pos),
            name: "value".to_owned(),
        };
        let alone = Select { items: calls.iter().map(item).collect(), ..ungrouped(s) };
        let types = self.types_of(s.id, 0, Body::Select(Box::new(alone)))?;
        Some(calls.into_iter().zip(types).collect())
    }

    /// A SELECT with these aggregates, and its ORDER BY.
    fn grouped(
        &mut self,
        s: &Select,
        order_by: &[OrderItem],
        binding: BindingId,
        calls: Vec<(Aggregate, SqlType)>,
    ) -> Result<(Select, Vec<OrderItem>)> {
        let keys = if calls.is_empty() { keys(s) } else { s.group_by.clone() };
        let apart = self.numbers.bindings.next();
        let mut partials = Partials::new(apart, &keys, s.pos);
        let mut values = Vec::with_capacity(calls.len());
        for (call, ty) in calls {
            let value = partials.value(&call, &ty)?;
            values.push((call, value));
        }
        let columns = (0..partials.width()).map(|i| format!("c{i}")).collect();
        self.numbers.bindings.push(Binding {
            name: "private rows and others".to_owned(),
            source: Source::Derived,
            columns,
            origin: APART,
        });
        let plain = Select { group_by: keys.clone(), ..ungrouped(s) };
        // Each kind with the partial results that it has itself.
        let [private, others] = partials.items().map(|items| Select { items, ..plain.clone() });
        let query =
            Query::of(union_all(self.kind(&private, binding, true), self.kind(&others, binding, false)));
        let up = |e: &Expr| above(e, apart, &keys, &values);
        let new = Select {
            items: s.items.iter().map(|i| Item { expr: up(&i.expr), name: i.name.clone() }).collect(),
            from: vec![From::Relation {
                binding: apart,
                query: Some(Box::new(query)),
                lateral: false,
                pos: s.pos,
            }],
            filter: None,
            group_by: s.group_by.iter().map(up).collect(),
            having: s.having.as_ref().map(up),
            ..s.clone()
        };
        let order_by: Vec<OrderItem> =
            order_by.iter().map(|o| OrderItem { expr: up(&o.expr), ..o.clone() }).collect();
        let mut own = BTreeSet::new();
        s.from.iter().for_each(|f| f.bindings(&mut own));
        let whole = Query { order_by: order_by.clone(), ..Query::of(Body::Select(Box::new(new.clone()))) };
        if whole.columns().any(|(b, _)| own.contains(&b)) {
            return Err(SetOperation::Ungrouped.at(s.pos));
        }
        Ok((new, order_by))
    }

    /// The SELECT over branches whose columns have the types that PostgreSQL gives those of all: alone, each kind would have its
    /// own. None where types are missing.
    fn of_one_type(&self, s: &Select, binding: BindingId) -> Result<Option<Select>> {
        let mut whole = Query::of(Body::Select(Box::new(s.clone())));
        let mut done = Ok(true);
        whole.each_relation(&mut |of, query| {
            if *of == binding
                && let Some(q) = query
            {
                done = self.cast(&mut q.body, s);
            }
        });
        Ok(match (done?, whole.body) {
            (true, Body::Select(s)) => Some(*s),
            _ => None,
        })
    }

    /// Casts the branches to the types of all. Whether those are known.
    fn cast(&self, body: &mut Body, s: &Select) -> Result<bool> {
        let types = self.types_of(s.id, 1, body.clone());
        let (mut n, mut known, mut done) = (1, types.is_some(), Ok(()));
        each_branch(body, &mut |branch| {
            n += 1;
            match (self.types_of(s.id, n, branch.clone()), &types) {
                (Some(own), Some(types)) if done.is_ok() => done = cast(branch, &own, types, s.pos),
                (Some(_), _) => {}
                (None, _) => known = false,
            }
        });
        done.map(|()| known)
    }

    /// The types of the columns of what stands in this SELECT, if they are known; `question` tells those about one SELECT apart.
    fn types_of(&self, select: Option<SelectId>, question: usize, body: Body) -> Option<Vec<SqlType>> {
        let asked = TypesOf::Part { select, part: question };
        self.facts.types(self.types, asked, || Query { with: self.with.clone(), ..Query::of(body) })
    }
}

/// Casts the columns of a branch that have another type.
fn cast(branch: &mut Body, own: &[SqlType], types: &[SqlType], pos: Pos) -> Result<()> {
    for (i, (own, ty)) in own.iter().zip(types).enumerate().filter(|(_, (own, ty))| !alike(own, ty)) {
        let known = !matches!(own, SqlType::Other { .. }) && !matches!(ty, SqlType::Other { .. });
        let item = match branch {
            Body::Select(s) if s.distinct == Distinct::No => s.items.get_mut(i),
            _ => None,
        };
        let Some(item) = item.filter(|_| known) else {
            return Err(SetOperation::Types { column: i }.at(pos));
        };
        item.expr = typed(item.expr.clone(), ty);
    }
    Ok(())
}

/// Its rows, without what is computed of several.
fn ungrouped(s: &Select) -> Select {
    Select {
        distinct: Distinct::No,
        group_by: Vec::new(),
        grouping_sets: Vec::new(),
        having: None,
        ..s.clone()
    }
}

fn union_all(left: Body, right: Body) -> Body {
    Body::SetOp { op: SetOp::Union, all: true, left: Box::new(left), right: Box::new(right) }
}

/// Whether what is computed of one type is computed of the other in the same way.
fn alike(a: &SqlType, b: &SqlType) -> bool {
    let numeric = |t: &SqlType| matches!(t, SqlType::Numeric { .. });
    a == b || a.is_text() && b.is_text() || numeric(a) && numeric(b)
}
