//! Whose rows: finds the unit of each part of a private FROM, and adds the equalities that keep rows of different
//! units apart (soundness rules 7, 10, 11).
//!
//! Inner joins are looked at together, as an island: their conditions and those of WHERE hold for all of its rows at
//! once, in whatever order and spelling they stand. Every equality that unites units is printed by [`Flattener::tie`],
//! whether the statement has it or only implies it; what the statement says decides only whether adding it keeps the
//! statement's meaning.

use super::flatten::{Draft, Flattener, Result};
use super::row_bounds::{Equation, Part};
use super::unit_paths::{Borrow, Borrows};
use crate::algebra::equivalence_classes::{Classes, Col, Groups};
use crate::algebra::rows::Rows;
use crate::algebra::source::{Added, Kind, Leaf, Tree, Unit, equal};
use crate::expr::truth;
use crate::expr::{Node, Scalar, lower};
use crate::refusals::Refusal;
use crate::syntax::conditions::{conjuncts, only_of};
use policy::Privacy;
use schema::SqlType;
use sql::ast::*;

/// A part of FROM whose units are found.
pub(crate) struct Block {
    /// Its joins.
    pub tree: Tree,
    /// All scans in it, by their bindings.
    pub bindings: Vec<BindingId>,
    /// Whose its rows are.
    pub owner: Owner,
    /// Columns that are equal in each of its rows.
    pub equal: Vec<(Col, Col)>,
    /// How many rows a unit has.
    pub rows: Rows,
}

/// What a subquery may know of the rows around it.
#[derive(Clone)]
pub(crate) struct Found {
    /// All scans.
    pub bindings: Vec<BindingId>,
    /// Whose the rows are.
    pub owner: Owner,
    /// Columns that are equal in each row.
    pub equal: Vec<(Col, Col)>,
}

impl Block {
    pub(crate) fn found(&self) -> Found {
        Found { bindings: self.bindings.clone(), owner: self.owner.clone(), equal: self.equal.clone() }
    }
}

/// Whose the rows of a block are.
#[derive(Clone)]
pub(crate) enum Owner {
    /// Nobody's: every scan is public.
    Public,
    /// This unit's.
    Unit(Unit),
    /// Those of rows outside, to which paths lead from here. `unit`: what scans here have, which is the same, once the
    /// paths are met.
    Outside { unit: Option<Unit>, borrows: Borrows },
    /// Somebody's, and nothing says whose: a scan with a path that was not followed yet. Where it stays so, the
    /// statement is refused.
    Unfound,
}

impl Owner {
    /// The unit that scans of the block itself have.
    pub(crate) fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Unit(unit) => Some(unit),
            Self::Outside { unit, .. } => unit.as_ref(),
            Self::Public | Self::Unfound => None,
        }
    }

    /// The paths that lead outside.
    pub(crate) fn borrows(&self) -> Vec<Borrow> {
        match self {
            Self::Outside { borrows, .. } => borrows.all(),
            Self::Public | Self::Unit(_) | Self::Unfound => Vec::new(),
        }
    }

    /// Of pairs of rows whose units are equal.
    fn met(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unfound, _) | (_, Self::Unfound) => Self::Unfound,
            (Self::Public, owner) | (owner, Self::Public) => owner,
            (Self::Unit(a), Self::Unit(b)) => Self::Unit(surer(a, b)),
            (Self::Unit(a), Self::Outside { unit, borrows }) => {
                let unit = Some(match unit {
                    Some(b) => surer(a, b),
                    None => a,
                });
                Self::Outside { unit, borrows }
            }
            (Self::Outside { unit, borrows }, Self::Unit(b)) => {
                let unit = Some(match unit {
                    Some(a) => surer(a, b),
                    None => b,
                });
                Self::Outside { unit, borrows }
            }
            (Self::Outside { unit: a, borrows: x }, Self::Outside { unit: b, borrows: y }) => {
                let unit = match (a, b) {
                    (Some(a), Some(b)) => Some(surer(a, b)),
                    (a, b) => a.or(b),
                };
                Self::Outside { unit, borrows: x.and(y) }
            }
        }
    }

    /// After some of its paths were met: `left` are the others.
    fn after(self, left: Vec<Borrow>) -> Self {
        match (self, Borrows::of(left)) {
            (Self::Outside { unit, .. }, Some(borrows)) => Self::Outside { unit, borrows },
            (Self::Outside { unit: Some(unit), .. }, None) => Self::Unit(unit),
            // All paths ended here, where no scan has a unit.
            (Self::Outside { unit: None, .. }, None) => Self::Unfound,
            (owner @ (Self::Public | Self::Unit(_) | Self::Unfound), _) => owner,
        }
    }
}

/// Of two equal units the one that is never NULL, else the first.
fn surer(a: Unit, b: Unit) -> Unit {
    if a.nullable && !b.nullable { b } else { a }
}

/// What the rows of a block will meet.
#[derive(Default)]
pub(crate) struct Outside {
    /// Scans there.
    pub bindings: Vec<BindingId>,
    /// Columns equal there.
    pub equal: Vec<(Col, Col)>,
}

/// Conditions that hold for every row of an island, whatever stands around it. Only what follows from these may be
/// relied on outside ([`Block::equal`], [`Block::rows`]).
struct Here(Vec<Expr>);

impl Here {
    /// Where nothing stands outside, the conditions known are about the island's rows alone: rows for which they do
    /// not hold are dropped before anybody reads them.
    fn of(own: &[Expr], known: &[Expr], outside: &Outside) -> Self {
        let inside = if outside.bindings.is_empty() { known } else { &[] };
        Self(own.iter().chain(inside).cloned().collect())
    }
}

/// Conditions that hold for every row that counts: those that hold here, and those that look outside. What follows from
/// these may be added as a condition without changing what the statement means. It may not be relied on outside by
/// itself: rows that do not count are still there.
struct Finally(Vec<Expr>);

impl Finally {
    fn of(own: &[Expr], known: &[Expr]) -> Self {
        Self(known.iter().chain(own).cloned().collect())
    }
}

/// Inner joins as they were written.
enum Shape {
    Member(usize),
    Join { left: Box<Shape>, right: Box<Shape>, on: Vec<Expr>, pos: Pos },
}

impl Flattener<'_> {
    /// Finds the units of a part of FROM. `known`: conditions that hold for all rows that count, those that look
    /// outside included.
    pub(crate) fn block(&mut self, draft: Draft, known: &[Expr], outside: &Outside) -> Result<Block> {
        let (mut members, mut own) = (Vec::new(), Vec::new());
        let shape = gather(draft, &mut members, &mut own);
        let own = conjuncts(&own);
        let (here, finally) = (Here::of(&own, known, outside), Finally::of(&own, known));
        let mut blocks = Vec::with_capacity(members.len());
        for member in members {
            blocks.push(self.member(member, &finally)?);
        }
        self.unite(&mut blocks, &finally, outside)?;
        self.island(shape, blocks, &here)
    }

    fn member(&mut self, member: Draft, finally: &Finally) -> Result<Block> {
        match member {
            Draft::Scan(place) => self.leaf(place),
            Draft::Join { kind: JoinKind::Full, left, right, on, pos } => self.full(*left, *right, on, pos),
            Draft::Join { left, right, on, pos, .. } => self.left(*left, *right, on, pos, finally),
        }
    }

    /// Finds the units of an island's parts by what holds for rows that count, and refuses parts that it does not
    /// unite. Whatever equalities the island's joins then add ([`Self::rebuild`]) drop only rows that do not count.
    fn unite(&mut self, blocks: &mut [Block], finally: &Finally, outside: &Outside) -> Result<()> {
        let mut classes = Classes::default();
        for (a, b) in finally.0.iter().filter_map(|c| self.equality(c)) {
            classes.equate(&a, &b);
        }
        for (a, b) in blocks.iter().flat_map(|b| &b.equal).chain(&outside.equal) {
            classes.equate(a, b);
        }
        let all: Vec<BindingId> =
            blocks.iter().flat_map(|b| &b.bindings).chain(&outside.bindings).copied().collect();
        self.same_rows(&mut classes, &all);
        self.paths(blocks, &mut classes, &outside.bindings)?;
        let borrows: Vec<Borrow> = blocks.iter().flat_map(|b| b.owner.borrows()).collect();
        let mut parts: Vec<&[BindingId]> = blocks.iter().map(|b| b.bindings.as_slice()).collect();
        parts.push(&outside.bindings);
        self.united(&parts, &borrows, &classes, None)
    }

    /// Joins the parts as they were written. What is said of the island's rows to those who read it follows from what
    /// holds here, and from the equalities that its joins are printed with.
    fn island(&mut self, shape: Shape, blocks: Vec<Block>, here: &Here) -> Result<Block> {
        let mut equal: Vec<(Col, Col)> = here.0.iter().filter_map(|c| self.equality(c)).collect();
        let mut equations = self.equations(&here.0);
        let parts: Vec<Part> =
            blocks.iter().map(|b| Part { bindings: b.bindings.clone(), rows: b.rows.clone() }).collect();
        let mut blocks: Vec<Option<Block>> = blocks.into_iter().map(Some).collect();
        let mut block = self.rebuild(shape, &mut blocks)?;
        equations.extend(block.equal.iter().flat_map(|(a, b)| Equation::of_columns(a, b)));
        equal.append(&mut block.equal);
        block.equal = equal;
        block.rows = self.island_rows(&parts, &equations);
        Ok(block)
    }

    fn leaf(&mut self, place: usize) -> Result<Block> {
        let Some(scan) = self.scans.get(place) else { return Err(Refusal::Unread("FROM", None)) };
        let binding = scan.binding;
        let bound = match &scan.leaf {
            Leaf::Table(t, _) => self.table(*t).and_then(|t| t.proven_rows).map(u64::from),
            Leaf::Set(rows) => rows.tree.bound(),
        };
        let private = self.private_scan(binding);
        let owner = match self.own_unit(binding) {
            Some(unit) => Owner::Unit(unit),
            None if private => Owner::Unfound,
            None => Owner::Public,
        };
        Ok(Block {
            tree: Tree::Scan(place),
            bindings: vec![binding],
            owner,
            equal: Vec::new(),
            rows: Rows::of_scan(binding, bound, private),
        })
    }

    /// The unit, where a scan has it in a column of its own.
    pub(crate) fn own_unit(&self, binding: BindingId) -> Option<Unit> {
        let scan = self.scan_of(binding)?;
        let (name, ty, nullable) = match &scan.leaf {
            Leaf::Table(t, _) => match &self.table(*t)?.privacy {
                Privacy::Private { unit, nullable, ty } => (unit.clone(), ty.clone(), *nullable),
                _ => return None,
            },
            Leaf::Set(rows) => {
                let unit = rows.unit?;
                let column = rows.columns.get(unit)?;
                (format!("c{unit}"), column.ty().clone(), column.nullable())
            }
        };
        Some(Unit { columns: vec![(binding, name)], ty, nullable })
    }

    /// The unit columns among these scans: each is NULL or the unit of the row.
    pub(crate) fn unit_columns(&self, bindings: &[BindingId]) -> Vec<Col> {
        bindings.iter().filter_map(|b| self.own_unit(*b)).flat_map(|u| u.columns).collect()
    }

    /// Columns that are the unit in every row of the block.
    pub(crate) fn exact(&self, block: &Block) -> Vec<Col> {
        self.exact_of(&block.bindings, &block.equal)
    }

    /// The same of these scans, where these columns are equal.
    pub(crate) fn exact_of(&self, bindings: &[BindingId], equal: &[(Col, Col)]) -> Vec<Col> {
        let classes = Classes::of(equal);
        let there = |c: &Col| self.scan_of(c.0).is_some_and(|s| !s.nullable);
        let units = self.unit_columns(bindings);
        let mut exact: Vec<Col> = units.iter().filter(|c| there(c)).flat_map(|c| classes.mates(c)).collect();
        exact.sort();
        exact.dedup();
        exact
    }

    /// Whether groups by these hold rows of one unit each, as keys prove: they are a key of a private table's rows, or
    /// columns that are equal to one in every row.
    pub(crate) fn is_one_unit_each(&self, keys: &[&Scalar], equal: &Classes) -> bool {
        let named = |binding: BindingId, column: &String| {
            let part = (binding, column.clone());
            keys.iter().any(|k| match k.node() {
                Node::Column { binding, name } => equal.same(&(*binding, name.clone()), &part),
                _ => false,
            })
        };
        self.scans.iter().filter(|s| !s.nullable && self.private_scan(s.binding)).any(|s| {
            let keys = s.table().and_then(|t| self.table(t)).map(|t| t.keys.as_slice()).unwrap_or_default();
            keys.iter().any(|key| !key.is_empty() && key.iter().all(|c| named(s.binding, c)))
        })
    }

    /// The columns that a condition equates, if equal means the same value of one type (soundness rule 10).
    pub(crate) fn equality(&self, e: &Expr) -> Option<(Col, Col)> {
        let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &e.kind else { return None };
        let pair = (self.col(left)?, self.col(right)?);
        let before = self.spend.taken();
        let (l, r) = (lower(left, self), lower(right, self));
        self.spend.back_to(before);
        let (l, r) = (l.ok()?, r.ok()?);
        (l.canonical() && r.canonical() && compared_exactly(l.ty(), r.ty())).then_some(pair)
    }

    /// Refuses private parts whose units are not known to be equal. `parts`: the scans of each; `borrows`: the paths
    /// that lead from one to another.
    fn united(&self, parts: &[&[BindingId]], borrows: &[Borrow], classes: &Classes, pos: Pos) -> Result<()> {
        let mut groups = Groups::new(parts.len());
        let mut seen: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
        for (i, bindings) in parts.iter().enumerate() {
            for col in self.unit_columns(bindings) {
                if let Some(class) = classes.class(&col) {
                    groups.join(i, *seen.entry(class).or_insert(i));
                }
            }
        }
        let part_of = |binding: BindingId| parts.iter().position(|p| p.contains(&binding));
        for borrow in borrows {
            if let (Some(from), Some(to)) = (part_of(borrow.child), part_of(borrow.parent)) {
                groups.join(from, to);
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
    pub(crate) fn tie(&mut self, on: &mut Vec<Scalar>, a: &Unit, b: &Unit) {
        let tie = equal(a.scalar(), b.scalar());
        let reversed = equal(b.scalar(), a.scalar());
        let there = on.iter().any(|c| stands_in(c, &tie) || stands_in(c, &reversed));
        let (left, right) = (self.all_shown(&a.columns), self.all_shown(&b.columns));
        let written = there && a.columns.iter().chain(&b.columns).all(|c| self.is_column_written(c));
        self.added.push(Added { left, right, path: false, inside: false, written });
        if !there {
            on.push(tie);
        }
    }

    fn rebuild(&mut self, shape: Shape, blocks: &mut [Option<Block>]) -> Result<Block> {
        let (left, right, on, pos) = match shape {
            Shape::Member(i) => {
                let block = blocks.get_mut(i).and_then(Option::take);
                return block.ok_or(Refusal::Unread("FROM", None));
            }
            Shape::Join { left, right, on, pos } => (left, right, on, pos),
        };
        let l = self.rebuild(*left, blocks)?;
        let r = self.rebuild(*right, blocks)?;
        let mut on = self.on(&on, pos)?;
        let mut equal = l.equal;
        equal.extend(r.equal);
        if let (Some(a), Some(b)) = (l.owner.unit(), r.owner.unit()) {
            self.tie(&mut on, a, b);
            if let ([x], [y]) = (a.columns.as_slice(), b.columns.as_slice()) {
                equal.push((x.clone(), y.clone()));
            }
        }
        let mut bindings = l.bindings;
        bindings.extend(r.bindings);
        let owner = l.owner.met(r.owner);
        let left = self.settle(&mut on, &mut equal, owner.borrows(), &bindings);
        let tree = Tree::Join { left: Box::new(l.tree), right: Box::new(r.tree), kind: Kind::Inner, on };
        Ok(Block { tree, bindings, owner: owner.after(left), equal, rows: Rows::default() })
    }

    fn on(&self, on: &[Expr], pos: Pos) -> Result<Vec<Scalar>> {
        on.iter().map(|e| Ok(truth(lower(e, self)?, "JOIN/ON", e.pos.or(pos))?)).collect()
    }

    /// LEFT JOIN: the left side's unit. The right side may be public.
    fn left(
        &mut self,
        left: Draft,
        right: Draft,
        on: Vec<Expr>,
        pos: Pos,
        finally: &Finally,
    ) -> Result<Block> {
        let kept = self.draft_bindings(&left);
        // A condition on the kept side alone may be applied before the join.
        let before: Vec<Expr> = finally.0.iter().filter(|c| only_of(c, &kept)).cloned().collect();
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
        let mut bindings = l.bindings.clone();
        bindings.extend(&r.bindings);
        match (&l.owner, &r.owner) {
            (Owner::Public | Owner::Unit(_), Owner::Public) => {}
            (Owner::Unit(a), Owner::Unit(_) | Owner::Outside { .. }) => {
                if let Some(b) = r.owner.unit() {
                    self.tie(&mut on, a, b);
                    if let ([x], [y]) = (a.columns.as_slice(), b.columns.as_slice()) {
                        met.push((x.clone(), y.clone()));
                    }
                }
                if !self.settle(&mut on, &mut met, r.owner.borrows(), &bindings).is_empty() {
                    return Err(Refusal::Unread("outer join", pos));
                }
            }
            // The rows kept have no unit that all partners could be tied to.
            (Owner::Public, Owner::Unit(_) | Owner::Outside { .. })
            | (Owner::Outside { .. } | Owner::Unfound, _)
            | (_, Owner::Unfound) => return Err(Refusal::Unread("outer join", pos)),
        }
        equations.extend(met.iter().flat_map(|(a, b)| Equation::of_columns(a, b)));
        let rows = self.left_rows(
            &Part { bindings: l.bindings, rows: l.rows },
            &Part { bindings: r.bindings, rows: r.rows },
            private,
            &equations,
        );
        let tree = Tree::Join { left: Box::new(l.tree), right: Box::new(r.tree), kind: Kind::Left, on };
        Ok(Block { tree, bindings, owner: l.owner, equal: l.equal, rows })
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
        let (Owner::Unit(a), Owner::Unit(b)) = (l.owner, r.owner) else {
            return Err(Refusal::Unread("FULL JOIN", pos));
        };
        self.tie(&mut on, &a, &b);
        let rows = super::row_bounds::full_rows(&l.rows, &r.rows);
        self.united(&[&l.bindings, &r.bindings], &[], &classes, pos)?;
        let tree = Tree::Join { left: Box::new(l.tree), right: Box::new(r.tree), kind: Kind::Full, on };
        let nullable = a.nullable || b.nullable;
        let columns = a.columns.into_iter().chain(b.columns).collect();
        let owner = Owner::Unit(Unit { columns, ty: a.ty, nullable });
        Ok(Block { tree, bindings, owner, equal: Vec::new(), rows })
    }

    fn draft_bindings(&self, draft: &Draft) -> Vec<BindingId> {
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
pub(crate) fn stands_in(condition: &Scalar, wanted: &Scalar) -> bool {
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
pub(crate) fn compared_exactly(key: &SqlType, other: &SqlType) -> bool {
    let exact_number = |t: &SqlType| t.is_integer() || matches!(t, SqlType::Numeric { .. });
    key == other || (exact_number(key) && exact_number(other)) || (key.is_text() && other.is_text())
}
