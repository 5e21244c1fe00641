//! Contribution bounding: how many groups and rows of one unit count, and which stages of the fetch see to it.

use super::Settings;
use super::release::Key;
use super::source::PrivateSource;
use policy::{Policy, Privacy, Table};

/// What bounds one unit's contribution, and which stages of the fetch are needed for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounding {
    /// Groups a unit may touch.
    pub l0: u32,
    /// Groups above l0 must be dropped.
    pub l0_stage: bool,
    /// Rows a unit may bring to a group.
    pub rows: u32,
    /// Rows above that must be scaled down.
    pub rows_stage: bool,
    /// Rows are first aggregated per unit and group.
    pub per_unit: bool,
    /// Why each stage is there or not, for EXPLAIN.
    pub why: Vec<String>,
}

/// Decides what is bounded and how. `units`: the release counts units.
pub(super) fn bound(
    source: &PrivateSource,
    policy: &Policy,
    settings: &Settings,
    keys: &[Key],
    public: bool,
    units: bool,
) -> Bounding {
    let mut why = Vec::new();
    // Without a proof, rows are counted in the fetch after the joins: whatever these do, the rows of a unit above the
    // bound are scaled down.
    let proven = source.rows.bound.and_then(|n| u32::try_from(n.max(1)).ok());
    let one_row = proven == Some(1);
    let private = |b: &usize| -> Option<&Table> {
        let table = source.scans.iter().find(|s| s.binding == *b)?.table()?;
        policy.tables.get(table).filter(|t| t.privacy != Privacy::Public)
    };
    let several = source.named().filter(|s| private(&s.binding).is_some() || s.table().is_none()).count() > 1;
    let only = source.named().find_map(|s| private(&s.binding)).filter(|_| !several);
    let followed: Vec<&Table> = source.rows.follows.iter().filter_map(private).collect();
    let own = followed.iter().filter_map(|t| Some((t.max_rows?, t.name.as_str()))).min();
    let (max_rows, whose) = match (settings.chosen_rows, own) {
        (Some(chosen), _) => (chosen, String::new()),
        (None, Some((n, name))) if several => {
            (n, format!(" (the bound of {name}, whose rows the joins keep)"))
        }
        (None, Some((n, _))) => (n, String::new()),
        (None, None) if followed.is_empty() && source.scans.len() > 1 => {
            (settings.max_rows, " (the statement's: the joins multiply rows)".to_owned())
        }
        (None, None) => (settings.max_rows, String::new()),
    };
    let (rows, rows_stage) = match (proven.filter(|p| *p <= max_rows), only) {
        (Some(1), Some(Table { name, privacy: Privacy::Private { unit, .. }, .. })) => {
            why.push(format!("one row per unit: {name}.{unit} is a key; nothing to bound"));
            (1, false)
        }
        (Some(1), _) => {
            why.push("one row per unit: keys prove it; nothing to bound".into());
            (1, false)
        }
        (Some(p), Some(table)) => {
            why.push(format!(
                "at most {p} rows per unit: a key and a CHECK of {} prove it; nothing to bound",
                table.name
            ));
            (p, false)
        }
        (Some(p), None) => {
            why.push(format!("at most {p} rows per unit: keys prove it; nothing to bound"));
            (p, false)
        }
        (None, _) => {
            why.push(format!(
                "at most {max_rows} rows per unit{}{whose}: the sums and counts of a unit with more are scaled down",
                if keys.is_empty() { "" } else { " and group" }
            ));
            (max_rows, true)
        }
    };
    let mut size: usize = 1;
    for k in keys {
        let n = match &k.domain {
            // The size of a public table may change between the plan and the fetch.
            Some((d, with_null)) => d.size().map(|n| n.saturating_add(usize::from(*with_null))),
            None => None,
        };
        size = n.map_or(usize::MAX, |n| size.saturating_mul(n));
    }
    let max_groups = settings.max_groups;
    let cap = usize::try_from(max_groups).unwrap_or(usize::MAX);
    let (l0, l0_stage) = if keys.is_empty() || one_row {
        if !keys.is_empty() {
            why.push("one group per unit: it has one row; nothing to drop".into());
        }
        (1, false)
    } else if public && size <= cap {
        why.push(format!("at most {size} groups per unit: there are no more; nothing to drop"));
        (u32::try_from(size).unwrap_or(max_groups), false)
    } else if let Some(p) = proven.filter(|p| *p <= max_groups) {
        why.push(format!("at most {p} groups per unit: it has no more rows; nothing to drop"));
        (p, false)
    } else {
        why.push(format!("at most {max_groups} groups per unit: others are dropped in a random order"));
        (max_groups, true)
    };
    let per_unit = !one_row && (rows_stage || l0_stage || units);
    Bounding { l0: l0.max(1), l0_stage, rows, rows_stage, per_unit, why }
}
