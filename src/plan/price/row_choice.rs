//! A bound on the rows of a unit that is chosen from the rows themselves: `SET noisegate.bounds = auto`.
//!
//! The rows that a release would read are counted for each unit, and of these numbers one near the greatest is released: a point
//! of a public grid, by the mechanism of `max` (`dp::quantile::Extreme`). The statement is then planned with that bound. Both are releases
//! of the same plan to the books: the second is a statement whose bound is a constant that was released before it, which is
//! adaptive composition (docs/guarantees.md).
//!
//! Why near the greatest: of a sum that is bounded by m rows of each unit, noise grows by 1/ε of a row's value for each more of
//! m, and what is cut shrinks by one row's value for each unit with more; their sum is least where about 1/ε units have more
//! (Amin, Kulesza, Munoz and Vassilvitskii 2019, section 4). The mechanism aims at a rank a little further inside, where its own noise
//! rarely reaches beyond the last unit.

use crate::aggregates::{Axis, Cells, Part, PartKind};
use crate::algebra::rows::Rows;
use crate::algebra::source::{Branch, Leaf, Over, PrivateSource, Scan, SetRows, SetTree, Tree, Unit};
use crate::algebra::windows::Call;
use crate::bound::bounding::{self, Bounding, Groups, MOST_ROWS, Rows as Bounded};
use crate::bound::work;
use crate::expr::domain::Domain;
use crate::expr::per_unit::{self, Place};
use crate::expr::{ColumnInfo, Columns, Scalar, lower};
use crate::facts::Facts;
use crate::groups::key::Key;
use crate::refusals::Refusal;
use crate::release::Release;
use crate::{Plan, PlanError, Settings, Sizes};
use answer::ClientError;
use bigdecimal::BigDecimal;
use dp::{Pick, Ratio};
use policy::Policy;
use schema::SqlType;
use sql::ast::*;
use std::collections::BTreeSet;

/// The plan of a bound's choice.
#[derive(Clone, Debug)]
pub struct RowChoice {
    /// A plan of one release, of one point.
    pub plan: Plan,
    /// The bounds that its points stand for, ascending.
    bounds: Vec<u32>,
}

impl RowChoice {
    /// The bound that a released point stands for: one of those that are public, whatever it is.
    pub fn bound(&self, point: i128) -> u32 {
        let place = usize::try_from(point).unwrap_or(0).min(self.bounds.len().saturating_sub(1));
        self.bounds.get(place).copied().unwrap_or(1)
    }
}

/// Bounds among which one is chosen: 1, 2, 3, 4, 6, 8, 12, …, each at most half again as large as the one before from 2 on, and `most`.
/// Few of them are better than many: how far the rank of the choice is from the one aimed at grows with the logarithm of
/// their number.
pub fn bounds(most: u32) -> Vec<u32> {
    let powers = (0..20).map(|k| 1u32 << k);
    let halves = (0..19).map(|k| 3u32 << k);
    let most = most.clamp(1, MOST_ROWS);
    let mut all: Vec<u32> = powers.chain(halves).filter(|n| *n < most).chain([most]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The choice of a statement's bound among those up to `most`. Or why there is none, in words that
/// end a sentence.
///
/// All that is decided here follows from text, policy and settings.
///
/// # Errors
/// The rows of a unit cannot be counted within the limits on work.
pub fn of(
    plan: &Plan,
    policy: &Policy,
    settings: &Settings,
    sizes: &Sizes,
    most: u32,
) -> Result<Result<RowChoice, &'static str>, PlanError> {
    let release = match bounded(plan, settings) {
        Ok(release) => release,
        Err(why) => return Ok(Err(why)),
    };
    let bounds = bounds(most);
    let (source, count) = counted(&release.source, most)?;
    let key = place_among(&count, &bounds)?;
    let base = bounding::bound(&source, policy, settings, &[], bounding::Number::Public(1), false);
    let bounding = Bounding::of_cells(&base, true);
    let weight = bounding.rows();
    let picks = vec![Pick::Greatest];
    let facts = Facts::new(sizes);
    let work = work::bound(&source, &[&key.scalar], policy, &facts, None);
    let work = facts.complete(work)?.map_err(|stop| PlanError::Refused(stop.refused()))?;
    let chosen = Release {
        select: release.select,
        set: 0,
        source,
        keys: vec![key],
        groups: Some(1),
        public_groups: true,
        groups_why: "one group: no GROUP BY".into(),
        groups_remedy: String::new(),
        only: Vec::new(),
        parts: vec![Part {
            linf: weight.into(),
            ..Part::new(PartKind::Point(Pick::Greatest), "rows of a unit")
        }],
        outputs: Vec::new(),
        bounding,
        cells: Some(Cells {
            axis: Axis::Listed(bounds.iter().map(u32::to_string).collect()),
            points: bounds.len(),
            picks,
            weight,
        }),
        ranking: None,
        round: None,
        work,
        given: Vec::new(),
        zone: settings.zone.clone(),
        spec: dp::Spec { l0: 1, ..dp::Spec::default() },
    };
    let plan = Plan {
        releases: vec![chosen],
        stages: Vec::new(),
        grouping_sets: Vec::new(),
        charge: None,
        accuracy: None,
        rounded: BTreeSet::new(),
        unsure: None,
        ..plan.clone()
    };
    Ok(Ok(RowChoice { plan, bounds }))
}

/// The one release whose rows are bounded by a number that somebody has chosen.
fn bounded<'p>(plan: &'p Plan, settings: &Settings) -> Result<&'p Release, &'static str> {
    if settings.chosen_rows.is_some() {
        return Err("noisegate.max_rows says how many rows of a unit count");
    }
    if settings.accuracy.is_some() {
        return Err("noisegate.accuracy computes a price for the bounds of the policy");
    }
    let paying: Vec<&Release> = plan.releases.iter().filter(|r| !r.is_domain_only()).collect();
    let [release] = paying.as_slice() else {
        return Err("it has several releases, each with a bound of its own");
    };
    if !plan.stages.is_empty() || !release.given.is_empty() {
        return Err("its rows are compared with what it releases before");
    }
    if release.cells.is_some() || release.top().is_some() || release.values().is_some() {
        return Err("it is for counts and sums, of which all groups come back");
    }
    if !release.public_groups {
        return Err("its groups are private, so that groups of a unit are bounded, too");
    }
    if matches!(release.bounding.of_rows(), Bounded::Proven(..)) {
        return Err("keys prove how many rows a unit has");
    }
    // With a bound on all rows it spreads them over its groups, even where these are few.
    let units = release.parts.iter().any(|p| p.kind.counts_units());
    let spreads = matches!(release.bounding.of_groups(), Groups::Exact(_) | Groups::Spread) && !units;
    if !spreads && !matches!(release.bounding.of_groups(), Groups::Only | Groups::OfUnit) {
        return Err("it counts units, of which groups are bounded and not rows");
    }
    if release.source.unit.columns.len() != 1 {
        return Err("a FULL JOIN has rows of which either side names the unit");
    }
    if !release.parts.iter().any(|p| p.kind.adds_rows()) {
        return Err("it counts units, not rows");
    }
    Ok(release)
}

/// The number of rows of each unit, as a relation with a row for each, and that number in it. It is what
/// `SELECT unit, count(*) … GROUP BY unit` is read as in a FROM.
fn counted(rows: &PrivateSource, most: u32) -> Result<(PrivateSource, Scalar), Refusal> {
    let last = bindings(&rows.scans).chain(bindings(&rows.inside)).max();
    let binding = last.unwrap_or(BindingId::new(0)).next();
    let place = |n: usize| Place { binding, name: format!("c{n}"), nullable: false };
    let unit = rows.unit.scalar();
    let columns =
        vec![per_unit::one_of(place(0), &unit, "GROUP BY", None)?, per_unit::count(place(1), 1, most)];
    let call = Call { name: "count", distinct: false, arg: None, offset: None };
    let branch = Branch {
        scans: rows.scans.clone(),
        tree: rows.tree.clone(),
        filter: rows.filter.clone(),
        items: vec![unit],
        over: Over::Groups(vec![call]),
        bound: Some(1),
    };
    let count = per_unit::count(place(1), 1, most);
    let (ty, nullable) = columns.first().map_or((SqlType::Int8, true), |c| (c.ty().clone(), c.nullable()));
    let keeps = rows.named().find_map(Scan::keeps);
    let named = rows.unit.columns.iter().map(|c| c.1.clone()).next().unwrap_or_default();
    let set = SetRows {
        tree: SetTree::Branch(Box::new(branch)),
        columns,
        unit: Some(0),
        unit_name: named,
        keeps,
        capped: None,
    };
    let column = (binding, "c0".to_owned());
    let source = PrivateSource {
        scans: vec![Scan { binding, leaf: Leaf::Set(Box::new(set)), nullable: false, serves: None }],
        tree: Tree::Scan(0),
        filter: Vec::new(),
        unit: Unit { columns: vec![column.clone()], ty, nullable },
        exact: vec![column.clone()],
        aliases: vec![column],
        rows: Rows::of_scan(binding, Some(1), true),
        added: rows.added.clone(),
        inside: rows.inside.clone(),
        optional: Vec::new(),
        served: rows.served.clone(),
    };
    Ok((source, count))
}

/// All bindings of scans, and of scans within them.
fn bindings(scans: &[Scan]) -> Box<dyn Iterator<Item = BindingId> + '_> {
    Box::new(scans.iter().flat_map(|s| {
        let within: Box<dyn Iterator<Item = BindingId>> = match &s.leaf {
            Leaf::Table(..) => Box::new(std::iter::empty()),
            Leaf::Set(rows) => Box::new(rows.branches().into_iter().flat_map(|b| bindings(&b.scans))),
        };
        std::iter::once(s.binding).chain(within)
    }))
}

/// The place of the least bound that a number of rows keeps to; of a number above all, that of the last.
fn place_among(count: &Scalar, bounds: &[u32]) -> Result<Key, Refusal> {
    let at = |kind| Expr::new(kind, None);
    let number = |n: &str| at(ExprKind::Literal(Literal::Number(n.to_owned())));
    let column = || Box::new(at(ExprKind::Column { binding: BindingId::new(0), column: 1 }));
    let last = bounds.len().saturating_sub(1);
    let each = bounds.iter().take(last).enumerate().map(|(i, bound)| {
        let right = Box::new(number(&bound.to_string()));
        (at(ExprKind::Binary { op: BinaryOp::Le, left: column(), right }), number(&i.to_string()))
    });
    let otherwise = number(&last.to_string());
    let branches: Vec<(Expr, Expr)> = each.collect();
    let place = match branches.is_empty() {
        true => otherwise,
        false => at(ExprKind::Case { branches, otherwise: Some(Box::new(otherwise)) }),
    };
    let ty = CastType { ty: SqlType::Int8, modifier: String::new() };
    let expr = at(ExprKind::Cast { expr: Box::new(place), ty });
    let scalar = lower(&expr, &Counted(count))?;
    let hi = BigDecimal::from(u64::try_from(last).unwrap_or(u64::MAX));
    let domain = Domain::Series { lo: 0.into(), hi, step: 1.into() };
    Ok(Key { expr, scalar, domain: Some((domain, false)), label: "rows of a unit".into() })
}

/// One column: how many rows a unit has.
struct Counted<'c>(&'c Scalar);

impl Columns for Counted<'_> {
    fn column(&self, _binding: BindingId, _column: usize) -> Option<ColumnInfo<'_>> {
        None
    }

    fn computed(&self, _binding: BindingId, _column: usize) -> Option<Scalar> {
        Some(self.0.clone())
    }

    fn extract_type(&self) -> SqlType {
        SqlType::Float8
    }

    fn iso(&self) -> bool {
        true
    }

    fn utc(&self) -> bool {
        false
    }

    fn spend(&self) -> Result<(), ClientError> {
        Ok(())
    }
}

/// The shares of a price: what the choice takes, and what is left for the statement. `squares`: the statement has Gaussian noise,
/// whose price is a square, and the choice no more than ε²/2 (Cesar and Rogers 2021: ε²/8, or ε²/2 of any ε-DP mechanism), so that
/// with shares s and √(1-s²) both together are at most ε²/2 = ρ. Else shares add up to a whole.
pub fn shares(epsilon: &Ratio, share: &Ratio, squares: bool) -> (Ratio, Ratio) {
    let one = Ratio::from_integer(1);
    let left = match squares {
        false => one - *share,
        true => root_below(&(one - *share * *share)),
    };
    (*epsilon * *share, *epsilon * left)
}

/// A number of four digits that is no more than the root of one up to 1.
fn root_below(x: &Ratio) -> Ratio {
    let unit = 10_000u128;
    // (unit·√x)² = unit²·x; the share has few digits.
    let square = (*x * Ratio::from_integer(unit * unit)).to_integer();
    Ratio::new(square.isqrt(), unit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bounds_ascend_to_the_most() {
        assert_eq!(bounds(10), [1, 2, 3, 4, 6, 8, 10]);
        assert_eq!(bounds(1), [1]);
        for most in [2, 100, 1000, MOST_ROWS] {
            let all = bounds(most);
            assert!(all.is_sorted_by(|a, b| a < b) && all.last() == Some(&most));
            assert!(all.iter().zip(all.iter().skip(1)).all(|(a, b)| *b <= 2 * a));
        }
    }

    /// Neither way costs more than the price that it divides.
    #[test]
    fn shares_are_no_more_than_the_whole() {
        let one = Ratio::from_integer(1);
        for (epsilon, share) in [
            (1u128, Ratio::new(1, 5)),
            (4, Ratio::new(1, 100)),
            (1, Ratio::new(1, 2)),
            (3, Ratio::new(123, 1000)),
        ] {
            let epsilon = Ratio::from_integer(epsilon);
            let (choice, left) = shares(&epsilon, &share, false);
            assert_eq!(choice + left, epsilon);
            let (choice, left) = shares(&epsilon, &share, true);
            let whole = epsilon * epsilon;
            let both = choice * choice + left * left;
            assert!(
                both <= whole && both * Ratio::from_integer(1000) > whole * Ratio::from_integer(998),
                "{both}"
            );
            assert!(left < epsilon && left > epsilon * (one - share));
        }
    }
}
