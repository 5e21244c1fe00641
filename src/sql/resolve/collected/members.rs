//! Sets: what may be asked of them, each as a column of the expansion.
//!
//! A report of a set is of one of its values, so that it tells how often each value was given, and of no two values whether they
//! were given together (Qin et al. 2016, section 4.1). What is asked of a set is a [`Facet`]: whether a constant is among its values,
//! or one row for each of its values. An estimate may have one of them of each set; over several sets, and beside other columns,
//! weights multiply as ever.

use super::look::{columns_of, seen_from_within};
use crate::ast::*;
use crate::names::fold;
use crate::resolve::condition::and;
use crate::resolve::member::Member;
use crate::resolve::resolver::{Resolver, Result};
use crate::resolve::scope::Scope;
use answer::ClientError;
use policy::{Collect, CollectedKind};
use sqlparser::ast as sp;
use std::collections::BTreeSet;

/// A question about a collected set.
#[derive(Clone, PartialEq)]
pub(super) struct Facet {
    /// The column.
    pub column: usize,
    /// Kind of the question.
    pub what: What,
}

/// Kind of a question about one set.
#[derive(Clone, PartialEq)]
pub(super) enum What {
    /// A row for each of its values.
    Member,
    /// Whether this constant is one of them.
    Holds(Expr),
}

const ONE_ONLY: &str = "Each report of a set is of one of its values: ask for each by itself, such as \
    count(*) FILTER (WHERE 'a' = ANY (column)), or for all by unnest(column).";

impl Resolver<'_> {
    /// The collected set that a column is: its binding, and its place.
    pub(crate) fn set_column(&self, e: &Expr) -> Option<(BindingId, usize)> {
        let ExprKind::Column { binding, column } = e.kind else { return None };
        let kind = self.bound(binding)?.collect.columns.get(column)?.kind;
        (kind == CollectedKind::Set).then_some((binding, column))
    }

    /// `unnest(column)` in FROM, where that is a collected set to its left.
    pub(crate) fn unnested(
        &mut self,
        args: &[sp::Expr],
        alias: Option<&sp::TableAlias>,
        before: &Scope,
        pos: Pos,
    ) -> Result<Option<(From, Scope)>> {
        let [arg @ (sp::Expr::Identifier(_) | sp::Expr::CompoundIdentifier(_))] = args else {
            return Ok(None);
        };
        self.scopes.push(before.clone());
        let named = self.expr(arg);
        self.scopes.pop();
        let Some((of, column)) = named.ok().and_then(|e| self.set_column(&e)) else { return Ok(None) };
        if !before.bindings.contains(&of) {
            return Ok(None);
        }
        let name = alias.map_or_else(|| "unnest".to_owned(), |a| fold(&a.name));
        let mut columns = vec![name.clone()];
        if let Some(alias) = alias {
            columns = self.alias_columns(alias, columns, pos)?;
        }
        let bound = self.bind(name, Source::Derived, columns, None, pos);
        if let From::Relation { binding, .. } = &bound.0 {
            self.members.push(Member { binding: *binding, of, column, listed: false });
        }
        Ok(Some(bound))
    }

    /// `unnest(column)` in a select list, where that is a collected set of its FROM.
    pub(crate) fn listed(&mut self, arg: &Expr) -> Option<Expr> {
        let (of, column) = self.set_column(arg)?;
        self.scopes.last().filter(|scope| scope.bindings.contains(&of))?;
        let known = self.members.iter().find(|m| m.listed && (m.of, m.column) == (of, column));
        let binding = known.map(|m| m.binding).unwrap_or_else(|| {
            let columns = vec!["unnest".to_owned()];
            let binding = self.bindings.push(Binding {
                name: "unnest".into(),
                source: Source::Derived,
                columns,
                origin: Origin::AddedBy(Rule::Collected),
            });
            self.members.push(Member { binding, of, column, listed: true });
            binding
        });
        Some(Expr::new(ExprKind::Column { binding, column: 0 }, arg.pos))
    }

    /// Turns all that a SELECT asks of sets of a collected relation into columns behind its own; what they are.
    pub(super) fn facets(
        &self,
        select: &mut Select,
        order: &mut [OrderItem],
        (binding, collect): (BindingId, &Collect),
    ) -> Result<Vec<Facet>> {
        let mut here = BTreeSet::new();
        select.from.iter().for_each(|f| f.bindings(&mut here));
        let own = |m: &&Member| m.of == binding && (m.listed || here.contains(&m.binding));
        let members: Vec<Member> = self.members.iter().filter(own).copied().collect();
        self.placed(select, order, &members)?;
        let mut moved = Vec::new();
        let gone: BTreeSet<BindingId> = members.iter().map(|m| m.binding).collect();
        let from = std::mem::take(&mut select.from);
        for f in from {
            select.from.extend(without(f, &gone, &mut moved)?);
        }
        select.filter = select.filter.take().into_iter().chain(moved).reduce(and);
        let mut asked = Asked { binding, collect, members: &members, facets: Vec::new() };
        // In FROM they make rows, be they looked at or not.
        for m in members.iter().filter(|m| !m.listed) {
            asked.place(Facet { column: m.column, what: What::Member });
        }
        let mut wrong = Ok(());
        let mut turn = |e: &mut Expr| {
            if wrong.is_ok() {
                wrong = asked.turn(e);
            }
        };
        select.items.iter_mut().for_each(|i| turn(&mut i.expr));
        select.filter.iter_mut().chain(&mut select.group_by).chain(&mut select.having).for_each(&mut turn);
        order.iter_mut().for_each(|o| turn(&mut o.expr));
        select.from.iter_mut().flat_map(From::conditions_mut).for_each(turn);
        wrong?;
        asked.one_of_each(select, order)?;
        Ok(asked.facets)
    }

    /// `unnest` stands where rows may become several.
    fn placed(&self, select: &Select, order: &[OrderItem], members: &[Member]) -> Result<()> {
        for (i, m) in members.iter().enumerate() {
            if members.iter().take(i).any(|other| other.column == m.column) {
                return Err(together().at(select.pos));
            }
            if seen_from_within(select, order, m.binding) {
                return Err(ClientError::unsupported(
                    "a subquery that looks at the values of a collected set around it is not supported",
                )
                .hint("Compare them with constants, or join them with public tables.")
                .at(select.pos));
            }
            if !m.listed {
                continue;
            }
            let own = |e: &&Expr| matches!(e.kind, ExprKind::Column { binding, .. } if binding == m.binding);
            let above = select.items.iter().map(|i| &i.expr).chain(order.iter().map(|o| &o.expr));
            let rows = select.filter.iter().chain(&select.having).chain(select.conditions());
            let all = rows.chain(above.flat_map(Expr::aggregates));
            if let Some(at) = all.flat_map(Expr::parts).filter(own).last().map(|e| e.pos) {
                return Err(ClientError::unsupported("unnest is not supported in this place")
                    .hint("Write it in FROM: … FROM survey, unnest(column) AS value WHERE value = 'a'.")
                    .at(at));
            }
        }
        Ok(())
    }
}

/// What turns a SELECT's expressions.
struct Asked<'a> {
    binding: BindingId,
    collect: &'a Collect,
    members: &'a [Member],
    facets: Vec<Facet>,
}

impl Asked<'_> {
    /// The column that stands for what is asked.
    fn place(&mut self, facet: Facet) -> ExprKind {
        let known = self.facets.iter().position(|f| *f == facet).unwrap_or_else(|| {
            self.facets.push(facet);
            self.facets.len() - 1
        });
        ExprKind::Column { binding: self.binding, column: self.collect.columns.len() + known }
    }

    /// The set that a column is.
    fn set(&self, e: &Expr) -> Option<usize> {
        match e.kind {
            ExprKind::Column { binding, column } if binding == self.binding => {
                self.collect.columns.get(column).filter(|c| c.kind == CollectedKind::Set).map(|_| column)
            }
            _ => None,
        }
    }

    fn turn(&mut self, e: &mut Expr) -> Result<()> {
        if self.set(e).is_some() {
            return Err(ClientError::unsupported("a set that is collected stands here by itself")
                .hint(ONE_ONLY)
                .at(e.pos));
        }
        let turned = match &e.kind {
            ExprKind::Column { binding, .. } => {
                let member = self.members.iter().find(|m| m.binding == *binding);
                member.map(|m| self.place(Facet { column: m.column, what: What::Member }))
            }
            ExprKind::Any { op, expr, array, all }
                if matches!((op, all), (BinaryOp::Eq, false) | (BinaryOp::Ne, true)) =>
            {
                match self.set(array) {
                    None => None,
                    Some(column) => Some(self.holds(column, expr, *all)?),
                }
            }
            _ => None,
        };
        match turned {
            Some(kind) => e.kind = kind,
            None => e.children_mut().into_iter().try_for_each(|child| self.turn(child))?,
        }
        Ok(())
    }

    /// Whether a constant is among a set's values, or is not.
    fn holds(&mut self, column: usize, constant: &Expr, negated: bool) -> Result<ExprKind> {
        if constant.any(&mut |e| e.kind.varies()) {
            return Err(ClientError::unsupported("what is looked for in a collected set is not a constant")
                .hint("Write 'a' = ANY (column); to join the values with a table, FROM survey, unnest(column) AS value JOIN …")
                .at(constant.pos));
        }
        let whether = self.place(Facet { column, what: What::Holds(constant.clone()) });
        Ok(if negated { ExprKind::Not(Box::new(Expr::new(whether, constant.pos))) } else { whether })
    }

    /// The facets in an expression.
    fn of(&self, e: &Expr, out: &mut BTreeSet<usize>) {
        let mut columns = BTreeSet::new();
        columns_of(e, self.binding, &mut columns);
        out.extend(columns.into_iter().filter_map(|c| c.checked_sub(self.collect.columns.len())));
    }

    /// Of each set no estimate hangs on two things.
    fn one_of_each(&self, select: &Select, order: &[OrderItem]) -> Result<()> {
        let mut common = BTreeSet::new();
        let rows = select.filter.iter().chain(&select.group_by).chain(select.conditions());
        rows.for_each(|e| self.of(e, &mut common));
        // A row for each value is one for every aggregate.
        let rows = self.facets.iter().enumerate().filter(|(_, f)| f.what == What::Member);
        common.extend(rows.map(|(place, _)| place));
        let column = |place: &usize| self.facets.get(*place).map(|f| f.column);
        let single =
            |asked: &BTreeSet<usize>| asked.iter().map(column).collect::<BTreeSet<_>>().len() == asked.len();
        let mut wrong = (!single(&common)).then_some(select.pos);
        let above =
            select.items.iter().map(|i| &i.expr).chain(&select.having).chain(order.iter().map(|o| &o.expr));
        for a in above.flat_map(Expr::aggregates) {
            let mut asked = common.clone();
            self.of(a, &mut asked);
            if !single(&asked) {
                wrong = wrong.or(Some(a.pos));
            }
        }
        match wrong {
            None => Ok(()),
            Some(at) => Err(together().at(at)),
        }
    }
}

fn together() -> ClientError {
    ClientError::unsupported("two things asked of one collected set together have no estimate").hint(ONE_ONLY)
}

/// A FROM without relations that stand for values of sets, which are columns of the collected relation now; conditions of their joins are
/// `moved`.
fn without(f: From, gone: &BTreeSet<BindingId>, moved: &mut Vec<Expr>) -> Result<Option<From>> {
    match f {
        From::Relation { binding, .. } if gone.contains(&binding) => Ok(None),
        From::Relation { .. } => Ok(Some(f)),
        From::Join { left, right, kind, on, pos } => {
            let (mut in_left, mut in_right) = (BTreeSet::new(), BTreeSet::new());
            left.bindings(&mut in_left);
            right.bindings(&mut in_right);
            // What an outer join may add to has no row of its own.
            let added = match kind {
                JoinKind::Inner => false,
                JoinKind::Left => !in_right.is_disjoint(gone),
                JoinKind::Right => !in_left.is_disjoint(gone),
                JoinKind::Full => !in_left.is_disjoint(gone) || !in_right.is_disjoint(gone),
            };
            match (without(*left, gone, moved)?, without(*right, gone, moved)?) {
                (Some(left), Some(right)) if !added => {
                    Ok(Some(From::Join { left: Box::new(left), right: Box::new(right), kind, on, pos }))
                }
                (one, None) | (None, one) if kind == JoinKind::Inner => {
                    moved.extend(on.filter(|on| on.kind != ExprKind::Literal(Literal::Bool(true))));
                    Ok(one)
                }
                _ => Err(ClientError::unsupported("an outer join with the values of a collected set is not supported")
                    .hint("Write FROM survey CROSS JOIN unnest(column) AS value; whose set is empty is not told by any report.")
                    .at(pos)),
            }
        }
    }
}
