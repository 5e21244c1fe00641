//! A policy beside the one that the books were kept under: what goes on, and what would forget something spent.

use super::body::{BudgetTerms, Terms};
use std::collections::BTreeMap;

/// What [`super::body::TableTerms::rows`] says of a public table.
pub(crate) const PUBLIC: &str = "public";

/// One difference, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What has changed.
    pub what: String,
    /// Why it is not taken over without being accepted; None where nothing is forgotten.
    pub forgets: Option<String>,
    /// Everything starts anew with it: what was spent was spent on somebody else's privacy.
    pub(super) all: bool,
}

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

/// What differs.
pub(super) fn compare(old: &Terms, known: &Known, new: &Terms) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut note = |what: String, forgets: Option<&str>, all: bool| {
        changes.push(Change { what, forgets: forgets.map(Into::into), all });
    };
    if old.unit != new.unit {
        note(
            format!("privacy.unit was {} and is {}", old.unit, new.unit),
            Some("what was spent protected somebody else; every budget starts anew"),
            true,
        );
    }
    for now in &new.tables {
        let Some(before) = known.tables.get(&now.name).filter(|rows| **rows != now.rows) else { continue };
        let what = format!("the rows of {} were {before}, and are {}", now.name, now.rows);
        let why = match (before.as_str(), now.rows.as_str()) {
            (_, PUBLIC) => None,
            (PUBLIC, _) => Some("what was answered while it was public was exact, and is in no budget"),
            _ => Some("what was spent protected other people by their rows; every budget starts anew"),
        };
        note(what, why, why.is_some() && before != PUBLIC);
    }
    for budget in &new.budgets {
        let Some(before) = known.budgets.get(&budget.name) else {
            note(
                format!("budget \"{}\" is new: it is charged with what was spent so far", budget.name),
                None,
                false,
            );
            continue;
        };
        differences(before, budget, &mut note);
        if !old.budgets.iter().any(|b| b.name == budget.name) {
            let what =
                format!("budget \"{}\" is back: it is charged with what was spent meanwhile", budget.name);
            note(what, None, false);
        }
    }
    for budget in &old.budgets {
        if !new.budgets.iter().any(|b| b.name == budget.name) {
            note(
                format!("budget \"{}\" is gone; what was spent stays in the ledger", budget.name),
                None,
                false,
            );
        }
    }
    if old.version.is_some() && old.version != new.version && changes.is_empty() {
        changes.push(Change {
            what: "bounds, columns or prices have changed".into(),
            forgets: None,
            all: false,
        });
    }
    changes
}

fn differences(old: &BudgetTerms, new: &BudgetTerms, note: &mut impl FnMut(String, Option<&str>, bool)) {
    let name = &new.name;
    let shown = |list: &[String]| if list.is_empty() { "all".to_owned() } else { list.join(", ") };
    let window = |w: &Option<String>| w.clone().unwrap_or_else(|| "none".into());
    let mut text = |key: &str, old: &str, new: &str, why: Option<&str>| {
        if old != new {
            note(format!("budget \"{name}\": {key} was {old} and is {new}"), why, false);
        }
    };
    text("epsilon", &old.epsilon, &new.epsilon, None);
    text("delta", &old.delta, &new.delta, None);
    text("selection_delta", &old.selection_delta, &new.selection_delta, None);
    let why = "which way to count is better may be seen from answers, and then neither way's guarantee holds; it is \
               charged anew with what was spent";
    text("accounting", &old.accounting, &new.accounting, Some(why));
    let why = "those who share it are others; it is charged anew with what they spent";
    text("per", &old.per, &new.per, Some(why));
    let why = "what was spent on tables that are left out is not counted any more";
    let narrower = !new.tables.is_empty()
        && (old.tables.is_empty() || old.tables.iter().any(|t| !new.tables.contains(t)));
    text("tables", &shown(&old.tables), &shown(&new.tables), narrower.then_some(why));
    let why = "what was spent before the present window is not counted any more";
    text("window", &window(&old.window), &window(&new.window), new.window.is_some().then_some(why));
    if old.mechanisms != new.mechanisms {
        let why = "an envelope holds for uses that were fixed before the first answer; it is charged anew";
        note(format!("budget \"{name}\": mechanisms have changed"), Some(why), false);
    }
}

/// Whether the sums of one are the sums of the other.
pub(super) fn same_sums(old: &BudgetTerms, new: &BudgetTerms) -> bool {
    let parts = |b: &BudgetTerms| {
        (b.per.clone(), b.tables.clone(), b.window.clone(), b.accounting.clone(), b.mechanisms.clone())
    };
    parts(old) == parts(new)
}
