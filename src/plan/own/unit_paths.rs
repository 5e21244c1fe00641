//! Along paths to the unit: the rows that rows refer to, found in the statement or read beside it.

use super::scans::{Result, Scans};
use super::units::{Block, stands_in};
use crate::algebra::equivalence_classes::{Classes, Col};
use crate::algebra::props::{Borrow, Owner};
use crate::algebra::source::{Added, Kind, Leaf, Scan, TableName, Tree, column, equal};
use crate::expr::{Node, Scalar};
use crate::refusals::Refusal;
use policy::{Privacy, UnitPath};
use sql::ast::BindingId;

impl Scans<'_> {
    pub(crate) fn path_of(&self, binding: BindingId) -> Option<UnitPath> {
        match &self.table_of(binding)?.privacy {
            Privacy::Path(path) => Some(path.clone()),
            _ => None,
        }
    }

    /// Two scans of one table that meet along a key of it are at one row, and so in one unit.
    pub(crate) fn same_rows(&self, classes: &mut Classes, bindings: &[BindingId]) {
        let scans: Vec<(BindingId, usize)> =
            bindings.iter().filter_map(|b| Some((*b, self.scan_of(*b)?.table()?))).collect();
        loop {
            let mut changed = false;
            for (i, (a, table)) in scans.iter().enumerate() {
                for (b, _) in scans.iter().skip(i + 1).filter(|(b, t)| t == table && b != a) {
                    let Some(t) = self.scope.table(*table) else { continue };
                    let met =
                        |k: &Vec<String>| k.iter().all(|c| classes.same(&(*a, c.clone()), &(*b, c.clone())));
                    if !t.keys.iter().any(met) {
                        continue;
                    }
                    let leads: &[String] = match &t.privacy {
                        Privacy::Public => &[],
                        Privacy::Private { unit, .. } => std::slice::from_ref(unit),
                        Privacy::Path(path) => &path.columns,
                    };
                    for c in leads {
                        changed |= classes.equate(&(*a, c.clone()), &(*b, c.clone()));
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Finds for each scan with a path the row that it refers to: in a scan of the statement, else in one of its own.
    pub(crate) fn paths(
        &mut self,
        blocks: &mut [Block],
        classes: &mut Classes,
        outside: &[BindingId],
    ) -> Result<()> {
        let mut open: Vec<(usize, BindingId)> = Vec::new();
        for (i, block) in blocks.iter().enumerate() {
            if let ([binding], Owner::Unfound) = (block.props.bindings.as_slice(), &block.props.owner) {
                open.push((i, *binding));
            }
        }
        // Those whose partner the statement names come first: others may share it.
        let mut hidden = Vec::new();
        for (i, child) in open {
            match self.partner(child, blocks, classes, outside) {
                Some(parent) => {
                    if let Some(block) = blocks.get_mut(i) {
                        block.props.owner =
                            Owner::Outside { unit: None, borrows: Borrow { child, parent }.into() };
                    }
                }
                None => hidden.push((i, child)),
            }
        }
        for (i, mut child) in hidden {
            while let Some(path) = self.path_of(child) {
                if let Some(parent) = self.partner(child, blocks, classes, outside) {
                    if let Some(block) = blocks.get_mut(i) {
                        block.props.owner =
                            Owner::Outside { unit: None, borrows: Borrow { child, parent }.into() };
                    }
                    break;
                }
                let parent = self.hidden(child, &path)?;
                let (on, pairs) = self.step(child, parent);
                for (a, b) in &pairs {
                    classes.equate(a, b);
                }
                let place = self.list.len() - 1;
                if let Some(block) = blocks.get_mut(i) {
                    let left = std::mem::replace(&mut block.tree, Tree::Scan(place));
                    block.tree = Tree::Join {
                        left: Box::new(left),
                        right: Box::new(Tree::Scan(place)),
                        kind: Kind::Inner,
                        on,
                    };
                    block.props.bindings.push(parent);
                    block.props.equal.extend(pairs);
                    block.props.owner = self.own_unit(parent).map_or(Owner::Unfound, Owner::Unit);
                }
                let all: Vec<BindingId> =
                    blocks.iter().flat_map(|b| &b.props.bindings).chain(outside).copied().collect();
                self.same_rows(classes, &all);
                child = parent;
            }
        }
        Ok(())
    }

    /// A scan of the table that this one refers to, met along the path.
    fn partner(
        &self,
        child: BindingId,
        blocks: &[Block],
        classes: &Classes,
        outside: &[BindingId],
    ) -> Option<BindingId> {
        let path = self.path_of(child)?;
        let met = |parent: BindingId| {
            self.scan_of(parent).and_then(Scan::table) == Some(path.table)
                && path
                    .columns
                    .iter()
                    .zip(&path.key)
                    .all(|(c, k)| classes.same(&(child, c.clone()), &(parent, k.clone())))
        };
        blocks.iter().flat_map(|b| &b.props.bindings).chain(outside).copied().find(|b| met(*b))
    }

    /// A scan that the statement does not have.
    fn hidden(&mut self, child: BindingId, path: &UnitPath) -> Result<BindingId> {
        let nullable = self.scan_of(child).is_some_and(|s| s.nullable);
        let Some(table) = self.scope.table(path.table) else { return Err(Refusal::Unread("table", None)) };
        let binding = self.scope.fresh();
        let leaf = Leaf::Table(path.table, TableName::of(table));
        self.push(Scan { binding, leaf, nullable, serves: Some(child) }, None)?;
        self.notes.served.push(path.table);
        Ok(binding)
    }

    /// The equalities of one step of a path.
    fn step(&mut self, child: BindingId, parent: BindingId) -> (Vec<Scalar>, Vec<(Col, Col)>) {
        let Some(path) = self.path_of(child) else { return (Vec::new(), Vec::new()) };
        let here: Vec<Col> = path.columns.iter().map(|c| (child, c.clone())).collect();
        let there: Vec<Col> = path.key.iter().map(|k| (parent, k.clone())).collect();
        let on = here
            .iter()
            .zip(&there)
            .zip(&path.types)
            .map(|((a, b), ty)| equal(column(a, ty.clone(), true), column(b, ty.clone(), true)))
            .collect();
        let pairs = here.iter().cloned().zip(there.iter().cloned()).collect();
        let (left, right) = (self.all_shown(&here), self.all_shown(&there));
        self.notes.added.push(Added { left, right, path: true, inside: false, written: false });
        (on, pairs)
    }

    /// Adds the steps of paths whose both ends are here, and leaves the others for later.
    pub(crate) fn settle(
        &mut self,
        on: &mut Vec<Scalar>,
        equal_columns: &mut Vec<(Col, Col)>,
        borrows: Vec<Borrow>,
        here: &[BindingId],
    ) -> Vec<Borrow> {
        let mut left = Vec::new();
        for borrow in borrows {
            if !(here.contains(&borrow.child) && here.contains(&borrow.parent)) {
                left.push(borrow);
                continue;
            }
            let (step, pairs) = self.step(borrow.child, borrow.parent);
            equal_columns.extend(pairs);
            let mut written = self.is_written(borrow.child) && self.is_written(borrow.parent);
            for s in step {
                let reversed = match s.node() {
                    Node::Compare(_, a, b) => equal((**b).clone(), (**a).clone()),
                    _ => s.clone(),
                };
                if !on.iter().any(|c| stands_in(c, &s) || stands_in(c, &reversed)) {
                    on.push(s);
                    written = false;
                }
            }
            if let Some(added) = self.notes.added.last_mut() {
                added.written = written;
            }
        }
        left
    }
}
