//! A policy beside the one that the books were kept under: what goes on, and what would forget something spent.

use super::body::{BudgetTerms, TableTerms, Terms, decimal};
use crate::account::{Counter, Granted};
use crate::change::{Anew, Change};
use policy::{Accounting, Scope, Window};
use std::collections::{BTreeMap, BTreeSet};

/// Value of [`super::body::TableTerms::rows`] for a public table.
pub(crate) const PUBLIC: &str = "public";

/// Everything that was ever in a policy, as it last was there: what is gone and comes back is compared, too.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) budgets: BTreeMap<String, BudgetTerms>,
    /// Whose the rows of a table are.
    pub(super) tables: BTreeMap<String, String>,
}

impl Known {
    pub(super) fn learn(&mut self, terms: &Terms) {
        self.budgets.extend(terms.budgets.iter().map(|b| (b.name.clone(), b.clone())));
        self.tables.extend(terms.tables.iter().map(|t| (t.name.clone(), t.rows.clone())));
    }
}

/// Facts that a change of budgets is judged by.
pub(super) struct Past<'a> {
    pub(super) known: &'a Known,
    /// Budgets that the owner has closed.
    pub(super) closed: &'a BTreeSet<String>,
    /// Something was ever charged.
    pub(super) charged: bool,
    /// Budgets in force of which something is spent in the present window.
    pub(super) spent: BTreeSet<&'a str>,
    /// Grants of budgets in force, to each owner.
    pub(super) granted: Vec<(&'a str, Granted)>,
    pub(super) measure: Measure,
}

/// By what limits are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Each coordinate that follows from them.
    Coordinates,
    /// ε and δ as policies write them: so were entries judged by versions that did not write of which data they are, and what
    /// they took over stands.
    Keys,
}

/// Differences between old and new terms.
pub(super) fn compare(old: &Terms, past: &Past<'_>, new: &Terms) -> Vec<Change> {
    let mut changes = Vec::new();
    // Where there was no unit, nobody's rows were read.
    if old.unit != new.unit && !old.unit.is_empty() {
        changes.push(Change {
            what: format!("privacy.unit was {} and is {}", old.unit, new.unit),
            forgets: Some("what was spent protected somebody else; every budget starts anew".into()),
            anew: Anew::Everything,
        });
    }
    if let (Some(before), Some(now)) = (&old.data, &new.data)
        && before != now
    {
        changes.push(Change {
            what: format!("the data were {before}, and are {now}"),
            forgets: Some(
                "books are of one database's rows, and another one's have books of their own; a database that was moved or \
                 restored goes on with these, once that is accepted: what was spent stays spent"
                    .into(),
            ),
            anew: Anew::Nothing,
        });
    }
    changes.extend(new.tables.iter().filter_map(|now| table(past.known.tables.get(&now.name)?, now)));
    for budget in &old.budgets {
        changes.extend(went_on(budget, past, new));
    }
    for budget in new.budgets.iter().filter(|b| !old.budgets.iter().any(|o| o.name == b.name)) {
        changes.extend(came(budget, past));
    }
    if old.version.is_some() && old.version != new.version && changes.is_empty() {
        changes.push(harmless("bounds, columns or prices have changed".into()));
    }
    changes
}

fn harmless(what: String) -> Change {
    Change { what, forgets: None, anew: Anew::Nothing }
}

fn forgetful(what: String, why: &str) -> Change {
    Change { what, forgets: Some(why.into()), anew: Anew::Nothing }
}

/// A table whose rows were somebody's.
fn table(before: &str, now: &TableTerms) -> Option<Change> {
    if before == now.rows {
        return None;
    }
    let what = format!("the rows of {} were {before}, and are {}", now.name, now.rows);
    Some(match (before, now.rows.as_str()) {
        (_, PUBLIC) => forgetful(what, "its rows are answered exactly from now on, and no budget bounds that"),
        (PUBLIC, _) => forgetful(what, "what was answered while it was public was exact, and is in no budget"),
        _ => Change {
            what,
            forgets: Some(
                "what was spent protected other people by their rows; what was spent on this table alone starts anew"
                    .into(),
            ),
            anew: Anew::Table(now.name.clone()),
        },
    })
}

/// A budget in force beside a new policy: one of its budgets must count all that this one counts, and admit no more.
/// Names do not matter to that: a budget under another name that counts less forgets as much.
fn went_on(old: &BudgetTerms, past: &Past<'_>, new: &Terms) -> Vec<Change> {
    let same = new.budgets.iter().find(|n| n.name == old.name);
    let covering = new.budgets.iter().find(|n| weaknesses(old, n, past).is_empty());
    let mut changes: Vec<Change> = match (same, covering) {
        (Some(same), _) => differences(old, same),
        (None, Some(other)) => {
            let gone =
                format!("budget \"{}\" is gone; \"{}\" counts all that it counted", old.name, other.name);
            vec![harmless(gone)]
        }
        (None, None) if past.closed.contains(&old.name) => {
            let what = format!("budget \"{}\" is gone, and was closed", old.name);
            vec![forgetful(what, "what it had to pay for would be paid for by other budgets again")]
        }
        (None, None) => {
            // The one that comes nearest says best what is missing.
            let near = new.budgets.iter().map(|n| (weaknesses(old, n, past), n)).min_by_key(|(w, _)| w.len());
            let mut what =
                format!("budget \"{}\" is gone, and no other counts all that it counted", old.name);
            let mut why = "what was spent of it would bound nothing any more";
            if let Some((weak, near)) = &near
                && let Some(first) = weak.first()
            {
                let parts: Vec<&str> = weak.iter().map(|w| w.key).collect();
                what.push_str(&format!(" (\"{}\" differs in {})", near.name, parts.join(", ")));
                why = first.why;
            }
            vec![forgetful(what, why)]
        }
    };
    if let (Some(same), None) = (same, covering) {
        for weak in weaknesses(old, same, past) {
            let prefix = format!("budget \"{}\": {} ", old.name, weak.key);
            match changes.iter_mut().find(|c| c.what.starts_with(&prefix)) {
                Some(change) => change.forgets = Some(weak.why.into()),
                None => changes.push(forgetful(prefix + "admits more", weak.why)),
            }
        }
    }
    changes
}

/// A budget that is not in force.
fn came(new: &BudgetTerms, past: &Past<'_>) -> Vec<Change> {
    let Some(before) = past.known.budgets.get(&new.name) else {
        return vec![harmless(format!(
            "budget \"{}\" is new: it is charged with what was spent so far",
            new.name
        ))];
    };
    let mut changes = vec![harmless(format!(
        "budget \"{}\" is back: it is charged with what was spent meanwhile",
        new.name
    ))];
    changes.extend(differences(before, new));
    changes
}

/// How one budget differs from another, in words.
fn differences(old: &BudgetTerms, new: &BudgetTerms) -> Vec<Change> {
    let mut changes = Vec::new();
    let name = &new.name;
    let mut text = |key: &str, old: &str, new: &str| {
        if old != new {
            changes.push(harmless(format!("budget \"{name}\": {key} was {old} and is {new}")));
        }
    };
    let shown = |list: &[String]| if list.is_empty() { "all".to_owned() } else { list.join(", ") };
    let window = |w: &Option<String>| w.clone().unwrap_or_else(|| "none".into());
    text("epsilon", &old.epsilon, &new.epsilon);
    text("delta", &old.delta, &new.delta);
    text("selection_delta", &old.selection_delta, &new.selection_delta);
    text("accounting", &old.accounting, &new.accounting);
    text("per", &old.per, &new.per);
    text("tables", &shown(&old.tables), &shown(&new.tables));
    text("window", &window(&old.window), &window(&new.window));
    if old.mechanisms != new.mechanisms {
        changes.push(harmless(format!("budget \"{name}\": mechanisms have changed")));
    }
    changes
}

/// In what a budget falls short of another.
struct Weakness {
    key: &'static str,
    why: &'static str,
}

/// In what `new` counts less than `old`, or admits more. Where there is none, `new` holds whatever `old` would have held:
/// it counts every charge that `old` counts, in a window that is as long at least, in the same notion, up to no larger
/// epsilon or delta, and, where something was spent, up to no larger limit in any coordinate (soundness rule 52).
fn weaknesses(old: &BudgetTerms, new: &BudgetTerms, past: &Past<'_>) -> Vec<Weakness> {
    let mut weak = Vec::new();
    let mut unless = |holds: bool, key, why| {
        if !holds {
            weak.push(Weakness { key, why });
        }
    };
    let larger = |old: &str, new: &str| match (decimal(old), decimal(new)) {
        (Some(old), Some(new)) => new > old,
        _ => true,
    };
    unless(
        !larger(&old.epsilon, &new.epsilon),
        "epsilon",
        "more may be lost of everybody's privacy than was promised",
    );
    unless(
        !larger(&old.delta, &new.delta),
        "delta",
        "more may be lost of everybody's privacy than was promised",
    );
    let notion = old.accounting == new.accounting || !past.spent.contains(old.name.as_str());
    unless(
        notion,
        "accounting",
        "which way to count is better may be seen from answers, and then neither way's guarantee holds; it is charged \
         anew with what was spent",
    );
    unless(
        old.mechanisms == new.mechanisms || !past.spent.contains(old.name.as_str()),
        "mechanisms",
        "an envelope holds for uses that were fixed before the first answer; it is charged anew",
    );
    unless(
        !past.closed.contains(&old.name) || old.name == new.name,
        "name",
        "it was closed, and under another name it would pay again",
    );
    if past.charged {
        unless(
            old.per == new.per || new.per == Scope::Dataset.word(),
            "per",
            "those who share it are others; it is charged anew with what they spent",
        );
        let wider = new.tables.is_empty()
            || (!old.tables.is_empty() && old.tables.iter().all(|t| new.tables.contains(t)));
        unless(wider, "tables", "what was spent on tables that are left out is not counted any more");
        unless(
            longer(old.window.as_deref(), new.window.as_deref()),
            "window",
            "what was spent before the present window is not counted any more",
        );
    }
    let told = weak.iter().any(|w| ["epsilon", "delta"].contains(&w.key));
    if let Some(key) = more_admitted(old, new, past).filter(|_| !told) {
        let why = "of epsilon, of delta or at an order more would be admitted beside what is spent than was promised";
        weak.push(Weakness { key, why });
    }
    weak
}

/// The key by which `new` admits more than `old` in a coordinate: the loss, δ, or the divergence at an order. None where it
/// does not, where nothing is spent, and where they cannot be compared because they count otherwise: that has a word of its
/// own.
fn more_admitted(old: &BudgetTerms, new: &BudgetTerms, past: &Past<'_>) -> Option<&'static str> {
    let limits = |b: &BudgetTerms| [b.selection_delta.clone(), b.delta.clone(), b.epsilon.clone()];
    let moved = limits(old).iter().zip(limits(new)).position(|(old, new)| *old != new)?;
    let of_one_notion = old.accounting == new.accounting && old.accounting != Accounting::Envelope.word();
    if past.measure == Measure::Keys || !of_one_notion || !past.spent.contains(old.name.as_str()) {
        return None;
    }
    // A grant goes on with the budget that it was made for, on top of limits that have moved.
    let kept = old.name == new.name && same_sums(old, new);
    let granted = past.granted.iter().filter(|(name, _)| kept && *name == old.name).map(|(_, more)| more);
    let more = |granted: &[Granted]| {
        let limit = |b: &BudgetTerms| Some(Counter::of(&b.read()?, granted).ok()?.limit());
        // What has no limit that can be computed is not known to admit less.
        !matches!((limit(old), limit(new)), (Some(old), Some(new)) if old.covers(&new))
    };
    let admitted = more(&[]) || granted.into_iter().any(|granted| more(std::slice::from_ref(granted)));
    admitted.then(|| ["selection_delta", "delta", "epsilon"].get(moved).copied()).flatten()
}

/// Whether every window of the first lies in one of the second.
fn longer(old: Option<&str>, new: Option<&str>) -> bool {
    let Some(new) = new else { return true };
    match (old.and_then(Window::parse), Window::parse(new)) {
        (Some(Window::Days(old)), Some(Window::Days(new))) => old > 0 && new % old == 0,
        (Some(Window::Days(1) | Window::Month), Some(Window::Month)) => true,
        _ => false,
    }
}

/// Whether the sums of one are the sums of the other.
pub(super) fn same_sums(old: &BudgetTerms, new: &BudgetTerms) -> bool {
    let parts = |b: &BudgetTerms| {
        (b.per.clone(), b.tables.clone(), b.window.clone(), b.accounting.clone(), b.mechanisms.clone())
    };
    parts(old) == parts(new)
}
