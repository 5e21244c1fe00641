//! GROUPING SETS, ROLLUP and CUBE: which sets get a release of their own, and which are sums of a finer one.
//!
//! A group of a coarser set is the sum of the groups that it is divided into, and adding up what was released is
//! post-processing: it costs nothing. The sum of m groups has √m times the noise of one, while each further release takes a
//! share of the price from all: which is better follows from the sizes of public domains, and is computed before a row is
//! read. Only counts and sums of public groups add up: units, values and points of several groups do not, and of private
//! groups those below the threshold are missing.

use crate::aggregates::Part;
use crate::bound::bounding;
use crate::facts::Facts;
use crate::own::relation::{Reading, Relation};
use crate::refusals::{gaussian_unpriced, undrawn};
use crate::release::{Builder, Release};
use crate::stop::Stop;
use crate::{Settings, groups};
use policy::Policy;
use schema::SqlType;
use sql::ast::*;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Stop>;

/// A SELECT with grouping sets, put together from releases.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupingSets {
    /// The SELECT.
    pub select: Option<SelectId>,
    /// The keys of all sets, and their types.
    pub keys: Vec<(Expr, SqlType)>,
    /// The analyst's aggregates.
    pub aggregates: Vec<Aggregate>,
    /// The sets, as they are written.
    pub sets: Vec<GroupingSet>,
    /// Why they are released as they are, for EXPLAIN.
    pub why: String,
}

impl GroupingSets {
    /// Keys that rows of a set are not grouped by: a bit for each, from the first key's 1.
    pub fn missing(&self, set: &GroupingSet) -> u32 {
        (0..self.keys.len()).filter(|i| !set.keys.contains(i)).fold(0u32, |g, i| g | 1 << i)
    }
}

/// The rows of one grouping set.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupingSet {
    /// Keys of the set, as places in [`GroupingSets::keys`], ascending.
    pub keys: Vec<usize>,
    /// The releases that it comes from: those of this [`Release::set`].
    pub of: usize,
    /// The keys of these releases, as places in [`GroupingSets::keys`].
    pub of_keys: Vec<usize>,
    /// Number of released groups that are added up to one of its own, at most; None when it has a
    /// release of its own.
    pub added: Option<usize>,
}

/// A set of keys that may be released.
struct Candidate {
    keys: Vec<usize>,
    releases: Vec<Release>,
    /// How many groups there are, where they are public.
    groups: usize,
    /// Whether its groups add up to those of a coarser set.
    adds_up: bool,
    /// It is asked for, and not only good for sums.
    asked: bool,
}

/// The releases of a SELECT with grouping sets, and what each set is made of.
pub(crate) fn build<'a>(
    select: &'a Select,
    above: &[&Expr],
    relation: &dyn Fn() -> Relation<'a, Reading>,
    (policy, settings, facts): (&'a Policy, &Settings, &Facts<'_>),
) -> Result<(Vec<Release>, GroupingSets)> {
    let release = |keys: &[usize]| -> Result<Vec<Release>> {
        let exprs: Vec<Expr> = keys.iter().filter_map(|i| select.group_by.get(*i)).cloned().collect();
        let builder = Builder::new(relation(), policy, settings, facts, select)?;
        builder.build(select, &exprs, &select.group_by, above)
    };
    let candidate = |keys: &[usize], asked: bool| -> Result<Candidate> {
        let releases = release(keys)?;
        let adds_up = matches!(releases.as_slice(), [one] if adds_up(one));
        let groups = match releases.first() {
            Some(first) if first.public_groups => groups::size(first.group_keys(), facts).max(1),
            _ => 1,
        };
        Ok(Candidate { keys: keys.to_vec(), releases, groups, adds_up, asked })
    };
    let mut all: Vec<Candidate> = Vec::new();
    for keys in &select.grouping_sets {
        if !all.iter().any(|c| c.keys == *keys) {
            all.push(candidate(keys, true)?);
        }
    }
    // The keys of all sets together, which are asked for by none: (a), (b) may be sums of (a, b).
    let whole: Vec<usize> = (0..select.group_by.len()).collect();
    if !all.iter().any(|c| c.keys == whole) && all.iter().all(|c| c.adds_up) {
        match candidate(&whole, false) {
            Ok(c) if c.adds_up => all.push(c),
            _ => {}
        }
    }
    let (released, why) = decide(&all, settings)?;
    let sets = select.grouping_sets.iter().filter_map(|keys| {
        let own = all.iter().position(|c| c.keys == *keys && c.asked)?;
        let from = source(&all, &released, own)?;
        let of = all.get(from)?;
        let added = (from != own).then(|| per_group(&all, from, own));
        Some(GroupingSet { keys: keys.clone(), of: from, of_keys: of.keys.clone(), added })
    });
    let sets: Vec<GroupingSet> = sets.collect();
    let mut types: BTreeMap<usize, SqlType> = BTreeMap::new();
    for c in &all {
        let keys = c.releases.first().map(Release::group_keys).unwrap_or_default();
        types.extend(c.keys.iter().copied().zip(keys.iter().map(|k| k.scalar.ty().clone())));
    }
    let keys = select.group_by.iter().enumerate();
    let keys = keys.filter_map(|(i, e)| Some((e.clone(), types.get(&i)?.clone()))).collect();
    let outputs =
        all.first().map(|c| c.releases.as_slice()).unwrap_or_default().iter().flat_map(|r| &r.outputs);
    let aggregates = outputs.map(|(a, _)| a.clone()).collect();
    let mut releases = Vec::new();
    for (place, c) in all.into_iter().enumerate().filter(|(i, _)| released.contains(i)) {
        releases.extend(c.releases.into_iter().map(|r| Release { set: place, ..r }));
    }
    Ok((releases, GroupingSets { select: select.id, keys, aggregates, sets, why }))
}

/// Whether the groups of a release add up to those of fewer keys.
fn adds_up(r: &Release) -> bool {
    use bounding::Groups::{OfUnit, OneRow, Only};
    let one_group = matches!(r.bounding.of_groups(), OneRow | OfUnit | Only);
    // A unit with one row is in one group.
    let part = |p: &Part| p.kind.adds_rows() || one_group && p.kind.counts_units();
    r.public_groups && r.cells.is_none() && !r.parts.is_empty() && r.parts.iter().all(part)
}

/// How many groups of a finer set make one of a coarser.
fn per_group(all: &[Candidate], finer: usize, coarser: usize) -> usize {
    let groups = |i: usize| all.get(i).map_or(1, |c| c.groups);
    groups(finer).div_ceil(groups(coarser).max(1)).max(1)
}

/// Which of the released sets a set comes from: itself, else the one of which fewest groups are added up.
fn source(all: &[Candidate], released: &[usize], of: usize) -> Option<usize> {
    if released.contains(&of) {
        return Some(of);
    }
    let wanted = &all.get(of)?.keys;
    let finer = |i: &&usize| {
        all.get(**i).is_some_and(|c| {
            c.adds_up && c.keys.len() > wanted.len() && wanted.iter().all(|k| c.keys.contains(k))
        })
    };
    released.iter().filter(finer).min_by_key(|i| per_group(all, **i, of)).copied()
}

/// The 95 % errors of everything that is released of a set.
type Errors = Vec<f64>;

/// Chooses the sets that are released: those with the least error, on average over all that is asked for, in comparison with
/// a release for each.
fn decide(all: &[Candidate], settings: &Settings) -> Result<(Vec<usize>, String)> {
    let separate: Vec<usize> = (0..all.len()).filter(|i| all.get(*i).is_some_and(|c| c.asked)).collect();
    if !all.iter().any(|c| c.adds_up) || all.len() < 2 {
        let why = "each has a release of its own: what is asked does not add up".to_owned();
        return Ok((separate, why));
    }
    let apart = errors(all, &separate, settings, settings.mechanism)?;
    let compared = |released: &[usize], own: &[Errors]| mean(all, (released, own), (&separate, &apart));
    let mut found = (1.0, separate.clone());
    // Were each set alone; with n releases Laplace noise is n times as wide, Gaussian noise √n times.
    for (mechanism, root) in [(dp::Preference::Laplace, false), (dp::Preference::Gaussian, true)] {
        let alone: Result<Vec<Errors>> = (0..all.len())
            .map(|i| Ok(errors(all, &[i], settings, mechanism)?.into_iter().next().unwrap_or_default()))
            .collect();
        let Ok(alone) = alone else { continue };
        let cost = |released: &[usize]| {
            let n = released.len() as f64;
            let wider = if root { n.sqrt() } else { n };
            let one = |i: &usize| alone.get(*i).into_iter().flatten().map(|e| e * wider).collect();
            compared(released, &released.iter().map(one).collect::<Vec<_>>())
        };
        for scheme in best(all, &separate, &cost) {
            let own = errors(all, &scheme, settings, settings.mechanism)?;
            if let Some(cost) = compared(&scheme, &own).filter(|cost| *cost < found.0) {
                found = (cost, scheme);
            }
        }
    }
    let (ratio, scheme) = found;
    let why = match scheme == separate {
        true => "each has a release of its own, which errs less than sums of a finer one".to_owned(),
        false => format!(
            "some are sums of others, at no price: errors are {} times those of a release for each, on average",
            crate::words::short(ratio)
        ),
    };
    Ok((scheme, why))
}

/// The sets to release by a rule of thumb for the error: the finest ones, and others as long as that makes it less.
fn best(all: &[Candidate], asked: &[usize], cost: &dyn Fn(&[usize]) -> Option<f64>) -> Vec<Vec<usize>> {
    let whole: Vec<usize> = (0..all.len()).collect();
    // Those that are sums of no other.
    let without = |i: &usize| whole.iter().copied().filter(|j| j != i).collect::<Vec<_>>();
    let needed: Vec<usize> =
        asked.iter().copied().filter(|i| source(all, &without(i), *i).is_none()).collect();
    let finest = asked.iter().copied().filter(|i| {
        let others: Vec<usize> = asked.iter().copied().filter(|j| j != i).collect();
        source(all, &others, *i).is_none()
    });
    let mut starts = vec![finest.collect::<Vec<_>>()];
    if let Some(together) = whole.iter().copied().find(|i| all.get(*i).is_some_and(|c| !c.asked)) {
        starts.push(needed.into_iter().chain([together]).collect());
    }
    let grow = |mut released: Vec<usize>| {
        let mut least = cost(&released)?;
        loop {
            let more = asked.iter().filter(|i| !released.contains(i)).filter_map(|i| {
                let mut with = released.clone();
                with.push(*i);
                Some((cost(&with)?, with))
            });
            match more.min_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((cost, with)) if cost < least => (least, released) = (cost, with),
                _ => break,
            }
        }
        released.sort_unstable();
        Some(released)
    };
    starts.into_iter().filter_map(grow).collect()
}

/// The mean, over all that is asked for, of the widths of 95 % intervals in comparison with those of other releases; None
/// where a set is the sum of no released one.
fn mean(
    all: &[Candidate],
    (released, errors): (&[usize], &[Errors]),
    (others, their): (&[usize], &[Errors]),
) -> Option<f64> {
    let width = |error: f64| 1.0 + 2.0 * error;
    let (mut sum, mut n) = (0.0, 0.0);
    for of in (0..all.len()).filter(|i| all.get(*i).is_some_and(|c| c.asked)) {
        let from = source(all, released, of)?;
        let more = if from == of { 1.0 } else { (per_group(all, from, of) as f64).sqrt() };
        let own = errors.get(released.iter().position(|i| *i == from)?)?;
        let other = their.get(others.iter().position(|i| *i == of)?)?;
        for (own, other) in own.iter().zip(other) {
            sum += width(own * more) / width(*other);
            n += 1.0;
        }
    }
    (n > 0.0).then(|| sum / n)
}

/// The errors of these sets' releases, were they the whole statement.
fn errors(
    all: &[Candidate],
    released: &[usize],
    settings: &Settings,
    mechanism: dp::Preference,
) -> Result<Vec<Errors>> {
    let of = |i: &usize| all.get(*i).map(|c| c.releases.as_slice()).unwrap_or_default();
    let selecting = released.iter().flat_map(of).filter(|r| r.selects()).count().max(1);
    let delta = dp::split(&settings.delta, selecting).map_err(undrawn)?;
    let outlines: Vec<dp::Outline> =
        released.iter().flat_map(of).filter(|r| !r.is_domain_only()).map(|r| r.outline(&delta)).collect();
    let notions: Vec<dp::Notion> = settings.budgets.iter().map(|(_, notion)| *notion).collect();
    let choice = dp::choose(&settings.epsilon, &outlines, mechanism, &notions).map_err(|e| match e {
        dp::ChoiceError::Dp(e) => undrawn(e),
        dp::ChoiceError::Unpriced(budget) => gaussian_unpriced(settings, budget),
    })?;
    let mut specs = choice.specs.iter();
    let each = released.iter().map(|i| {
        let own = of(i).iter().filter(|r| !r.is_domain_only());
        own.filter_map(|_| specs.next()).flat_map(|s| s.aggregates.iter().map(dp::Noise::error95)).collect()
    });
    Ok(each.collect())
}
