//! UNION, INTERSECT and EXCEPT of private rows.
//!
//! The unit stands in the same place of every branch, with one type (soundness rule 10). Rows are equal only where
//! their units are, so that what a row of unit u meets in another branch is a row of u.

use super::conditions::single;
use super::equivalence_classes::Col;
use super::flatten::{Draft, Flattener, NO_BINDING, Place, Result, unsupported};
use super::per_unit::Selected;
use super::source::{Leaf, SetRows, SetTree};
use super::units::{Outside, Owner};
use crate::expr::{Node, Scalar, lower, united};
use answer::ClientError;
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

impl Flattener<'_> {
    /// A derived table whose body is a set operation.
    pub(super) fn set(&mut self, binding: usize, q: &Query, nullable: bool, pos: Pos) -> Result<Draft> {
        let mut found = Vec::new();
        let tree = self.set_tree(&q.body, &mut found, pos)?;
        let first = found.first().map(|f| f.units.clone()).unwrap_or_default();
        let Some(unit) = first.into_iter().find(|i| found.iter().all(|f| f.units.contains(i))) else {
            return Err(unsupported(
                "a set operation over private rows without the unit in the same place of every branch",
                pos,
            )
            .detail("Rows of different units would be compared, or lose their unit.")
            .hint("Select the unit column first in every branch: SELECT rider_id, … UNION ALL SELECT rider_id, …"));
        };
        let width = found.first().map_or(0, |f| f.items.len());
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let each: Vec<&Item> = found.iter().filter_map(|f| f.items.get(i)).collect();
            let column = merged(&each, i, binding, pos)?;
            columns.push(column);
        }
        let unit_name = self.binding(binding).and_then(|b| b.columns.get(unit)).cloned().unwrap_or_default();
        self.scan(
            binding,
            Leaf::Set(Box::new(SetRows { tree, columns, unit, unit_name, keeps: None })),
            nullable,
            pos,
        )
    }

    fn set_tree(&mut self, body: &Body, found: &mut Vec<Found>, pos: Pos) -> Result<SetTree> {
        match body {
            Body::SetOp { op, all, left, right } => {
                let (l, r) = (self.is_private_body(left), self.is_private_body(right));
                if l != r {
                    return Err(mixed(pos));
                }
                let left = Box::new(self.set_tree(left, found, pos)?);
                let right = Box::new(self.set_tree(right, found, pos)?);
                Ok(SetTree::Op { op: *op, all: *all, left, right })
            }
            Body::Select(s) => self.set_branch((s, &[]), found, pos),
            Body::Query(q) => match single(q, pos)? {
                Some(select) => self.set_branch(select, found, pos),
                None => self.set_tree(&q.body, found, pos),
            },
            Body::Values(_) => Err(mixed(pos)),
        }
    }

    fn set_branch(
        &mut self,
        (select, order_by): (&Select, &[OrderItem]),
        found: &mut Vec<Found>,
        pos: Pos,
    ) -> Result<SetTree> {
        if !select.from.iter().any(|f| self.is_private(f)) {
            return Err(mixed(select.pos.or(pos)));
        }
        let mut inner = self.nested(false);
        let Selected { draft, items: selected } =
            inner.selected(NO_BINDING, select, order_by, Place::TOP, pos)?;
        let conditions = inner.finished()?;
        inner.no_optional(select.pos)?;
        let block = inner.block(draft, &conditions, &Outside::default())?;
        let Owner::Unit(unit) = &block.owner else {
            return Err(unsupported("this FROM", select.pos));
        };
        let filter = inner.conditions(&conditions, &block)?;
        let exact = inner.exact(&block);
        let mut items = Vec::with_capacity(selected.len());
        let mut units = Vec::new();
        for (i, e) in selected.into_iter().enumerate() {
            let col: Option<Col> = inner.col(&e);
            let s = lower(&e, &inner)?;
            let own = unit.ty.oid() == s.ty().oid();
            if own && s.canonical() && col.is_some_and(|c| exact.contains(&c)) {
                units.push(i);
            }
            let loose = matches!(e.kind, ExprKind::Literal(Literal::String(_)));
            items.push(Item { value: s, loose });
        }
        let values = items.iter().map(|i| i.value.clone()).collect();
        found.push(Found { units, items });
        let mut branch = inner.branch(block.tree, filter, values);
        branch.bound = block.rows.bound;
        self.absorb(&inner);
        Ok(SetTree::Branch(Box::new(branch)))
    }
}

fn mixed(pos: Pos) -> ClientError {
    unsupported("a set operation of private rows with public ones", pos)
        .detail("The public rows would belong to nobody.")
        .hint("Aggregate in each branch: SELECT count(*) … UNION ALL SELECT count(*) …")
}

/// One column of all branches. Types are those of PostgreSQL's UNION, where there is no doubt about them.
fn merged(each: &[&Item], index: usize, binding: usize, pos: Pos) -> Result<Scalar> {
    let what = |x: &str| format!("a set operation whose column {} has {x}", index + 1);
    let differ = || unsupported(&what("several types"), pos).hint("Cast it to one type in every branch.");
    let ty = column_type(each).ok_or_else(differ)?;
    if matches!(ty, SqlType::Other { .. } | SqlType::Bpchar) {
        return Err(unsupported(&what("this type"), pos).hint("Leave the column out."));
    }
    if each.iter().any(|x| x.value.ty().is_text() && !x.value.canonical()) {
        return Err(unsupported(&what("a nondeterministic collation"), pos).hint("Leave the column out."));
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
        None => Some(SqlType::Text),
        ty => ty,
    }
}
