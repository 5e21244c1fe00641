//! Walks over expressions and private relations.

use plan::scalar::{Node, Scalar};
use plan::source::{Branch, Leaf, Scan, SetTree, Tree};

/// The parts of a scalar, those of subqueries aside.
pub(super) fn parts(s: &Scalar) -> Vec<&Scalar> {
    match &s.node {
        Node::Column { .. }
        | Node::Number(_)
        | Node::Text(_)
        | Node::Bool(_)
        | Node::Null
        | Node::Exists(..) => Vec::new(),
        Node::Clamp(x)
        | Node::Guard(x)
        | Node::Neg(x)
        | Node::Not(x)
        | Node::Is(x, ..)
        | Node::Abs(x)
        | Node::Round(_, x, _)
        | Node::Extract(_, x)
        | Node::DateTrunc(_, x)
        | Node::Cast(x)
        | Node::InRows(x, ..)
        | Node::Like { arg: x, .. } => vec![x],
        Node::Arith(_, a, b) | Node::Compare(_, a, b) | Node::Logic(_, a, b) => vec![a, b],
        Node::In(x, list, _) => std::iter::once(&**x).chain(list).collect(),
        Node::Choice(_, list) => list.iter().collect(),
        Node::Case(branches, otherwise) => {
            let branches = branches.iter().flat_map(|(when, then)| [when, then]);
            branches.chain(otherwise.as_deref()).collect()
        }
    }
}

/// Calls `f` for a scalar and everything in it.
pub(super) fn each(s: &Scalar, f: &mut dyn FnMut(&Scalar)) {
    f(s);
    parts(s).into_iter().for_each(|x| each(x, f));
    if let Node::Exists(rows, _) | Node::InRows(_, rows, _) = &s.node {
        each_of_branch(rows, f);
    }
}

/// Calls `f` for every scalar of a private relation.
pub(super) fn each_of_rows(scans: &[Scan], tree: &Tree, filter: &[Scalar], f: &mut dyn FnMut(&Scalar)) {
    for scan in scans {
        if let Leaf::Set(rows) = &scan.leaf {
            rows.columns.iter().for_each(|c| each(c, f));
            each_of_set(&rows.tree, f);
        }
    }
    each_of_tree(tree, f);
    filter.iter().for_each(|s| each(s, f));
}

fn each_of_tree(tree: &Tree, f: &mut dyn FnMut(&Scalar)) {
    if let Tree::Join { left, right, on, .. } = tree {
        each_of_tree(left, f);
        each_of_tree(right, f);
        on.iter().for_each(|s| each(s, f));
    }
}

fn each_of_set(tree: &SetTree, f: &mut dyn FnMut(&Scalar)) {
    match tree {
        SetTree::Branch(b) => each_of_branch(b, f),
        SetTree::Op { left, right, .. } => {
            each_of_set(left, f);
            each_of_set(right, f);
        }
    }
}

fn each_of_branch(b: &Branch, f: &mut dyn FnMut(&Scalar)) {
    each_of_rows(&b.scans, &b.tree, &b.filter, f);
    b.items.iter().for_each(|s| each(s, f));
}

/// Whether a scalar has few parts, without looking at many.
pub(super) fn is_small(s: &Scalar) -> bool {
    const FEW: usize = 16;
    let mut rest = vec![s];
    let mut seen = 0;
    while let Some(s) = rest.pop() {
        seen += 1;
        if seen > FEW || matches!(s.node, Node::Exists(..) | Node::InRows(..)) {
            return false;
        }
        let parts = parts(s);
        if parts.len() > FEW {
            return false;
        }
        rest.extend(parts);
    }
    true
}
