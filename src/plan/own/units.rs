//! Whose rows: finds the unit of each part of a private FROM, and adds the equalities that keep rows of different
//! units apart (soundness rules 7, 10, 11).
//!
//! Inner joins are looked at together, as an island: their conditions and those of WHERE hold for all of its rows at
//! once, in whatever order and spelling they stand. Every equality that unites units is printed by [`Scans::tie`],
//! whether the statement has it or only implies it; what the statement says decides only whether adding it keeps the
//! statement's meaning.

use super::row_bounds::{Equation, full_rows};
use super::scans::{Result, Scans};
use crate::algebra::equivalence_classes::{Classes, Col, Groups, compared_exactly};
use crate::algebra::normal::Normal;
use crate::algebra::props::{Borrow, Owner, Props};
use crate::algebra::rows::Rows;
use crate::algebra::source::{Added, Kind, Leaf, Tree, Unit, equal};
use crate::expr::truth;
use crate::expr::{Node, Scalar, lower};
use crate::invariant::Invariant;
use crate::refusals::Refusal;
use crate::syntax::conditions::{conjuncts, null_safe, only_of};
use policy::Privacy;
use sql::ast::*;

/// A part of FROM whose units are found.
pub(crate) struct Block {
    /// Joins of the block.
    pub tree: Tree,
    /// Properties of the part.
    pub props: Props,
}

/// The properties are of the scans in the tree, and its unit is a column of one of them.
impl Invariant for Block {
    fn broken(&self) -> Option<&'static str> {
        let Props { bindings, owner, .. } = &self.props;
        if self.tree.scans() != bindings.len() {
            return Some("properties of other scans than the tree's");
        }
        let here = |c: &Col| bindings.contains(&c.0);
        let owned = owner.unit().is_none_or(|u| !u.columns.is_empty() && u.columns.iter().all(here));
        (!owned).then_some("a unit of no scan")
    }
}

/// Conditions that hold for every row of an island, whatever stands around it. Only what follows from these may be
/// relied on outside ([`Props::equal`], [`Props::rows`]).
struct Here(Vec<Expr>);

impl Here {
    /// Where nothing stands outside, the conditions known are about the island's rows alone: rows for which they do
    /// not hold are dropped before anybody reads them.
    fn of(own: &[Expr], known: &[Expr], outside: Option<&Props>) -> Self {
        let inside = if outside.is_none() { known } else { &[] };
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

impl Scans<'_> {
    /// Finds the units of a part of FROM. `known`: conditions that hold for all rows that count, those that look
    /// outside included.
    pub(crate) fn block(&mut self, tree: Normal, known: &[Expr], outside: Option<&Props>) -> Result<Block> {
        let (mut members, mut own) = (Vec::new(), Vec::new());
        let shape = gather(tree, &mut members, &mut own);
        let own = conjuncts(&own);
        let (here, finally) = (Here::of(&own, known, outside), Finally::of(&own, known));
        let mut blocks = Vec::with_capacity(members.len());
        for member in members {
            blocks.push(self.member(member, &finally)?);
        }
        self.unite(&mut blocks, &finally, outside)?;
        self.island(shape, blocks, &here)
    }

    fn member(&mut self, member: Normal, finally: &Finally) -> Result<Block> {
        match member {
            Normal::Scan(place) => self.leaf(place),
            Normal::Join { kind: JoinKind::Full, left, right, on, pos } => self.full(*left, *right, on, pos),
            Normal::Join { left, right, on, pos, .. } => self.left(*left, *right, on, pos, finally),
        }
    }

    /// Finds the units of an island's parts by what holds for rows that count, and refuses parts that it does not
    /// unite. Whatever equalities the island's joins then add ([`Self::rebuild`]) drop only rows that do not count.
    fn unite(&mut self, blocks: &mut [Block], finally: &Finally, outside: Option<&Props>) -> Result<()> {
        let mut classes = Classes::default();
        for (a, b) in finally.0.iter().filter_map(|c| self.equality(c)) {
            classes.equate(&a, &b);
        }
        for (a, b) in blocks.iter().map(|b| &b.props).chain(outside).flat_map(|p| &p.equal) {
            classes.equate(a, b);
        }
        let beyond = outside.map_or(&[][..], |o| &o.bindings);
        let all: Vec<BindingId> =
            blocks.iter().flat_map(|b| &b.props.bindings).chain(beyond).copied().collect();
        self.same_rows(&mut classes, &all);
        self.paths(blocks, &mut classes, beyond)?;
        let borrows: Vec<Borrow> = blocks.iter().flat_map(|b| b.props.owner.borrows()).collect();
        let mut parts: Vec<&[BindingId]> = blocks.iter().map(|b| b.props.bindings.as_slice()).collect();
        parts.push(beyond);
        self.united(&parts, &borrows, &classes, None)
    }

    /// Joins the parts as they were written. What is said of the island's rows to those who read it follows from what
    /// holds here, and from the equalities that its joins are printed with.
    fn island(&mut self, shape: Shape, blocks: Vec<Block>, here: &Here) -> Result<Block> {
        let mut equal: Vec<(Col, Col)> = here.0.iter().filter_map(|c| self.equality(c)).collect();
        let mut equations = self.equations(&here.0);
        let (trees, parts): (Vec<_>, Vec<_>) = blocks.into_iter().map(|b| (Some(b.tree), b.props)).unzip();
        let mut block = self.rebuild(shape, &mut trees.into_boxed_slice(), &parts)?;
        equations.extend(block.props.equal.iter().flat_map(|(a, b)| Equation::of_columns(a, b)));
        equal.append(&mut block.props.equal);
        block.props.equal = equal;
        block.props.rows = self.island_rows(&parts, &equations);
        Ok(block)
    }

    fn leaf(&self, place: usize) -> Result<Block> {
        let Some(scan) = self.list.get(place) else { return Err(Refusal::Unread("FROM", None)) };
        let binding = scan.binding;
        let bound = match &scan.leaf {
            Leaf::Table(t, _) => self.scope.table(*t).and_then(|t| t.proven_rows).map(u64::from),
            Leaf::Set(rows) => rows.tree.bound(),
        };
        let private = self.private_scan(binding);
        let owner = match self.own_unit(binding) {
            Some(unit) => Owner::Unit(unit),
            None if private => Owner::Unfound,
            None => Owner::Public,
        };
        let rows = Rows::of_scan(binding, bound, private);
        let props = Props { bindings: vec![binding], owner, equal: Vec::new(), rows };
        Ok(Block { tree: Tree::Scan(place), props })
    }

    /// The unit, where a scan has it in a column of its own.
    pub(crate) fn own_unit(&self, binding: BindingId) -> Option<Unit> {
        let scan = self.scan_of(binding)?;
        let (name, ty, nullable) = match &scan.leaf {
            Leaf::Table(t, _) => match &self.scope.table(*t)?.privacy {
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

    /// Columns that are the unit in every row of a part.
    pub(crate) fn exact(&self, part: &Props) -> Vec<Col> {
        let classes = Classes::of(&part.equal);
        let there = |c: &Col| self.scan_of(c.0).is_some_and(|s| !s.nullable);
        let units = self.unit_columns(&part.bindings);
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
        self.list.iter().filter(|s| !s.nullable && self.private_scan(s.binding)).any(|s| {
            let keys =
                s.table().and_then(|t| self.scope.table(t)).map(|t| t.keys.as_slice()).unwrap_or_default();
            keys.iter().any(|key| !key.is_empty() && key.iter().all(|c| named(s.binding, c)))
        })
    }

    /// The columns that a condition equates, if equal means the same value of one type (soundness rule 10).
    pub(crate) fn equality(&self, e: &Expr) -> Option<(Col, Col)> {
        let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &e.kind else { return None };
        let pair = (self.col(left)?, self.col(right)?);
        let (l, r) = self.scope.uncharged(|| (lower(left, self), lower(right, self)));
        let (l, r) = (l.ok()?, r.ok()?);
        (l.canonical() && r.canonical() && compared_exactly(l.ty(), r.ty())).then_some(pair)
    }

    /// A condition in which sides that are equal, or both NULL, are equal where one of them is never NULL: tools join so whatever they
    /// join by.
    pub(crate) fn without_null(&self, e: Expr) -> Expr {
        let found = |e: &Expr| {
            let (left, right) = null_safe(e)?;
            let is_there = |e: &Expr| {
                self.scope
                    .uncharged(|| lower(e, self))
                    .is_ok_and(|x| !x.nullable() && !matches!(x.node(), Node::Null))
            };
            let equal = ExprKind::Binary {
                op: BinaryOp::Eq,
                left: Box::new(left.clone()),
                right: Box::new(right.clone()),
            };
            (is_there(left) || is_there(right)).then(|| Expr::new(equal, e.pos))
        };
        match e.kind {
            ExprKind::Binary { op: BinaryOp::And, left, right } => {
                let (left, right) = (Box::new(self.without_null(*left)), Box::new(self.without_null(*right)));
                Expr { kind: ExprKind::Binary { op: BinaryOp::And, left, right }, pos: e.pos }
            }
            kind => {
                let e = Expr { kind, pos: e.pos };
                found(&e).unwrap_or(e)
            }
        }
    }

    /// Refuses private parts whose units are not known to be equal. `parts`: the scans of each; `borrows`: the paths
    /// that lead from one to another.
    fn united(&self, parts: &[&[BindingId]], borrows: &[Borrow], classes: &Classes, pos: Pos) -> Result<()> {
        let mut groups = Groups::new(parts.len());
        let mut seen: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
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

    /// Adds the equality of both units to a join's conditions, unless it stands there already. Gives the columns that it equates.
    pub(crate) fn tie(&mut self, on: &mut Vec<Scalar>, a: &Unit, b: &Unit) -> Option<(Col, Col)> {
        let tie = equal(a.scalar(), b.scalar());
        let reversed = equal(b.scalar(), a.scalar());
        let there = on.iter().any(|c| stands_in(c, &tie) || stands_in(c, &reversed));
        let (left, right) = (self.all_shown(&a.columns), self.all_shown(&b.columns));
        let written = there && a.columns.iter().chain(&b.columns).all(|c| self.is_column_written(c));
        self.notes.added.push(Added { left, right, path: false, inside: false, written });
        if !there {
            on.push(tie);
        }
        match (a.columns.as_slice(), b.columns.as_slice()) {
            ([x], [y]) => Some((x.clone(), y.clone())),
            _ => None,
        }
    }

    fn rebuild(&mut self, shape: Shape, trees: &mut [Option<Tree>], parts: &[Props]) -> Result<Block> {
        let (left, right, on, pos) = match shape {
            Shape::Member(i) => {
                let tree = trees.get_mut(i).and_then(Option::take);
                let block = tree.zip(parts.get(i)).map(|(tree, p)| Block { tree, props: p.clone() });
                return block.ok_or(Refusal::Unread("FROM", None));
            }
            Shape::Join { left, right, on, pos } => (left, right, on, pos),
        };
        let Block { tree: left, props: l } = self.rebuild(*left, trees, parts)?;
        let Block { tree: right, props: r } = self.rebuild(*right, trees, parts)?;
        let mut on = self.on(&on, pos)?;
        let mut equal = l.equal;
        equal.extend(r.equal);
        if let (Some(a), Some(b)) = (l.owner.unit(), r.owner.unit()) {
            equal.extend(self.tie(&mut on, a, b));
        }
        let mut bindings = l.bindings;
        bindings.extend(r.bindings);
        let owner = l.owner.met(r.owner);
        let open = self.settle(&mut on, &mut equal, owner.borrows(), &bindings);
        let tree = Tree::Join { left: Box::new(left), right: Box::new(right), kind: Kind::Inner, on };
        let props = Props { bindings, owner: owner.after(open), equal, rows: Rows::default() };
        Ok(Block { tree, props })
    }

    fn on(&self, on: &[Expr], pos: Pos) -> Result<Vec<Scalar>> {
        on.iter().map(|e| truth(lower(e, self)?, "JOIN/ON", e.pos.or(pos))).collect()
    }

    /// LEFT JOIN: the left side's unit. The right side may be public.
    fn left(
        &mut self,
        left: Normal,
        right: Normal,
        on: Vec<Expr>,
        pos: Pos,
        finally: &Finally,
    ) -> Result<Block> {
        let kept = self.bindings_of(&left);
        // A condition on the kept side alone may be applied before the join.
        let before: Vec<Expr> = finally.0.iter().filter(|c| only_of(c, &kept)).cloned().collect();
        let Block { tree: left, props: l } = self.block(left, &before, None)?;
        let conditions = conjuncts(&on);
        let private = self.bindings_of(&right).iter().any(|b| self.private_scan(*b));
        let known = if private { conditions.as_slice() } else { &[] };
        let Block { tree: right, props: r } = self.block(right, known, private.then_some(&l))?;
        let mut on = self.on(&on, pos)?;
        let mut equations = self.equations(&conditions);
        let mut met = Vec::new();
        let mut bindings = l.bindings.clone();
        bindings.extend(&r.bindings);
        match (&l.owner, &r.owner) {
            (Owner::Public | Owner::Unit(_), Owner::Public) => {}
            (Owner::Unit(a), Owner::Unit(_) | Owner::Outside { .. }) => {
                if let Some(b) = r.owner.unit() {
                    met.extend(self.tie(&mut on, a, b));
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
        let rows = self.left_rows(&l, &r, private, &equations);
        let tree = Tree::Join { left: Box::new(left), right: Box::new(right), kind: Kind::Left, on };
        Ok(Block { tree, props: Props { bindings, rows, ..l } })
    }

    /// FULL JOIN of private rows: the unit of the side that is there.
    fn full(&mut self, left: Normal, right: Normal, on: Vec<Expr>, pos: Pos) -> Result<Block> {
        let Block { tree: left, props: l } = self.block(left, &[], None)?;
        let Block { tree: right, props: r } = self.block(right, &[], None)?;
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
        let rows = full_rows(&l.rows, &r.rows);
        self.united(&[&l.bindings, &r.bindings], &[], &classes, pos)?;
        let tree = Tree::Join { left: Box::new(left), right: Box::new(right), kind: Kind::Full, on };
        let nullable = a.nullable || b.nullable;
        let columns = a.columns.into_iter().chain(b.columns).collect();
        let owner = Owner::Unit(Unit { columns, ty: a.ty, nullable });
        Ok(Block { tree, props: Props { bindings, owner, equal: Vec::new(), rows } })
    }

    fn bindings_of(&self, tree: &Normal) -> Vec<BindingId> {
        match tree {
            Normal::Scan(place) => self.list.get(*place).map(|s| s.binding).into_iter().collect(),
            Normal::Join { left, right, .. } => {
                let mut all = self.bindings_of(left);
                all.extend(self.bindings_of(right));
                all
            }
        }
    }
}

fn gather(tree: Normal, members: &mut Vec<Normal>, on_all: &mut Vec<Expr>) -> Shape {
    match tree {
        Normal::Join { kind: JoinKind::Inner, left, right, on, pos } => {
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
