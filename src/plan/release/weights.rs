//! How much the error of each released integer matters to what was asked for: from public ranges alone.
//!
//! The noise of a part, in units of what one row can change it by, reaches an answer times a factor. Errors are compared where
//! they are relative: a count's to its rows, a sum's to what these add up to in the middle of the range, an average's to half
//! the width of its range. The price is split so that the squares of all of them together are least ([`dp::Outline`]).

use super::model::{Part, PartKind};
use super::output::Output;
use crate::expr::GridValue;
use sql::ast::Aggregate;

/// What only decides whether there is an answer.
const DECIDES: f64 = 0.5;

/// The weight of each part.
pub(super) fn of(parts: &[Part], outputs: &[(Aggregate, Output)]) -> Vec<u32> {
    let mut squares = vec![0.0; parts.len()];
    let mut add = |part: usize, factor: f64| {
        if let Some(square) = squares.get_mut(part) {
            *square += factor * factor;
        }
    };
    let range = |part: usize| parts.get(part).and_then(|p| p.kind.on_grid()).map(Range::of);
    for (_, output) in outputs {
        match output {
            Output::Count(part) => add(*part, 1.0),
            Output::Sum(part, _) => add(*part, range(*part).map_or(1.0, |r| r.most / r.typical)),
            Output::CentredSum { sum, count, .. } => {
                if let Some(r) = range(*sum) {
                    add(*sum, r.most / r.typical);
                    add(*count, r.centre.abs() / r.typical);
                }
            }
            Output::Avg { sum, count, .. } => {
                if let Some(r) = range(*sum) {
                    add(*sum, r.most / r.half);
                    // Wherever the average lies.
                    add(*count, r.most / r.half);
                }
            }
            Output::Constant { count, .. } => add(*count, DECIDES),
            Output::Truth { deciding, count, .. } => {
                add(*deciding, 1.0);
                add(*count, DECIDES);
            }
            Output::Moment(m) => m.parts().into_iter().for_each(|part| add(part, 1.0)),
            Output::Zero(_) | Output::Points { .. } => {}
        }
    }
    let most = f64::from(dp::WEIGHT_OF_ONE).powi(3);
    // The cast holds what is within these.
    let weight = |square: f64| (square.sqrt() * f64::from(dp::WEIGHT_OF_ONE)).round().clamp(1.0, most) as u32;
    squares.into_iter().map(weight).collect()
}

/// The range of a sum's values, in steps of its grid.
struct Range {
    /// What is added for a row, at most.
    most: f64,
    /// The middle that was taken off; the middle of the range where nothing was.
    centre: f64,
    /// Half its width.
    half: f64,
    /// The magnitude of its middle, or half of the half where that is more.
    typical: f64,
}

impl Range {
    fn of(s: &GridValue) -> Self {
        let (low, high) = s.ends();
        let float = |n: i128| n as f64;
        let (half, middle) = ((float(high) - float(low)) / 2.0, f64::midpoint(float(low), float(high)));
        let centre = float(s.centre()) + middle;
        Self {
            most: float(low).abs().max(float(high).abs()),
            centre,
            half,
            typical: centre.abs().max(half / 2.0),
        }
    }
}

/// Centres the sums of whose rows a count is released anyway. With c the middle of a range, h half its width and the noise of
/// both per unit of sensitivity, h² + c² is less than (h + |c|)², for whatever share of the price the count has.
///
/// `units`: the number of rows is that of the units by which groups are selected, which costs nothing.
pub(super) fn centre(parts: &mut Vec<Part>, outputs: &mut [(Aggregate, Output)], units: bool) {
    for (_, output) in outputs {
        let Output::Sum(sum, ty) = output else { continue };
        let (sum, ty) = (*sum, ty.clone());
        let Some(PartKind::Sum(s)) = parts.get(sum).map(|p| &p.kind) else { continue };
        let centred = if s.centre() == 0 { s.centred() } else { s.clone() };
        if centred.centre() == 0 || centred.bound() == 0 {
            continue;
        }
        let rows = PartKind::Count(Some(s.arg().clone()).filter(|x| x.nullable()));
        let count = match parts.iter().position(|p| p.kind == rows) {
            Some(count) => count,
            None if units && rows == PartKind::Count(None) => {
                parts.push(Part { kind: rows, linf: 0, label: "count(*)".into() });
                parts.len() - 1
            }
            None => continue,
        };
        if let Some(part) = parts.get_mut(sum) {
            *part = Part { kind: PartKind::Sum(centred), label: "centred sum".into(), ..part.clone() };
        }
        *output = Output::CentredSum { sum, count, ty };
    }
}
