//! Of which type a sum is, and on which grid it is added up.

use crate::expr::Scalar;
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
