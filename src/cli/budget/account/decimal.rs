//! A decimal as somebody wrote it: exact, and what floats there must be around it.

use bigdecimal::BigDecimal;
use dp::interval::Interval;
use dp::{Ratio, ratio};
use std::fmt;

/// A number that is not negative.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    text: String,
    /// The number.
    pub(super) exact: Ratio,
}

impl Decimal {
    /// `what` is the number's name where it is refused.
    pub(super) fn of(number: &BigDecimal, what: &str) -> Result<Self, String> {
        let exact = ratio(number).ok_or_else(|| format!("{what} is negative or has too many digits"))?;
        Ok(Self { text: number.normalized().to_plain_string(), exact })
    }

    /// Floats around it.
    pub(super) fn enclosed(&self) -> Interval {
        Interval::ratio(&self.exact)
    }

    /// For people.
    pub(super) fn nearest(&self) -> f64 {
        f64::midpoint(self.enclosed().lo(), self.enclosed().hi())
    }

    /// From above.
    pub(super) fn high(&self) -> f64 {
        self.enclosed().hi()
    }

    /// From below.
    pub(super) fn low(&self) -> f64 {
        self.enclosed().lo().max(0.0)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
