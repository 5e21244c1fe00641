//! The first few groups by a count: `GROUP BY x ORDER BY count(*) DESC LIMIT k`.
//!
//! Two ways lead there. All public groups are released, and the first k of them shown: noise is that of all groups that a unit
//! may touch. Or k groups are chosen by the exponential mechanism from exact counts, and only their counts are released: noise
//! is that of k groups, at half of ε, and each choice takes a share of the other half. Which errs less follows from public
//! numbers, and is computed before a row is read.

use super::model::{Ranking, Release};
use crate::Settings;
use crate::aggregates::counts::Count;
use crate::bound::bounding::Groups;
use crate::words::short;
use sql::ast::*;

/// LIMIT, where it is a constant and there is no OFFSET.
pub(crate) fn limit(q: &Query) -> Option<u32> {
    match (&q.limit.as_ref()?.kind, &q.offset) {
        (ExprKind::Literal(Literal::Number(n)), None) => n.parse().ok().filter(|k| *k > 0),
        _ => None,
    }
}

/// Decides how the first k groups are found, when these are asked for.
pub(crate) fn decide(
    releases: &mut [Release],
    s: &Select,
    order_by: &[OrderItem],
    k: Option<u32>,
    groups: usize,
    settings: &Settings,
) {
    let ([release], Some(k)) = (releases, k) else { return };
    if !is_asked(release, s, order_by) || settings.question || !usize::try_from(k).is_ok_and(|k| k < groups) {
        return;
    }
    let mut few = release.clone();
    few.bounding = release.bounding.of_each();
    few.ranking = Some(Ranking { k, chosen: true, why: String::new() });
    let notions: Vec<dp::Notion> = settings.budgets.iter().map(|(_, notion)| *notion).collect();
    let spec = |r: &Release| {
        let outline = [r.outline(&settings.delta)];
        dp::choose(&settings.epsilon, &outline, settings.mechanism, &notions).ok()?.specs.pop()
    };
    let (Some(all), Some(top)) = (spec(release), spec(&few)) else { return };
    let error = |s: &dp::Spec| s.aggregates.first().map_or(f64::INFINITY, dp::Noise::error95);
    let chosen = top.top.as_ref().map_or(f64::INFINITY, |t| t.error95(groups));
    // Of the greatest noisy counts each is missed by the noise of two at most: at least twice what 95 % of one stay within.
    let (of_all, of_few) = (3.0 * error(&all), error(&top) + chosen);
    let better = of_few < of_all;
    let why = match better {
        true => format!(
            "chosen among {groups} groups, and their counts alone released: 95 % within ±{}, where counts of all groups would be within ±{}",
            short(error(&top)),
            short(error(&all))
        ),
        false => format!(
            "the first of all {groups} groups, which are released: choosing them would leave ±{} for their counts, where all have ±{}",
            short(error(&top)),
            short(error(&all))
        ),
    };
    if better {
        *release = few;
    }
    release.ranking = Some(Ranking { k, chosen: better, why });
}

/// Whether a release is of counts alone, of which the greatest are asked for, and groups are all that stands between.
fn is_asked(r: &Release, s: &Select, order_by: &[OrderItem]) -> bool {
    let one = matches!(r.parts.as_slice(), [p] if p.kind.counts())
        && r.outputs.iter().all(|(_, o)| o.of() == Some(&Count { part: 0 }));
    let several = matches!(
        r.bounding.of_groups(),
        Groups::Spread | Groups::Exact(_) | Groups::NoMoreRows(_) | Groups::Ranked(_)
    );
    let windows = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Window { .. }));
    let above = s.items.iter().map(|i| &i.expr).chain(order_by.iter().map(|o| &o.expr));
    let first = order_by.first().filter(|o| o.desc).map(|o| match o.expr.kind {
        ExprKind::Output(i) => s.items.get(i).map_or(&o.expr, |item| &item.expr),
        _ => &o.expr,
    });
    let greatest = first.is_some_and(|e| match &e.kind {
        ExprKind::Aggregate(a) => r.outputs.iter().any(|(have, _)| *have == **a),
        _ => false,
    });
    r.public_groups
        && !r.keys.is_empty()
        && r.cells.is_none()
        && one
        && several
        && greatest
        && s.having.is_none()
        && s.distinct == Distinct::No
        && s.grouping_sets.is_empty()
        && !above.into_iter().any(windows)
}
