//! Figures, dates and names as people read them.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;

/// Microseconds since 1970, by this machine's clock.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A moment to the minute, from microseconds since 1970.
pub fn moment(at: i64) -> String {
    let text = ledger::time(at);
    format!("{} UTC", text.get(..16).unwrap_or(&text))
}

/// The day of a moment.
pub fn day(at: i64) -> String {
    let text = ledger::time(at);
    text.get(..10).unwrap_or(&text).to_owned()
}

/// A share from 0 to 1 in percent, to a tenth; what is not nothing is not shown as nothing.
pub fn percent(share: f64) -> String {
    let tenths = (share.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
    match () {
        () if share > 0.0 && tenths == 0.0 => "< 0.1 %".into(),
        () if share < 1.0 && tenths == 100.0 => "> 99.9 %".into(),
        () => format!("{tenths:.1} %"),
    }
}

/// A share from 0 to 1 in percent, rounded up, with as many digits as tell it from 100.
pub fn at_most(share: f64) -> String {
    let up = |scale: f64| (share * scale * (1.0 - 1e-12)).ceil() * 100.0 / scale;
    match share {
        s if s < 0.01 => format!("{:.1} %", up(1000.0)),
        s if s < 0.99 => format!("{:.0} %", up(100.0)),
        s if s < 0.9999 => format!("{:.2} %", up(10_000.0).min(99.99)),
        _ => "practically 100 %".into(),
    }
}

/// A whole number with its thousands apart.
pub fn number(n: u128) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}

/// A number with its noun.
pub fn count(n: u128, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// A small chance as "one in n", rounded towards the larger chance.
pub fn one_in(chance: f64) -> String {
    let n = 1.0 / chance;
    let scale = 10f64.powf(n.log10().floor() - 1.0).max(1.0);
    // 1/1e-4 may lie a little below 10,000.
    let n = (n * (1.0 + 1e-9) / scale).floor() * scale;
    format!("1 in {}", number(n as u128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_plain_and_err_on_the_safe_side() {
        assert_eq!(
            [0.0, 0.0001, 0.0349, 0.9999, 1.0].map(percent),
            ["0.0 %", "< 0.1 %", "3.5 %", "> 99.9 %", "100.0 %"]
        );
        assert_eq!(
            [0.0042, 0.221, 0.23, 0.995, 0.99999].map(at_most),
            ["0.5 %", "23 %", "23 %", "99.50 %", "practically 100 %"]
        );
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [1e-4, 2e-6, 3e-5, 0.02].map(one_in),
            ["1 in 10,000", "1 in 500,000", "1 in 33,000", "1 in 50"]
        );
        assert_eq!(moment(1_700_000_000_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(day(1_700_000_000_000_000), "2023-11-14");
    }
}
