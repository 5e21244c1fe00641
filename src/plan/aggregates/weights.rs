//! Weights of parts: how much the error of each released integer matters to the answer, from public
//! ranges alone.
//!
//! The noise of a part, in units of what one row can change it by, reaches an answer times a
//! factor. Errors are compared where they are relative: a count's to its rows, a sum's to what
//! these add up to in the middle of the range, an average's to half the width of its range. The
//! price is split so that the squares of all of them together are least ([`dp::Outline`]).

use super::estimator::Output;
use super::part::Part;
use sql::ast::Aggregate;

/// The weight of each part.
pub(crate) fn of(parts: &[Part], outputs: &[(Aggregate, Output)]) -> Vec<u32> {
    let mut squares = vec![0.0; parts.len()];
    for (part, factor) in outputs.iter().flat_map(|(_, output)| output.weights(parts)) {
        if let Some(square) = squares.get_mut(part) {
            *square += factor * factor;
        }
    }
    let most = f64::from(dp::WEIGHT_OF_ONE).powi(3);
    // The cast holds what is within these.
    let weight = |square: f64| (square.sqrt() * f64::from(dp::WEIGHT_OF_ONE)).round().clamp(1.0, most) as u32;
    squares.into_iter().map(weight).collect()
}
