//! Parts with the noise that is drawn for them: how far off each is in its own unit, by public parameters alone (soundness
//! rule 30), and the columns in which a finish finds them.

use super::part::{Cells, Part, PartKind};
use crate::expr::GridValue;
use crate::expr::print::number;
use crate::noise::number::{Cut, Number, Term};
use crate::noise::real::Real;
use crate::noise::{self, PartNoise};
use bigdecimal::{BigDecimal, ToPrimitive, Zero};
use std::collections::BTreeSet;

/// The parts of a release, and the noise that is drawn for them.
#[derive(Clone, Copy)]
pub struct Drawn<'r> {
    /// The parts.
    pub parts: &'r [Part],
    /// The noise.
    pub spec: &'r dp::Spec,
    /// Cells of the points among which are chosen.
    pub cells: Option<&'r Cells>,
    /// Number of released groups that are added up, at most.
    pub groups: usize,
    /// What bounds leave of a unit.
    pub bounds: Bounds,
}

/// Losses by bounds, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// The most rows that a count, a sum or a rank is short of in one group; NaN where nobody knows.
    pub rows: f64,
    /// The most units that a number of units is short of; NaN where nobody knows.
    pub units: f64,
    /// Steps that are a row at a point.
    pub steps: u32,
    /// The most rows that count.
    pub most: u32,
}

impl Drawn<'_> {
    /// The error of a part in its own unit that 95 % of draws stay within, where groups are added up: their number of steps
    /// within it grows with the root.
    pub fn error95(&self, part: usize) -> f64 {
        let one = self.spec.aggregates.get(part).map_or(0.0, |n| n.error95());
        // The cast rounds to 53 bits.
        let steps = ((1.0 + 2.0 * one) * (self.groups as f64).sqrt() - 1.0) / 2.0;
        steps * self.step(part)
    }

    /// From how many rows that decide on, by their noisy count, a condition counts as one that some row meets: where there is
    /// none, noise reaches it once in forty draws.
    pub fn deciding(&self, part: usize) -> i64 {
        // The cast cuts at the ends.
        (self.error95(part).ceil() as i64).max(1)
    }

    /// The value of a part in its own unit.
    pub fn shown(&self, part: usize, value: i128) -> f64 {
        // The cast rounds to 53 bits.
        value as f64 * self.step(part)
    }

    /// The values that a part adds up.
    pub fn on_grid(&self, part: usize) -> Option<&GridValue> {
        self.parts.get(part).and_then(|p| p.kind.on_grid())
    }

    /// The centre of a sum: the number that is taken off each value, in the sum's own unit.
    pub fn centre(&self, sum: usize) -> BigDecimal {
        let of = |s: &GridValue| BigDecimal::from(s.centre()) * s.grid();
        self.on_grid(sum).map(of).unwrap_or_default()
    }

    /// The centre of a sum, as a float.
    pub fn float_centre(&self, sum: usize) -> f64 {
        self.centre(sum).to_f64().unwrap_or(f64::NAN)
    }

    /// By how much a row deviates from the centre of a sum that has a norm of its own, where as many rows count.
    pub fn deviation(&self, sum: usize) -> Option<f64> {
        let own = self.parts.get(sum)?.own.as_ref()?;
        Some(own.most() as f64 * self.step(sum) / f64::from(self.bounds.most.max(1)))
    }

    /// How many rows the points that are chosen may lie beyond the ranks that are aimed at (95 %); None where none are.
    pub fn rank95(&self) -> Option<f64> {
        let (points, cells) = self.spec.points.as_ref().zip(self.cells)?;
        Some(points.error95(cells.points) / f64::from(self.bounds.steps.max(1)))
    }

    /// The most that a part is short of for what is cut, in rows or units; NaN where nobody knows.
    pub fn lost(&self, kind: &PartKind) -> f64 {
        match kind {
            _ if kind.adds_rows() || kind.is_chosen() => self.bounds.rows,
            _ if kind.counts_units() => self.bounds.units,
            _ => 0.0,
        }
    }

    /// The noise of a part.
    pub fn noise(&self, part: usize) -> PartNoise {
        let step = self.step(part);
        let (variance, fourth) = self.spec.aggregates.get(part).map_or((0.0, 0.0), dp::Noise::cumulants);
        let (below, above) = self.cut(part);
        PartNoise { variance: variance * step * step, fourth: fourth * step.powi(4), step, below, above }
    }

    /// How far below and above a part the truth may lie, in its own unit, for the rows that are cut in one group.
    fn cut(&self, part: usize) -> (f64, f64) {
        let Some(Part { kind, own, .. }) = self.parts.get(part) else { return (0.0, 0.0) };
        if let (Some(own), Some(grid)) = (own, kind.on_grid()) {
            let lost = own.lost() * self.step(part);
            return (if grid.ends().0 < 0 { lost } else { 0.0 }, lost);
        }
        let lost = self.lost(kind);
        // A sum of nothing is 0, whatever nobody knows of it.
        let times = |by: f64| if by > 0.0 && lost != 0.0 { lost * by } else { 0.0 };
        let (low, high) = kind.on_grid().map_or((0.0, 1.0), |g| {
            let (low, high) = g.ends();
            (low as f64 * self.step(part), high as f64 * self.step(part))
        });
        (times(-low), times(high))
    }

    /// Distance between values of a part.
    fn step(&self, part: usize) -> f64 {
        self.on_grid(part).and_then(|g| g.grid().to_f64()).unwrap_or(1.0)
    }
}

/// The columns of a relation in which parts are.
pub trait Row {
    /// The column of a part.
    fn column(&self, part: usize) -> String;

    /// Whose noise a part has, as other numbers of the row know it.
    fn draw(&self, part: usize) -> noise::Part;

    /// The text of how many released groups were added up, where it is not one.
    fn added(&self) -> Option<&String>;
}

/// Parts as a finish finds them.
pub struct Released<'r> {
    /// The row of released columns.
    pub row: &'r dyn Row,
    /// The parts and their noise.
    pub drawn: Drawn<'r>,
}

impl Released<'_> {
    /// The column of a part.
    pub fn column(&self, part: usize) -> String {
        self.row.column(part)
    }

    /// The number in the column of a part: an integer times its grid.
    pub fn part(&self, part: usize) -> Number {
        let (atom, noise) = (self.row.column(part), self.drawn.noise(part));
        let [mut variance, mut fourth] = [noise.variance, noise.fourth].map(Real::Known);
        let mut step = Some(noise.step);
        let mut cut = Cut { below: Real::Known(noise.below), above: Real::Known(noise.above) };
        // Cumulants of independent noise add up.
        if let Some(added) = self.row.added() {
            let added = Real::Text(added.clone());
            (variance, fourth, step) = (variance.times(&added), fourth.times(&added), None);
            // What a unit loses over groups has a norm of at most what it may lose in one (Cauchy and Schwarz).
            let root = added.root();
            cut = Cut { below: cut.below.times(&root), above: cut.above.times(&root) };
        }
        let parts = BTreeSet::from([self.row.draw(part)]);
        let value = Real::of(&atom);
        Number::one(value, Term { atom, slope: Real::Known(1.0), variance, fourth, step, parts, cut })
    }

    /// A sum of whose values a centre was taken off, with that centre for each row that is counted.
    pub fn uncentred(&self, sum: usize, count: usize) -> String {
        let (sum_of, centre) = (self.column(sum), self.drawn.centre(sum));
        match centre.is_zero() {
            true => sum_of,
            false => format!("({sum_of} + {} * {})", number(&centre), self.column(count)),
        }
    }

    /// The number that such a sum is.
    pub fn uncentred_number(&self, sum: usize, count: usize) -> Number {
        let centre = Real::Known(self.drawn.float_centre(sum));
        self.part(sum).plus(&self.part(count).times(&centre))
    }
}
