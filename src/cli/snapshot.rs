//! The schema snapshot's file: reading, writing, and how old it is.

use super::database::{self, Connected};
use super::file;
use emit::{ident, table};
use ledger::{LedgerError, Owner};
use policy::{Given, LedgerLocation, Measured, Policy, Privacy};
use schema::time;
use schema::{NumberedProfile, Schema, Size, Snapshot, SqlType, version};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// No snapshot is larger; what is, is the wrong file.
const MAX_BYTES: u64 = 256 << 20;

/// 2000-01-01 in seconds after 1970-01-01.
const Y2000: i64 = 946_684_800;

/// Reads a snapshot, or says how to make one.
pub fn read(path: &Given<PathBuf>, policy: &Path) -> Result<Snapshot, String> {
    let make = || {
        format!(
            "`noisegate check --policy {} --write-schema` writes it where the database can be reached",
            policy.display()
        )
    };
    let text = match std::fs::metadata(path.reveal()) {
        Ok(m) if m.len() > MAX_BYTES => Err(format!("larger than {MAX_BYTES} bytes")),
        Ok(_) => std::fs::read_to_string(path.reveal()).map_err(|e| e.to_string()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("there is no schema snapshot {path}: {}", make()));
        }
        Err(e) => Err(e.to_string()),
    };
    let wrong = |why: String| format!("the schema snapshot {path} cannot be used: {why}; {}", make());
    Snapshot::from_json(&text.map_err(wrong)?).map_err(|e| wrong(e.to_string()))
}

/// Writes the snapshot of a schema that was just read. With the checked policy, public columns are counted, too; what
/// could not be counted is said.
pub async fn write(
    path: &Given<PathBuf>,
    schema: Schema,
    policy: Option<&Policy>,
    connected: &Connected,
) -> Result<Vec<String>, String> {
    let (sizes, mut warnings) = match policy {
        Some(policy) => sizes(policy, connected).await,
        None => (Vec::new(), Vec::new()),
    };
    let profiles = policy.map_or_else(|| Ok(Vec::new()), |policy| measured(&policy.ledger));
    let profiles = profiles.unwrap_or_else(|why| {
        warnings.push(format!("what was measured of units is not in it: {why}"));
        Vec::new()
    });
    let numbered = |p: &Measured| NumberedProfile { id: p.id, profile: p.written() };
    let snapshot = Snapshot::new(time::timestamp(now() * time::MICROS_PER_SECOND), schema, sizes);
    let snapshot = snapshot.with_profiles(profiles.iter().map(numbered).collect());
    let text = snapshot.to_json().map_err(|e| format!("the schema cannot be written as JSON: {e}"))?;
    file::replace(path.reveal(), &text, false).map_err(|e| format!("{path} cannot be written: {e}"))?;
    Ok(warnings)
}

/// The profiles that a ledger holds; none where there is no ledger yet. It may be served from meanwhile.
pub fn measured(ledger: &LedgerLocation) -> Result<Vec<Measured>, String> {
    match Owner::read(ledger) {
        Ok(owner) => Ok(owner.profiles()),
        Err(LedgerError::Missing(_) | LedgerError::NoSchema(_)) => Ok(Vec::new()),
        Err(e) => Err(e.to_string()),
    }
}

/// The profiles of a snapshot.
pub fn profiles(snapshot: &Snapshot) -> Vec<Measured> {
    snapshot.profiles.iter().filter_map(|p| Measured::read(p.id, &p.profile)).collect()
}

/// Seconds since 2000-01-01.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX) - Y2000
}

/// The number of values of every column of a public table that could be a group key.
async fn sizes(policy: &Policy, connected: &Connected) -> (Vec<Size>, Vec<String>) {
    let (mut sizes, mut warnings) = (Vec::new(), Vec::new());
    for t in policy.tables.iter().filter(|t| t.privacy == Privacy::Public && !t.collected) {
        // Other types need not have an equality to count by.
        let keys = t.columns.iter().filter(|c| !matches!(c.ty, SqlType::Other { .. }));
        let names: Vec<&str> = keys.map(|c| c.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let counts: Vec<String> =
            names.iter().map(|n| format!("pg_catalog.count(DISTINCT t.{})", ident(n))).collect();
        let sql = format!("SELECT {} FROM {} AS t", counts.join(", "), table(t));
        match connected.client.query_one(&sql, &[]).await {
            Ok(row) => sizes.extend(names.iter().enumerate().filter_map(|(i, column)| {
                let values = u64::try_from(row.try_get::<_, i64>(i).ok()?).ok()?;
                let (schema, table, column) = (t.schema.clone(), t.name.clone(), (*column).to_owned());
                Some(Size { schema, table, column, values })
            })),
            Err(e) => warnings.push(format!(
                "the values of the public table {} could not be counted ({}): `explain` will ask for --domain-size",
                t.name,
                database::reason(&e)
            )),
        }
    }
    (sizes, warnings)
}

/// Name and age of a snapshot.
pub fn describe(path: &Given<PathBuf>, snapshot: &Snapshot) -> String {
    format!(
        "schema snapshot {} of PostgreSQL {}, written {} UTC{}",
        path,
        version(&snapshot.schema),
        snapshot.written,
        age(&snapshot.written, now())
    )
}

/// `, 3 days ago`; nothing for a date that cannot be read.
fn age(written: &str, now: i64) -> String {
    let Some(then) = policy::from_iso(written) else { return String::new() };
    let seconds = now - then / time::MICROS_PER_SECOND;
    let of = |n: i64, unit: &str| format!(", {n} {unit}{} ago", if n == 1 { "" } else { "s" });
    match seconds {
        i64::MIN..0 => ", which is in the future".into(),
        0..120 => ", just now".into(),
        120..7200 => of(seconds / 60, "minute"),
        7200..172_800 => of(seconds / 3600, "hour"),
        _ => of(seconds / 86_400, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_unit_that_fits() {
        for (now, expected) in [
            (0, ", just now"),
            (-1, ", which is in the future"),
            (600, ", 10 minutes ago"),
            (7200, ", 2 hours ago"),
            (172_800, ", 2 days ago"),
            (86_400 * 400, ", 400 days ago"),
        ] {
            assert_eq!(age("2000-01-01 00:00:00", now), expected);
        }
        assert_eq!(age("once", 0), "");
    }
}
