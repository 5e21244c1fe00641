//! Trade-off functions made of straight lines: those of distributions with finitely many outcomes.

use super::super::interval::Interval;
use super::super::loss::PrivacyLoss;

/// Absolute error of floats, wherever lines are cut or added up: bounds are moved by it.
pub(super) const FUZZ: f64 = 1e-12;

/// A convex, falling function through points, from α = 0 to α = 1.
#[derive(Clone, Debug)]
pub struct Lines {
    /// (α, f(α)), with α rising.
    points: Vec<(f64, f64)>,
}

/// A set of outcomes: its probability where the unit is absent, and where it is present.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Probability when absent: how much α it costs to call it suspicious.
    pub absent: f64,
    /// Probability when present: how much β it gains.
    pub present: f64,
}

impl Lines {
    /// The trade-off function of distributions with these outcomes, by the lemma of Neyman and Pearson: the outcomes with the
    /// largest likelihood ratio are called suspicious first.
    pub fn from_outcomes(mut outcomes: Vec<Outcome>) -> Self {
        // present/absent falling, without dividing by zero.
        outcomes.sort_by(|a, b| (b.present * a.absent).total_cmp(&(a.present * b.absent)));
        let (mut alpha, mut beta) = (0.0f64, 1.0f64);
        let mut points = vec![];
        for o in &outcomes {
            if points.is_empty() && o.absent > 0.0 {
                points.push((0.0, beta));
            }
            alpha = (alpha + o.absent).min(1.0);
            beta = (beta - o.present).max(0.0);
            if !points.is_empty() {
                points.push((alpha, beta));
            }
        }
        points.push((1.0, 0.0));
        Self { points }
    }

    /// The trade-off function of a privacy loss, whose first distribution is that of the unit's presence.
    pub fn from_loss(loss: &PrivacyLoss) -> Self {
        let atom = |a: &super::super::loss::Atom| {
            let present = a.mass.hi();
            Outcome { absent: (a.mass * (-a.loss).exp()).hi(), present }
        };
        let mut outcomes: Vec<Outcome> = loss.atoms().iter().map(atom).collect();
        outcomes.push(Outcome { absent: 0.0, present: loss.infinite().hi() });
        Self::from_outcomes(outcomes)
    }

    /// The supremum of the functions of (ε, δ)-DP.
    pub(super) fn from_profile(points: &[(f64, f64)]) -> Self {
        // Lines β = offset - slope·α, both of each pair, and 0.
        let mut lines: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        for &(epsilon, delta) in points {
            let (e, rest) = (Interval::from(epsilon), Interval::from(1.0) - delta);
            lines.push((e.exp().hi(), rest.lo()));
            let flat = (-e).exp();
            lines.push((flat.hi(), (flat * rest).lo()));
        }
        Self::envelope(lines)
    }

    /// The upper envelope of lines β = offset - slope·α over [0, 1], lowered by [`FUZZ`] but not below 0.
    pub(super) fn envelope(mut lines: Vec<(f64, f64)>) -> Self {
        lines.retain(|(slope, offset)| slope.is_finite() && offset.is_finite());
        // Steepest first: that is the order from left to right.
        lines.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        lines.dedup_by(|later, first| later.0 == first.0);
        let crossing = |a: (f64, f64), b: (f64, f64)| (a.1 - b.1) / (a.0 - b.0);
        let mut hull: Vec<(f64, f64)> = vec![];
        for line in lines {
            while let Some(&top) = hull.last() {
                let start = match hull.len().checked_sub(2).and_then(|i| hull.get(i)) {
                    Some(&below) => crossing(below, top),
                    None => 0.0,
                };
                if crossing(top, line) > start {
                    break;
                }
                hull.pop();
            }
            hull.push(line);
        }
        let value = |alpha: f64| {
            let highest = hull.iter().map(|(s, o)| o - s * alpha).fold(0.0, f64::max);
            (highest - FUZZ).max(0.0)
        };
        let starts = hull.windows(2).filter_map(|pair| match pair {
            [a, b] => Some(crossing(*a, *b)),
            _ => None,
        });
        let inner = starts.filter(|a| *a > 0.0 && *a < 1.0);
        let mut points: Vec<(f64, f64)> =
            std::iter::once(0.0).chain(inner).chain(std::iter::once(1.0)).map(|a| (a, value(a))).collect();
        if let Some(last) = points.last_mut() {
            last.1 = 0.0;
        }
        Self { points }
    }

    /// Chords between points of a function: an upper bound of it.
    pub(super) fn chords(points: Vec<(f64, f64)>) -> Self {
        Self { points }
    }

    /// The points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// f(α), interpolated.
    pub(super) fn at(&self, alpha: f64) -> Interval {
        let after = self.points.partition_point(|p| p.0 < alpha);
        let right = self.points.get(after).or(self.points.last()).copied().unwrap_or((1.0, 0.0));
        let left = after.checked_sub(1).and_then(|i| self.points.get(i)).copied().unwrap_or(right);
        if right.0 <= left.0 || alpha >= right.0 {
            return Interval::from(right.1);
        }
        let share = (Interval::from(alpha) - left.0) / (Interval::from(right.0) - left.0);
        Interval::from(left.1) - share * (Interval::from(left.1) - right.1)
    }

    /// α and β change places.
    pub(super) fn inverse(&self) -> Self {
        let mut points: Vec<(f64, f64)> = self.points.iter().rev().map(|&(a, b)| (b, a)).collect();
        // Where f is 0 before 1, the inverse starts at the first such α; where f starts below 1, the inverse is 0 from there.
        let zeros = points.iter().take_while(|p| p.0 == 0.0).count();
        points.drain(..zeros.saturating_sub(1));
        if points.last().is_some_and(|p| p.0 < 1.0) {
            points.push((1.0, 0.0));
        }
        Self { points }
    }

    /// Moved up by `fuzz` (or down where it is negative), between 0 and 1 - α.
    pub(super) fn moved(mut self, fuzz: f64) -> Self {
        for (a, b) in &mut self.points {
            *b = (*b + fuzz).min(1.0 - *a).max(0.0);
        }
        self
    }

    /// sup over α of 1 - f(α) - e^ε·α: attained at a point.
    pub(super) fn profile(&self, e: Interval) -> Interval {
        let at = |&(a, b): &(f64, f64)| Interval::from(1.0) - b - e * a;
        self.points.iter().map(at).fold(Interval::from(0.0), Interval::max)
    }

    /// Outcomes, from suspicious to innocent.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let first = self.points.first().map_or(0.0, |p| 1.0 - p.1);
        let mut outcomes = vec![Outcome { absent: 0.0, present: first }];
        let segment = |pair: &[(f64, f64)]| match pair {
            [(a, b), (c, d)] => Some(Outcome { absent: (c - a).max(0.0), present: (b - d).max(0.0) }),
            _ => None,
        };
        outcomes.extend(self.points.windows(2).filter_map(segment));
        outcomes.retain(|o| o.absent > 0.0 || o.present > 0.0);
        outcomes
    }
}
