//! Numbers in words, as EXPLAIN, notices and refusals have them.

use bigdecimal::{BigDecimal, ToPrimitive, Zero};
use dp::Ratio;
use schema::SqlType;

/// Three significant digits.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if x >= 100.0 || x.fract() == 0.0 {
        format!("{x:.0}")
    } else {
        let digits = usize::try_from((2 - x.log10().floor().to_i64().unwrap_or(0)).clamp(0, 12)).unwrap_or(2);
        format!("{x:.digits$}")
    }
}

/// A ratio as a short decimal.
pub fn decimal(r: &Ratio) -> String {
    let x = BigDecimal::from(*r.numer()) / BigDecimal::from(*r.denom());
    let text = x.round(6).normalized();
    if text.is_zero() && *r.numer() != 0 {
        return format!("{:.3e}", approximate(r));
    }
    text.to_plain_string()
}

/// A ratio as a float.
pub fn approximate(r: &Ratio) -> f64 {
    r.numer().to_f64().unwrap_or(f64::NAN) / r.denom().to_f64().unwrap_or(f64::NAN)
}

/// Distance between points, in words.
pub(crate) fn distance(step: &BigDecimal, of: &SqlType) -> String {
    let day = BigDecimal::from(86_400);
    let (n, unit) = match of.is_datetime() {
        true if (step % &day).is_zero() => (step / &day, " day(s)"),
        true => (step.clone(), " second(s)"),
        false => (step.clone(), ""),
    };
    format!("{}{unit}", n.normalized().to_plain_string())
}
