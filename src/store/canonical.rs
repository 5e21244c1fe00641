//! Canonical form of releases: two that mean the same have one, whatever their statements call
//! things, and in whichever order.
//!
//! The result is for hashing and never run. It is printed by the same code as the fetch, so that
//! two releases with one canonical text are read by one and the same SQL, up to the rewritings
//! here. Each of these keeps the result for every database (and every expression over private rows
//! is total, so that none depends on the order of evaluation):
//!
//! * bindings are numbered by where they stand in the canonical tree of joins, and anew in each subquery;
//! * AND and OR are associative, commutative and idempotent in three-valued logic; NOT moves inwards by De Morgan, and
//!   into comparisons, which are total orders in PostgreSQL (NaN is the greatest number);
//! * `a < b` is `b > a`; `=`, `<>`, `IS [NOT] DISTINCT FROM`, `+` and `*` commute; the items of IN lists do, too;
//! * inner joins commute and associate, and conditions in their ON may stand in WHERE, unless an outer join is around them;
//! * of several columns that are the unit in every row, any names it;
//! * group keys and the values of a listed domain have no order.
//!
//! All else makes another text, and so another answer that is paid for.

use super::walk::is_small;
use emit::scalar::text;
use plan::algebra::source::{Branch, Kind, Leaf, Scan, SetTree, Tree};
use plan::expr::domain::Domain;
use plan::expr::{Node, Scalar, StandIn, compared, in_list, is, logic, not};
use plan::{Key, Part, Release};
use sql::ast::{BinaryOp, BindingId};
use std::collections::HashMap;

/// A release in canonical form.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Source, keys, domains and bounds; no parts and no noise.
    pub base: Release,
    /// For each key of `base`, its place among the release's own.
    pub keys: Vec<usize>,
    /// The parts, in the release's own order.
    pub parts: Vec<Part>,
}

impl Canonical {
    /// The canonical form with its parts and this noise: what could be fetched in the release's place.
    pub fn whole(&self, spec: &dp::Spec) -> Release {
        Release { parts: self.parts.clone(), spec: spec.clone(), ..self.base.clone() }
    }
}

/// The canonical form of a release.
pub fn canonical(release: &Release) -> Canonical {
    let source = &release.source;
    let mut scope = Scope { names: HashMap::new(), first: BindingId::new(0) };
    let (scans, tree, mut filter) = joins(&mut scope, &source.scans, &source.tree);
    filter.extend(source.filter.iter().map(|f| scope.scalar(f, false)));
    let mut base = release.clone();
    base.source.scans = scans;
    base.source.tree = tree;
    base.source.filter = conjunction(filter);
    for (binding, _) in &mut base.source.unit.columns {
        *binding = scope.name(*binding);
    }
    let named = |(binding, name): &(BindingId, String)| Some((*scope.names.get(binding)?, name.clone()));
    base.source.exact = source.exact.iter().filter_map(named).collect();
    base.source.aliases = source.aliases.iter().filter_map(named).collect();
    if let ([unit], Some(first)) = (base.source.unit.columns.as_mut_slice(), base.source.exact.iter().min()) {
        // Of columns that are the unit in every row, which one names it is a matter of the order of FROM.
        if first < unit {
            unit.clone_from(first);
        }
    }
    let mut keys: Vec<(String, usize, Key)> = release
        .keys
        .iter()
        .enumerate()
        .map(|(place, k)| {
            let mut key = k.clone();
            key.scalar = scope.scalar(&k.scalar, false);
            key.domain.iter_mut().for_each(|(d, _)| domain(d));
            (text(&key.scalar), place, key)
        })
        .collect();
    // The point of a cell stays the last.
    let groups = release.group_keys().len();
    if let Some(groups) = keys.get_mut(..groups) {
        groups.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let places: Vec<usize> = keys.iter().map(|(_, place, _)| *place).collect();
    let names = places
        .iter()
        .enumerate()
        .map(|(to, from)| (StandIn::Key(*from).binding(), StandIn::Key(to).binding()))
        .collect();
    let over_keys = Scope { names, first: BindingId::new(0) };
    base.only = conjunction(release.only.iter().map(|c| over_keys.scalar(c, false)).collect());
    base.keys = keys.into_iter().map(|(_, _, key)| key).collect();
    let parts = release.parts.iter().map(|p| scope.part(p)).collect();
    // A table of values may grow beyond those that are asked for; what this decides on is the noise.
    base.groups = None;
    base.parts = Vec::new();
    base.outputs = Vec::new();
    base.bounding = base.bounding.of_any_parts();
    base.spec = dp::Spec { l0: 1, ..dp::Spec::default() };
    Canonical { base, keys: places, parts }
}

/// A domain whose values and conditions have no order.
fn domain(of: &mut Domain) {
    match of {
        Domain::Values(values) => {
            values.sort_unstable();
            values.dedup();
        }
        Domain::Image(image) => {
            image.bases.iter_mut().for_each(|b| domain(&mut b.domain));
            let names = (0..image.bases.len()).map(|i| StandIn::Base(i).binding()).map(|b| (b, b)).collect();
            let over_bases = Scope { names, first: BindingId::new(0) };
            image.of = over_bases.scalar(&image.of, false);
            image.only = conjunction(image.only.iter().map(|c| over_bases.scalar(c, false)).collect());
        }
        _ => {}
    }
}

/// Numbers of the bindings in sight.
struct Scope {
    names: HashMap<BindingId, BindingId>,
    /// The next number.
    first: BindingId,
}

/// Scans, joins and conditions of a FROM, with its bindings named in `scope`. Conditions of inner joins come out.
fn joins(scope: &mut Scope, scans: &[Scan], tree: &Tree) -> (Vec<Scan>, Tree, Vec<Scalar>) {
    let mut order = Vec::new();
    let shape = shaped(tree, scans);
    leaves(&shape, &mut order);
    let mut named = Vec::with_capacity(order.len());
    for place in order {
        let Some(scan) = scans.get(place) else { continue };
        scope.names.insert(scan.binding, scope.first);
        named.push((place, scope.first, scan));
        scope.first = scope.first.next();
    }
    let places: HashMap<usize, usize> =
        named.iter().enumerate().map(|(to, (from, ..))| (*from, to)).collect();
    let scans = named
        .into_iter()
        .map(|(_, binding, s)| Scan { binding, leaf: leaf(&s.leaf), nullable: s.nullable, serves: None })
        .collect();
    let (tree, conditions) = chain(&shape, &places, scope);
    (scans, tree, conditions)
}

/// The tree with the items of each chain of inner joins sorted by the tables' names. Of one name, the order of the
/// statement stays: which is which is told by the conditions.
fn shaped(tree: &Tree, scans: &[Scan]) -> Tree {
    match tree {
        Tree::Scan(place) => Tree::Scan(*place),
        Tree::Join { kind: Kind::Inner, .. } => {
            let (mut items, mut conditions) = (Vec::new(), Vec::new());
            flat(tree, &mut items, &mut conditions);
            let mut items: Vec<Tree> = items.into_iter().map(|t| shaped(t, scans)).collect();
            items.sort_by_key(|t| table(t, scans));
            let mut items = items.into_iter();
            let first = items.next().unwrap_or(Tree::Scan(0));
            let mut joined = items.fold(first, |left, right| Tree::Join {
                left: Box::new(left),
                right: Box::new(right),
                kind: Kind::Inner,
                on: Vec::new(),
            });
            if let Tree::Join { on, .. } = &mut joined {
                *on = conditions;
            }
            joined
        }
        Tree::Join { left, right, kind, on } => Tree::Join {
            left: Box::new(shaped(left, scans)),
            right: Box::new(shaped(right, scans)),
            kind: *kind,
            on: on.clone(),
        },
    }
}

/// The items and conditions of a chain of inner joins.
fn flat<'t>(tree: &'t Tree, items: &mut Vec<&'t Tree>, conditions: &mut Vec<Scalar>) {
    match tree {
        Tree::Join { left, right, kind: Kind::Inner, on } => {
            flat(left, items, conditions);
            flat(right, items, conditions);
            conditions.extend(on.iter().cloned());
        }
        item => items.push(item),
    }
}

/// What a chain is sorted by: tables by name, then everything else as it came.
fn table(tree: &Tree, scans: &[Scan]) -> (u8, String, String) {
    match tree {
        Tree::Scan(place) => match scans.get(*place).map(|s| &s.leaf) {
            Some(Leaf::Table(_, name)) => (0, name.schema.clone(), name.name.clone()),
            _ => (1, String::new(), String::new()),
        },
        Tree::Join { .. } => (1, String::new(), String::new()),
    }
}

fn leaves(tree: &Tree, order: &mut Vec<usize>) {
    match tree {
        Tree::Scan(place) => order.push(*place),
        Tree::Join { left, right, .. } => {
            leaves(left, order);
            leaves(right, order);
        }
    }
}

/// A tree over renumbered scans, and the conditions of the inner joins at its top.
fn chain(tree: &Tree, places: &HashMap<usize, usize>, scope: &Scope) -> (Tree, Vec<Scalar>) {
    match tree {
        Tree::Scan(place) => (Tree::Scan(places.get(place).copied().unwrap_or(usize::MAX)), Vec::new()),
        Tree::Join { left, right, kind: Kind::Inner, on } => {
            let (left, mut conditions) = chain(left, places, scope);
            let (right, more) = chain(right, places, scope);
            conditions.extend(more);
            conditions.extend(on.iter().map(|c| scope.scalar(c, false)));
            let tree = Tree::Join {
                left: Box::new(left),
                right: Box::new(right),
                kind: Kind::Inner,
                on: Vec::new(),
            };
            (tree, conditions)
        }
        Tree::Join { left, right, kind, on } => {
            // Below an outer join conditions stay where they are.
            let side = |t: &Tree| {
                let (mut tree, conditions) = chain(t, places, scope);
                if let Tree::Join { kind: Kind::Inner, on, .. } = &mut tree {
                    *on = conjunction(conditions);
                }
                Box::new(tree)
            };
            let on = conjunction(on.iter().map(|c| scope.scalar(c, false)).collect());
            (Tree::Join { left: side(left), right: side(right), kind: *kind, on }, Vec::new())
        }
    }
}

fn leaf(leaf: &Leaf) -> Leaf {
    match leaf {
        Leaf::Table(table, name) => Leaf::Table(*table, name.clone()),
        Leaf::Set(rows) => {
            let mut rows = rows.clone();
            rows.tree = set(&rows.tree);
            Leaf::Set(rows)
        }
    }
}

fn set(tree: &SetTree) -> SetTree {
    match tree {
        SetTree::Branch(b) => {
            SetTree::Branch(Box::new(branch(b, Scope { names: HashMap::new(), first: BindingId::new(0) })))
        }
        SetTree::Op { op, all, left, right } => {
            SetTree::Op { op: *op, all: *all, left: Box::new(set(left)), right: Box::new(set(right)) }
        }
    }
}

/// Rows of their own, which see what is in `scope`.
fn branch(b: &Branch, mut scope: Scope) -> Branch {
    let (scans, tree, mut filter) = joins(&mut scope, &b.scans, &b.tree);
    filter.extend(b.filter.iter().map(|f| scope.scalar(f, false)));
    let items = b.items.iter().map(|i| scope.scalar(i, false)).collect();
    let over = b.over.reworded(&|x| scope.scalar(x, false));
    Branch { scans, tree, filter: conjunction(filter), items, over, bound: b.bound }
}

/// Conditions that must all be true: sorted, each once.
fn conjunction(conditions: Vec<Scalar>) -> Vec<Scalar> {
    let mut flat = Vec::with_capacity(conditions.len());
    for c in conditions {
        spread(c, BinaryOp::And, &mut flat);
    }
    sorted(flat)
}

/// The operands of a chain of ANDs or of ORs.
fn spread(s: Scalar, of: BinaryOp, out: &mut Vec<Scalar>) {
    let mut rest = vec![s];
    while let Some(s) = rest.pop() {
        match s.node() {
            Node::Logic(op, left, right) if *op == of => rest.extend([(**left).clone(), (**right).clone()]),
            _ => out.push(s),
        }
    }
}

fn sorted(list: Vec<Scalar>) -> Vec<Scalar> {
    let mut list: Vec<(String, Scalar)> = list.into_iter().map(|s| (text(&s), s)).collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    list.dedup_by(|a, b| a.0 == b.0);
    list.into_iter().map(|(_, s)| s).collect()
}

/// `a op b` as `b op' a`.
fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Distinct | BinaryOp::NotDistinct => op,
        BinaryOp::Add | BinaryOp::Mul => op,
        BinaryOp::Sub
        | BinaryOp::Div
        | BinaryOp::Mod
        | BinaryOp::Concat
        | BinaryOp::Member
        | BinaryOp::MemberText
        | BinaryOp::PathText
        | BinaryOp::And
        | BinaryOp::Or => {
            return None;
        }
    })
}

/// NOT (a op b).
fn opposite(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Distinct => BinaryOp::NotDistinct,
        BinaryOp::NotDistinct => BinaryOp::Distinct,
        _ => return None,
    })
}

/// Two operands in the order of their texts, the larger one first. Where both are large they stay as they are: a chain
/// of them would be printed once for each of its links.
fn ordered(op: BinaryOp, a: Scalar, b: Scalar) -> (BinaryOp, Scalar, Scalar) {
    let swap = match (is_small(&a), is_small(&b)) {
        (true, true) => text(&a) > text(&b),
        (small, _) => small,
    };
    match mirrored(op).filter(|_| swap) {
        Some(swapped) => (swapped, b, a),
        None => (op, a, b),
    }
}

impl Scope {
    fn name(&self, binding: BindingId) -> BindingId {
        // A relation that is not in sight keeps a number that no other has.
        let unseen = || BindingId::new(usize::MAX - binding.number());
        self.names.get(&binding).copied().unwrap_or_else(unseen)
    }

    fn inner(&self) -> Self {
        Self { names: self.names.clone(), first: self.first }
    }

    fn part(&self, part: &Part) -> Part {
        let kind = part.kind.reworded(&mut |x| self.scalar(x, false));
        Part { kind, linf: part.linf, label: String::new(), own: part.own.clone() }
    }

    /// A scalar, or its negation.
    fn scalar(&self, s: &Scalar, negate: bool) -> Scalar {
        let one = |x: &Scalar| self.scalar(x, false);
        let finished = |plain: Scalar, negate: bool| if negate { not(plain) } else { plain };
        match s.node() {
            Node::Not(x) => self.scalar(x, !negate),
            Node::Logic(op @ (BinaryOp::And | BinaryOp::Or), ..) => self.logic(*op, s, negate),
            Node::Compare(op, a, b) => {
                let (op, negate) = match opposite(*op) {
                    Some(other) if negate => (other, false),
                    _ => (*op, negate),
                };
                let (op, a, b) = ordered(op, one(a), one(b));
                finished(compared(op, a, b), negate)
            }
            Node::In(x, list, negated) => {
                let x = one(x);
                let mut list = sorted(list.iter().map(one).collect());
                let negated = *negated != negate;
                match (list.pop(), list.is_empty()) {
                    (Some(only), true) => {
                        let op = if negated { BinaryOp::Ne } else { BinaryOp::Eq };
                        let (op, a, b) = ordered(op, x, only);
                        compared(op, a, b)
                    }
                    (last, _) => {
                        list.extend(last);
                        in_list(x, list, negated)
                    }
                }
            }
            Node::Is(x, what, negated) => is(one(x), *what, *negated != negate),
            Node::Exists(rows, negated) => Scalar::exists(branch(rows, self.inner()), *negated != negate),
            Node::InRows(x, rows, negated) => {
                Scalar::in_rows(one(x), branch(rows, self.inner()), *negated != negate)
            }
            Node::Bool(b) => Scalar::constant_truth(*b != negate),
            Node::Column { binding, .. } => finished(s.renamed(self.name(*binding)), negate),
            Node::Apply(f, args, _) if f.commutes && args.len() == 2 => {
                let mut args: Vec<Scalar> = args.iter().map(one).collect();
                if let [a, b] = args.as_mut_slice()
                    && let (true, true) = (is_small(a), is_small(b))
                    && text(a) > text(b)
                {
                    std::mem::swap(a, b);
                } else if let [a, b] = args.as_mut_slice()
                    && is_small(a)
                    && !is_small(b)
                {
                    std::mem::swap(a, b);
                }
                let mut args = args.into_iter();
                finished(s.reworded(&mut |x| args.next().unwrap_or_else(|| x.clone())), negate)
            }
            _ => finished(s.reworded(&mut |x| one(x)), negate),
        }
    }

    /// A chain of ANDs or of ORs; De Morgan turns one into the other.
    fn logic(&self, op: BinaryOp, s: &Scalar, negate: bool) -> Scalar {
        let mut operands = Vec::new();
        let mut rest = vec![s];
        while let Some(x) = rest.pop() {
            match x.node() {
                Node::Logic(of, left, right) if *of == op => rest.extend([&**left, &**right]),
                _ => operands.push(self.scalar(x, negate)),
            }
        }
        let op = match (op, negate) {
            (BinaryOp::And, true) => BinaryOp::Or,
            (BinaryOp::Or, true) => BinaryOp::And,
            _ => op,
        };
        let mut flat = Vec::with_capacity(operands.len());
        for x in operands {
            spread(x, op, &mut flat);
        }
        let mut flat = sorted(flat).into_iter();
        let Some(first) = flat.next() else { return s.clone() };
        flat.fold(first, |a, b| logic(op, a, b))
    }
}
