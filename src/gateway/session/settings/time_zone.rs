//! Time zones of sessions (soundness rule 37): those that PostgreSQL has a name for, and plain
//! offsets.
//!
//! PostgreSQL takes any rule in POSIX's notation, too, such as `AAA97BBB-47,J57/2,J300/0`: offsets
//! of days, and days that are left out or happen twice. The behaviour of time zones that is relied
//! on (a day has from 23 to 25 hours, a local time is at most 16 hours from UTC) is that of the
//! zones of this world only.

use answer::{ClientError, SqlState};

/// All names, in lower case and one a line.
pub(in crate::gateway) const NAMES: &str =
    "SELECT pg_catalog.string_agg(pg_catalog.lower(name), E'\\n') FROM pg_catalog.pg_timezone_names";

/// Seconds within which a plain offset lies: below 16 hours either way.
const LIMIT: u32 = 16 * 3600;

/// Whether a zone is among [`NAMES`].
pub(in crate::gateway) fn is_among(zone: &str, names: &str) -> bool {
    names.lines().any(|name| name.eq_ignore_ascii_case(zone))
}

/// Whether a zone is one offset at all times: `+05:30`, or `<-07>+07`, as PostgreSQL says SET TIME ZONE -7.
pub(in crate::gateway) fn is_plain_offset(zone: &str) -> bool {
    let Some((name, offset)) = zone.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return seconds(zone).is_some();
    };
    // The name counts east of Greenwich, the offset west.
    match (seconds(name), seconds(offset)) {
        (Some((east, n)), Some((west, m))) => n == m && (n == 0 || east != west),
        _ => false,
    }
}

/// `+hh`, `-hh:mm`, `hh:mm:ss`: whether it is below zero, and seconds.
fn seconds(text: &str) -> Option<(bool, u32)> {
    let negative = text.starts_with('-');
    let mut parts = text.strip_prefix(['+', '-']).unwrap_or(text).split(':');
    let mut part = |below: u32| match parts.next() {
        None => Some(0),
        Some(p) if (1..=2).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit()) => {
            p.parse().ok().filter(|n| *n < below)
        }
        Some(_) => None,
    };
    let total = part(24)? * 3600 + part(60)? * 60 + part(60)?;
    (parts.next().is_none() && total < LIMIT).then_some((negative, total))
}

/// The zone of a session, by a text that the function `timezone` reads as the same. That looks for abbreviations first, and of
/// some a zone has the name that goes to summer time, as the abbreviation does not: these have another name, under which the
/// clocks of the zone are as they are since 1977. A number is one of hours east of Greenwich to SET, and west to a rule.
pub(in crate::gateway) fn as_argument(zone: &str) -> String {
    const ABBREVIATED: [(&str, &str); 4] = [
        ("CET", "Europe/Brussels"),
        ("EET", "Europe/Athens"),
        ("MET", "Europe/Brussels"),
        ("WET", "Europe/Lisbon"),
    ];
    if zone.eq_ignore_ascii_case(plan::UTC) {
        return plan::UTC.to_owned();
    }
    let other = ABBREVIATED.iter().find(|(short, _)| short.eq_ignore_ascii_case(zone));
    let hours = zone.strip_prefix(['+', '-']).unwrap_or(zone);
    if !hours.is_empty() && hours.bytes().all(|b| b.is_ascii_digit()) {
        let (east, west) = if zone.starts_with('-') { ('-', '+') } else { ('+', '-') };
        return format!("<{east}{hours:0>2}>{west}{hours:0>2}");
    }
    other.map_or(zone, |(_, name)| name).to_owned()
}

/// 22023.
pub(in crate::gateway) fn refused(zone: &str) -> ClientError {
    let shown: String = zone.chars().take(60).collect();
    ClientError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("time zone \"{shown}\" is neither a name of PostgreSQL's nor a plain offset"),
    )
    .hint(
        "Take a name from pg_timezone_names, such as 'Europe/Berlin', or an offset below 16 hours, such as '+05:30' or -7. \
         Rules in POSIX notation are not supported.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_37_plain_offsets_are_one_offset_within_a_day() {
        for zone in [
            "<-07>+07",
            "<+05:30>-05:30",
            "<+00>-00",
            "<-07:07:24>+07:07:24",
            "+05:30",
            "-7",
            "5",
            "15:59",
            "<+15:59>-15:59",
        ] {
            assert!(is_plain_offset(zone), "{zone}");
        }
        for zone in [
            "",
            "<",
            "<>",
            "+",
            "16",
            "<+16>-16",
            "<+100>-100",
            "<+05>+05",
            "<+05>-06",
            "<X>-3",
            "A-48",
            "UTC+3",
            "<-07>+07,J1",
            "<-07>+07<-06>",
            "5:60",
            "5:",
            "1:2:3:4",
            "AAA97BBB-47,J57/2,J300/0",
            "+5 ",
            "--5",
            "X-30Y-100,J62/3,J280/0",
        ] {
            assert!(!is_plain_offset(zone), "{zone}");
        }
        assert!(is_among("America/New_York", "utc\namerica/new_york"));
        assert!(!is_among("America/New", "utc\namerica/new_york") && !is_among("", ""));
    }
}
