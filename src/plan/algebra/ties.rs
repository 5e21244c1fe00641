//! Ties in the order of a window.
//!
//! The order of two rows that tie is left to how they lie on disk, with rows of other units between
//! them. So when a call tells such rows apart, its order goes on with all that is looked at in any
//! of them, until those that still tie are one row written twice. Numerics that are equal without
//! being the same (`1.0` and `1.00`) are told apart by their text, and texts that a collation takes
//! for equal by their bytes. A text of a float tells less than the float, since a session chooses
//! how many digits it has: floats (`0` and `-0`) and intervals (a day and 24 hours) tie, and the
//! result for such rows is one of several spellings ([`crate::expr::Scalar::has_one_spelling`]).

use super::windows::Sort;
use super::windows::Sorted;
use super::windows::Window;
use crate::expr::{Node, Scalar, is, is_member};
use schema::SqlType;
use sql::ast::{FrameUnits, Is};
use sql::functions::{Class, Family, get};

/// Orders rows within their units to the last, where that matters; `items` are what stands beside the windows.
pub(crate) fn break_ties(items: &[Scalar], windows: &mut [Window]) {
    let mut leaves = Vec::new();
    items.iter().for_each(|x| gather(x, &mut leaves));
    windows.iter().for_each(|w| looked_at(w, &mut leaves));
    let ties: Vec<Sorted> = leaves.into_iter().map(tie).collect();
    for window in windows {
        let by_rows = window.frame.is_some_and(|f| f.units == FrameUnits::Rows);
        let of_place = |f: &Family| f.class == Class::Window && !f.of_peers;
        // Rows that tie in their order are told apart by their place, and by a frame of ROWS.
        if !by_rows && !get(window.call.name).is_some_and(of_place) {
            continue;
        }
        for tie in &ties {
            let alone = |by: &Scalar| tie.of == Sort::Value && *by == tie.by;
            if !window.partition.iter().any(alone) && !window.order.iter().any(|o| alone(&o.by)) {
                window.order.push(tie.clone());
            }
        }
    }
}

/// Gathers the expressions that a window looks at; of a count, whether its argument is there.
fn looked_at(w: &Window, leaves: &mut Vec<Scalar>) {
    let mut scalars = w.scalars();
    if let (Some(x), "count") = (&w.call.arg, w.call.name) {
        scalars.remove(0);
        add(is(x.clone(), Is::Null, false), leaves);
    }
    scalars.into_iter().for_each(|x| gather(x, leaves));
}

fn add(leaf: Scalar, leaves: &mut Vec<Scalar>) {
    if !leaves.contains(&leaf) {
        leaves.push(leaf);
    }
}

/// Gathers the leaves of an expression: columns, members of json values, whether there are rows. Of
/// a type that is not listed it is whether there is a value.
fn gather(x: &Scalar, leaves: &mut Vec<Scalar>) {
    let leaf = match (x.node(), x.ty()) {
        (Node::Column { .. }, SqlType::Other { .. }) => is(x.clone(), Is::Null, false),
        (Node::Column { .. } | Node::Exists(..) | Node::InRows(..), _) => x.clone(),
        _ if is_member(x) => x.clone(),
        _ => return x.children().into_iter().for_each(|c| gather(c, leaves)),
    };
    add(leaf, leaves);
}

fn tie(by: Scalar) -> Sorted {
    let of = match by.ty() {
        t if t.is_text() && !by.canonical() => Sort::Bytes,
        SqlType::Numeric { scale: None } => Sort::Text,
        // A sum of integers is a numeric in the text, whatever the analyst sees.
        _ if by.is_numeric_in_text() => Sort::Text,
        _ => Sort::Value,
    };
    Sorted { by, desc: false, nulls_first: None, of }
}
