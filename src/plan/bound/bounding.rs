//! Contribution bounding: how many rows and groups of one unit count, and which stages of the fetch see to it.
//!
//! What is decided here is a proof or a stage: a stage of the fetch is left out where keys that the schema enforces, or the
//! statement's own constants, prove it idle, and for no other reason. What people read about it is made elsewhere
//! (`explain`).

use crate::Settings;
use crate::aggregates::PartKind;
use crate::algebra::source::PrivateSource;
use crate::expr::Scalar;
use crate::groups::key::Key;
use crate::own::row_bounds::few;
use crate::profiled::{self, NoiseOfOne, Profiled, Serving};
use bigdecimal::{BigDecimal, Zero};
use policy::{Policy, Privacy, Table};
use sql::ast::BindingId;
use std::sync::Arc;

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
    /// Any number of groups: rows of all of them together are bounded.
    Spread,
    /// Groups above this number are dropped, in an order that a secret seed decides.
    Ranked(u32),
    /// Groups of which each is a question of its own to a stream.
    Each,
    /// Values are counted, of which a unit has no more than rows count, in all groups together: those above are dropped, in an
    /// order that a secret seed decides.
    Values,
}

/// Grid steps that are one row where rows of a unit are scaled down, so that few of a row are lost in each group.
pub const STEPS: u32 = 64;

/// The norm that bounds the rows of a unit over its groups: of the vector of a number of rows for each group.
///
/// A unit whose vector is longer is scaled down by one factor in all groups, for all integers of a
/// release: w = C/‖n‖, in steps of 1/[`STEPS`] row, towards zero. Scaling and rounding lengthen no
/// vector, so that C is the sensitivity in every grouping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// C bounds the sum: for Laplace noise.
    Sum(u32),
    /// C bounds the root of the sum of squares: for Gaussian noise.
    Squares(u32),
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
    /// The profile of a table whose rows these are, and the place of the item by which they are bounded.
    profiled: Option<(Arc<Profiled>, usize)>,
    /// The bound follows from the profile and the noise: the most that it may be.
    widest: Option<u32>,
    /// Conditions leave a unit no more rows than count.
    whole: bool,
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

    /// The profile of their table.
    pub fn profiled(&self) -> Option<&Profiled> {
        self.profiled.as_ref().map(|(profiled, _)| &**profiled)
    }

    /// The item of it by which rows are bounded.
    pub fn item(&self) -> Option<&Serving> {
        self.profiled.as_ref().and_then(|(profiled, at)| profiled.items.get(*at))
    }

    /// Whether the bound follows from the profile.
    pub fn is_by_profile(&self) -> bool {
        self.widest.is_some()
    }

    /// Takes the bound that the profile wants for this noise of a row; the widest where that is not known yet.
    pub(crate) fn follow_profile(&mut self, drawn: Option<NoiseOfOne>) {
        let (Some(widest), Some((profiled, item)), Rows::Scaled(rows, _)) =
            (self.widest, &mut self.profiled, &mut self.rows)
        else {
            return;
        };
        let Some((place, best)) = profiled::best(&profiled.items, drawn) else { return };
        *item = place;
        *rows = if drawn.is_some() { u32::try_from(best).unwrap_or(widest) } else { widest }.clamp(1, widest);
    }

    /// Rows of a unit are bounded over all of its groups together, by the profile: so may its sums be, by themselves.
    pub(crate) fn may_bound_sums(&self) -> bool {
        let over_all =
            matches!(self.groups, Groups::Only | Groups::OfUnit | Groups::Spread | Groups::Exact(_));
        self.widest.is_some() && self.rows_stage() && over_all
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

    /// Groups that a unit may touch, or as many as have the norm of all that it touches.
    pub fn l0(&self) -> u32 {
        match &self.groups {
            Groups::Only
            | Groups::OneRow
            | Groups::OfUnit
            | Groups::Each
            | Groups::InAll(_)
            | Groups::Spread
            | Groups::Values => 1,
            Groups::Exact(n) | Groups::NoMoreRows(n) | Groups::Ranked(n) => (*n).max(1),
        }
    }

    /// Grid steps that are one released number of a part. Rows in one group that are all cut alike are whole.
    pub fn steps(&self, part: &PartKind) -> u32 {
        let whole = self.groups == Groups::Each || self.spread().is_none() && *part == PartKind::Count(None);
        let adds = part.adds_rows() || part.is_chosen();
        if self.rows_stage() && adds && !whole { STEPS } else { 1 }
    }

    /// The most rows that a part is short of in one group for what is cut; NaN where nobody knows.
    pub fn lost(&self, part: &PartKind) -> f64 {
        let rows = part.adds_rows() || part.is_chosen();
        match part {
            _ if self.l0_stage() && (rows || part.counts_units()) => f64::NAN,
            _ if self.rows_stage() && rows && !self.whole => {
                match (self.profiled(), self.item(), &self.cut) {
                    // A part of a row is a row: ends of counts are whole.
                    (Some(profiled), Some(item), _) if profiled.valid => {
                        libm::ceil(item.tail.b_plus(self.rows().into()))
                    }
                    (_, _, Some(cut)) if cut.share.is_zero() => 0.0,
                    _ => f64::NAN,
                }
            }
            _ => 0.0,
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

    /// Rows to which a unit's are scaled down over all of its groups.
    pub fn spread(&self) -> Option<u32> {
        match (&self.rows, &self.groups) {
            (Rows::Scaled(n, _), Groups::Spread | Groups::Exact(_)) => Some(*n),
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
            (Rows::Scaled(total.clamp(1, MOST_ROWS), whose.clone()), Groups::Spread)
        };
        let (rows, groups) = match (&self.rows, &self.groups) {
            (Rows::Proven(1, _), _) => (self.rows.clone(), Groups::OneRow),
            (Rows::Proven(n, _), _) if public => (self.rows.clone(), Groups::InAll(*n)),
            (Rows::Proven(n, _), _) => spread(*n, &Whose::Own),
            (Rows::Scaled(n, whose), Groups::Ranked(groups)) => spread(n.saturating_mul(*groups), whose),
            (Rows::Scaled(n, whose), _) => spread(*n, whose),
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
    Bounding {
        rows,
        groups,
        cut: None,
        profiled: None,
        widest: None,
        whole: false,
        counts_units: false,
        has_keys: true,
    }
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
    let Chosen { rows: most, whose, total, cut, profiled, follows } =
        chosen(source, policy, settings, several, keys);
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
    let most = most.max(1);
    // The same in every grouping: one total has one truth, however it is asked for.
    let all = total.unwrap_or(most.saturating_mul(cap)).clamp(1, MOST_ROWS);
    let public = number != Number::Private;
    // What the text lists, and the kernel counts.
    let listed = keys.iter().filter(|_| public).try_fold(1u32, |size, k| {
        let (domain, with_null) = k.domain.as_ref()?;
        let n = u32::try_from(domain.listed()?).ok()?;
        size.checked_mul(n.checked_add(u32::try_from(domain.nulls(*with_null)).ok()?)?)
    });
    let groups = if settings.question {
        Groups::Each
    } else if keys.is_empty() {
        Groups::Only
    } else if proven == Some(1) {
        Groups::OneRow
    } else if keys.iter().all(|k| k.scalar.looks_only_at(&source.rows.settled)) {
        Groups::OfUnit
    } else if let Some(n) = proven.filter(|n| public && !units && *n <= all) {
        Groups::InAll(n)
    } else if let Some(n) = listed.filter(|n| public && *n <= cap && units) {
        Groups::Exact(n)
    } else if public && !units {
        Groups::Spread
    } else if let Some(n) = proven.filter(|n| *n <= most_groups) {
        Groups::NoMoreRows(n)
    } else {
        Groups::Ranked(most_groups)
    };
    // Without a proof, rows are counted in the fetch after the joins: whatever these do, the rows of a unit above the
    // bound are scaled down. Groups that are dropped have a bound for each.
    let most = match groups {
        Groups::Ranked(_) | Groups::NoMoreRows(_) => most,
        Groups::Each => all.min(in_group.unwrap_or(all)),
        _ => all,
    };
    let (together, spread) = (matches!(groups, Groups::InAll(_)), groups == Groups::Spread);
    let rows = match (proven.filter(|p| !spread && (together || *p <= most)), only) {
        (Some(1), Some(Table { name, privacy: Privacy::Private { unit, .. }, .. })) => {
            Rows::Proven(1, ProvenBy::Unit { table: name.clone(), column: unit.clone() })
        }
        (Some(1), None) if source.named().any(|s| s.table().is_none()) => Rows::Proven(1, ProvenBy::Grouped),
        (Some(1), _) | (Some(_), None) => Rows::Proven(proven.unwrap_or(1), ProvenBy::Several),
        (Some(p), Some(table)) => Rows::Proven(p, ProvenBy::Check(table.name.clone())),
        (None, _) => Rows::Scaled(most, whose),
    };
    let used = match (&groups, &rows) {
        (Groups::Only | Groups::OfUnit | Groups::Spread | Groups::Exact(_), Rows::Scaled(n, _)) => Some(*n),
        _ => None,
    };
    let cut = cut.filter(|c| used == Some(c.most));
    let widest = used.or((groups == Groups::Each && !settings.question).then_some(most));
    // Of so few rows of a unit all count.
    let whole = in_all.is_some_and(|n| used.is_some_and(|most| n <= most));
    let widest = widest.filter(|_| follows && profiled.is_some() && !whole);
    let profiled = profiled.map(|p| (Arc::new(p), 0));
    Bounding { rows, groups, cut, profiled, widest, whole, counts_units: units, has_keys: !keys.is_empty() }
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
    /// In all groups, where somebody says so.
    total: Option<u32>,
    /// What that cuts.
    cut: Option<Cut>,
    /// The profile of a table whose rows these are.
    profiled: Option<Profiled>,
    /// Nobody has said a bound that comes before the profile's.
    follows: bool,
}

fn chosen(
    source: &PrivateSource,
    policy: &Policy,
    settings: &Settings,
    several: bool,
    keys: &[Key],
) -> Chosen {
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
    let total = settings.total_rows.or(settings.chosen_rows);
    let total = total.or_else(|| least.and_then(|t| t.max_total_rows)).map(|n| n.max(1));
    let cut = least.and_then(|t| {
        Some(Cut { table: t.name.clone(), most: t.max_total_rows?, share: t.cut_rows.clone()? })
    });
    let profiled = Profiled::of(source, policy, keys, settings.day);
    let said = settings.chosen_rows.is_some() || settings.total_rows.is_some();
    let follows = settings.profiles && !said && !settings.question;
    let (total, cut) = match &profiled {
        Some(Profiled { items, .. }) if follows => {
            let h = items.first().map(|item| item.tail.h());
            (h.map(|h| u32::try_from(h).unwrap_or(MOST_ROWS)), None)
        }
        _ => (total, cut),
    };
    Chosen { rows: most.clamp(1, MOST_ROWS), whose, total, cut, profiled, follows }
}
