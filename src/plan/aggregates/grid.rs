//! Of which type a sum is, on which grid it is added up, and of what size its values are.

use super::part::Part;
use crate::expr::{GridValue, Scalar};
use bigdecimal::{BigDecimal, Signed, Zero};
use schema::SqlType;

/// Sums keep at least this many steps between 0 and their bound where no grid is declared.
const DEFAULT_STEPS: u32 = 9;

/// The type that PostgreSQL gives a sum, or an average.
pub(super) fn result_type(average: bool, ty: &SqlType) -> SqlType {
    match (average, ty) {
        (_, SqlType::Interval) => SqlType::Interval,
        (_, SqlType::Float8) | (true, SqlType::Float4) => SqlType::Float8,
        (false, SqlType::Float4) => SqlType::Float4,
        (false, SqlType::Int2 | SqlType::Int4) => SqlType::Int8,
        _ => SqlType::Numeric { scale: None },
    }
}

/// The grid of a sum: the lattice of its values, else nine digits of its bound.
pub(super) fn grid(value: &Scalar, low: &BigDecimal, high: &BigDecimal) -> BigDecimal {
    let magnitude = low.abs().max(high.abs());
    let limit = BigDecimal::from(1i64 << 62);
    match value.lattice() {
        Some(l) if l.is_positive() && &magnitude / l <= limit => l.clone(),
        _ => {
            // The power of ten that leaves nine digits to the magnitude.
            let mut exponent = 0i64;
            let (one, ten) = (BigDecimal::from(1), BigDecimal::from(10));
            let mut m = magnitude;
            if m.is_zero() {
                return BigDecimal::from(1);
            }
            while m >= ten {
                m = (&m / &ten).normalized();
                exponent += 1;
            }
            while m < one {
                m = (&m * &ten).normalized();
                exponent -= 1;
            }
            BigDecimal::new(1.into(), i64::from(DEFAULT_STEPS) - exponent).normalized()
        }
    }
}

/// A released number in a type; of an interval it is the length in seconds, within what its days can hold.
pub(super) fn typed(number: &str, ty: &SqlType) -> String {
    match ty {
        SqlType::Interval => {
            let held = format!(
                "pg_catalog.numeric_smaller(pg_catalog.numeric_larger(({number})::pg_catalog.numeric, -185000000000000), 185000000000000)"
            );
            format!(
                "pg_catalog.make_interval(days => pg_catalog.div({held}, 86400)::pg_catalog.int4, secs => ({held} % 86400)::pg_catalog.float8)"
            )
        }
        ty => format!("({number})::{}", ty.sql_name()),
    }
}

/// The range of a sum's values, in steps of its grid.
pub(super) struct Range {
    /// The most that is added for a row.
    pub(super) most: f64,
    /// The middle that was taken off; the middle of the range where nothing was.
    pub(super) centre: f64,
    /// Half its width.
    pub(super) half: f64,
    /// The magnitude of its middle, or half of the half where that is more.
    pub(super) typical: f64,
}

impl Range {
    /// Of what a part adds up.
    pub(super) fn of_part(parts: &[Part], part: usize) -> Option<Self> {
        parts.get(part).and_then(|p| p.kind.on_grid()).map(Self::of)
    }

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
