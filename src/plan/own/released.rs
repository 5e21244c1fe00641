//! Released rows and values where private rows meet them: constants in FROM, in IN and in conditions.

use super::given::Row;
use super::relation::{Reading, Relation};
use super::scans::{Result, Scans};
use crate::algebra::normal::Normal;
use crate::algebra::source::{Kind, Leaf, SetRows, SetTree, Tree};
use crate::expr::interval::Interval;
use crate::expr::{Node, Scalar, among};
use schema::SqlType;
use sql::ast::*;

impl Relation<'_, Reading> {
    /// Released rows in FROM, if these are: constants, as VALUES would be.
    pub(crate) fn released(
        &mut self,
        binding: BindingId,
        q: &Query,
        nullable: bool,
        pos: Pos,
    ) -> Option<Result<Normal>> {
        let scope = self.scans.scope.clone();
        let (stage, rows) = scope.given.rows(q)?;
        let column = |(i, (ty, bound)): (usize, (&SqlType, &Interval))| {
            Scalar::given(0, ty.clone(), bound.clone()).column_of(binding, format!("c{i}"), false)
        };
        let columns: Vec<Scalar> = stage.types.iter().zip(&stage.bounds).enumerate().map(column).collect();
        let inner = Scans::new(scope.clone());
        let branch =
            |(cells, there): Row| SetTree::Branch(Box::new(inner.branch(Tree::Scan(0), vec![there], cells)));
        let all = |left, right| SetTree::Op {
            op: SetOp::Union,
            all: true,
            left: Box::new(left),
            right: Box::new(right),
        };
        let tree = rows.into_iter().map(branch).reduce(all)?;
        if let Some(columns) = &stage.unique {
            self.scans.unique.insert(binding, columns.clone());
        }
        let rows = SetRows { tree, columns, unit: None, unit_name: String::new(), keeps: None, capped: None };
        Some(self.scan(binding, Leaf::Set(Box::new(rows)), nullable, pos))
    }
}

impl Scans<'_> {
    /// `x [NOT] IN (q)`, where the rows of q were released.
    pub(crate) fn among_released(
        &self,
        x: &Scalar,
        q: &Query,
        negated: bool,
        pos: Pos,
    ) -> Option<Result<Scalar>> {
        let (_, rows) = self.scope.given.rows(q)?;
        let there = rows.first()?.1.clone();
        let members: Vec<Scalar> =
            rows.into_iter().filter_map(|(cells, _)| cells.into_iter().next()).collect();
        Some(among(x, &members, there, negated, pos))
    }

    /// Whether there is a row of q, where its rows were released.
    pub(crate) fn any_released(&self, q: &Query) -> Option<Scalar> {
        self.scope.given.rows(q)?.1.into_iter().next().map(|(_, there)| there)
    }

    /// Conditions that inner joins with released rows imply: the other side is one of their values. So a domain of groups is
    /// narrowed to them.
    pub(crate) fn members_of_joins(&self, tree: &Tree, filter: &[Scalar]) -> Result<Vec<Scalar>> {
        let mut conditions: Vec<&Scalar> = filter.iter().collect();
        inner_conditions(tree, &mut conditions);
        let mut out = Vec::new();
        for condition in conditions {
            let Node::Compare(BinaryOp::Eq, a, b) = condition.node() else { continue };
            for (x, released) in [(a, b), (b, a)] {
                if let Some((members, there)) = self.values_of(released) {
                    out.push(among(x, &members, there, false, None)?);
                }
            }
        }
        Ok(out)
    }

    /// The values of a column of released rows, and whether there is any.
    fn values_of(&self, s: &Scalar) -> Option<(Vec<Scalar>, Scalar)> {
        let Node::Column { binding, name } = s.node() else { return None };
        let Leaf::Set(rows) = &self.scan_of(*binding)?.leaf else { return None };
        let at = (0..rows.columns.len()).find(|i| *name == format!("c{i}"))?;
        let branches = rows.branches();
        let given = |s: &&Scalar| matches!(s.node(), Node::Given(_));
        let members: Vec<Scalar> =
            branches.iter().filter_map(|b| b.items.get(at)).filter(given).cloned().collect();
        let there = branches.first()?.filter.first().filter(given)?.clone();
        (members.len() == branches.len()).then_some((members, there))
    }
}

/// The conditions of the inner joins at the top of a tree.
fn inner_conditions<'t>(tree: &'t Tree, out: &mut Vec<&'t Scalar>) {
    if let Tree::Join { left, right, kind: Kind::Inner, on } = tree {
        inner_conditions(left, out);
        inner_conditions(right, out);
        out.extend(on);
    }
}
