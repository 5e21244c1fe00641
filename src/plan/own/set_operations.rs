//! UNION, INTERSECT and EXCEPT of private rows, or of public ones; VALUES.
//!
//! The unit stands in the same place of every branch, with one type (soundness rule 10). Rows are equal only where
//! their units are, so that what a row of unit u meets in another branch is a row of u.

use super::per_unit::Selected;
use super::relation::{Place, Reading, Relation};
use super::scans::{Result, Scans};
use crate::algebra::equivalence_classes::Col;
use crate::algebra::normal::Normal;
use crate::algebra::props::Owner;
use crate::algebra::source::{Branch, Leaf, SetRows, SetTree, Tree};
use crate::expr::{Node, Scalar, lower, per_unit, united};
use crate::facts::public_rows::MOST_CONSTANTS;
use crate::refusals::Refusal;
use crate::refusals::set_operation::SetOperation;
use crate::syntax::conditions::single;
use schema::SqlType;
use sql::ast::*;

/// Branches in the making: what is the unit of each, and what it selects.
struct Found {
    units: Vec<usize>,
    items: Vec<Item>,
}

struct Item {
    value: Scalar,
    /// A string constant, which takes the type of the other branches.
    loose: bool,
}

impl Relation<'_, Reading> {
    /// A derived table whose body is a set operation.
    pub(crate) fn set(&mut self, binding: BindingId, q: &Query, nullable: bool, pos: Pos) -> Result<Normal> {
        let mut found = Vec::new();
        let tree = self.set_tree(&q.body, &mut found, false, pos)?;
        let unit = match self.scans.scope.is_private_body(&q.body) {
            true => Some(common_unit(&found).ok_or_else(|| SetOperation::WithoutUnit.at(pos))?),
            false => None,
        };
        let width = found.first().map_or(0, |f| f.items.len());
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let each: Vec<&Item> = found.iter().filter_map(|f| f.items.get(i)).collect();
            let column = merged(&each, i, binding, pos)?;
            columns.push(if merges(&tree) { per_unit::one_of_equals(column) } else { column });
        }
        let named = |b: &Binding| b.columns.get(unit?).cloned();
        let unit_name = self.scans.scope.binding(binding).and_then(named).unwrap_or_default();
        self.scan(
            binding,
            Leaf::Set(Box::new(SetRows { tree, columns, unit, unit_name, keeps: None, capped: None })),
            nullable,
            pos,
        )
    }

    /// `merges`: rows that are equal to others become one, around it.
    fn set_tree(&mut self, body: &Body, found: &mut Vec<Found>, merges: bool, pos: Pos) -> Result<SetTree> {
        match body {
            Body::SetOp { op, all, left, right } => {
                let (l, r) =
                    (self.scans.scope.is_private_body(left), self.scans.scope.is_private_body(right));
                if l != r {
                    return Err(SetOperation::Mixed.at(pos));
                }
                let merges = merges || !(*all && *op == SetOp::Union);
                let left = Box::new(self.set_tree(left, found, merges, pos)?);
                let right = Box::new(self.set_tree(right, found, merges, pos)?);
                Ok(SetTree::Op { op: *op, all: *all, left, right })
            }
            Body::Select(s) => self.set_branch((s, &[]), found, merges, pos),
            Body::Query(q) => match single(q, pos)? {
                Some(select) => self.set_branch(select, found, merges, pos),
                None => self.set_tree(&q.body, found, merges, pos),
            },
            Body::Values(rows) => self.values(rows, found, merges, pos),
            Body::Rows { .. } => Err(SetOperation::Function.at(pos)),
        }
    }

    /// Rows of constants: a branch for each.
    fn values(
        &mut self,
        rows: &[Vec<Expr>],
        found: &mut Vec<Found>,
        merges: bool,
        pos: Pos,
    ) -> Result<SetTree> {
        if rows.len() > MOST_CONSTANTS {
            return Err(SetOperation::Constants(MOST_CONSTANTS).at(pos));
        }
        let mut branches = Vec::with_capacity(rows.len());
        for row in rows {
            let inner = Scans::new(self.scans.scope.clone());
            let mut items = Vec::with_capacity(row.len());
            for e in row {
                let loose = matches!(e.kind, ExprKind::Literal(Literal::String(_)));
                items.push(Item { value: in_branch(lower(e, &inner)?, merges), loose });
            }
            let values = items.iter().map(|i| i.value.clone()).collect();
            found.push(Found { units: Vec::new(), items });
            let branch = inner.branch(Tree::Scan(0), Vec::new(), values);
            branches.push(SetTree::Branch(Box::new(branch)));
        }
        all_of(branches).ok_or_else(|| SetOperation::NoRows.at(pos))
    }

    fn set_branch(
        &mut self,
        (select, order_by): (&Select, &[OrderItem]),
        found: &mut Vec<Found>,
        merges: bool,
        pos: Pos,
    ) -> Result<SetTree> {
        if select.from.is_empty() {
            let none = Expr::new(ExprKind::Literal(Literal::Bool(false)), None);
            let empty = select.filter.as_ref() == Some(&none);
            if crate::syntax::grouping::is_over_several(select) || select.filter.is_some() && !empty {
                return Err(Refusal::Unread("SELECT", pos));
            }
            let row: Vec<Expr> = select.items.iter().map(|i| i.expr.clone()).collect();
            let mut row = self.values(&[row], found, merges, pos)?;
            if let (SetTree::Branch(b), true) = (&mut row, empty) {
                b.filter.push(Scalar::constant_truth(false));
            }
            return Ok(row);
        }
        let mut inner = self.nested();
        let Selected { tree, items: selected } = inner.selected(None, select, order_by, Place::TOP, pos)?;
        let inner = inner.finished(tree)?;
        inner.no_optional(select.pos)?;
        let inner = inner.filtered()?;
        let (scans, props) = (&inner.scans, &inner.state.props);
        let unit = match &props.owner {
            Owner::Unit(unit) => Some(unit),
            Owner::Public => None,
            Owner::Outside { .. } | Owner::Unfound => return Err(Refusal::Unread("FROM", select.pos)),
        };
        let exact = scans.exact(props);
        let mut items = Vec::with_capacity(selected.len());
        let mut units = Vec::new();
        for (i, e) in selected.into_iter().enumerate() {
            let col: Option<Col> = scans.col(&e);
            let s = lower(&e, scans)?;
            let own = unit.is_some_and(|unit| unit.ty.oid() == s.ty().oid());
            let own = own && s.canonical() && col.is_some_and(|c| exact.contains(&c));
            units.extend(own.then_some(i));
            let loose = matches!(e.kind, ExprKind::Literal(Literal::String(_)));
            items.push(Item { value: in_branch(s, merges && !own), loose });
        }
        let values = items.iter().map(|i| i.value.clone()).collect();
        found.push(Found { units, items });
        self.scans.absorb(scans);
        let bound = props.rows.bound;
        let branch = scans.branch(inner.state.tree, inner.state.filter, values);
        Ok(SetTree::Branch(Box::new(Branch { bound, ..branch })))
    }
}

/// An item where equal rows become one.
fn in_branch(x: Scalar, merges: bool) -> Scalar {
    if merges { per_unit::merged(x, true) } else { x }
}

/// Whether some of several equal rows are left out.
fn merges(tree: &SetTree) -> bool {
    match tree {
        SetTree::Branch(_) => false,
        SetTree::Op { op, all, left, right } => {
            !(*all && *op == SetOp::Union) || merges(left) || merges(right)
        }
    }
}

/// UNION ALL of branches, no deeper than need be.
fn all_of(mut branches: Vec<SetTree>) -> Option<SetTree> {
    if branches.len() <= 1 {
        return branches.pop();
    }
    let right = branches.split_off(branches.len() / 2);
    let (left, right) = (Box::new(all_of(branches)?), Box::new(all_of(right)?));
    Some(SetTree::Op { op: SetOp::Union, all: true, left, right })
}

/// The column that is the unit in every branch.
fn common_unit(found: &[Found]) -> Option<usize> {
    let first = found.first()?;
    first.units.iter().copied().find(|i| found.iter().all(|f| f.units.contains(i)))
}

/// One column of all branches. Types are those of PostgreSQL's UNION, where there is no doubt about them.
fn merged(each: &[&Item], index: usize, binding: BindingId, pos: Pos) -> Result<Scalar> {
    let differ = || SetOperation::Types { column: index }.at(pos);
    let ty = column_type(each).ok_or_else(differ)?;
    if matches!(ty, SqlType::Other { .. } | SqlType::Bpchar) {
        return Err(SetOperation::Type { column: index }.at(pos));
    }
    if each.iter().any(|x| x.value.ty().is_text() && !x.value.canonical()) {
        return Err(SetOperation::Collation { column: index }.at(pos));
    }
    let each: Vec<&Scalar> = each.iter().map(|x| &x.value).collect();
    united(&each, ty, binding, format!("c{index}")).ok_or_else(differ)
}

/// None where PostgreSQL's rules would have to be known better.
fn column_type(each: &[&Item]) -> Option<SqlType> {
    let mut ty: Option<SqlType> = None;
    for x in each.iter().filter(|x| !x.loose && !matches!(x.value.node(), Node::Null)) {
        let t = match x.value.ty() {
            SqlType::Numeric { .. } => SqlType::Numeric { scale: None },
            t => t.clone(),
        };
        let width = |t: &SqlType| [SqlType::Int2, SqlType::Int4, SqlType::Int8].iter().position(|i| i == t);
        ty = Some(match ty {
            None => t,
            Some(have) if have == t => t,
            Some(have) if have.is_text() && t.is_text() => SqlType::Text,
            Some(have) => {
                let wider = width(&have)? >= width(&t)?;
                if wider { have } else { t }
            }
        });
    }
    let loose = each.iter().any(|x| x.loose);
    match ty {
        Some(ty) if loose && !ty.is_text() => None,
        // NULLs alone, of the type that they were cast to.
        None if !loose => each.first().map(|x| x.value.ty().clone()),
        None => Some(SqlType::Text),
        ty => ty,
    }
}
