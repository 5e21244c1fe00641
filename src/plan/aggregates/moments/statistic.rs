//! Statistics of moments, and their differences: names, parts, text, derivatives, range and words.

use crate::aggregates::builder::{Builder, Call, Result};
use crate::aggregates::entry::{Entry, Form};
use crate::aggregates::estimator::Output;
use crate::noise::real::Real;
use schema::SqlType;

/// A statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean square of the deviations from the mean, or n/(n-1) times it, and perhaps its root.
    Variance {
        /// n/(n-1) times.
        sample: bool,
        /// The root.
        root: bool,
    },
    /// The sum of squares of the deviations from the mean.
    Squares,
    /// Mean product of the deviations from the means.
    Covariance {
        /// n/(n-1) times.
        sample: bool,
    },
    /// The sum of these products.
    Products,
    /// Pearson's.
    Correlation,
    /// Square of the correlation.
    Determination,
    /// Slope of the line of least squares.
    Slope,
    /// Value of the line at 0.
    Intercept,
}

use Statistic::{Correlation, Covariance, Determination, Intercept, Products, Slope, Squares, Variance};

const SPREAD: (&str, &str) = (
    "count, sum, sum of squares of deviations from the middle of the range",
    "not below 0; NULL where the noisy count is below 2 (`_pop`: 1)",
);
const JOINT: (&str, &str) = (
    "the same of both, and a sum of products, over rows where both are there",
    "within what the ranges allow",
);
const ROWS: (&str, &str) = ("count of the rows where both are there", "may be negative; never NULL");
const MEAN: (&str, &str) = (
    "the same as `avg`, over rows where both are there",
    "within the range; NULL where the noisy count is below 1",
);
const ALONE: (&str, &str) = (
    "count, sum, sum of squares of that one, over rows where both are there",
    "not below 0; NULL where the noisy count is below 1",
);
const FOLLOWS: (&str, &str) = ("the same", "`corr` within [-1, 1]; NULL where a noisy variance is 0");

pub(crate) const ENTRIES: &[Entry] = &[
    entry("variance", "variance", &[form("variance(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: true, root: false })
    }),
    entry("var_samp", "", &[form("var_samp(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: true, root: false })
    }),
    entry("var_pop", "", &[form("var_pop(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: false, root: false })
    }),
    entry("stddev", "stddev", &[form("stddev(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: true, root: true })
    }),
    entry("stddev_samp", "", &[form("stddev_samp(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: true, root: true })
    }),
    entry("stddev_pop", "", &[form("stddev_pop(x)", SPREAD)], |b, c| {
        b.spread(c, Variance { sample: false, root: true })
    }),
    entry("covar_pop", "covar_pop", &[form("covar_pop(y, x)", JOINT)], |b, c| {
        b.joint(c, Covariance { sample: false })
    }),
    entry("covar_samp", "covar_samp", &[form("covar_samp(y, x)", JOINT)], |b, c| {
        b.joint(c, Covariance { sample: true })
    }),
    entry("regr_sxy", "", &[form("regr_sxy(y, x)", JOINT)], |b, c| b.joint(c, Products)),
    entry("regr_count", "", &[form("regr_count(y, x)", ROWS)], |b, c| {
        let pair = b.pair(c)?;
        Ok(Some(b.count_output(&pair.x)))
    }),
    entry("regr_avgx", "", &[form("regr_avgx(y, x)", MEAN)], |b, c| {
        let pair = b.pair(c)?;
        b.average(&pair.x, SqlType::Float8, c.pos).map(Some)
    }),
    entry("regr_avgy", "", &[form("regr_avgy(y, x)", MEAN)], |b, c| {
        let pair = b.pair(c)?;
        b.average(&pair.y, SqlType::Float8, c.pos).map(Some)
    }),
    entry("regr_sxx", "", &[form("regr_sxx(y, x)", ALONE)], |b, c| {
        let pair = b.pair(c)?;
        b.squares(&pair.x, &pair.x, c.pos)
    }),
    entry("regr_syy", "", &[form("regr_syy(y, x)", ALONE)], |b, c| {
        let pair = b.pair(c)?;
        b.squares(&pair.y, &pair.x, c.pos)
    }),
    entry("corr", "corr", &[form("corr(y, x)", FOLLOWS)], |b, c| b.joint(c, Correlation)),
    entry("regr_r2", "regr_*", &[form("regr_r2(y, x)", FOLLOWS)], |b, c| b.joint(c, Determination)),
    entry("regr_slope", "regr_*", &[form("regr_slope(y, x)", FOLLOWS)], |b, c| b.joint(c, Slope)),
    entry("regr_intercept", "regr_*", &[form("regr_intercept(y, x)", FOLLOWS)], |b, c| b.joint(c, Intercept)),
];

const fn entry(
    name: &'static str,
    hint: &'static str,
    forms: &'static [Form],
    ask: fn(&mut Builder<'_, '_>, &Call<'_>) -> Result<Option<Output>>,
) -> Entry {
    Entry { name, hint, within_group: false, forms, ask }
}

const fn form(written: &'static str, (from, and): (&'static str, &'static str)) -> Form {
    Form { written, from, and }
}

/// Texts of what statistics are functions of, cut to where they would lie without noise.
pub(super) struct Pieces {
    /// The noisy number of rows.
    pub n: String,
    /// The variances of x and y.
    pub variances: [String; 2],
    /// Means of both variables.
    pub means: [String; 2],
    /// Covariance of both variables.
    pub covariance: String,
}

impl Statistic {
    /// Whether it needs the sums of squares of x and of y.
    pub(super) fn squares(self) -> [bool; 2] {
        match self {
            Variance { .. } | Squares | Slope | Intercept => [true, false],
            Correlation | Determination => [true, true],
            Covariance { .. } | Products => [false, false],
        }
    }

    /// The least number of rows that it is of, and its text.
    pub(super) fn text(self, of: &Pieces) -> (u32, String) {
        let Pieces { n, variances: [vx, vy], means: [x, y], covariance } = of;
        let sampled = |x: &str, sample: bool| match sample {
            true => (2, format!("{x} * {n} / ({n} - 1)")),
            false => (1, x.to_owned()),
        };
        let slope = format!("{covariance} / NULLIF({vx}, 0)");
        match self {
            Variance { sample, root } => {
                let (least, v) = sampled(vx, sample);
                (least, if root { format!("pg_catalog.sqrt({v})") } else { v })
            }
            Squares => (1, format!("{vx} * {n}")),
            Covariance { sample } => sampled(covariance, sample),
            Products => (1, format!("{covariance} * {n}")),
            Correlation => {
                let spread = format!("pg_catalog.sqrt({vx}) * pg_catalog.sqrt({vy})");
                // LEAST and GREATEST ignore NULL.
                let cut = format!("LEAST(GREATEST({covariance} / ({spread}), -1), 1)");
                (1, format!("CASE WHEN {spread} > 0 THEN {cut} END"))
            }
            Determination => {
                let cut = format!("LEAST({covariance} / {vx} * {covariance} / {vy}, 1)");
                (1, format!("CASE WHEN {vx} = 0 THEN NULL WHEN {vy} = 0 THEN 1 ELSE {cut} END"))
            }
            Slope => (1, slope),
            Intercept => (1, format!("{y} - {x} * {slope}")),
        }
    }

    /// The derivatives by a, b, p, q and c of the function that it is of means, as `interval` has them. `centre`: what deviations
    /// of x are taken from.
    pub(super) fn derivatives(self, centre: f64) -> [String; 5] {
        let texts = |all: [&str; 5]| all.map(str::to_owned);
        match self {
            Variance { .. } | Squares => texts(["-2 * s.dx", "0", "1", "0", "0"]),
            Covariance { .. } | Products => texts(["-s.dy", "-s.dx", "0", "0", "1"]),
            Correlation => [
                "(s.k * s.dx / s.v - s.dy)",
                "(s.k * s.dy / s.w - s.dx)",
                "-0.5 * s.k / s.v",
                "-0.5 * s.k / s.w",
                "1",
            ]
            .map(|f| format!("{f} / pg_catalog.sqrt(s.v * s.w)")),
            Determination => [
                "2 * (s.k * s.dx / s.v - s.dy)",
                "2 * (s.k * s.dy / s.w - s.dx)",
                "-s.k / s.v",
                "-s.k / s.w",
                "2",
            ]
            .map(|f| format!("{f} * s.k / s.v / s.w")),
            Slope => texts([
                "(2 * s.k * s.dx / s.v - s.dy) / s.v",
                "-s.dx / s.v",
                "-s.k / s.v / s.v",
                "0",
                "1 / s.v",
            ]),
            // The mean of y, less the slope times the mean of x.
            Intercept => {
                let mean = format!("({} + s.dx)", Real::Known(centre).text());
                [
                    format!("-s.k / s.v - {mean} * (2 * s.k * s.dx / s.v - s.dy) / s.v"),
                    format!("1 + {mean} * s.dx / s.v"),
                    format!("{mean} * s.k / s.v / s.v"),
                    "0".to_owned(),
                    format!("-{mean} / s.v"),
                ]
            }
        }
    }

    /// Whether it divides by the variance of x, and by that of y.
    pub(super) fn divides_by(self) -> [bool; 2] {
        match self {
            Correlation | Determination => [true, true],
            Slope | Intercept => [true, false],
            Variance { .. } | Squares | Covariance { .. } | Products => [false, false],
        }
    }

    /// The factor of n where the statistic is a sum, and else 0; and the factor of all derivatives.
    pub(super) fn of_rows(self) -> (&'static str, &'static str) {
        match self {
            Squares => ("s.v", "1"),
            Products => ("s.k", "1"),
            Covariance { sample: true } => ("0", "1 / NULLIF(s.n - 1, 0)"),
            _ => ("0", "1 / NULLIF(s.n, 0)"),
        }
    }

    /// Range of its values whatever the noise is. `most`: the largest product of deviations.
    pub(super) fn ends(self, most: f64) -> (f64, f64) {
        match self {
            Covariance { sample: false } => (-most, most),
            Correlation => (-1.0, 1.0),
            Determination => (0.0, 1.0),
            Variance { .. } | Squares => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Of what EXPLAIN says how far it is off.
    pub(super) fn error_of(self) -> &'static str {
        match self {
            Variance { root: false, .. } | Covariance { .. } => "",
            Variance { root: true, .. } => "of its square, ",
            Squares | Products => "of it divided by n, ",
            Correlation | Determination | Slope | Intercept => "of the covariance, ",
        }
    }

    /// The same in a sentence: near the centre of the ranges, and at their ends.
    pub(super) fn sentence(self, name: &str, middle: &str, end: &str) -> String {
        match self {
            Variance { root: false, .. } | Covariance { .. } => {
                format!("{name} within ±{middle} / n to ±{end} / n")
            }
            Variance { root: true, .. } => {
                format!("the square of {name} within ±{middle} / n to ±{end} / n")
            }
            Squares | Products => format!("{name} within ±{middle} to ±{end}"),
            Correlation | Determination | Slope | Intercept => {
                format!("the covariance that {name} rests on within ±{middle} / n to ±{end} / n")
            }
        }
    }
}
