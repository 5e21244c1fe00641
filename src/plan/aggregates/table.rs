//! Aggregates over private rows as a table: one entry for each name in SQL, in the file of its
//! family.
//!
//! A name is looked up here, once: later code asks the estimator of its output. The reference in
//! `docs/sql.md` is printed from here.

use super::entry::{Entry, Form};
use super::{averages, counts, moments, of_values, points, sums, truths};

/// All aggregates, in the order of the reference.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    let all: [&[Entry]; 5] =
        [counts::ENTRIES, sums::ENTRIES, averages::ENTRIES, moments::ENTRIES, truths::ENTRIES];
    all.into_iter().chain(points::ENTRIES).chain([of_values::ENTRIES]).flatten()
}

/// The aggregate of a name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    entries().find(|e| e.name == name)
}

/// Aggregates that may stand instead of one that may not.
pub fn supported() -> String {
    let mut hints: Vec<&str> = entries().map(|e| e.hint).filter(|hint| !hint.is_empty()).collect();
    hints.dedup();
    let last = hints.pop().unwrap_or_default();
    format!("Over private rows: {} and {last}.", hints.join(", "))
}

/// The reference of aggregates, as a table of Markdown: neighbours of which the same is said share a row.
pub fn reference() -> String {
    let mut rows: Vec<(Vec<String>, Form)> = Vec::new();
    for form in entries().flat_map(|e| e.forms) {
        let written = format!("`{}`", form.written);
        match rows.last_mut() {
            Some((names, said)) if (said.from, said.and) == (form.from, form.and) => names.push(written),
            _ => rows.push((vec![written], *form)),
        }
    }
    let mut out = String::from("| aggregate | computed from noisy | and |\n|---|---|---|\n");
    for (names, said) in rows {
        out.push_str(&format!("| {} | {} | {} |\n", names.join(", "), said.from, said.and));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::functions::{Class, names};

    /// Whatever SQL has as an aggregate has an entry here, which answers or refuses it; GROUPING is none of rows.
    #[test]
    fn every_aggregate_of_sql_has_one_entry() {
        let mut known: Vec<&str> = entries().map(|e| e.name).collect();
        known.sort_unstable();
        let mut all: Vec<&str> = names(Class::Aggregate).filter(|n| *n != "grouping").collect();
        all.sort_unstable();
        assert_eq!(known, all);
    }
}
