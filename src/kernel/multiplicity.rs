//! How many rows one unit has after joins, as far as keys prove it. Everything here errs towards more.

use super::classes::{Classes, Col};
use super::rows::{Frame, Part, Source};
use std::collections::BTreeSet;

/// `column = expression`, compared exactly.
#[derive(Clone, Debug)]
pub(crate) struct Equation {
    /// The column.
    pub column: Col,
    /// Scans that the expression looks at.
    pub needs: BTreeSet<String>,
}

/// Whether each combination of rows of `given` meets at most one row of the part.
fn determined(
    frame: &Frame<'_>,
    p: &Part,
    given: &BTreeSet<String>,
    classes: &Classes,
    equations: &[Equation],
) -> bool {
    p.anchors.iter().any(|anchor| {
        let Some(Source::Table(t)) = frame.scan(anchor).map(|s| &s.source) else { return false };
        let fixed = |name: &String| {
            let column = (anchor.clone(), name.clone());
            let equated = |e: &Equation| e.column == column && e.needs.is_subset(given);
            equations.iter().any(equated) || classes.mates(&column).any(|c| given.contains(&c.0))
        };
        let keys = frame.context.policy.tables.get(*t).map(|t| t.keys.as_slice()).unwrap_or_default();
        keys.iter().any(|key| !key.is_empty() && key.iter().all(fixed))
    })
}

/// Which parts are fixed, one after another, once those that start are.
fn closure(
    frame: &Frame<'_>,
    start: &[usize],
    parts: &[Part],
    classes: &Classes,
    equations: &[Equation],
) -> BTreeSet<usize> {
    let mut fixed: BTreeSet<usize> = start.iter().copied().collect();
    loop {
        let given: BTreeSet<String> =
            fixed.iter().filter_map(|i| parts.get(*i)).flat_map(|p| p.scans.iter().cloned()).collect();
        let next = parts
            .iter()
            .enumerate()
            .position(|(i, p)| !fixed.contains(&i) && determined(frame, p, &given, classes, equations));
        match next {
            Some(i) => fixed.insert(i),
            None => return fixed,
        };
    }
}

/// Inner joins: the rows of a part that fixes all others; else a product, since the units of all private parts are equal.
pub(crate) fn island_rows(
    frame: &Frame<'_>,
    parts: &[Part],
    classes: &Classes,
    equations: &[Equation],
) -> (Vec<String>, Option<u64>) {
    let reach = |start: &[usize]| closure(frame, start, parts, classes, equations);
    let (mut anchors, mut best) = (Vec::new(), None);
    for (i, p) in parts.iter().enumerate() {
        let mut start = vec![i];
        let mut fixed = reach(&start);
        if fixed.len() == parts.len() {
            anchors.extend(p.anchors.iter().cloned());
        }
        let mut rows = p.rows;
        while fixed.len() < parts.len() && rows.is_some() {
            let left = parts.iter().enumerate().filter(|(j, p)| !fixed.contains(j) && p.rows.is_some());
            let Some((next, part)) = left.min_by_key(|(_, p)| p.rows) else {
                rows = None;
                break;
            };
            rows = rows.zip(part.rows).and_then(|(a, b)| a.checked_mul(b));
            start.push(next);
            fixed = reach(&start);
        }
        best = [best, rows].into_iter().flatten().min();
    }
    (anchors, best)
}

/// `l LEFT JOIN r`
pub(crate) fn left_rows(
    frame: &Frame<'_>,
    l: &Part,
    r: &Part,
    classes: &Classes,
    equations: &[Equation],
) -> (Vec<String>, Option<u64>) {
    if determined(frame, r, &l.scans, classes, equations) {
        return (l.anchors.clone(), l.rows);
    }
    // Each row has its partners, or is alone.
    let pairs = l.rows.zip(r.rows.filter(|_| r.private)).and_then(|(a, b)| a.checked_mul(b.max(1)));
    (Vec::new(), pairs)
}

/// FULL JOIN: with some rows in pairs and others alone, the most at a corner.
pub(crate) fn full_rows(l: Option<u64>, r: Option<u64>) -> Option<u64> {
    let (a, b) = l.zip(r)?;
    Some(a.checked_mul(b)?.max(a.checked_add(b)?))
}
