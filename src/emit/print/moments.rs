//! Variances, covariances and what follows from them, over released counts and sums.
//!
//! Everything is cut to where it would lie without noise: means to their ranges, variances to [0, h²], covariances to
//! ±hₓ·h_y, correlations to [-1, 1]. NULL where the noisy number of rows is too small, or a noisy divisor is 0.

use super::released::Row;
use crate::number;
use bigdecimal::{BigDecimal, Zero};
use plan::release::output::{Moment, Statistic, Variable};
use plan::release::{PartKind, Release};

struct Texts<'a> {
    row: &'a Row<'a>,
    release: &'a Release,
    /// The noisy number of rows.
    n: String,
}

/// The statistic, in the type that PostgreSQL gives it.
pub(super) fn text(row: &Row<'_>, release: &Release, m: &Moment) -> String {
    let t = Texts { row, release, n: row.column(m.count) };
    let n = &t.n;
    let sampled = |x: String, sample: bool| if sample { format!("{x} * {n} / ({n} - 1)") } else { x };
    let (vx, vy) = (t.variance(&m.x), m.y.as_ref().map(|y| t.variance(y)).unwrap_or_default());
    let covariance = m.y.as_ref().map(|y| t.covariance(&m.x, y, m.products)).unwrap_or_default();
    let slope = format!("{covariance} / NULLIF({vx}, 0)");
    let (least, value) = match m.what {
        Statistic::Variance { sample, root } => {
            let v = sampled(vx, sample);
            (if sample { 2 } else { 1 }, if root { format!("pg_catalog.sqrt({v})") } else { v })
        }
        Statistic::Squares => (1, format!("{vx} * {n}")),
        Statistic::Covariance { sample } => (if sample { 2 } else { 1 }, sampled(covariance, sample)),
        Statistic::Products => (1, format!("{covariance} * {n}")),
        Statistic::Correlation => {
            let spread = format!("pg_catalog.sqrt({vx}) * pg_catalog.sqrt({vy})");
            // LEAST and GREATEST ignore NULL.
            let cut = format!("LEAST(GREATEST({covariance} / ({spread}), -1), 1)");
            (1, format!("CASE WHEN {spread} > 0 THEN {cut} END"))
        }
        Statistic::Determination => {
            let cut = format!("LEAST({covariance} / {vx} * {covariance} / {vy}, 1)");
            (1, format!("CASE WHEN {vx} = 0 THEN NULL WHEN {vy} = 0 THEN 1 ELSE {cut} END"))
        }
        Statistic::Slope => (1, slope),
        Statistic::Intercept => {
            let mean_y = m.y.as_ref().map(|y| t.mean(y)).unwrap_or_default();
            (1, format!("{mean_y} - {} * {slope}", t.mean(&m.x)))
        }
    };
    format!("(CASE WHEN {n} >= {least} THEN {value} END)::{}", m.ty.sql_name())
}

impl Texts<'_> {
    /// Σ of a part divided by n, plus the part's own centre, less another.
    fn part_mean(&self, part: usize, less: &BigDecimal) -> String {
        let centre = match self.release.parts.get(part).map(|p| &p.kind) {
            Some(PartKind::Sum(s)) => BigDecimal::from(s.centre()) * s.grid(),
            _ => BigDecimal::zero(),
        };
        let mean = format!("{} / {}", self.row.column(part), self.n);
        let offset = centre - less;
        if offset.is_zero() { mean } else { format!("{} + {mean}", number(&offset)) }
    }

    /// The mean deviation from the centre, within ±h.
    fn deviation(&self, a: &Variable) -> String {
        let Some(sum) = a.sum else { return "0.0".into() };
        let (mean, h) = (self.part_mean(sum, &a.centre), number(&a.half));
        format!("LEAST(GREATEST({mean}, -{h}), {h})")
    }

    fn mean(&self, a: &Variable) -> String {
        format!("({} + {})", number(&a.centre), self.deviation(a))
    }

    /// The mean of squares less the square of the mean, within [0, h²].
    fn variance(&self, a: &Variable) -> String {
        let Some(squares) = a.squares else { return "0.0".into() };
        let (mean, d, most) =
            (self.part_mean(squares, &BigDecimal::zero()), self.deviation(a), number(&(&a.half * &a.half)));
        format!("LEAST(GREATEST({mean} - {d} * {d}, 0), {most})")
    }

    /// The mean of products less the product of the means, within ±hₓ·h_y.
    fn covariance(&self, x: &Variable, y: &Variable, products: Option<usize>) -> String {
        let Some(products) = products else { return "0.0".into() };
        let (mean, most) = (self.part_mean(products, &BigDecimal::zero()), number(&(&x.half * &y.half)));
        let (dx, dy) = (self.deviation(x), self.deviation(y));
        format!("LEAST(GREATEST({mean} - {dx} * {dy}, -{most}), {most})")
    }
}
