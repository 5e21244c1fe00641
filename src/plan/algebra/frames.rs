//! Costs of windows' frames (soundness rule 38).
//!
//! PostgreSQL goes through the rows of a window once when frames begin with the first of them: each
//! row is added to the sum of those before it. When the begin moves, it subtracts the row that is
//! left behind, if the aggregate can subtract, and begins anew otherwise, for each row with all
//! rows of the frame: a unit with many rows would take the square of their number. So a frame that
//! ends with the last row is turned around; one between two ends is as dear as it is wide; and when
//! its width has no bound but the unit's rows, only aggregates that can subtract are allowed.

use super::windows::Call;
use super::windows::Window;
use crate::expr::{Node, Scalar};
use crate::refusals::Refusal;
use crate::refusals::within::Within;
use sql::ast::{FrameEnd, FrameUnits, Pos};
use sql::functions::{Class, get};

type Result<T> = std::result::Result<T, Refusal>;

/// The window, or another that means the same, over frames whose work is bounded; its ties are broken.
pub(crate) fn bounded(mut w: Window, pos: Pos) -> Result<Window> {
    let Some(frame) = w.frame else { return Ok(w) };
    let offset = |end| matches!(end, FrameEnd::Preceding(Some(_)) | FrameEnd::Following(Some(_)));
    let ranged = frame.units == FrameUnits::Range && (offset(frame.start) || offset(frame.end()));
    if ranged && w.order.len() != 1 {
        return Err(Within::FrameTies.at(pos));
    }
    if !adds_up(&w.call) || frame.start == FrameEnd::Preceding(None) {
        return Ok(w);
    }
    if frame.end() == FrameEnd::Following(None) {
        w.frame = Some(frame.mirrored());
        for o in &mut w.order {
            o.desc = !o.desc;
            o.nulls_first = o.nulls_first.map(|first| !first);
        }
        return Ok(w);
    }
    // As many values lie between the ends as there are whole numbers, or as they are apart.
    let counted = frame.units != FrameUnits::Range
        || !ranged
        || w.order.first().is_some_and(|o| o.by.ty().is_integer());
    if counted || subtracts(&w.call) {
        return Ok(w);
    }
    Err(Within::FrameMoves(w.call.name).at(pos))
}

/// Number of times that a row of the window is looked at, at most.
pub(crate) fn looks(w: &Window) -> u64 {
    match w.frame {
        Some(frame) if adds_up(&w.call) && !subtracts(&w.call) => frame.width().unwrap_or(1).max(1),
        _ => 1,
    }
}

/// Whether a call adds up a frame: a window function looks for one row of it, or at no frame.
fn adds_up(call: &Call) -> bool {
    !get(call.name).is_some_and(|f| f.class == Class::Window)
}

/// Whether PostgreSQL takes a row that a frame leaves behind out of what was added up. It does so with numerics only where all
/// have the same number of digits, and never with an argument that asks a subquery.
fn subtracts(call: &Call) -> bool {
    let Some(arg) = &call.arg else { return true };
    match call.name {
        _ if asks(arg) => false,
        "count" | "bool_and" | "bool_or" | "every" => true,
        "min" | "max" => false,
        _ => arg.ty().is_integer(),
    }
}

/// Whether a subquery stands in it.
fn asks(x: &Scalar) -> bool {
    matches!(x.node(), Node::Exists(..) | Node::InRows(..)) || x.children().into_iter().any(asks)
}
