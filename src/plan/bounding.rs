//! Contribution bounding: how many rows and groups of one unit count, and which stages of the fetch see to it.
//!
//! What is decided here is a proof or a stage: a stage of the fetch is left out where keys that the schema enforces, or the
//! statement's own constants, prove it idle, and for no other reason. What people read about it is made elsewhere
//! (`explain`).

use super::Settings;
use super::release::Key;
use super::row_bounds::few;
use super::source::PrivateSource;
use crate::expr::Scalar;
use policy::{Policy, Privacy, Table};

/// No unit brings more rows than this to a group, whatever is asked for: the integers of a fetch stay in reach of int8.
pub const MOST_ROWS: u32 = 1_000_000;

/// Whose key proves a number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProvenBy {
    /// A key of this table that is its unit column.
    Unit {
        /// The table.
        table: String,
        /// Its column.
        column: String,
    },
    /// A key and a CHECK of this table.
    Check(String),
    /// GROUP BY the unit below, and keys where it is joined.
    Grouped,
    /// Keys of several tables.
    Several,
}

/// Whose bound on rows is used where nothing is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The statement's, or the only table's.
    Own,
    /// The statement's, because the joins multiply rows.
    Multiplied,
    /// That of this table, whose rows the joins keep.
    Kept(String),
}

/// How many rows of a unit count in one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A unit has at most so many rows in all: proven.
    Proven(u32, ProvenBy),
    /// Sums and counts of a unit with more are scaled down.
    Scaled(u32, Whose),
}

/// How many groups one unit can touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// There is one group.
    Only,
    /// A unit has one row: proven.
    OneRow,
    /// There are no more groups than this, by the constants of the text.
    Exact(u32),
    /// A unit has no more rows than this: proven.
    NoMoreRows(u32),
    /// Each point of a quantile is a group: of the points of a unit so many count, over all groups, in an order that a
    /// secret seed decides.
    Points(u32),
    /// Groups above this number are dropped, in an order that a secret seed decides.
    Ranked(u32),
    /// Each group is a question of its own to a stream.
    Each,
}

/// What bounds one unit's contribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounding {
    rows: Rows,
    groups: Groups,
    /// Units are counted, which takes their rows together.
    counts_units: bool,
    has_keys: bool,
}

impl Bounding {
    /// What is known of rows.
    pub fn of_rows(&self) -> &Rows {
        &self.rows
    }

    /// What is known of groups.
    pub fn of_groups(&self) -> &Groups {
        &self.groups
    }

    /// There is a GROUP BY.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Rows of a unit that count in a group.
    pub fn rows(&self) -> u32 {
        match &self.rows {
            Rows::Proven(n, _) | Rows::Scaled(n, _) => *n,
        }
    }

    /// Rows above that must be scaled down.
    pub fn rows_stage(&self) -> bool {
        matches!(self.rows, Rows::Scaled(..))
    }

    /// Groups that a unit may touch.
    pub fn l0(&self) -> u32 {
        match &self.groups {
            Groups::Only | Groups::OneRow | Groups::Each => 1,
            Groups::Exact(n) | Groups::NoMoreRows(n) | Groups::Ranked(n) | Groups::Points(n) => (*n).max(1),
        }
    }

    /// Groups above that must be dropped.
    pub fn l0_stage(&self) -> bool {
        matches!(self.groups, Groups::Ranked(_) | Groups::Points(_))
    }

    /// Rows are first aggregated per unit and group.
    pub fn per_unit(&self) -> bool {
        let one_row = matches!(self.rows, Rows::Proven(1, _));
        !one_row && (self.rows_stage() || self.l0_stage() || self.counts_units)
    }

    /// The same for whatever parts: whether rows are first aggregated per unit is how they are read, and where keys prove a
    /// bound it changes no number. For a form that is hashed.
    #[must_use]
    pub fn of_any_parts(&self) -> Self {
        Self { counts_units: true, ..self.clone() }
    }

    /// The same for the cells of these groups: a unit that may bring r rows to each of l groups weighs l·r in all, at as many
    /// points, once at each; where there are few points, more often at each.
    #[must_use]
    pub fn of_cells(&self, points: usize) -> Self {
        if matches!(self.rows, Rows::Proven(1, _)) {
            return Self { groups: Groups::OneRow, has_keys: true, ..self.clone() };
        }
        let points = u32::try_from(points).unwrap_or(u32::MAX).max(1);
        let (weight, whose) = match &self.rows {
            Rows::Scaled(n, whose) => (n.saturating_mul(self.l0()), whose.clone()),
            Rows::Proven(n, _) => (*n, Whose::Own),
        };
        let often = self.rows().div_ceil(points);
        let cells = weight.div_ceil(often);
        Self {
            rows: Rows::Scaled(often, whose),
            groups: Groups::Points(cells),
            has_keys: true,
            ..self.clone()
        }
    }

    /// The same for a question to a stream, where a unit may touch every group: each is a question of its own.
    #[must_use]
    pub fn of_question(&self) -> Self {
        Self { groups: Groups::Each, ..self.clone() }
    }
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
    let proven = source.rows.bound.and_then(|n| u32::try_from(n.max(1)).ok());
    let private = |b: &usize| private_table(source, policy, *b);
    let several = source.named().filter(|s| private(&s.binding).is_some() || s.table().is_none()).count() > 1;
    let only = source.named().find_map(|s| private(&s.binding)).filter(|_| !several);
    let (most, whose) = chosen(source, policy, settings, several);
    let scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
    let (in_all, in_group) = few(source, &scalars);
    let most = [in_all, in_group].into_iter().flatten().fold(most, u32::min);
    // Without a proof, rows are counted in the fetch after the joins: whatever these do, the rows of a unit above the
    // bound are scaled down.
    let rows = match (proven.filter(|p| *p <= most), only) {
        (Some(1), Some(Table { name, privacy: Privacy::Private { unit, .. }, .. })) => {
            Rows::Proven(1, ProvenBy::Unit { table: name.clone(), column: unit.clone() })
        }
        (Some(1), None) if source.named().any(|s| s.table().is_none()) => Rows::Proven(1, ProvenBy::Grouped),
        (Some(1), _) | (Some(_), None) => Rows::Proven(proven.unwrap_or(1), ProvenBy::Several),
        (Some(p), Some(table)) => Rows::Proven(p, ProvenBy::Check(table.name.clone())),
        (None, _) => Rows::Scaled(most, whose),
    };
    // Sizes that the text fixes: those of public tables may change, and those of series of times follow the zone.
    let exact = keys.iter().try_fold(1u32, |size, k| {
        let (domain, with_null) = k.domain.as_ref()?;
        let n = u32::try_from(domain.exact_size()?).ok()?.checked_add(u32::from(*with_null))?;
        size.checked_mul(n)
    });
    let cap = in_all.unwrap_or(u32::MAX).min(settings.max_groups);
    let most_groups = exact.filter(|_| public).map_or(cap, |n| n.clamp(1, cap));
    // The kernel counts values that the text lists, and no steps of a series: a rank says how many there are.
    let listed = keys.iter().filter(|_| public).try_fold(1u32, |size, k| {
        let (domain, with_null) = k.domain.as_ref()?;
        let n = u32::try_from(domain.listed()?).ok()?.checked_add(u32::from(*with_null))?;
        size.checked_mul(n)
    });
    let groups = if keys.is_empty() {
        Groups::Only
    } else if proven == Some(1) {
        Groups::OneRow
    } else if let Some(n) = listed.filter(|n| public && *n <= cap) {
        Groups::Exact(n)
    } else if let Some(n) = proven.filter(|n| *n <= most_groups) {
        Groups::NoMoreRows(n)
    } else {
        Groups::Ranked(most_groups)
    };
    Bounding { rows, groups, counts_units: units, has_keys: !keys.is_empty() }
}

/// The private table that is read under a binding.
fn private_table<'p>(source: &PrivateSource, policy: &'p Policy, binding: usize) -> Option<&'p Table> {
    let table = source.scans.iter().find(|s| s.binding == binding)?.table()?;
    known(policy, table)
}

/// The private table of this index.
fn known(policy: &Policy, table: usize) -> Option<&Table> {
    policy.tables.get(table).filter(|t| t.privacy != Privacy::Public)
}

/// The bound on rows where keys prove none, and whose it is.
fn chosen(source: &PrivateSource, policy: &Policy, settings: &Settings, several: bool) -> (u32, Whose) {
    let keeps = |b: &usize| source.scans.iter().find(|s| s.binding == *b)?.keeps();
    let followed: Vec<&Table> = source.rows.follows.iter().filter_map(|b| known(policy, keeps(b)?)).collect();
    let own = followed.iter().filter_map(|t| Some((t.max_rows?, t.name.as_str()))).min();
    let (most, whose) = match (settings.chosen_rows, own) {
        (Some(chosen), _) => (chosen, Whose::Own),
        (None, Some((n, name))) if several => (n, Whose::Kept(name.to_owned())),
        (None, Some((n, _))) => (n, Whose::Own),
        (None, None) if followed.is_empty() && source.scans.len() > 1 => {
            (settings.max_rows, Whose::Multiplied)
        }
        (None, None) => (settings.max_rows, Whose::Own),
    };
    (most.clamp(1, MOST_ROWS), whose)
}
