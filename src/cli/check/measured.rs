//! Lines of `noisegate check` about profiles: what bounds cut of each private table, or that nobody
//! knows.

use crate::cli::profile::text::{self, day};
use crate::gateway::measuring::measurable;
use policy::{Policy, Profile, Table};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Warnings of tables of which nothing is known, or not any more.
pub fn warnings(policy: &Policy, file: &Path) -> String {
    let (now, mut text) = (now(), String::new());
    for (table, can) in measurable(policy) {
        let measure = format!("noisegate profile --policy {} --table {}", file.display(), table.name);
        match &table.profile {
            None if can.is_ok() && table.most_rows.is_none() => {
                let _ = writeln!(
                    text,
                    "warning: bounds {}: totals may be too low by any amount, and upper ends of intervals are unknown, until \
                     `{measure}`",
                    table.name
                );
            }
            Some(profile) if profile.valid_until <= now => {
                let _ = writeln!(
                    text,
                    "warning: bounds {}: what was measured on {} was valid until {}: upper ends of intervals are unknown until \
                     `{measure}`",
                    table.name,
                    day(profile.measured),
                    day(profile.valid_until)
                );
            }
            _ => {}
        }
    }
    text
}

/// A line for each table that was measured.
pub fn summary(policy: &Policy) -> String {
    let measured = policy.tables.iter().filter_map(|t| Some((t, t.profile.as_ref()?)));
    measured.map(|(table, profile)| line(table, profile, policy)).collect()
}

fn line(table: &Table, profile: &Profile, policy: &Policy) -> String {
    let (from, to) = (day(profile.measured), day(profile.valid_until));
    let mut line = format!("  bounds    {}: measured {from}, valid until {to}", table.name);
    let _ = write!(line, ", {}", text::numbered(profile.items.len()));
    if let Some(item) = table.item_of_rows() {
        let told = text::told(item, &policy.statement.epsilon, table.most_rows.is_some());
        let _ = write!(line, "; {told}");
    }
    line + "\n"
}

/// Microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::gateway::measuring::statements::tests::bikes;
    use dp::{Distribution, Ratio, profile::Histogram};

    #[test]
    fn what_is_known_is_told_and_what_is_not_is_a_warning() {
        let mut policy = bikes();
        let unknown = warnings(&policy, Path::new("p.toml"));
        assert!(unknown.starts_with(
            "warning: bounds trips: totals may be too low by any amount, and upper ends of intervals are unknown, until \
             `noisegate profile --policy p.toml --table trips`\nwarning: bounds payments:"
        ));
        assert_eq!(summary(&policy), "");
        let mut bins = vec![0; dp::profile::BINS];
        (bins[0], bins[2], bins[5]) = (900, 300, 400);
        let noise = Distribution::Gaussian { variance: Ratio::from_integer(100) };
        let histogram = Histogram::new(bins, noise, Ratio::new(1, 10)).unwrap();
        policy.with_profiles(&[policy::Measured {
            schema: "public".into(),
            table: "trips".into(),
            owner: "rider_id".into(),
            id: 5,
            measured: 0,
            valid_until: 7_776_000_000_000,
            items: vec![(policy::Measure::ROWS, histogram)],
        }]);
        assert_eq!(
            summary(&policy),
            "  bounds    trips: measured 1970-01-01, valid until 1970-04-01, 1 item; at ε = 0.1 at most 8 rows of a unit count, \
             which cuts at most 90 of any group; at most 93 units have more than 12\n"
        );
        let old = warnings(&policy, Path::new("p.toml"));
        assert!(
            old.starts_with(
                "warning: bounds trips: what was measured on 1970-01-01 was valid until 1970-04-01"
            ),
            "{old}"
        );
        // Who knows the most rows needs no profile for that.
        policy.tables.iter_mut().for_each(|t| (t.profile, t.most_rows) = (None, Some(24)));
        assert_eq!(warnings(&policy, Path::new("p.toml")), "");
    }
}
