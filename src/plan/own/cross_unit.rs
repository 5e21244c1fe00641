//! Words for rows of different units that would meet: what to write instead, in the names that the
//! analyst uses.

use super::scans::Scans;
use crate::algebra::equivalence_classes::Col;
use crate::algebra::source::{Leaf, SetTree};
use crate::expr::Node;
use crate::refusals::Refusal;
use crate::refusals::join::{Join, Tie};
use sql::ast::{BindingId, Origin, Pos};

impl Scans<'_> {
    /// The refusal of a join of rows that may belong to two units, with what to write.
    pub(crate) fn apart(&self, a: &[BindingId], b: &[BindingId], pos: Pos) -> Refusal {
        let named = |list: &[BindingId]| -> Vec<BindingId> {
            let named = |b: &&BindingId| {
                self.private_scan(**b) && self.scan_of(**b).is_some_and(|s| s.serves.is_none())
            };
            list.iter().filter(named).copied().collect()
        };
        let (a, b) = (named(a), named(b));
        let on = |l: Vec<Col>, r: Vec<Col>| {
            let each: Vec<String> =
                l.iter().zip(&r).map(|(l, r)| format!("{} = {}", self.shown(l), self.shown(r))).collect();
            let visible = l.iter().chain(&r).all(|c| self.visible(c));
            visible.then(|| Tie::On(each.join(" AND ")))
        };
        let along = |child: BindingId, parent: BindingId| {
            let path = self.path_of(child)?;
            let of = |b: BindingId, list: &[String]| list.iter().map(|c| (b, c.clone())).collect::<Vec<_>>();
            let leads = self.scan_of(parent)?.table()? == path.table;
            leads.then(|| on(of(child, &path.columns), of(parent, &path.key))).flatten()
        };
        let mut pairs = a.iter().flat_map(|x| b.iter().map(|y| (*x, *y)));
        let path = pairs.clone().find_map(|(x, y)| along(x, y).or_else(|| along(y, x)));
        let units = pairs.find_map(|(x, y)| on(self.own_unit(x)?.columns, self.own_unit(y)?.columns));
        let tie = path.or(units).unwrap_or_else(|| {
            let far = a.iter().chain(&b).find_map(|x| Some((*x, self.path_of(*x)?)));
            match far {
                Some((x, path)) => Tie::Along {
                    table: self.scope.table(path.table).map(|t| t.name.clone()).unwrap_or_default(),
                    columns: path
                        .columns
                        .iter()
                        .map(|c| self.shown(&(x, c.clone())))
                        .collect::<Vec<_>>()
                        .join(", "),
                },
                None => Tie::Units,
            }
        });
        let at = b.iter().chain(&a).find_map(|b| self.position(*b)).or(pos);
        Join::Units(tie).at(at)
    }

    /// A column as the analyst calls it.
    pub(crate) fn shown(&self, (binding, name): &Col) -> String {
        let table = self.table_of(*binding);
        let Some(b) = self.scope.binding(*binding) else {
            if let Some(Leaf::Set(rows)) = self.scan_of(*binding).map(|s| &s.leaf) {
                return rows.unit_name.clone();
            }
            return format!("{}.{name}", table.map_or("", |t| t.name.as_str()));
        };
        let index = table.and_then(|t| t.columns.iter().position(|c| c.name == *name));
        let index = match table {
            Some(_) => index,
            None => name.strip_prefix('c').and_then(|n| n.parse().ok()).map(|column| {
                self.derived_column(self.scope.origin(*binding), *binding, column).unwrap_or(column)
            }),
        };
        let own = index.and_then(|i| b.columns.get(i));
        format!("{}.{}", b.name, own.unwrap_or(name))
    }

    /// Whether the analyst wrote this relation: what rules put there is nobody's condition either.
    pub(crate) fn is_written(&self, binding: BindingId) -> bool {
        self.scope.binding(binding).is_none_or(|b| b.origin == Origin::Written)
    }

    /// Whether it is a column of such a relation, or what a relation of groups computes from one.
    pub(crate) fn is_column_written(&self, (binding, name): &Col) -> bool {
        let own = || {
            let Leaf::Set(rows) = &self.scan_of(*binding)?.leaf else { return None };
            let SetTree::Branch(groups) = &rows.tree else { return None };
            let item = groups.items.get(name.strip_prefix('c')?.parse::<usize>().ok()?)?;
            match item.node() {
                Node::Column { binding, name } => Some((*binding, name.clone())),
                _ => None,
            }
        };
        self.is_written(*binding) && own().is_none_or(|own| self.is_column_written(&own))
    }

    /// Whether the analyst may name a column.
    fn visible(&self, (binding, name): &Col) -> bool {
        self.table_of(*binding).is_none_or(|t| t.column(name).is_some())
    }

    pub(crate) fn all_shown(&self, list: &[Col]) -> Vec<String> {
        list.iter().map(|c| self.shown(c)).collect()
    }
}
