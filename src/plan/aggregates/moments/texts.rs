//! Variances, covariances and what follows from them, over released counts and sums.
//!
//! Everything is cut to where it would lie without noise: means to their ranges, variances to [0, h²], covariances to
//! ±hₓ·h_y, correlations to [-1, 1]. NULL where the noisy number of rows is too small, or a noisy divisor is 0.

use super::moment::{Moment, Variable};
use super::statistic::Pieces;
use crate::aggregates::drawn::Released;
use crate::expr::print::number;
use bigdecimal::{BigDecimal, Zero};

struct Texts<'a> {
    released: &'a Released<'a>,
    /// The noisy number of rows.
    n: String,
}

/// The statistic, in the type that PostgreSQL gives it.
pub(super) fn text(released: &Released<'_>, m: &Moment) -> String {
    let t = Texts { released, n: released.column(m.count) };
    let y = m.y.as_ref();
    let pieces = Pieces {
        n: t.n.clone(),
        variances: [t.variance(&m.x), y.map(|y| t.variance(y)).unwrap_or_default()],
        means: [t.mean(&m.x), y.map(|y| t.mean(y)).unwrap_or_default()],
        covariance: y.map(|y| t.covariance(&m.x, y, m.products)).unwrap_or_default(),
    };
    let (least, value) = m.what.text(&pieces);
    format!("(CASE WHEN {} >= {least} THEN {value} END)::{}", t.n, m.ty.sql_name())
}

impl Texts<'_> {
    /// Σ of a part divided by n, plus the part's own centre, less another.
    fn part_mean(&self, part: usize, less: &BigDecimal) -> String {
        let mean = format!("{} / {}", self.released.column(part), self.n);
        let offset = self.released.drawn.centre(part) - less;
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
