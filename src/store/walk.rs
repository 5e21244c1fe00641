//! Sizes of expressions.

use plan::expr::{Node, Scalar};

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
