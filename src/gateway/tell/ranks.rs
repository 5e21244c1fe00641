//! Ranks: extremes and quantiles are values of rows near one, which noise moves by so many rows. Where groups have few more rows than
//! that, such a value says nothing of them, and what says something is told.

use answer::Notice;
use plan::release::Release;
use plan::words::short;
use plan::{Plan, quantile_ends};
use release::Noisy;

/// How far the ranks of a release's points are off.
pub(super) fn told(plan: &Plan, place: usize, noisy: &[Noisy]) -> Option<Notice> {
    let release = plan.releases.get(place)?;
    let error = release.drawn().rank95()?;
    let called = |name: &str| release.outputs.iter().any(|(aggregate, _)| aggregate.name == name);
    let grouped = !release.group_keys().is_empty();
    let (message, rows, instead) = match (called("min"), called("max")) {
        (false, false) => quantiles(release, error)?,
        (least, greatest) => {
            let (name, share) = match (least, greatest) {
                (true, true) => ("min and max leave", "0.99"),
                (true, false) => ("min leaves", "0.01"),
                _ => ("max leaves", "0.99"),
            };
            let beyond = release.missed("max")?;
            let (told, rows) = (short(beyond), if grouped { "rows of a group" } else { "rows" });
            let share = format!(
                "ask for a share of them, such as percentile_cont({share}) WITHIN GROUP (ORDER BY x)"
            );
            let beside = quantiles(release, error).map_or(String::new(), |(of, ..)| format!("; {of}"));
            let message =
                format!("{name} out the rows at the end: up to {told} {rows} lie beyond (95 %){beside}");
            (message, beyond, share)
        }
    };
    let few = match too_few(plan, release, noisy, rows) {
        Some((few, all)) if few > 0 && all > 1 => {
            format!("; {few} of {all} groups have too few rows for that, and their values mean nothing")
        }
        Some((1, 1)) => "; there are too few rows for that, and the value means nothing".to_owned(),
        _ => String::new(),
    };
    let raise = "or for fewer groups, or raise noisegate.epsilon";
    let hint = format!("Where there are not many times as many rows, {instead}, {raise}.");
    Some(Notice::new(message + &few).hint(hint))
}

/// Words about quantiles: a sentence, how many rows they may be off, and what else may be asked.
fn quantiles(release: &Release, error: f64) -> Option<(String, f64, String)> {
    let of = |name: &str| name == "median" || name.starts_with("percentile_");
    let (first, _) = release.outputs.iter().find(|(a, _)| of(a.name))?;
    let each = if release.group_keys().is_empty() { "" } else { " in each group" };
    let message = format!("{} lies within {} rows of its rank{each} (95 %)", first.name, short(error.ceil()));
    // Ends beside it tell more, in its own unit.
    if release.outputs.iter().any(|(a, _)| quantile_ends::is_end(a)) {
        return None;
    }
    let instead = "see between which values it lies (SET noisegate.intervals = on), ask for a rank nearer to the middle";
    Some((message, error, instead.to_owned()))
}

/// How many groups have too few rows for ranks that are off by this many, and how many groups there are: by the counts that are
/// released beside, if any are.
fn too_few(plan: &Plan, release: &Release, noisy: &[Noisy], off: f64) -> Option<(usize, usize)> {
    let of_rows = |(_, r): &(usize, &Release)| (r.select, r.set) == (release.select, release.set);
    let beside = plan.releases.iter().enumerate().filter(of_rows);
    let (place, counts, part) = beside.into_iter().find_map(|(i, r)| Some((i, r, r.counting()?)))?;
    let (values, drawn) = (noisy.get(place)?.values.get(part)?, counts.drawn());
    let few = values.iter().filter(|n| drawn.shown(part, **n) < Release::least_rows(off)).count();
    Some((few, values.len()))
}
