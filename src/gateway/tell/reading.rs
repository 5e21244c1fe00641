//! Reading aids: which numbers of an answer are nothing but noise, and why groups are missing.
//!
//! All of them follow from values that are released already, from public scales and from the plan
//! (soundness rule 30): they are post-processing, and cost nothing.

use super::ranks;
use answer::Notice;
use dp::Weights;
use plan::release::Release;
use plan::words::short;
use plan::{GroupingSets, Plan};
use release::Noisy;

/// Number of private groups up to which an answer says why others may be missing.
const FEW: usize = 10;

/// Notices on the answers of these releases of a plan. Without `empty_groups`, public groups that cannot be told from empty ones
/// are left out of them.
pub fn told(plan: &Plan, places: &[usize], noisy: &mut [Noisy], empty_groups: bool) -> Vec<Notice> {
    let mut out = Vec::new();
    for place in places {
        let (Some(release), Some(noisy)) = (plan.releases.get(*place), noisy.get_mut(*place)) else {
            continue;
        };
        if release.public_groups && !release.keys.is_empty() && !empty_groups {
            let added = |s: &GroupingSets| {
                s.select == release.select && s.sets.iter().any(|s| s.of == release.set && s.added.is_some())
            };
            out.push(match plan.grouping_sets.iter().any(added) {
                false => without_empty(release, noisy),
                true => Notice::new(
                    "empty_groups = off leaves out nothing here: groups are added up to those of another set",
                )
                .hint("Ask for each grouping set by itself."),
            });
        }
        out.extend(selected(release.last_round(&plan.releases), noisy.rows));
        out.extend(drowned(plan, release, noisy, empty_groups));
    }
    out.extend(places.iter().filter_map(|place| ranks::told(plan, *place, noisy)));
    out
}

fn groups(n: usize) -> String {
    match n {
        0 => "no group".into(),
        1 => "1 group".into(),
        n => format!("{n} groups"),
    }
}

/// Why private groups are few.
fn selected(release: &Release, rows: usize) -> Option<Notice> {
    let selection = release.spec.selection.as_ref().filter(|_| rows < FEW)?;
    let least = selection.units();
    let adds_up = match selection.weights {
        Weights::Units => format!("its number of units, with noise, is at least {least}"),
        Weights::Sum(_) => {
            format!("its units weigh {least} or more, with noise, and one in s groups weighs 1/s")
        }
        Weights::Squares(_) => {
            format!("its units weigh {least} or more, with noise, and one in s groups weighs 1/√s")
        }
    };
    let message = format!(
        "{} passed: groups are {}; one comes back only where {adds_up}",
        groups(rows),
        release.groups_why,
    );
    Some(Notice::new(message).hint(release.groups_remedy.clone()))
}

/// Leaves out groups whose noisy count is within its own 95 % error of 0.
fn without_empty(release: &Release, noisy: &mut Noisy) -> Notice {
    let before = noisy.rows;
    let drawn = release.drawn();
    let Some((part, error)) = release.counting().map(|part| (part, drawn.error95(part))) else {
        return Notice::new("empty_groups = off leaves out nothing here: no rows are counted")
            .hint("Select count(*), too.");
    };
    let counts = noisy.values.get(part).cloned().unwrap_or_default();
    let kept: Vec<bool> = counts.iter().map(|n| drawn.shown(part, *n) > error).collect();
    noisy.keys.iter_mut().for_each(|column| retain(column, &kept));
    noisy.values.iter_mut().for_each(|column| retain(column, &kept));
    noisy.rows = kept.iter().filter(|k| **k).count();
    Notice::new(format!(
        "empty_groups = off leaves out {} of {before}, whose noisy count is at most its 95 % error of {}; \
         some of them may have rows",
        groups(before - noisy.rows),
        short(error)
    ))
}

fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    column.retain(|_| kept.next() == Some(&true));
}

/// The notice of values that are smaller than their errors.
fn drowned(plan: &Plan, release: &Release, noisy: &Noisy, empty_groups: bool) -> Option<Notice> {
    let (mut each, mut narrower) = (Vec::new(), None);
    for (aggregate, output) in release.outputs.iter().filter(|(a, _)| !plan::normalise::ages::is_rest(a)) {
        let name = plan::explain::name(aggregate, &plan.statement.bindings);
        let told = |small: usize, all: usize, error: &str| {
            let of = match all {
                1 => format!("{name} is"),
                n => format!("{small} of {n} values of {name} are"),
            };
            (small > 0).then(|| format!("{of} smaller than {error}"))
        };
        let of_row = |row: usize| move |part: usize| noisy.values.get(part)?.get(row).copied();
        let drawn = release.drawn();
        if let Some(error) = output.fixed95(&drawn) {
            let values = (0..noisy.rows).filter_map(|row| output.value(&drawn, of_row(row)));
            let small = values.filter(|value| value.abs() < error).count();
            each.extend(told(small, noisy.rows, &format!("the 95 % error of ±{}", short(error))));
        }
        // Its error hangs on how many rows there are.
        let averages = (0..noisy.rows).filter_map(|row| output.value95(&drawn, &of_row(row)));
        let averages: Vec<(f64, f64)> = averages.collect();
        let small = averages.iter().filter(|(mean, error)| mean.abs() < *error).count();
        if small > 0 {
            narrower = narrower.or_else(|| {
                plan::explain::narrower(aggregate, output, &release.parts, &plan.statement.bindings)
            });
        }
        each.extend(match averages.as_slice() {
            [(_, error)] => told(small, 1, &format!("its 95 % error of ±{}", short(*error))),
            several => told(small, several.len(), "their 95 % errors"),
        });
    }
    if each.is_empty() {
        return None;
    }
    let empty = match !release.keys.is_empty() && release.public_groups && empty_groups {
        true => ", or leave out what is next to nothing: SET noisegate.empty_groups = off",
        false => "",
    };
    // Without a profile the bound is a guess, and mostly too large for the noise that it makes.
    let guessed = release.lost_rows().is_some_and(f64::is_nan) && !release.bounding.l0_stage();
    let profile = match guessed && narrower.is_some() {
        true => ", or the owner to measure how many rows units have (noisegate profile)",
        false => "",
    };
    let others = format!("sk for fewer or larger groups{profile}, or raise noisegate.epsilon{empty}.");
    let hint = match narrower {
        Some(narrower) => format!("{narrower}; or a{others}"),
        None => format!("A{others}"),
    };
    Some(Notice::new(each.join("; ")).hint(hint))
}
