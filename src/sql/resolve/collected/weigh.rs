//! A SELECT over a collected relation, turned into one over weights.
//!
//! It becomes two: the inner one adds up, for each group and each kind of report, the weights of the values that belong to the
//! group, y, and those times the argument of a sum, z; the outer one adds these up over reports. What one report gives is then
//! at hand as a whole, and with it the variance of the estimate: a report that adds y to a count in which its writer counts m
//! times (0 or 1) has E[y²] = Var y + m² = Var y + E[y], so that Σ(y² - y) is an unbiased estimate of the variance of Σy that
//! randomisation causes; for sums, Σz² - (Σz)²/n is at least that in expectation (Cauchy and Schwarz).

use super::Bound;
use super::build::*;
use super::estimate::Weigher;
use super::expansion::Hidden;
use super::look::{alone, columns_of, fill, kept, seen_from_within};
use super::members::{Facet, What};
use crate::ast::*;
use crate::names::truncate;
use crate::resolve::resolver::{Resolver, Result};
use answer::ClientError;
use policy::{Collect, Randomiser};
use std::collections::BTreeSet;

const AGGREGATE: &str = "Ask for numbers: SELECT answer, count(*) FROM survey GROUP BY answer.";

impl Resolver<'_> {
    /// Rewrites a SELECT that has a collected relation in its FROM; others stay as they are.
    pub(crate) fn weigh(&mut self, select: &mut Select, order: &mut [OrderItem]) -> Result<()> {
        let mut here = BTreeSet::new();
        select.from.iter().for_each(|f| f.bindings(&mut here));
        let mut bound: Vec<Bound<'_>> = here.iter().filter_map(|b| self.bound(*b)).collect();
        let (Some(Bound { binding, collect }), rest) = (bound.pop(), bound.len()) else { return Ok(()) };
        let collect = collect.clone();
        let pos = select.pos;
        let refused = |what: &str, hint: &str| Err(ClientError::unsupported(what).hint(hint).at(pos));
        if rest > 0 {
            return refused(
                "a join of collected relations is not supported",
                "No two reports are known to be of one writer: ask each by itself, and join the results.",
            );
        }
        if !kept(&select.from, binding) {
            return refused(
                "a collected relation on the optional side of an outer join is not supported",
                "Write it on the side that is kept: survey LEFT JOIN …; every value of its domains has a row as it is.",
            );
        }
        if seen_from_within(select, order, binding) {
            return refused(
                "a subquery that looks at a collected relation around it is not supported",
                "Compare its columns with constants, or join it with public tables.",
            );
        }
        let aggregates = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Aggregate(_)));
        let above = || {
            select.items.iter().map(|i| &i.expr).chain(&select.having).chain(order.iter().map(|o| &o.expr))
        };
        if !select.has_group_by() && !above().any(aggregates) {
            return refused("rows of a collected relation are never returned: there are none", AGGREGATE);
        }
        if select.distinct != Distinct::No {
            return refused("DISTINCT over a collected relation is not supported", "Write GROUP BY.");
        }
        let facets = self.facets(select, order, (binding, &collect))?;
        let above = || {
            select.items.iter().map(|i| &i.expr).chain(&select.having).chain(order.iter().map(|o| &o.expr))
        };
        let visible = collect.columns.len();
        let on_average = |e: &Expr| match e.kind {
            ExprKind::Column { binding: b, column } if b == binding => {
                let column = collect.columns.get(column);
                column.is_some_and(|c| matches!(c.randomiser, Randomiser::Mean { .. }))
            }
            _ => false,
        };
        let mut misplaced = None;
        let look = |e: &Expr| misplaced = misplaced.or(alone(e, &on_average));
        above().chain(&select.filter).chain(&select.group_by).chain(select.conditions()).for_each(look);
        if let Some(at) = misplaced {
            return Err(ClientError::unsupported("a number that is collected stands here by itself")
                .hint("Each report of it is noise around it: its sum, its average and how many there are can be estimated, and nothing else.")
                .at(at));
        }
        let mut used = BTreeSet::new();
        let note = |e: &Expr| columns_of(e, binding, &mut used);
        above().chain(&select.filter).chain(&select.group_by).chain(select.conditions()).for_each(note);
        let used: Vec<bool> = (0..visible).map(|i| used.contains(&i)).collect();
        let asked = |i: &usize| used.get(*i) == Some(&true);
        let is_oracle = |i: &usize| {
            collect.columns.get(*i).is_some_and(|c| matches!(c.randomiser, Randomiser::Oracle(_)))
        };
        let oracles: Vec<usize> = (0..visible).filter(asked).filter(is_oracle).collect();
        // Sums and averages alone, and how many reports there are, are no parts of a whole.
        let consistent = self.catalog.estimates().consistent && oracles.len() + facets.len() > 0;
        let by_name = above().flat_map(Expr::parts).any(|e| matches!(e.kind, ExprKind::Reach { .. }));
        let intervals = self.catalog.estimates().intervals || by_name;
        let permanent = collect.person.as_ref().and_then(|p| p.permanent.as_ref());
        if intervals && permanent.is_some_and(|p| p.rows.is_none()) {
            return refused(
                "no interval is known of permanent responses of persons who give nobody knows how many rows",
                "Ask without intervals, or have the policy's owner say rows_per_person: permanent responses err in the same direction in all rows of a person.",
            );
        }
        let together = together(&collect, &used, &facets, permanent.and_then(|p| p.rows).unwrap_or(1));
        let mut expansion = self.expansion(&collect, &used, &facets, consistent);
        if consistent {
            if !parts_of_a_whole(&facets) {
                return refused(
                    "noisegate.consistent = on does not hold for several values of a collected set",
                    "SET noisegate.consistent = off, or ask for one value of each set in one SELECT: how often each was given does not add up to the number of reports.",
                );
            }
            if above().any(|e| e.any(&mut |e| on_average(e))) {
                return refused(
                    "noisegate.consistent = on does not hold for sums and averages of collected numbers",
                    "SET noisegate.consistent = off, or ask for counts alone.",
                );
            }
            if intervals {
                return refused(
                    "no interval is known of estimates that were made consistent",
                    "SET noisegate.consistent = off, or ask without intervals: cutting at 0 is a bias, which no report tells.",
                );
            }
            expansion = self.projected(&collect, facets.len(), expansion);
        }
        select.from.iter_mut().for_each(|f| fill(f, binding, &expansion));
        let hidden = Hidden::behind(visible + facets.len());
        let sets = std::mem::take(&mut select.grouping_sets);
        let mut common = BTreeSet::new();
        let rows = select.filter.iter().chain(&select.group_by).chain(select.conditions());
        rows.for_each(|e| columns_of(e, binding, &mut common));
        let plain = counts_once(select, &sets, (binding, visible), &facets);
        let mut w = Weigher {
            binding,
            hidden: &hidden,
            keys: select.group_by.clone(),
            outer: self.bindings.next(),
            cells: Vec::new(),
            oracles: if consistent { Vec::new() } else { oracles },
            common,
            plain,
            apart: intervals && !sets.is_empty() && !select.group_by.is_empty(),
            estimates: self.catalog.estimates(),
            together,
        };
        if w.apart && sets.iter().enumerate().any(|(i, set)| sets.iter().take(i).any(|s| s == set)) {
            return refused(
                "intervals of a grouping set that is asked for twice are not supported",
                "Ask for each set once, or SET noisegate.intervals = off.",
            );
        }
        let which = w.apart.then(|| w.cell(aggregate("grouping", select.group_by.clone(), None)));
        let mut items = Vec::with_capacity(select.items.len());
        let mut places = Vec::with_capacity(select.items.len());
        for i in &select.items {
            places.push(items.len());
            items.push(Item { expr: w.above(&i.expr)?, name: i.name.clone() });
            if w.estimates.intervals && w.estimate_in(&i.expr).is_some() {
                for what in [Reach::Low, Reach::High] {
                    let name = truncate(format!("{}_{}", i.name, what.name()));
                    items.push(Item { expr: w.reach(what, &i.expr)?, name });
                }
            }
        }
        let having = select.having.as_ref().map(|e| w.above(e)).transpose()?;
        for o in order.iter_mut() {
            match &mut o.expr.kind {
                ExprKind::Output(i) => *i = places.get(*i).copied().unwrap_or(*i),
                _ => o.expr = w.above(&o.expr)?,
            }
        }
        let (keys, cells) = (w.keys.len(), std::mem::take(&mut w.cells));
        // The inner SELECT: keys, how many reports, how many in all, and the cells.
        let of = |place| column(binding, place);
        let mut inside: Vec<Item> = select.group_by.iter().map(|k| item(k.clone(), "k")).collect();
        inside.push(item(of(hidden.reports), "n"));
        inside.push(item(of(hidden.total), "t"));
        inside.extend(cells.into_iter().map(|cell| item(or_zero(cell), "y")));
        let width = inside.len();
        let mut group_by = std::mem::take(&mut select.group_by);
        group_by.extend([of(hidden.kind), of(hidden.reports), of(hidden.total)]);
        let from = std::mem::take(&mut select.from);
        let mut inner = self.of_items(inside, from, group_by);
        inner.filter = select.filter.take();
        if which.is_some() {
            // What a report gives to each set, behind whose keys stand those that tell reports apart.
            inner.grouping_sets =
                sets.iter().map(|set| set.iter().copied().chain(keys..keys + 3).collect()).collect();
        } else {
            // Sums of sums.
            select.grouping_sets = sets;
        }
        let outer = self.unnamed(Source::Derived, width);
        select.from = vec![relation(outer, Some(query(inner)))];
        select.group_by = (0..keys).chain(which).map(|i| column(outer, i)).collect();
        (select.items, select.having) = (items, having);
        Ok(())
    }
}

/// By how much rows of one person err together, of which there are up to `rows`: factors of the variance of counts, and of all else.
///
/// n rows of a person whose permanent response has the part c of a row's variance σ² have the variance n(1-c)σ² + n²cσ² = nσ²(1 +
/// (n-1)c). Counts of one column's values have a part of their own; with others beside it, and for whatever is added up, the part
/// is at most that of the column with the largest.
fn together(collect: &Collect, used: &[bool], facets: &[Facet], rows: u32) -> (f64, f64) {
    let is_used = |i: usize| used.get(i) == Some(&true) || facets.iter().any(|f| f.column == i);
    let parts: Vec<(f64, f64)> =
        collect.columns.iter().enumerate().filter(|(i, _)| is_used(*i)).map(|(_, c)| c.common()).collect();
    let any = parts.iter().map(|(_, any)| *any).fold(0.0, f64::max);
    let counts = match parts.as_slice() {
        [(counts, _)] => *counts,
        _ => any,
    };
    let factor = |part: f64| 1.0 + f64::from(rows.saturating_sub(1)) * part;
    (factor(counts), factor(any))
}

/// Whether a writer counts once in a group, or not at all: the relation stands alone in FROM, and where it has a row for each value of a
/// set, each group is of one value.
fn counts_once(
    select: &Select,
    sets: &[Vec<usize>],
    (binding, visible): (BindingId, usize),
    facets: &[Facet],
) -> bool {
    let members = facets.iter().enumerate().filter(|(_, f)| f.what == What::Member);
    let keyed = |(i, _): (usize, &Facet)| {
        let key = select.group_by.iter().position(|k| *k == column(binding, visible + i));
        key.is_some_and(|key| sets.iter().all(|set| set.contains(&key)))
    };
    matches!(select.from.as_slice(), [From::Relation { .. }]) && members.into_iter().all(keyed)
}

/// Whether all that is asked of sets is at most one question of each, so that its answers are parts of all reports.
fn parts_of_a_whole(facets: &[Facet]) -> bool {
    let once = |(i, f): (usize, &Facet)| facets.iter().take(i).all(|o| o.column != f.column);
    facets.iter().all(|f| f.what != What::Member) && facets.iter().enumerate().all(once)
}
