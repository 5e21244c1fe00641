//! Contribution bounding: how many rows and groups of one unit count, and which stages of the fetch see to it.
//!
//! What is decided here is a proof or a stage: a stage of the fetch is left out where keys that the schema enforces, or the
//! statement's own constants, prove it idle, and for no other reason. What people read about it is made elsewhere
//! (`explain`).

use crate::Settings;
use crate::algebra::source::PrivateSource;
use crate::expr::Scalar;
use crate::groups::key::Key;
use crate::own::row_bounds::few;
use bigdecimal::BigDecimal;
use policy::{Policy, Privacy, Table};
use sql::ast::BindingId;

/// No unit brings more rows than this to a group, whatever is asked for: the integers of a fetch stay in reach of int8.
pub const MOST_ROWS: u32 = 1_000_000;

/// Whose key proves a number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProvenBy {
    /// A key of this table that is its unit column.
    Unit {
        /// The table.
        table: String,
        /// The column.
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
    /// The table whose rows the joins keep.
    Kept(String),
}

/// Rows of a unit that count in one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A proven bound on the rows of a unit in all.
    Proven(u32, ProvenBy),
    /// Sums and counts of a unit with more are scaled down.
    Scaled(u32, Whose),
}

/// Groups that one unit can touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// There is one group.
    Only,
    /// A unit has one row: proven.
    OneRow,
    /// The keys are the same in all rows of a unit, since keys of the tables that they are from tie these to it: proven.
    OfUnit,
    /// There are no more groups than this, by the constants of the text.
    Exact(u32),
    /// A unit has no more rows than this: proven.
    NoMoreRows(u32),
    /// A unit has no more rows than this in all of its groups together: proven.
    InAll(u32),
    /// Rows of all groups together are bounded: those of a unit with more are scaled down in each.
    Spread(Spread),
    /// Groups above this number are dropped, in an order that a secret seed decides.
    Ranked(u32),
    /// Groups of which each is a question of its own to a stream.
    Each,
    /// Values are counted, of which a unit has no more than rows count, in all groups together: those above are dropped, in an
    /// order that a secret seed decides.
    Values,
}

/// A bound on the rows of one unit over all groups: a vector, one number of rows for each group,
/// whose norm is bounded, in place of a number of rows in each group and a number of groups.
///
/// A unit with at most `rows` rows in each of `groups` groups keeps to it: in l₁ norm (for Laplace
/// noise) the bound is `groups`·`rows`, in l₂ norm (for Gaussian noise) √`groups`·`rows`. Noise is
/// the same as for those, and no unit loses a group to it. When the owner bounds rows in all groups
/// by less, it is `total` in l₁ norm, and √(`rows`·`total`) in l₂: the squares of numbers up to
/// `rows` that add up to `total` add up to at most `rows` times that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Groups that a unit is thought to touch.
    pub groups: u32,
    /// Rows in each of them.
    pub rows: u32,
    /// Rows in all of them: their product, or less.
    pub total: u32,
}

impl Spread {
    /// The bound on all rows is below what rows and groups say.
    pub fn is_total(&self) -> bool {
        self.groups.checked_mul(self.rows).is_none_or(|most| self.total < most)
    }

    /// The same for Gaussian noise: where there is a bound on all rows, the rows in each group, and the number of such groups,
    /// whose squares add up to `rows`·`total` or little more. A unit that keeps to both bounds keeps to it.
    #[must_use]
    pub fn in_squares(self) -> Self {
        if !self.is_total() {
            return self;
        }
        let squares = u64::from(self.rows.min(self.total)) * u64::from(self.total);
        let groups = |rows: u32| squares.div_ceil(u64::from(rows) * u64::from(rows));
        // Few are tried: the largest few leave little over.
        let most = self.rows.min(self.total).max(1);
        let rows = (most.saturating_sub(64).max(1)..=most)
            .rev()
            .min_by_key(|n| groups(*n) * u64::from(*n) * u64::from(*n));
        let rows = rows.unwrap_or(most);
        let groups = u32::try_from(groups(rows)).unwrap_or(u32::MAX);
        Self { groups, rows, total: groups.saturating_mul(rows) }
    }

    /// Rows in one group, where these are bounded beside those of all groups.
    pub fn each(self) -> u32 {
        self.rows.min(self.total)
    }

    /// The most that the squares of a unit's rows in each group add up to.
    pub fn squares(self) -> u64 {
        let Self { groups, rows, .. } = self.in_squares();
        u64::from(groups) * u64::from(rows) * u64::from(rows)
    }
}

/// The norm that bounds the rows of a unit over its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// The sum of rows, and the most in each group, when that is bounded.
    Sum(u32, Option<u32>),
    /// The sum of squares.
    Squares(u64),
}

/// Rows that a bound cuts, as the owner measured them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whose rows.
    pub table: String,
    /// The most rows of one unit that count.
    pub most: u32,
    /// The share of all rows that does not.
    pub share: BigDecimal,
}

/// Bounds on the contribution of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounding {
    rows: Rows,
    groups: Groups,
    /// What the bound on all rows was measured to cut, where it is that.
    cut: Option<Cut>,
    /// Units are counted, which takes their rows together.
    counts_units: bool,
    has_keys: bool,
}

impl Bounding {
    /// Bounds on rows.
    pub fn of_rows(&self) -> &Rows {
        &self.rows
    }

    /// Bounds on groups.
    pub fn of_groups(&self) -> &Groups {
        &self.groups
    }

    /// Rows that are known to be cut.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// There is a GROUP BY.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Rows of a unit that count in a group.
    pub fn rows(&self) -> u32 {
        match (&self.rows, &self.groups) {
            (_, Groups::Spread(spread)) if spread.is_total() => spread.total,
            (Rows::Proven(n, _) | Rows::Scaled(n, _), _) => *n,
        }
    }

    /// Rows above that must be scaled down.
    pub fn rows_stage(&self) -> bool {
        matches!(self.rows, Rows::Scaled(..))
    }

    /// Groups that a unit may touch, or as many as have the norm of all that it touches.
    pub fn l0(&self) -> u32 {
        match &self.groups {
            Groups::Only
            | Groups::OneRow
            | Groups::OfUnit
            | Groups::Each
            | Groups::InAll(_)
            | Groups::Values => 1,
            Groups::Spread(spread) if spread.is_total() => 1,
            Groups::Spread(spread) => spread.groups.max(1),
            Groups::Exact(n) | Groups::NoMoreRows(n) | Groups::Ranked(n) => (*n).max(1),
        }
    }

    /// Groups above that must be dropped, or values.
    pub fn l0_stage(&self) -> bool {
        matches!(self.groups, Groups::Ranked(_) | Groups::Values)
    }

    /// Of the rows of `c`, how many of a unit are kept where others are dropped.
    pub fn kept(&self) -> u32 {
        if self.groups == Groups::Values { self.rows() } else { self.l0() }
    }

    /// Rows that must be spread over groups.
    pub fn spread(&self) -> Option<Spread> {
        match &self.groups {
            Groups::Spread(spread) => Some(*spread),
            _ => None,
        }
    }

    /// Rows are first aggregated per unit and group.
    pub fn per_unit(&self) -> bool {
        let one_row = matches!(self.rows, Rows::Proven(1, _));
        !one_row && (self.rows_stage() || self.l0_stage() || self.spread().is_some() || self.counts_units)
    }

    /// The same for groups of which a few come back, each bounded by itself, however many a unit touches.
    #[must_use]
    pub fn of_each(&self) -> Self {
        Self { groups: Groups::Each, cut: None, ..self.clone() }
    }

    /// The same for whatever parts: whether rows are first aggregated per unit is how they are read, and where keys prove a
    /// bound it changes no number. For a form that is hashed.
    #[must_use]
    pub fn of_any_parts(&self) -> Self {
        Self { counts_units: true, ..self.clone() }
    }

    /// The same for the cells of these groups: rows of a unit are bounded over all of them together, by as many as count in
    /// all groups. `public`: so are the groups; else rows are always spread, since a text without a domain says nothing of how
    /// many cells there are.
    #[must_use]
    pub fn of_cells(&self, public: bool) -> Self {
        let spread = |total: u32, whose: &Whose| {
            let total = total.min(MOST_ROWS);
            let groups = Groups::Spread(Spread { groups: 1, rows: total, total });
            (Rows::Scaled(total, whose.clone()), groups)
        };
        let (rows, groups) = match (&self.rows, &self.groups) {
            (Rows::Proven(1, _), _) => (self.rows.clone(), Groups::OneRow),
            (Rows::Proven(n, _), _) if public => (self.rows.clone(), Groups::InAll(*n)),
            (Rows::Proven(n, _), _) => spread(*n, &Whose::Own),
            (Rows::Scaled(_, whose), Groups::Spread(Spread { total, .. })) => spread(*total, whose),
            (Rows::Scaled(n, whose), _) => spread(n.saturating_mul(self.l0()), whose),
        };
        Self { rows, groups, has_keys: true, ..self.clone() }
    }
}

/// Number of different values that a unit adds to all groups together: no more than it has rows,
/// when few are proven, else as many as it may touch groups.
pub(crate) fn of_values(source: &PrivateSource, policy: &Policy, settings: &Settings) -> Bounding {
    let base = bound(source, policy, settings, &[], Number::Public(1), false);
    let most = settings.max_groups.max(1);
    let (rows, groups) = match base.rows {
        Rows::Proven(1, by) => (Rows::Proven(1, by), Groups::OneRow),
        Rows::Proven(n, by) if n <= most => (Rows::Proven(n, by), Groups::InAll(n)),
        _ => (Rows::Scaled(most.min(MOST_ROWS), Whose::Own), Groups::Values),
    };
    Bounding { rows, groups, cut: None, counts_units: false, has_keys: true }
}

/// Number of groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// A number of groups that are all public.
    Public(usize),
    /// As many as there are rows, each bounded as a public one is: cells of private groups.
    Any,
    /// Private groups, which are selected: their number is unknown.
    Private,
}

/// Decides what is bounded and how. `units`: the release counts units.
pub(crate) fn bound(
    source: &PrivateSource,
    policy: &Policy,
    settings: &Settings,
    keys: &[Key],
    number: Number,
    units: bool,
) -> Bounding {
    let proven = source.rows.bound.and_then(|n| u32::try_from(n.max(1)).ok());
    let private = |b: &BindingId| private_table(source, policy, *b);
    let several = source.named().filter(|s| private(&s.binding).is_some() || s.table().is_none()).count() > 1;
    let only = source.named().find_map(|s| private(&s.binding)).filter(|_| !several);
    let Chosen { rows: most, whose, total, cut } = chosen(source, policy, settings, several);
    let scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
    let (in_all, in_group) = few(source, &scalars);
    let most = [in_all, in_group].into_iter().flatten().fold(most, u32::min);
    let total = [in_all, total].into_iter().flatten().min();
    let cap = in_all.unwrap_or(u32::MAX).min(settings.max_groups).max(1);
    // How many there are now. A public table may get more, and series of times follow the zone (soundness rule 37): this chooses
    // a bound, which a stage of the text enforces, and proves nothing.
    let most_groups = match number {
        Number::Public(n) => u32::try_from(n).map_or(cap, |n| n.clamp(1, cap)),
        Number::Any | Number::Private => cap,
    };
    // As many as add up to those of all groups, where these were chosen, and no more than they.
    let most = settings.total_rows.map_or(most, |all| most.max(all.div_ceil(most_groups)).min(all)).max(1);
    let spread = Spread {
        groups: most_groups,
        rows: most,
        total: most.saturating_mul(most_groups).min(total.unwrap_or(u32::MAX)).min(MOST_ROWS),
    };
    let bounds_all = spread.is_total() || settings.total_rows.is_some();
    let public = number != Number::Private;
    // What the text lists, and the kernel counts.
    let listed = keys.iter().filter(|_| public).try_fold(1u32, |size, k| {
        let (domain, with_null) = k.domain.as_ref()?;
        let n = u32::try_from(domain.listed()?).ok()?.checked_add(u32::from(*with_null))?;
        size.checked_mul(n)
    });
    let groups = if keys.is_empty() {
        Groups::Only
    } else if settings.question {
        Groups::Each
    } else if proven == Some(1) {
        Groups::OneRow
    } else if keys.iter().all(|k| k.scalar.looks_only_at(&source.rows.settled)) {
        Groups::OfUnit
    } else if let Some(n) = proven.filter(|n| public && !units && *n <= spread.total) {
        Groups::InAll(n)
    } else if let Some(n) = listed.filter(|n| public && *n <= cap && (units || !bounds_all)) {
        Groups::Exact(n)
    } else if public && !units {
        Groups::Spread(spread)
    } else if let Some(n) = proven.filter(|n| *n <= most_groups) {
        Groups::NoMoreRows(n)
    } else {
        Groups::Ranked(most_groups)
    };
    // Without a proof, rows are counted in the fetch after the joins: whatever these do, the rows of a unit above the
    // bound are scaled down.
    let one_group = matches!(groups, Groups::Only | Groups::OfUnit);
    let most = total.filter(|_| one_group).map_or(most, |n| n.min(MOST_ROWS));
    let in_all = matches!(groups, Groups::InAll(_));
    let spread = matches!(groups, Groups::Spread(_));
    let rows = match (proven.filter(|p| !spread && (in_all || *p <= most)), only) {
        (Some(1), Some(Table { name, privacy: Privacy::Private { unit, .. }, .. })) => {
            Rows::Proven(1, ProvenBy::Unit { table: name.clone(), column: unit.clone() })
        }
        (Some(1), None) if source.named().any(|s| s.table().is_none()) => Rows::Proven(1, ProvenBy::Grouped),
        (Some(1), _) | (Some(_), None) => Rows::Proven(proven.unwrap_or(1), ProvenBy::Several),
        (Some(p), Some(table)) => Rows::Proven(p, ProvenBy::Check(table.name.clone())),
        (None, _) => Rows::Scaled(most, whose),
    };
    let used = match (&groups, &rows) {
        (Groups::Only | Groups::OfUnit, Rows::Scaled(n, _)) => Some(*n),
        (Groups::Spread(spread), _) => Some(spread.total),
        _ => None,
    };
    let cut = cut.filter(|c| used == Some(c.most));
    Bounding { rows, groups, cut, counts_units: units, has_keys: !keys.is_empty() }
}

/// The private table that is read under a binding.
fn private_table<'p>(source: &PrivateSource, policy: &'p Policy, binding: BindingId) -> Option<&'p Table> {
    let table = source.scans.iter().find(|s| s.binding == binding)?.table()?;
    known(policy, table)
}

/// The private table of this index.
fn known(policy: &Policy, table: usize) -> Option<&Table> {
    policy.tables.get(table).filter(|t| t.privacy != Privacy::Public)
}

/// Bounds on rows where keys prove none.
struct Chosen {
    /// In each group.
    rows: u32,
    /// Whose that is.
    whose: Whose,
    /// In all groups, where the owner says so. Who asks for a number of rows in each group asks for as many groups.
    total: Option<u32>,
    /// What that cuts.
    cut: Option<Cut>,
}

fn chosen(source: &PrivateSource, policy: &Policy, settings: &Settings, several: bool) -> Chosen {
    let keeps = |b: &BindingId| source.scans.iter().find(|s| s.binding == *b)?.keeps();
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
    let least = followed.iter().filter(|t| t.max_total_rows.is_some()).min_by_key(|t| t.max_total_rows);
    let least = least.filter(|_| settings.chosen_rows.is_none() && settings.total_rows.is_none());
    let total = settings.total_rows.or_else(|| least.and_then(|t| t.max_total_rows)).map(|n| n.max(1));
    let cut = least.and_then(|t| {
        Some(Cut { table: t.name.clone(), most: t.max_total_rows?, share: t.cut_rows.clone()? })
    });
    Chosen { rows: most.clamp(1, MOST_ROWS), whose, total, cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit that keeps to both bounds keeps to the squares, which are less than those of all rows in one group.
    #[test]
    fn squares_of_rows_and_a_total() {
        for (rows, total) in
            [(1, 1), (1, 7), (2, 3), (3, 3), (4, 6), (6, 7), (20, 120), (30, 120), (50, 120), (100, 70)]
        {
            let spread = Spread { groups: 1000, rows, total }.in_squares();
            assert!(!spread.is_total());
            let squares = spread.squares();
            // As many rows in each group as count there, and the rest in one more.
            let (full, rest) = (u64::from(total / rows.min(total)), u64::from(total % rows.min(total)));
            let most = full * u64::from(rows.min(total)).pow(2) + rest * rest;
            assert!(squares >= most, "{rows} {total} {spread:?}");
            assert!(squares <= u64::from(total).pow(2), "{rows} {total} {spread:?}");
            let bound = u64::from(rows.min(total)) * u64::from(total);
            assert!(squares >= bound && squares * 100 <= bound * 101, "{rows} {total} {spread:?}");
        }
    }
}
