//! Windows of budgets, as periods of UTC. Times are microseconds since 1970-01-01, as ledgers count them.

use super::model::Window;
use schema::time::{DAY, civil, days};

/// Days from 1970-01-01 to 2000-01-01, from where dates are counted.
const TO_2000: i64 = 10_957;

impl Window {
    /// When the window began that `at` lies in.
    pub fn start(self, at: i64) -> i64 {
        let day = at.div_euclid(DAY);
        let first = match self {
            Self::Days(n) => day - day.rem_euclid(i64::from(n.max(1))),
            Self::Month => {
                let (year, month, _) = civil(day - TO_2000);
                days(year, month, 1) + TO_2000
            }
        };
        first.saturating_mul(DAY)
    }

    /// When the next one begins.
    pub fn next(self, at: i64) -> i64 {
        let start = self.start(at);
        match self {
            Self::Days(n) => start.saturating_add(i64::from(n.max(1)) * DAY),
            Self::Month => {
                let (year, month, _) = civil(start.div_euclid(DAY) - TO_2000);
                let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                (days(year, month, 1) + TO_2000).saturating_mul(DAY)
            }
        }
    }

    /// The most windows that 365 days can touch: spending of a year is at most that of as many
    /// budgets.
    pub fn in_a_year(self) -> u32 {
        match self {
            Self::Days(n) => 365u32.div_ceil(n.max(1)) + 1,
            Self::Month => 13,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Microseconds of an ISO timestamp.
    fn at(text: &str) -> i64 {
        super::super::time::from_iso(text).unwrap() + TO_2000 * DAY
    }

    #[test]
    fn months_end_where_the_calendar_says() {
        for (within, start, next) in [
            ("2026-11-21 08:00:00", "2026-11-01 00:00:00", "2026-12-01 00:00:00"),
            ("2026-12-31 23:59:59.999999", "2026-12-01 00:00:00", "2027-01-01 00:00:00"),
            ("2027-01-01 00:00:00", "2027-01-01 00:00:00", "2027-02-01 00:00:00"),
            ("2027-02-28 23:59:59", "2027-02-01 00:00:00", "2027-03-01 00:00:00"),
            ("2028-02-29 12:00:00", "2028-02-01 00:00:00", "2028-03-01 00:00:00"),
            ("2028-03-01 00:00:00", "2028-03-01 00:00:00", "2028-04-01 00:00:00"),
            ("2100-02-28 23:59:59", "2100-02-01 00:00:00", "2100-03-01 00:00:00"),
            ("2000-02-29 00:00:00", "2000-02-01 00:00:00", "2000-03-01 00:00:00"),
            ("1970-01-01 00:00:00", "1970-01-01 00:00:00", "1970-02-01 00:00:00"),
        ] {
            assert_eq!(Window::Month.start(at(within)), at(start), "{within}");
            assert_eq!(Window::Month.next(at(within)), at(next), "{within}");
        }
    }

    #[test]
    fn days_are_counted_from_1970() {
        let day = Window::Days(1);
        assert_eq!(day.start(at("2028-02-29 23:59:59.999999")), at("2028-02-29 00:00:00"));
        assert_eq!(day.next(at("2028-02-29 23:59:59.999999")), at("2028-03-01 00:00:00"));
        let thirty = Window::Days(30);
        let start = thirty.start(at("2026-11-21 08:00:00"));
        assert_eq!(start % (30 * DAY), 0);
        assert_eq!(thirty.next(start) - start, 30 * DAY);
        assert!((start..start + 30 * DAY).contains(&at("2026-11-21 08:00:00")));
        // Before 1970, and at the ends of the numbers: no panic, and a window holds what it was asked for.
        assert_eq!(day.start(-1), -DAY);
        for window in [day, thirty, Window::Month] {
            window.next(i64::MAX);
            window.start(i64::MIN);
        }
    }

    /// Every moment lies in one window, and windows follow each other without a gap: no day is counted in two, or none.
    #[test]
    fn windows_tile_the_calendar() {
        for window in [Window::Days(1), Window::Days(7), Window::Days(30), Window::Month] {
            let mut start = window.start(at("1999-12-01 00:00:00"));
            for _ in 0..1500 {
                let next = window.next(start);
                assert!(next > start);
                assert_eq!(
                    (window.start(start), window.start(next - 1), window.start(next)),
                    (start, start, next)
                );
                start = next;
            }
        }
    }

    #[test]
    fn a_year_touches_no_more_windows_than_it_says() {
        for window in [Window::Days(1), Window::Days(7), Window::Days(30), Window::Days(400), Window::Month] {
            let mut most = 0;
            for day in 0..1500 {
                // From noon to noon: both ends lie within a day.
                let from = at("2023-12-15 12:00:00") + day * DAY;
                let (mut touched, mut start) = (1, window.next(from));
                while start < from + 365 * DAY {
                    touched += 1;
                    start = window.next(start);
                }
                most = most.max(touched);
            }
            assert!(most <= window.in_a_year(), "{window:?}: {most}");
            assert!(most + 1 >= window.in_a_year(), "{window:?}: {most}");
        }
    }

    #[test]
    fn words() {
        for word in ["1d", "30d", "3660d", "month"] {
            assert_eq!(Window::parse(word).unwrap().word(), word);
        }
        for word in ["0d", "d", "01d", "3661d", "30", "+3d", "1.5d", "week", "", "1D"] {
            assert_eq!(Window::parse(word), None, "{word}");
        }
    }
}
