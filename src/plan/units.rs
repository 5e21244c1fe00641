//! Whose rows: finds the unit of each part of a private FROM, and adds the equalities that keep rows of different
//! units apart (soundness rules 7, 10, 11).
//!
//! Inner joins are looked at together, as an island: their conditions and those of WHERE hold for all of its rows at
//! once, in whatever order and spelling they stand. Every equality that unites units is printed by [`Flattener::tie`],
//! whether the statement has it or only implies it; what the statement says decides only whether adding it keeps the
//! statement's meaning.

use super::conditions::{conjuncts, only_of, truth};
use super::equivalence_classes::{Classes, Col, Groups};
use super::flatten::{Draft, Flattener, Result, unsupported};
use super::row_bounds::{Equation, Part, Rows};
use super::source::{Added, Kind, Leaf, Tree, Unit, equal};
use super::unit_paths::Borrow;
use crate::expr::{Node, Scalar, lower};
use policy::Privacy;
use schema::SqlType;
use sql::ast::*;

/// A part of FROM whose units are found.
pub(super) struct Block {
    /// Its joins.
    pub tree: Tree,
    /// All scans in it, by their bindings.
    pub bindings: Vec<usize>,
    /// The unit of its rows; None where it is public, or where the unit is found outside.
    pub unit: Option<Unit>,
    /// Scans with a path whose partner stands outside.
    pub pending: Vec<Borrow>,
    /// Columns that are equal in each of its rows.
    pub equal: Vec<(Col, Col)>,
    /// How many rows a unit has.
    pub rows: Rows,
}

/// What the rows of a block will meet.
#[derive(Default)]
pub(super) struct Outside {
    /// Scans there.
    pub bindings: Vec<usize>,
    /// Columns equal there.
    pub equal: Vec<(Col, Col)>,
}

/// Inner joins as they were written.
enum Shape {
    Member(usize),
    Join { left: Box<Shape>, right: Box<Shape>, on: Vec<Expr>, pos: Pos },
}

impl Flattener<'_> {
    /// Finds the units of a part of FROM. `known`: conditions that hold for all rows that count, those that look
    /// outside included.
    pub(super) fn block(&mut self, draft: Draft, known: &[Expr], outside: &Outside) -> Result<Block> {
        let (mut members, mut own) = (Vec::new(), Vec::new());
        let shape = gather(draft, &mut members, &mut own);
        let own = conjuncts(&own);
        let mut blocks = Vec::with_capacity(members.len());
        for member in members {
            blocks.push(match member {
                Draft::Scan(place) => self.leaf(place)?,
                Draft::Join { kind: JoinKind::Full, left, right, on, pos } => {
                    self.full(*left, *right, on, pos)?
                }
                Draft::Join { left, right, on, pos, .. } => {
                    let conditions: Vec<Expr> = known.iter().chain(&own).cloned().collect();
                    self.left(*left, *right, on, pos, &conditions)?
                }
            });
        }
        let mut classes = Classes::default();
        for c in known.iter().chain(&own) {
            if let Some((a, b)) = self.equality(c) {
                classes.equate(&a, &b);
            }
        }
        for (a, b) in blocks.iter().flat_map(|b| &b.equal).chain(&outside.equal) {
            classes.equate(a, b);
        }
        let all = |blocks: &[Block]| -> Vec<usize> {
            blocks.iter().flat_map(|b| &b.bindings).chain(&outside.bindings).copied().collect()
        };
        self.same_rows(&mut classes, &all(&blocks));
        self.paths(&mut blocks, &mut classes, &outside.bindings)?;
        self.united(&blocks, &classes, &outside.bindings, None)?;
        // What holds here for every row, whatever stands around it.
        let inside = if outside.bindings.is_empty() { known } else { &[] };
        let mut holds: Vec<(Col, Col)> = own.iter().chain(inside).filter_map(|c| self.equality(c)).collect();
        let conditions: Vec<Expr> = own.iter().chain(inside).cloned().collect();
        let mut equations = self.equations(&conditions);
        let parts: Vec<Part> =
            blocks.iter().map(|b| Part { bindings: b.bindings.clone(), rows: b.rows.clone() }).collect();
        let mut blocks: Vec<Option<Block>> = blocks.into_iter().map(Some).collect();
        let mut block = self.rebuild(shape, &mut blocks)?;
        equations.extend(block.equal.iter().flat_map(|(a, b)| Equation::of_columns(a, b)));
        holds.append(&mut block.equal);
        block.equal = holds;
        block.rows = self.island_rows(&parts, &equations);
        Ok(block)
    }

    fn leaf(&mut self, place: usize) -> Result<Block> {
        let Some(scan) = self.scans.get(place) else { return Err(unsupported("this FROM", None)) };
        let binding = scan.binding;
        let bound = match &scan.leaf {
            Leaf::Table(t, _) => self.table(*t).and_then(|t| t.proven_rows).map(u64::from),
            Leaf::Set(rows) => rows.tree.bound(),
        };
        Ok(Block {
            tree: Tree::Scan(place),
            bindings: vec![binding],
            unit: self.own_unit(binding),
            pending: Vec::new(),
            equal: Vec::new(),
            rows: Rows { anchors: vec![binding], follows: vec![binding], bound },
        })
    }

    /// The unit, where a scan has it in a column of its own.
    pub(super) fn own_unit(&self, binding: usize) -> Option<Unit> {
        let scan = self.scan_of(binding)?;
        let (name, ty, nullable) = match &scan.leaf {
            Leaf::Table(t, _) => match &self.table(*t)?.privacy {
                Privacy::Private { unit, nullable, ty } => (unit.clone(), ty.clone(), *nullable),
                _ => return None,
            },
            Leaf::Set(rows) => {
                let column = rows.columns.get(rows.unit)?;
                (format!("c{}", rows.unit), column.ty().clone(), column.nullable())
            }
        };
        Some(Unit { columns: vec![(binding, name)], ty, nullable })
    }

    /// The unit columns among these scans: each is NULL or the unit of the row.
    pub(super) fn unit_columns(&self, bindings: &[usize]) -> Vec<Col> {
        bindings.iter().filter_map(|b| self.own_unit(*b)).flat_map(|u| u.columns).collect()
    }

    /// Columns that are the unit in every row of the block.
    pub(super) fn exact(&self, block: &Block) -> Vec<Col> {
        let classes = Classes::of(&block.equal);
        let there = |c: &Col| self.scan_of(c.0).is_some_and(|s| !s.nullable);
        let units = self.unit_columns(&block.bindings);
        let mut exact: Vec<Col> = units.iter().filter(|c| there(c)).flat_map(|c| classes.mates(c)).collect();
        exact.sort();
        exact.dedup();
        exact
    }

    /// The columns that a condition equates, if equal means the same value of one type (soundness rule 10).
    pub(super) fn equality(&self, e: &Expr) -> Option<(Col, Col)> {
        let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &e.kind else { return None };
        let pair = (self.col(left)?, self.col(right)?);
        let before = self.lowered.get();
        let (l, r) = (lower(left, self), lower(right, self));
        self.lowered.set(before);
        let (l, r) = (l.ok()?, r.ok()?);
        (l.canonical() && r.canonical() && compared_exactly(l.ty(), r.ty())).then_some(pair)
    }

    /// Refuses private parts whose units are not known to be equal. `outside` is one more part, if it has units.
    fn united(&self, blocks: &[Block], classes: &Classes, outside: &[usize], pos: Pos) -> Result<()> {
        let last = blocks.len();
        let mut groups = Groups::new(last + 1);
        let mut parts: Vec<&[usize]> = blocks.iter().map(|b| b.bindings.as_slice()).collect();
        parts.push(outside);
        let mut seen: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
        for (i, bindings) in parts.iter().enumerate() {
            for col in self.unit_columns(bindings) {
                if let Some(class) = classes.class(&col) {
                    groups.join(i, *seen.entry(class).or_insert(i));
                }
            }
        }
        for (i, block) in blocks.iter().enumerate() {
            for borrow in &block.pending {
                if let Some(to) = parts.iter().position(|p| p.contains(&borrow.parent)) {
                    groups.join(i, to);
                }
            }
        }
        let private: Vec<usize> = parts
            .iter()
            .enumerate()
            .filter(|(_, p)| p.iter().any(|b| self.private_scan(*b)))
            .map(|(i, _)| i)
            .collect();
        let Some(first) = private.first() else { return Ok(()) };
        match private.iter().find(|i| groups.of(**i) != groups.of(*first)) {
            None => Ok(()),
            Some(other) => {
                let part = |i: usize| parts.get(i).copied().unwrap_or_default();
                Err(self.apart(part(*first), part(*other), pos))
            }
        }
    }

    /// Adds the equality of both units to a join's conditions, unless it stands there already.
    pub(super) fn tie(&mut self, on: &mut Vec<Scalar>, a: &Unit, b: &Unit) {
        let tie = equal(a.scalar(), b.scalar());
        let reversed = equal(b.scalar(), a.scalar());
        let written = on.iter().any(|c| stands_in(c, &tie) || stands_in(c, &reversed));
        let (left, right) = (self.all_shown(&a.columns), self.all_shown(&b.columns));
        self.added.push(Added { left, right, path: false, inside: false, written });
        if !written {
            on.push(tie);
        }
    }

    fn rebuild(&mut self, shape: Shape, blocks: &mut [Option<Block>]) -> Result<Block> {
        let (left, right, on, pos) = match shape {
            Shape::Member(i) => {
                let block = blocks.get_mut(i).and_then(Option::take);
                return block.ok_or_else(|| unsupported("this FROM", None));
            }
            Shape::Join { left, right, on, pos } => (left, right, on, pos),
        };
        let l = self.rebuild(*left, blocks)?;
        let r = self.rebuild(*right, blocks)?;
        let mut on = self.on(&on, pos)?;
        let mut equal = l.equal;
        equal.extend(r.equal);
        if let (Some(a), Some(b)) = (&l.unit, &r.unit) {
            self.tie(&mut on, a, b);
            if let ([x], [y]) = (a.columns.as_slice(), b.columns.as_slice()) {
                equal.push((x.clone(), y.clone()));
            }
        }
        let mut bindings = l.bindings;
        bindings.extend(r.bindings);
        let mut pending = l.pending;
        pending.extend(r.pending);
        let pending = self.settle(&mut on, &mut equal, pending, &bindings);
        let unit = match (l.unit, r.unit) {
            (Some(a), Some(b)) => Some(if a.nullable && !b.nullable { b } else { a }),
            (a, b) => a.or(b),
        };
        let tree = Tree::Join { left: Box::new(l.tree), right: Box::new(r.tree), kind: Kind::Inner, on };
        Ok(Block { tree, bindings, unit, pending, equal, rows: Rows::default() })
    }

    fn on(&self, on: &[Expr], pos: Pos) -> Result<Vec<Scalar>> {
        on.iter().map(|e| truth(lower(e, self)?, "JOIN/ON", e.pos.or(pos))).collect()
    }

    /// LEFT JOIN: the left side's unit. The right side may be public.
    fn left(&mut self, left: Draft, right: Draft, on: Vec<Expr>, pos: Pos, known: &[Expr]) -> Result<Block> {
        let here = self.draft_bindings(&left);
        // A condition on the kept side alone may be applied before the join.
        let before: Vec<Expr> = known.iter().filter(|c| only_of(c, &here)).cloned().collect();
        let l = self.block(left, &before, &Outside::default())?;
        let conditions = conjuncts(&on);
        let private = self.draft_bindings(&right).iter().any(|b| self.private_scan(*b));
        let outside = if private {
            Outside { bindings: l.bindings.clone(), equal: l.equal.clone() }
        } else {
            Outside::default()
        };
        let r = self.block(right, if private { &conditions } else { &[] }, &outside)?;
        let mut on = self.on(&on, pos)?;
        let mut equations = self.equations(&conditions);
        let mut met = Vec::new();
        match (&l.unit, &r.unit) {
            (Some(a), Some(b)) => {
                self.tie(&mut on, a, b);
                if let ([x], [y]) = (a.columns.as_slice(), b.columns.as_slice()) {
                    met.push((x.clone(), y.clone()));
                }
            }
            (None, _) if private => return Err(unsupported("this outer join", pos)),
            _ => {}
        }
        let mut bindings = l.bindings.clone();
        bindings.extend(&r.bindings);
        let rest = self.settle(&mut on, &mut met, r.pending, &bindings);
        if !rest.is_empty() || !l.pending.is_empty() {
            return Err(unsupported("this outer join", pos));
        }
        equations.extend(met.iter().flat_map(|(a, b)| Equation::of_columns(a, b)));
        let rows = self.left_rows(
            &Part { bindings: l.bindings, rows: l.rows },
            &Part { bindings: r.bindings, rows: r.rows },
            private,
            &equations,
        );
        let tree = Tree::Join { left: Box::new(l.tree), right: Box::new(r.tree), kind: Kind::Left, on };
        Ok(Block { tree, bindings, unit: l.unit, pending: Vec::new(), equal: l.equal, rows })
    }

    /// FULL JOIN of private rows: the unit of the side that is there.
    fn full(&mut self, left: Draft, right: Draft, on: Vec<Expr>, pos: Pos) -> Result<Block> {
        let l = self.block(left, &[], &Outside::default())?;
        let r = self.block(right, &[], &Outside::default())?;
        let conditions = conjuncts(&on);
        let mut classes = Classes::of(l.equal.iter().chain(&r.equal));
        for (a, b) in conditions.iter().filter_map(|c| self.equality(c)) {
            classes.equate(&a, &b);
        }
        let mut bindings = l.bindings.clone();
        bindings.extend(&r.bindings);
        self.same_rows(&mut classes, &bindings);
        let mut on = self.on(&on, pos)?;
        let (a, b) = match (&l.unit, &r.unit) {
            (Some(a), Some(b)) if l.pending.is_empty() && r.pending.is_empty() => (a.clone(), b.clone()),
            _ => return Err(unsupported("this FULL JOIN", pos)),
        };
        self.tie(&mut on, &a, &b);
        let rows = super::row_bounds::full_rows(&l.rows, &r.rows);
        let (trees, sides) =
            ((l.tree, r.tree), [(l.bindings, l.unit, l.pending), (r.bindings, r.unit, r.pending)]);
        let sides = sides.map(|(bindings, unit, pending)| Block {
            tree: Tree::Scan(0),
            bindings,
            unit,
            pending,
            equal: Vec::new(),
            rows: Rows::default(),
        });
        self.united(&sides, &classes, &[], pos)?;
        let tree = Tree::Join { left: Box::new(trees.0), right: Box::new(trees.1), kind: Kind::Full, on };
        let unit = Unit {
            columns: a.columns.iter().chain(&b.columns).cloned().collect(),
            ty: a.ty.clone(),
            nullable: a.nullable || b.nullable,
        };
        Ok(Block { tree, bindings, unit: Some(unit), pending: Vec::new(), equal: Vec::new(), rows })
    }

    fn draft_bindings(&self, draft: &Draft) -> Vec<usize> {
        match draft {
            Draft::Scan(place) => self.scans.get(*place).map(|s| s.binding).into_iter().collect(),
            Draft::Join { left, right, .. } => {
                let mut all = self.draft_bindings(left);
                all.extend(self.draft_bindings(right));
                all
            }
        }
    }
}

fn gather(draft: Draft, members: &mut Vec<Draft>, on_all: &mut Vec<Expr>) -> Shape {
    match draft {
        Draft::Join { kind: JoinKind::Inner, left, right, on, pos } => {
            let left = gather(*left, members, on_all);
            let right = gather(*right, members, on_all);
            on_all.extend(on.iter().cloned());
            Shape::Join { left: Box::new(left), right: Box::new(right), on, pos }
        }
        other => {
            members.push(other);
            Shape::Member(members.len() - 1)
        }
    }
}

/// Whether one of a condition's conjuncts is this one.
pub(super) fn stands_in(condition: &Scalar, wanted: &Scalar) -> bool {
    let same_column = |a: &Scalar, b: &Scalar| match (a.node(), b.node()) {
        (Node::Column { binding: x, name: m }, Node::Column { binding: y, name: n }) => x == y && m == n,
        _ => false,
    };
    match (condition.node(), wanted.node()) {
        (Node::Logic(BinaryOp::And, l, r), _) => stands_in(l, wanted) || stands_in(r, wanted),
        (Node::Compare(BinaryOp::Eq, a, b), Node::Compare(BinaryOp::Eq, x, y)) => {
            same_column(a, x) && same_column(b, y)
        }
        _ => false,
    }
}

/// Whether `=` between these types compares a key's own values. Where the key is converted first, two keys may become
/// one: bigints beyond 2^53 as floats, timestamps in the hour that daylight saving skips.
pub(super) fn compared_exactly(key: &SqlType, other: &SqlType) -> bool {
    let exact_number = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Numeric { .. });
    key == other || (exact_number(key) && exact_number(other)) || (key.is_text() && other.is_text())
}
