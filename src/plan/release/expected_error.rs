//! The error of an aggregate in words: from public data alone, by the noise of its parts (soundness rule 30).

use super::model::{Axis, Part, Release};
use super::output::Output;
use super::output::{Moment, Statistic, Variable};
use crate::expr::GridValue;
use crate::words::distance;
use crate::words::short;
use bigdecimal::{BigDecimal, ToPrimitive};
use dp::Pick;

/// The error of a part in its own unit that 95 % of draws stay within, where so many groups are added up: their number of
/// steps within it grows with the root.
fn of(r: &Release, part: usize, cells: usize) -> f64 {
    let one = r.spec.aggregates.get(part).map_or(0.0, |n| n.error95());
    // The cast rounds to 53 bits.
    let steps = ((1.0 + 2.0 * one) * (cells as f64).sqrt() - 1.0) / 2.0;
    let unit = r.parts.get(part).and_then(grid).and_then(ToPrimitive::to_f64).unwrap_or(1.0);
    steps * unit
}

/// The 95 % error of a count or a sum, in its own unit; None for what depends on how many rows there are. `cells`: how many
/// released groups are added up.
fn fixed(r: &Release, output: &Output, cells: usize) -> Option<f64> {
    match output {
        Output::Count(part) | Output::Sum(part, _) => Some(of(r, *part, cells)),
        // Independent draws: their errors add up in squares, which is exact for Gaussian noise, and more than the truth for
        // Laplace noise, whose sums have lighter tails.
        Output::CentredSum { sum, count, .. } => {
            let (of_sum, of_count) = (of(r, *sum, cells), float_centre(r, *sum) * of(r, *count, cells));
            Some((of_sum * of_sum + of_count * of_count).sqrt())
        }
        _ => None,
    }
}

/// The same for one group.
pub fn fixed95(r: &Release, output: &Output) -> Option<f64> {
    fixed(r, output, 1)
}

/// A count or a sum in its own unit, from the noisy values of its parts.
pub fn total(r: &Release, output: &Output, value: impl Fn(usize) -> Option<i128>) -> Option<f64> {
    match output {
        Output::Count(part) | Output::Sum(part, _) => Some(shown(r, *part, value(*part)?)),
        Output::CentredSum { sum, count, .. } => {
            Some(shown(r, *sum, value(*sum)?) + float_centre(r, *sum) * shown(r, *count, value(*count)?))
        }
        _ => None,
    }
}

/// What is taken off each value of a sum, in its own unit.
pub fn centre(r: &Release, sum: usize) -> BigDecimal {
    let of = |s: &GridValue| BigDecimal::from(s.centre()) * s.grid();
    r.parts.get(sum).and_then(|p| p.kind.on_grid()).map(of).unwrap_or_default()
}

/// The same as a float.
fn float_centre(r: &Release, sum: usize) -> f64 {
    centre(r, sum).to_f64().unwrap_or(f64::NAN)
}

/// The value of an average and its 95 % error, in its own unit, from the noisy values of its parts; None where the noisy
/// count is below 1, or for what is no average. The error is that of `error95`'s formula, at this n.
pub fn average95(r: &Release, output: &Output, value: impl Fn(usize) -> Option<i128>) -> Option<(f64, f64)> {
    let Output::Avg { sum, count, low, high, .. } = output else { return None };
    let n = shown(r, *count, value(*count)?);
    if n < 1.0 {
        return None;
    }
    let (low, high) = (low.to_f64()?, high.to_f64()?);
    let mean = (float_centre(r, *sum) + shown(r, *sum, value(*sum)?) / n).clamp(low.min(high), high);
    Some((mean, (of(r, *sum, 1) + (high - low) / 2.0 * of(r, *count, 1)) / n))
}

/// The value of a count or a sum whose part is this, in its own unit.
pub fn shown(r: &Release, part: usize, value: i128) -> f64 {
    // The cast rounds to 53 bits.
    value as f64 * r.parts.get(part).and_then(grid).and_then(ToPrimitive::to_f64).unwrap_or(1.0)
}

/// From how many rows that decide on, by their noisy count, a condition counts as one that some row meets: where there is
/// none, noise reaches it once in forty draws. `cells`: as in `error95`.
pub fn deciding(r: &Release, part: usize, cells: usize) -> i64 {
    // The cast cuts at the ends.
    (of(r, part, cells).ceil() as i64).max(1)
}

/// The 95 % error of an aggregate: a number where it does not depend on the data, else a formula in n. `cells`: how many
/// released groups are added up.
pub(crate) fn error95(r: &Release, output: &Output, cells: usize) -> String {
    let of = |part: usize| of(r, part, cells);
    match output {
        Output::Count(_) | Output::Sum(..) | Output::CentredSum { .. } => {
            format!("95 % within ±{}", short(fixed(r, output, cells).unwrap_or(0.0)))
        }
        Output::Zero(_) => "none: no row can change it".into(),
        Output::Constant { count, .. } => {
            format!("none, where there are rows (n above {})", short(of(*count)))
        }
        Output::Avg { sum, count, low, high, .. } => {
            let span = (high - low).to_f64().unwrap_or(0.0) / 2.0;
            // |s'/n' - s/n| <= (|sum error| + |mean - center| * |count error|) / n', with the mean within half the range.
            format!(
                "about 95 % within ±{} / n for n rows in the group (n above {})",
                short(of(*sum) + span * of(*count)),
                short(of(*count))
            )
        }
        Output::Moment(m) => moment(r, m, cells),
        Output::Points { parts, .. } => {
            let Some((points, cells)) = r.spec.points.as_ref().zip(r.cells.as_ref()) else {
                return String::new();
            };
            let error = short(points.error95(cells.points));
            let picks: Vec<&Pick> = parts.iter().filter_map(|part| cells.picks.get(*part)).collect();
            if picks.contains(&&Pick::Mode) {
                return format!("in 95 % its rows are at most {error} fewer than the most");
            }
            if let Some(Pick::End { fails, .. }) = picks.first() {
                let times = short(100.0 - f64::from(*fails) / 1e4);
                return format!(
                    "it holds {times} times in 100 or more, for which it aims {error} rows or more further out"
                );
            }
            let half = match &cells.axis {
                Axis::Grid { step, of, .. } => format!("; points are {} apart", distance(step, of)),
                Axis::Values | Axis::Listed(_) => String::new(),
            };
            let ends = picks.iter().any(|p| matches!(p, Pick::Least | Pick::Greatest));
            let inside = if ends { ", and ends lie about as many rows inside" } else { "" };
            format!("95 % within ±{error} rows of the rank{inside}{half}")
        }
        Output::Truth { deciding: part, all, .. } => {
            let (what, otherwise) = if *all { ("FALSE", "true") } else { ("TRUE", "false") };
            format!(
                "{otherwise} unless the noisy number of rows with {what} is at least {}: right in 95 % where it is none or twice that",
                deciding(r, *part, cells)
            )
        }
    }
}

/// The error of a part in its own unit that 95 % of draws stay within.
pub(crate) fn part_error(r: &Release, part: usize) -> f64 {
    of(r, part, 1)
}

/// Of a mean of squares or products times the number of rows: near the centre of the ranges, and at their ends.
pub(crate) fn moment_errors(r: &Release, m: &Moment) -> (f64, f64) {
    moment_ends(r, m, 1)
}

fn moment_ends(r: &Release, m: &Moment, cells: usize) -> (f64, f64) {
    let float = |x: &BigDecimal| x.to_f64().unwrap_or(0.0);
    let count = of(r, m.count, cells);
    let part = |p: Option<usize>| p.map_or(0.0, |p| of(r, p, cells));
    // |q'/n' - q/n| <= (|error of q| + |q/n - its centre| * |error of n|) / n, and the same for each mean deviation d, of which
    // the product is taken off: |d'e' - de| <= |d||error of e| + |e||error of d|.
    let mean = |a: &Variable| part(a.sum) + float(&a.half) * count;
    let square = |a: &Variable| {
        let half = float(&a.half);
        let middle = part(a.squares) + half * half / 2.0 * count;
        (middle, middle + 2.0 * half * mean(a))
    };
    match &m.y {
        None => square(&m.x),
        Some(y) => {
            let (hx, hy) = (float(&m.x.half), float(&y.half));
            let middle = part(m.products) + hx * hy * count;
            (middle, middle + hx * mean(y) + hy * mean(&m.x))
        }
    }
}

/// Of a mean of squares or products, near the centre of the ranges and at their ends.
fn moment(r: &Release, m: &Moment, cells: usize) -> String {
    let ((middle, end), count) = (moment_ends(r, m, cells), of(r, m.count, cells));
    let of = match m.what {
        Statistic::Variance { root: false, .. } | Statistic::Covariance { .. } => "",
        Statistic::Variance { root: true, .. } => "of its square, ",
        Statistic::Squares | Statistic::Products => "of it divided by n, ",
        _ => "of the covariance, ",
    };
    format!(
        "{of}about 95 % within ±{} / n for n rows in the group with means near the middle of the range, ±{} / n near its ends (n above {})",
        short(middle),
        short(end),
        short(count)
    )
}

/// What a part's numbers count, where they are not the value's own unit.
pub(crate) fn units_of(part: &Part) -> String {
    grid(part).map_or_else(String::new, |g| format!(" steps of {}", g.to_plain_string()))
}

/// The grid of what a part adds up.
pub(crate) fn grid(part: &Part) -> Option<&BigDecimal> {
    part.kind.on_grid().map(GridValue::grid)
}
