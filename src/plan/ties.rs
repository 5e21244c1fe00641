//! Ties in the order of a window.
//!
//! Which of two rows comes first that tie is left to how they lie on disk, with rows of other units between them. So where a
//! call tells such rows apart, its order goes on with all that is looked at in any of them, until those that still tie are
//! one row written twice. Values that are equal without being the same (`1.0` and `1.00`, a day and 24 hours, `0` and `-0`)
//! are told apart by their text.

use super::source::{Sorted, Window};
use crate::expr::{Node, Scalar, is_member};
use schema::SqlType;

/// Calls that tell rows apart that tie in their order; a frame of ROWS does, too.
const PLACES: &[&str] = &["row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"];

/// Orders rows within their units to the last, where that matters; `items` are what stands beside the windows.
pub(super) fn break_ties(items: &[Scalar], windows: &mut [Window]) {
    let mut leaves = Vec::new();
    let looked_at = windows.iter().flat_map(Window::scalars);
    items.iter().chain(looked_at).for_each(|x| gather(x, &mut leaves));
    let ties: Vec<Sorted> = leaves.into_iter().map(tie).collect();
    for window in windows {
        let by_rows = window.frame.as_ref().is_some_and(|f| f.starts_with("ROWS"));
        if !by_rows && !PLACES.contains(&window.call.name) {
            continue;
        }
        for tie in &ties {
            let alone = |by: &Scalar| !tie.as_text && *by == tie.by;
            if !window.partition.iter().any(alone) && !window.order.iter().any(|o| alone(&o.by)) {
                window.order.push(tie.clone());
            }
        }
    }
}

/// What an expression looks at: columns, members of json values, whether there are rows.
fn gather(x: &Scalar, leaves: &mut Vec<Scalar>) {
    let leaf = is_member(x) || matches!(x.node(), Node::Column { .. } | Node::Exists(..) | Node::InRows(..));
    match leaf {
        true if leaves.contains(x) => {}
        true => leaves.push(x.clone()),
        false => x.children().into_iter().for_each(|c| gather(c, leaves)),
    }
}

fn tie(by: Scalar) -> Sorted {
    use SqlType::{Bpchar, Float4, Float8, Interval, Numeric, Other};
    let twins = match by.ty() {
        Bpchar | Float4 | Float8 | Interval | Numeric { scale: None } | Other { .. } => true,
        t => t.is_text() && !by.canonical(),
    };
    // A sum of integers is a numeric in the text, whatever the analyst sees.
    let computed = by.is_numeric_in_text();
    let as_text = twins || computed || is_member(&by);
    Sorted { by, desc: false, nulls_first: None, as_text }
}
