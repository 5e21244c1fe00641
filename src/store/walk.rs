//! Walks over expressions and private relations.

use plan::expr::{Node, Scalar};
use plan::source::{Branch, Leaf, Scan, SetTree, Tree};

/// Calls `f` for a scalar and everything in it.
pub(super) fn each(s: &Scalar, f: &mut dyn FnMut(&Scalar)) {
    f(s);
    s.children().into_iter().for_each(|x| each(x, f));
    if let Node::Exists(rows, _) | Node::InRows(_, rows, _) = s.node() {
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
    b.items.iter().chain(b.over.scalars()).for_each(|s| each(s, f));
}

/// Whether a scalar has few parts, without looking at many.
pub(super) fn is_small(s: &Scalar) -> bool {
    const FEW: usize = 16;
    let mut rest = vec![s];
    let mut seen = 0;
    while let Some(s) = rest.pop() {
        seen += 1;
        if seen > FEW || matches!(s.node(), Node::Exists(..) | Node::InRows(..)) {
            return false;
        }
        let parts = s.children();
        if parts.len() > FEW {
            return false;
        }
        rest.extend(parts);
    }
    true
}
