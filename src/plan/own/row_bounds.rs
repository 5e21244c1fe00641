//! Numbers of rows of a unit after joins, as far as keys prove them (soundness rule 7).
//!
//! A stage of contribution bounding is left out on this proof: everything here errs towards more
//! rows. Rows of a part that match by a key of theirs are at most one for each row that they meet,
//! so that the join has at most as many rows as what they are joined to.

use super::scans::Scans;
use crate::algebra::equivalence_classes::{Col, compared_exactly};
use crate::algebra::props::Props;
use crate::algebra::rows::Rows;
use crate::algebra::source::{Branch, Leaf, Over, PrivateSource, Scan, SetRows, SetTree};
use crate::expr::{Node, Scalar, lower};
use crate::syntax::conditions::conjuncts;
use bigdecimal::ToPrimitive;
use sql::ast::*;
use std::collections::BTreeSet;

/// A condition `column = expression` that compares exactly, with the bindings that the expression looks at.
pub(crate) struct Equation {
    column: Col,
    needs: Vec<BindingId>,
}

impl Equation {
    /// The two readings of an equality of columns.
    pub fn of_columns(a: &Col, b: &Col) -> [Self; 2] {
        let one = |x: &Col, y: &Col| Self { column: x.clone(), needs: vec![y.0] };
        [one(a, b), one(b, a)]
    }
}

/// What PostgreSQL's `bound` arithmetic would be with room to spare.
fn times(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_mul(b?)
}

fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Scans<'_> {
    /// The equations in these conjuncts.
    pub(crate) fn equations(&self, conditions: &[Expr]) -> Vec<Equation> {
        let mut out = Vec::new();
        for c in conjuncts(conditions) {
            let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &c.kind else { continue };
            for (key, other) in [(left, right), (right, left)] {
                let Some(column) = self.col(key) else { continue };
                let lowered = self.scope.uncharged(|| (lower(key, self), lower(other, self)));
                let (Ok(k), Ok(o)) = lowered else { continue };
                if !k.canonical() || !compared_exactly(k.ty(), o.ty()) {
                    continue;
                }
                // The kernel knows the types of these, and of nothing that is computed in another way.
                let mut needs = Vec::new();
                let other_kind = other.any(&mut |e| match &e.kind {
                    ExprKind::Column { binding, .. } => {
                        needs.push(*binding);
                        false
                    }
                    ExprKind::Literal(_) | ExprKind::Negate(_) | ExprKind::Cast { .. } => false,
                    ExprKind::Binary { op, .. } => {
                        !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
                    }
                    _ => true,
                });
                if !other_kind {
                    out.push(Equation { column, needs });
                }
            }
        }
        out
    }

    /// Whether each combination of rows of `given` meets at most one row of the part.
    fn determined(&self, part: &Props, given: &BTreeSet<BindingId>, equations: &[Equation]) -> bool {
        // Private rows that meet are of one unit.
        let private = |b: &BindingId| self.private_scan(*b);
        if part.rows.bound == Some(1) && part.bindings.iter().any(private) && given.iter().any(private) {
            return true;
        }
        self.is_key_given(part, given, equations)
    }

    /// Whether a key of the part is equated with what is given.
    fn is_key_given(&self, part: &Props, given: &BTreeSet<BindingId>, equations: &[Equation]) -> bool {
        part.rows.anchors.iter().any(|anchor| {
            let fixed = |column: &String| {
                let here = |e: &&Equation| e.column.0 == *anchor && e.column.1 == *column;
                equations.iter().filter(here).any(|e| e.needs.iter().all(|n| given.contains(n)))
            };
            let keys = self.table_of(*anchor).map(|t| t.keys.as_slice()).unwrap_or_default();
            keys.iter().any(|key| key.iter().all(fixed))
        })
    }

    /// Whether each row of `l` meets at most one group of `r`: all that these are grouped by is equated. A choice of bounds,
    /// no proof: the kernel does not know it.
    fn is_group(&self, r: &Props, l: &Props, equations: &[Equation]) -> bool {
        let [binding] = r.bindings.as_slice() else { return false };
        let Some(Leaf::Set(rows)) = self.scan_of(*binding).map(|s| &s.leaf) else { return false };
        let SetTree::Branch(branch) = &rows.tree else { return false };
        let equated = |at: usize| {
            let column = (*binding, format!("c{at}"));
            let here = |e: &&Equation| e.column == column && e.needs.iter().all(|n| l.bindings.contains(n));
            equations.iter().any(|e| here(&e))
        };
        matches!(branch.over, Over::Groups(_)) && (0..branch.items.len()).all(equated)
    }

    /// Whether each combination of rows of `given` meets at most one released row: all columns that tell these apart are
    /// equated. A choice of bounds, no proof: the kernel does not know it.
    fn is_one_released(&self, part: &Props, given: &BTreeSet<BindingId>, equations: &[Equation]) -> bool {
        let [binding] = part.bindings.as_slice() else { return false };
        let equated = |at: &usize| {
            let column = (*binding, format!("c{at}"));
            equations.iter().any(|e| e.column == column && e.needs.iter().all(|n| given.contains(n)))
        };
        self.unique.get(binding).is_some_and(|columns| columns.iter().all(equated))
    }

    /// The parts that are fixed once those in `start` are; `chosen`: as a choice of bounds, and not proven.
    fn closure(&self, start: &[usize], parts: &[Props], equations: &[Equation], chosen: bool) -> Vec<bool> {
        let mut fixed = vec![false; parts.len()];
        let mut given = BTreeSet::new();
        let mut take = |i: usize, fixed: &mut Vec<bool>| {
            if let (Some(f), Some(p)) = (fixed.get_mut(i), parts.get(i)) {
                *f = true;
                given.extend(&p.bindings);
            }
            given.clone()
        };
        let mut have: BTreeSet<BindingId> = BTreeSet::new();
        for i in start {
            have = take(*i, &mut fixed);
        }
        loop {
            let next = parts.iter().enumerate().position(|(i, p)| {
                let one = |p| chosen && self.is_one_released(p, &have, equations);
                fixed.get(i) == Some(&false) && (self.determined(p, &have, equations) || one(p))
            });
            match next {
                Some(i) => have = take(i, &mut fixed),
                None => return fixed,
            }
        }
    }

    /// Parts joined by inner joins: the rows of one part, where it fixes all others; else a product.
    pub(crate) fn island_rows(&self, parts: &[Props], equations: &[Equation]) -> Rows {
        let mut rows = Rows::default();
        for (i, p) in parts.iter().enumerate() {
            if self.closure(&[i], parts, equations, false).iter().all(|f| *f) {
                rows.anchors.extend(&p.rows.anchors);
                rows.follows.extend(&p.rows.follows);
                rows.bound = least(rows.bound, p.rows.bound);
            }
        }
        if rows.follows.is_empty() {
            let keeps = |i: &usize| self.closure(&[*i], parts, equations, true).iter().all(|f| *f);
            let kept = (0..parts.len()).filter(keeps).filter_map(|i| parts.get(i));
            rows.follows.extend(kept.flat_map(|p| &p.rows.follows));
        }
        // All units are equal: of each part, the rows of one unit meet.
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|i| parts.get(*i).and_then(|p| p.rows.bound).unwrap_or(u64::MAX));
        let mut start: Vec<usize> = Vec::new();
        let mut product = Some(1);
        loop {
            let fixed = self.closure(&start, parts, equations, false);
            match order.iter().find(|i| fixed.get(**i) == Some(&false)) {
                None => break,
                Some(i) => {
                    product = times(product, parts.get(*i).and_then(|p| p.rows.bound));
                    if product.is_none() {
                        break;
                    }
                    start.push(*i);
                }
            }
        }
        rows.bound = least(rows.bound, product);
        rows.settled = self.settled(parts, equations);
        rows
    }

    /// What the rows of a unit that each part has but one of fix, and those themselves.
    fn settled(&self, parts: &[Props], equations: &[Equation]) -> Vec<BindingId> {
        let mut settled: BTreeSet<BindingId> = parts.iter().flat_map(|p| &p.rows.settled).copied().collect();
        let known =
            |p: &&Props, settled: &BTreeSet<BindingId>| p.bindings.iter().all(|b| settled.contains(b));
        let more = |settled: &BTreeSet<BindingId>| {
            parts.iter().find(|p| !known(p, settled) && self.is_key_given(p, settled, equations))
        };
        while let Some(p) = more(&settled) {
            settled.extend(&p.bindings);
        }
        let mut settled: Vec<BindingId> = settled.into_iter().collect();
        settled.sort_unstable();
        settled
    }

    /// `l LEFT JOIN r`; `private`: r is, and its unit is tied to l's.
    pub(crate) fn left_rows(&self, l: &Props, r: &Props, private: bool, equations: &[Equation]) -> Rows {
        let given = |p: &Props| p.bindings.iter().copied().collect::<BTreeSet<_>>();
        if self.determined(r, &given(l), equations) {
            return l.rows.clone();
        }
        let settled = l.rows.settled.clone();
        if !private && self.is_one_released(r, &given(l), equations) {
            return Rows { follows: l.rows.follows.clone(), settled, ..Rows::default() };
        }
        if !private {
            return Rows { settled, ..Rows::default() };
        }
        if self.is_group(r, l, equations) {
            return Rows { follows: l.rows.follows.clone(), settled, ..Rows::default() };
        }
        // Each row of l has its partners, or is alone.
        let pairs = times(l.rows.bound, r.rows.bound.map(|n| n.max(1)));
        if self.determined(l, &given(r), equations) {
            let matched_and_alone = plus(l.rows.bound, r.rows.bound);
            let bound = least(pairs, matched_and_alone);
            return Rows { anchors: Vec::new(), follows: r.rows.follows.clone(), bound, settled };
        }
        Rows { bound: pairs, settled, ..Rows::default() }
    }
}

/// FULL JOIN: pairs, and rows alone. With a of p and b of q rows matched there are at most ab + (p-a) + (q-b) rows,
/// which is largest at a corner.
pub(crate) fn full_rows(l: &Rows, r: &Rows) -> Rows {
    let (pairs, alone) = (times(l.bound, r.bound), plus(l.bound, r.bound));
    let bound = match (pairs, alone) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => None,
    };
    Rows { bound, ..Rows::default() }
}

/// Numbers of rows of a unit that a relation keeps by its own words: in all, and in each group of
/// these keys. The fetch counts them all the same, and scales down what is more: this chooses a
/// bound, and proves nothing.
pub(crate) fn few(source: &PrivateSource, keys: &[&Scalar]) -> (Option<u32>, Option<u32>) {
    let [binding] = source.rows.follows.as_slice() else { return (None, None) };
    let scan = source.scans.iter().find(|s| s.binding == *binding);
    let Some(Leaf::Set(rows)) = scan.map(|s| &s.leaf) else { return (None, None) };
    let SetTree::Branch(branch) = &rows.tree else { return (None, None) };
    let first = branch.items.len();
    let is_column = |s: &Scalar, at: usize| match s.node() {
        Node::Column { binding: b, name } => b == binding && *name == format!("c{at}"),
        _ => false,
    };
    match &branch.over {
        // A row for each unit and what else is a key, all of which are keys again.
        Over::Groups(_) => {
            let all = (1..first).all(|at| keys.iter().any(|k| is_column(k, at)));
            (None, all.then_some(1))
        }
        Over::Windows(_) if rows.capped.is_none() => {
            let first =
                scan.and_then(|scan| first_rows(scan, rows, &source.filter.iter().collect::<Vec<_>>()));
            (first.and_then(|n| u32::try_from(n).ok()), None)
        }
        Over::Windows(_) | Over::Rows => (None, None),
    }
}

/// The most rows of each unit in a derived table that numbers them, when these conditions keep the
/// first.
pub(crate) fn first_rows(scan: &Scan, rows: &SetRows, conditions: &[&Scalar]) -> Option<u64> {
    let SetTree::Branch(branch) = &rows.tree else { return None };
    let windows = match (&branch.over, branch.scans.as_slice()) {
        (Over::Windows(windows), _) => windows,
        // They are numbered inside.
        (Over::Rows, [scan]) => match &scan.leaf {
            Leaf::Set(rows) => return first_rows(scan, rows, &branch.filter.iter().collect::<Vec<_>>()),
            Leaf::Table(..) => return None,
        },
        _ => return None,
    };
    let first = branch.items.len();
    let is_column = |s: &Scalar, at: usize| match s.node() {
        Node::Column { binding, name } => *binding == scan.binding && *name == format!("c{at}"),
        _ => false,
    };
    let numbers = |at: &usize| match windows.get(at.saturating_sub(first)) {
        Some(w) => w.call.name == "row_number" && w.partition.is_empty(),
        None => false,
    };
    let most = |c: &Scalar| match c.node() {
        Node::Compare(BinaryOp::Le | BinaryOp::Eq, a, b) => {
            let numbered = (first..rows.columns.len()).filter(numbers).any(|at| is_column(a, at));
            let Node::Number(n) = b.node() else { return None };
            n.to_u64().filter(|n| numbered && *n > 0)
        }
        _ => None,
    };
    conditions.iter().filter_map(|c| most(c)).min()
}

impl SetTree {
    /// Rows of one unit in all branches together.
    pub(crate) fn bound(&self) -> Option<u64> {
        match self {
            Self::Branch(b) => b.bound,
            Self::Op { op: SetOp::Union, left, right, .. } => plus(left.bound(), right.bound()),
            Self::Op { op: SetOp::Intersect, left, right, .. } => least(left.bound(), right.bound()),
            Self::Op { op: SetOp::Except, left, .. } => left.bound(),
        }
    }
}

impl SetRows {
    /// The branches, from left to right.
    pub fn branches(&self) -> Vec<&Branch> {
        fn walk<'s>(tree: &'s SetTree, out: &mut Vec<&'s Branch>) {
            match tree {
                SetTree::Branch(b) => out.push(b),
                SetTree::Op { left, right, .. } => {
                    walk(left, out);
                    walk(right, out);
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.tree, &mut out);
        out
    }
}
