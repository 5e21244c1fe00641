//! Building a release: an aggregate over a private relation, with its groups, bounds and noise.
//!
//! `keys` lowers what it is grouped by, `groups` decides which of them come back, `aggregates` what is released of each.

mod aggregates;
mod distance;
pub mod expected_error;
mod keys;
mod light;
mod mode;
pub mod moments;
pub mod output;
pub mod points;
pub mod ranking;
mod rounds;
mod values;
mod weights;

use crate::algebra::source::PrivateSource;
use crate::bound::bounding;
use crate::bound::bounding::{Norm, Spread};
use crate::bound::work::Work;
use crate::expr::{GridValue, Scalar};
use crate::groups::Groups;
use crate::groups::key::Key;
use crate::own::flatten::Flattener;
use crate::refusals::unsupported;
use crate::{Bounding, PlanError, Settings, Sizes, groups};
use answer::ClientError;
use dp::Sensitivity;
use policy::Policy;
use sql::ast::*;

pub use aggregates::SUPPORTED;
pub use output::Output;
pub use points::Cells;
use points::Request;
pub use ranking::Ranking;
use values::Distinct;

type Result<T> = std::result::Result<T, PlanError>;

/// A released integer per group.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What is counted or summed.
    pub kind: PartKind,
    /// How much one unit can change it in one group, in grid units.
    pub linf: u128,
    /// Its name in messages.
    pub label: String,
}

/// What a part counts or sums.
#[derive(Clone, Debug, PartialEq)]
pub enum PartKind {
    /// Rows where the argument is not NULL (all rows without one).
    Count(Option<Scalar>),
    /// Distinct units: of all rows, or of those where the argument is not NULL.
    Units(Option<Scalar>),
    /// Distinct values, but for NULL: in a release of its own, with their sum where that is asked for.
    Values(Scalar),
    /// A sum of distinct values on a grid, of which each counts once.
    SumOfValues(GridValue),
    /// A sum of values on a grid.
    Sum(GridValue),
    /// A point of its cells.
    Point(dp::Pick),
}

impl Part {
    /// How much a unit changes it in a group where so many of its rows count, in grid units; None where no number holds it.
    fn in_one_group(&self, rows: u32) -> Option<u128> {
        match &self.kind {
            PartKind::Count(_) => Some(rows.into()),
            PartKind::Units(_) => Some(1),
            PartKind::Sum(s) => u128::from(rows).checked_mul(s.bound()),
            PartKind::Point(_) | PartKind::Values(_) | PartKind::SumOfValues(_) => Some(self.linf),
        }
    }
}

impl PartKind {
    /// The values of a sum.
    pub fn on_grid(&self) -> Option<&GridValue> {
        match self {
            Self::Sum(s) | Self::SumOfValues(s) => Some(s),
            _ => None,
        }
    }
}

/// One maximal private aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The SELECT it stands for.
    pub select: usize,
    /// Which of the SELECT's grouping sets it is of; 0 where there is one.
    pub set: usize,
    /// The private relation.
    pub source: PrivateSource,
    /// Group keys.
    pub keys: Vec<Key>,
    /// How many groups there are, of public ones.
    pub groups: Option<usize>,
    /// All groups come back; else they are selected by a threshold.
    pub public_groups: bool,
    /// Why groups are public or private, for EXPLAIN.
    pub groups_why: String,
    /// What makes private groups public, for those who miss some.
    pub groups_remedy: String,
    /// Conditions over the keys (`expr::KEYS`) that narrow the public domain.
    pub only: Vec<Scalar>,
    /// Released integers.
    pub parts: Vec<Part>,
    /// The analyst's aggregates, and how each is computed.
    pub outputs: Vec<(Aggregate, Output)>,
    /// Contribution bounding.
    pub bounding: Bounding,
    /// Where points are chosen: the last key is the point, and there is a part for each choice.
    pub cells: Option<Cells>,
    /// ORDER BY a count DESC LIMIT k, where groups are public.
    pub ranking: Option<Ranking>,
    /// Which of the rounds it is, from 0, where keys alone are selected in rounds.
    pub round: Option<usize>,
    /// What one row can make PostgreSQL do.
    pub work: Work,
    /// The stages whose values its rows are compared with, by their indexes in [`crate::Plan::stages`].
    pub given: Vec<usize>,
    /// The session's time zone, where its rows are compared or cut by it.
    pub zone: String,
    /// The noise; set once the statement's price is split.
    pub spec: dp::Spec,
}

/// Builds the release of one SELECT.
pub struct Builder<'a, 'b> {
    flattener: &'b mut Flattener<'a>,
    policy: &'a Policy,
    settings: &'b Settings,
    sizes: &'b Sizes,
    source: PrivateSource,
    parts: Vec<Part>,
    outputs: Vec<(Aggregate, Output)>,
    /// Choices among points, each a release of its own.
    requests: Vec<Request>,
    /// Distinct values that are counted or added up, those of each expression in releases of their own.
    distinct: Vec<Distinct>,
    /// How many public groups there are, once it is known.
    group_count: usize,
    /// Groups are public, once it is known.
    public: bool,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// Starts from a SELECT over private rows.
    pub fn new(
        flattener: &'b mut Flattener<'a>,
        policy: &'a Policy,
        settings: &'b Settings,
        sizes: &'b Sizes,
        select: &Select,
    ) -> Result<Self> {
        let source = flattener.flatten(select)?;
        Ok(Self {
            flattener,
            policy,
            settings,
            sizes,
            source,
            parts: Vec::new(),
            outputs: Vec::new(),
            requests: Vec::new(),
            distinct: Vec::new(),
            group_count: 1,
            public: true,
        })
    }

    /// The releases, of the same groups: `keys` are the group keys, `all` those of all grouping sets, `above` every expression
    /// over the aggregates.
    pub fn build(
        mut self,
        select: &Select,
        keys: &[Expr],
        all: &[Expr],
        above: &[&Expr],
    ) -> Result<Vec<Release>> {
        let mut built = Vec::with_capacity(keys.len());
        let mut written = Vec::with_capacity(keys.len());
        for k in keys {
            let (key, over_scans) = self.key(k)?;
            built.push(key);
            written.push(over_scans);
        }
        self.flattener.optional_side(&self.source.optional, above, all)?;
        // Of grouping sets it drops rows of some, and keeps what they add up to.
        let having = select.having.as_ref().filter(|_| select.grouping_sets.is_empty());
        let having = self.over_keys(having);
        let given = (self.policy, self.settings, self.sizes);
        let found = groups::decide(self.flattener, &self.source, given, &mut built, &written, &having)?;
        self.public = found.public;
        if found.public {
            self.group_count = groups::size(&built, self.sizes)?;
        }
        // What is released for a sum serves an average of the same, whichever is written first.
        let sums = aggregates::sums_beside_others(above);
        for only in [Some(sums.as_slice()), None] {
            above.iter().try_for_each(|e| self.above(e, all, only))?;
        }
        if self.settings.ends.stand_beside(select) {
            for item in &select.items {
                self.end(Reach::Low, &item.expr, false)?;
                self.end(Reach::High, &item.expr, false)?;
            }
        }
        self.flattener.note(&mut self.source);
        let scalars: Vec<&Scalar> = built.iter().map(|k| &k.scalar).collect();
        let equal = groups::equal_columns(&self.source);
        if !found.public && self.flattener.is_one_unit_each(&scalars, &equal) {
            return Err(one_unit_each(&built, &self.source, select.pos).into());
        }
        let own = self.requests.iter().map(|r| ("a quantile, min, max or mode", r.pos));
        let own = own.chain(self.distinct.iter().map(|d| (d.name(), d.pos))).next();
        if let Some((what, pos)) = own.filter(|_| !self.source.optional.is_empty()) {
            let what = format!("{what} of public LEFT JOIN private");
            let refused = unsupported(&what, pos).detail(found.why.clone());
            return Err(refused.hint("Write an inner JOIN.").into());
        }
        let mut cells = self.cells(&built, select, &found)?;
        cells.extend(self.of_values(&built, select, &found)?);
        let Groups { public: public_groups, why: groups_why, remedy: groups_remedy, only } = found;
        if let Some(first) = cells.first_mut().filter(|_| self.parts.is_empty() && public_groups) {
            // What needs no part of its own.
            first.outputs.append(&mut self.outputs);
            return Ok(cells);
        }
        if !public_groups && !self.source.optional.is_empty() {
            return Err(unsupported("public LEFT JOIN private with private groups", select.pos)
                .detail(groups_why)
                .hint("Group by keys whose values are public, or write an inner JOIN.")
                .into());
        }
        let units = self.parts.iter().any(|p| matches!(p.kind, PartKind::Units(_))) || !public_groups;
        let public = public_groups.then_some(self.group_count);
        let bounding = bounding::bound(&self.source, self.policy, self.settings, &built, public, units);
        let row_is_unit = !public_groups && bounding.rows() == 1;
        weights::centre(&mut self.parts, &mut self.outputs, row_is_unit);
        for p in &mut self.parts {
            p.linf = p.in_one_group(bounding.rows()).ok_or_else(too_wide)?;
        }
        if self.parts.is_empty() && built.is_empty() {
            return Err(nothing_depends(select.pos).into());
        }
        let mut expressions: Vec<&Scalar> = built.iter().map(|k| &k.scalar).collect();
        expressions.extend(self.parts.iter().filter_map(|p| match &p.kind {
            PartKind::Count(arg) | PartKind::Units(arg) => arg.as_ref(),
            PartKind::Values(x) => Some(x),
            PartKind::Sum(s) | PartKind::SumOfValues(s) => Some(s.arg()),
            PartKind::Point(_) => None,
        }));
        let work = self.flattener.work(&self.source, &expressions, self.sizes, select.pos)?;
        let given = self.flattener.given.used();
        let by_given = |k: &Key| k.domain.as_ref().is_some_and(|(d, _)| d.is_given());
        let listed = built.iter().any(by_given) || only.iter().any(Scalar::is_given);
        if public_groups && self.parts.is_empty() && !given.is_empty() && listed {
            return Err(unsupported("a condition on groups by a released value, without an aggregate,", select.pos)
                .detail("A list of groups is made of public values alone, and no private row is read for it.")
                .hint("Count as well, which is no dearer: SELECT minutes, count(*) FROM trips WHERE minutes > (SELECT avg(minutes) FROM trips) GROUP BY minutes.")
                .into());
        }
        let release = Release {
            select: select.id,
            set: 0,
            zone: self.settings.zone.clone(),
            source: self.source,
            cells: None,
            ranking: None,
            round: None,
            keys: built,
            groups: public,
            public_groups,
            groups_why,
            groups_remedy,
            only,
            parts: self.parts,
            outputs: self.outputs,
            bounding,
            work,
            given,
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        };
        // What is asked for beside keys is released in the groups that are selected at once.
        if cells.is_empty() && select.grouping_sets.is_empty() {
            return Ok(release.in_rounds());
        }
        cells.insert(0, release);
        Ok(cells)
    }

    fn lower(&mut self, e: &Expr) -> Result<Scalar> {
        Ok(self.flattener.value(e)?)
    }
}

/// Refuses groups that would all be dropped, at a price.
fn one_unit_each(keys: &[Key], source: &PrivateSource, pos: Pos) -> ClientError {
    let labels: Vec<&str> = keys.iter().map(|k| k.label.as_str()).collect();
    let what = format!("GROUP BY {}, whose groups are of one unit each,", labels.join(", "));
    let named = |binding: usize| source.named().any(|s| s.binding == binding);
    let instead = match source.unit.columns.iter().find(|c| named(c.0)) {
        Some((_, unit)) => format!(
            "aggregate over the groups: SELECT avg(n) FROM (SELECT {unit}, k, count(*) AS n FROM … GROUP BY {unit}, k) t"
        ),
        None => "count without groups".into(),
    };
    unsupported(&what, pos)
        .detail("A group comes back where many units share it: of these none would.")
        .hint(format!("Group by something that many units share, or {instead}."))
}

impl Release {
    /// What it needs noise for, where each selection gets this share of δ.
    pub fn outline(&self, delta: &dp::Ratio) -> dp::Outline {
        let l0 = self.top().unwrap_or_else(|| self.bounding.l0());
        // What no number holds was refused when the release was built.
        let in_one_group = |p: &Part, rows: u32| p.in_one_group(rows).unwrap_or(p.linf);
        let all = |of: &dyn Fn(&Part) -> Sensitivity| -> Vec<Sensitivity> {
            self.parts.iter().filter(|_| self.cells.is_none()).map(of).collect()
        };
        let spread = self.bounding.spread().filter(|_| self.top().is_none() && self.cells.is_none());
        let both = |p: &Part, s: Spread, each: u32| {
            Sensitivity::in_all(in_one_group(p, s.total), in_one_group(p, each))
        };
        let squares =
            |p: &Part, s: Spread| Sensitivity::in_squares(s.squares().into()).times(in_one_group(p, 1));
        dp::Outline {
            // Of private groups there are at least as many as one unit may touch, and of a top as many as come back.
            groups: self.groups.filter(|_| self.top().is_none()).unwrap_or(l0 as usize),
            l0,
            sums: all(&|p| match (spread, self.bounding.of_groups()) {
                (Some(spread), _) => both(p, spread, spread.total),
                (None, bounding::Groups::InAll(n)) => {
                    let all = in_one_group(p, self.bounding.rows());
                    Sensitivity { groups: (*n).into(), ..Sensitivity::in_all(all, all) }
                }
                (None, _) => Sensitivity::in_each(in_one_group(p, self.bounding.rows()), l0.into()),
            }),
            in_each: spread.filter(|s| s.each() < s.total).map(|s| all(&|p| both(p, s, s.each()))),
            squares: spread.map(|s| all(&|p| squares(p, s))),
            weights: weights::of(&self.parts, &self.outputs),
            counted: self.counted(),
            selection_delta: self.selects().then_some(*delta),
            round: self.round,
            points: self.cells.as_ref().map(|c| (c.picks.clone(), c.weight)),
            top: self.top(),
        }
    }

    /// The part that is the number of units by which groups are selected.
    fn counted(&self) -> Option<usize> {
        let is_units = |p: &Part| match p.kind {
            PartKind::Units(None) => true,
            PartKind::Count(None) => self.bounding.rows() == 1,
            _ => false,
        };
        self.parts.iter().position(is_units).filter(|_| self.selects())
    }

    /// Takes the noise that was chosen, which may be for less in one group where it bounds squares.
    pub fn draws(&mut self, spec: dp::Spec) {
        self.parts
            .iter_mut()
            .zip(&spec.aggregates)
            .for_each(|(part, noise)| part.linf = noise.sensitivity.linf);
        self.spec = spec;
    }

    /// In how many groups a unit changes a part by how much, which is all that its changes add up to in squares.
    pub fn in_squares(&self, part: &Part) -> (u32, u128) {
        let spread = self.bounding.spread().map(Spread::in_squares);
        let (groups, rows) = spread.map_or((1, self.bounding.rows()), |s| (s.groups, s.rows));
        (groups, part.in_one_group(rows).unwrap_or(part.linf))
    }

    /// How many groups are chosen, where not all of them are released.
    pub fn top(&self) -> Option<u32> {
        self.ranking.as_ref().filter(|r| r.chosen).map(|r| r.k)
    }

    /// Which of its groups come back is decided by a threshold.
    pub fn selects(&self) -> bool {
        !self.public_groups && !self.is_within()
    }

    /// Its groups are private, and those that its first release selects: points are chosen, or values counted, in no others.
    pub fn is_within(&self) -> bool {
        !self.public_groups && (self.cells.is_some() || self.values().is_some())
    }

    /// The first of these releases that has the same rows: of the same SELECT, and grouping set of it.
    pub fn first(&self, all: &[Release]) -> Option<usize> {
        all.iter().position(|r| (r.select, r.set) == (self.select, self.set))
    }

    /// The keys of the groups that come back: all but the point of a cell.
    pub fn group_keys(&self) -> &[Key] {
        match (&self.cells, self.keys.split_last()) {
            (Some(_), Some((_, groups))) => groups,
            _ => &self.keys,
        }
    }

    /// Whose distinct values are counted or added up, where they are.
    pub fn values(&self) -> Option<&Scalar> {
        match &self.parts.first()?.kind {
            PartKind::Values(x) => Some(x),
            PartKind::SumOfValues(s) => Some(s.arg()),
            _ => None,
        }
    }

    /// In which norm rows are spread over groups, where they are: that of the noise.
    pub fn norm(&self) -> Option<Norm> {
        let spread = self.bounding.spread()?;
        let gaussian = |n: &dp::Noise| matches!(n.distribution, dp::Distribution::Gaussian { .. });
        Some(match self.spec.aggregates.iter().any(gaussian) {
            true => Norm::Squares(spread.squares()),
            false => {
                let capped = |n: &dp::Noise| n.sensitivity.linf < n.sensitivity.l1;
                let each = self.spec.aggregates.iter().any(capped).then(|| spread.each());
                Norm::Sum(spread.total, each)
            }
        })
    }

    /// Whether its fetch has joins that no index could serve: with a public domain, with groups that are left out, or of rows that are all computed. Of these
    /// the planner of the database knows least, and a nested loop costs their product.
    pub fn joins_without_index(&self) -> bool {
        let listed = self.public_groups && !self.keys.is_empty() || self.is_later_round();
        listed || self.source.joins_computed_rows()
    }

    /// Whether its rows are those of several tables.
    pub fn joins_tables(&self) -> bool {
        self.source.scans.len() > 1
    }

    /// How many rows of a unit a group has matters: it does not where private groups are selected, and nothing else.
    pub fn counts_rows(&self) -> bool {
        !self.selects() || !self.parts.is_empty()
    }

    /// Nothing private is read: public groups without aggregates.
    pub fn is_domain_only(&self) -> bool {
        self.public_groups && self.parts.is_empty()
    }
}

fn refuse(what: &str, pos: Pos) -> PlanError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos).into()
}

fn too_wide() -> PlanError {
    ClientError::unsupported("the range of this sum is too wide for its grid")
        .hint("Clamp it to a narrower range, or round it to fewer digits.")
        .into()
}

/// A statement whose aggregates no row can change.
fn nothing_depends(pos: Pos) -> ClientError {
    ClientError::unsupported(
        "a statement whose aggregates are the same whatever the rows hold is not supported",
    )
    .detail("It would read private rows for nothing: a sum of zeros is 0, and no noise would be drawn.")
    .hint("Sum a value that rows can change, or write the number.")
    .at(pos)
}
