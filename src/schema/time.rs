//! Moments as microseconds since 2000-01-01 00:00:00, and their text.

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// 0001-01-01 00:00:00: dates before it are outside every guard.
pub const FIRST: i64 = -730_119 * DAY;
/// 9999-12-31 23:59:59.999999.
pub const LAST: i64 = 2_921_940 * DAY - 1;

/// Year, month, day of a number of days since 2000-01-01 (proleptic Gregorian; Hinnant's civil_from_days).
pub fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 730_425; // days since 0000-03-01
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

/// The number of days since 2000-01-01 of a year, month and day (proleptic Gregorian; Hinnant's days_from_civil).
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let mp = (month + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 730_425
}

/// Microseconds from 1970-01-01 to 2000-01-01.
pub const EPOCH: i64 = 946_684_800 * MICROS_PER_SECOND;

/// `2023-01-01`
pub fn date(micros: i64) -> String {
    let (y, m, d) = civil(micros.div_euclid(DAY));
    format!("{y:04}-{m:02}-{d:02}")
}

/// `2023-01-01 08:30:00.000000`
pub fn timestamp(micros: i64) -> String {
    let in_day = micros.rem_euclid(DAY);
    let (s, us) = (in_day / MICROS_PER_SECOND, in_day % MICROS_PER_SECOND);
    let clock = format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60);
    if us == 0 { format!("{} {clock}", date(micros)) } else { format!("{} {clock}.{us:06}", date(micros)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(-1), "1999-12-31");
        assert_eq!(date(59 * DAY), "2000-02-29");
        assert_eq!(date(60 * DAY), "2000-03-01");
        assert_eq!(date(FIRST), "0001-01-01");
        assert_eq!(timestamp(LAST), "9999-12-31 23:59:59.999999");
        assert_eq!(date(8_401 * DAY), "2023-01-01");
        for day in (-730_119..2_921_940).step_by(97) {
            let (y, m, d) = civil(day);
            assert_eq!(days(y, m, d), day);
        }
        assert_eq!(timestamp(8_401 * DAY + 30_600 * MICROS_PER_SECOND), "2023-01-01 08:30:00");
    }
}
