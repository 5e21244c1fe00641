//! The share of rows that conditions leave, as far as declared ranges say: a guess, for matters of
//! time alone.

use super::ranges::ranges;
use crate::algebra::equivalence_classes::Col;
use crate::expr::interval::Interval;
use crate::expr::{Node, Scalar};
use bigdecimal::ToPrimitive;

/// The share of the rows of a table that meet these conditions, if values lie evenly in their declared ranges. None where a
/// condition says more, or something else, than where one column of such a range lies.
pub(crate) fn share(conditions: &[Scalar]) -> Option<f64> {
    // Zones move a range by hours, which does not matter here.
    let of_one = |c: &Scalar| ranges(std::slice::from_ref(c), true).len() == 1;
    conditions.iter().all(of_one).then_some(())?;
    let each = ranges(conditions, true).into_iter().map(|(col, range)| {
        let declared = conditions.iter().find_map(|c| declared(c, &col))?;
        let (lo, hi) = declared.finite()?;
        let kept = range.intersect(&declared)?;
        let (from, to) = kept.finite()?;
        let (kept, all) = ((to - from).to_f64()?, (hi - lo).to_f64()?);
        (all > 0.0).then_some(kept / all)
    });
    each.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().product())
}

/// The declared range of a column that an expression looks at.
fn declared(e: &Scalar, col: &Col) -> Option<Interval> {
    match e.node() {
        Node::Column { binding, name } if (*binding, name) == (col.0, &col.1) => {
            Some(e.bound().interval().clone())
        }
        _ => e.children().into_iter().find_map(|c| declared(c, col)),
    }
}
