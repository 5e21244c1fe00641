//! Distance between the points of a quantile's grid.

use bigdecimal::{BigDecimal, RoundingMode, Signed, ToPrimitive, Zero};
use schema::SqlType;

/// Distances between moments in seconds, where there are more than points.
const MOMENTS: &[i64] = &[1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400];
const SECONDS_PER_DAY: i64 = 86_400;

/// The distance of points: that of the values themselves where they are few, else the least round number of them with which
/// the range has no more than `most`.
pub(super) fn distance(
    ty: &SqlType,
    low: &BigDecimal,
    high: &BigDecimal,
    lattice: Option<&BigDecimal>,
    most: u32,
) -> BigDecimal {
    // Both ends are rounded outwards, which may add one.
    let steps = BigDecimal::from(most) - BigDecimal::from(2);
    let least = (high - low) / steps;
    if ty.is_datetime() {
        let finest = if *ty == SqlType::Date { SECONDS_PER_DAY } else { 1 };
        let named = MOMENTS.iter().filter(|s| **s >= finest).map(|s| BigDecimal::from(*s));
        let found = named.into_iter().find(|s| *s >= least);
        let day = BigDecimal::from(SECONDS_PER_DAY);
        return found.unwrap_or_else(|| (least / &day).with_scale_round(0, RoundingMode::Ceiling) * day);
    }
    if let Some(l) = lattice.filter(|l| l.is_positive() && **l >= least) {
        return l.normalized();
    }
    if !least.is_positive() {
        return BigDecimal::from(1);
    }
    // 1, 2 or 5 times the power of ten that is not above it.
    let exponent = least.digits().to_i64().unwrap_or(0) - least.fractional_digit_count() - 1;
    let power = |e: i64| BigDecimal::new(1.into(), -e);
    let round = [1, 2, 5, 10].map(|m| power(exponent) * BigDecimal::from(m));
    let round = round.into_iter().find(|s| *s >= least).unwrap_or_else(|| power(exponent + 1));
    match lattice.filter(|l| l.is_positive() && !l.is_zero()) {
        // A multiple of the values' own distance.
        Some(l) => ((&round / l).with_scale_round(0, RoundingMode::Ceiling) * l).normalized(),
        None => round.normalized(),
    }
}
