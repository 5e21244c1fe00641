//! Grouping sets in a text: the rows of each set, one after the other, of which the coarser may be
//! sums of released groups.

use super::carried::name;
use super::printer::Printer;
use super::released::Row;
use plan::GroupingSets;
use plan::aggregates::Row as _;
use plan::cut::grouping_sets::GroupingSet;
use plan::release::Release;
use sql::ast::{Aggregate, Expr, ExprKind};

impl<'a> Printer<'a> {
    /// The grouping sets of the SELECT whose first release has this index.
    pub(super) fn sets_of(&self, index: usize) -> Option<&'a GroupingSets> {
        let plan = self.plan?;
        let select = plan.releases.get(index)?.select;
        plan.grouping_sets.iter().find(|s| s.select == select)
    }

    /// FROM: keys (`k`), aggregates (`o`) and which keys a row is not grouped by (`g`, a bit for each, from the first key's 1);
    /// and what the rows carry for intervals, where there are any.
    pub(super) fn sets(&mut self, index: usize, sets: &GroupingSets) {
        self.put(" FROM (");
        for (i, set) in sets.sets.iter().enumerate() {
            if i > 0 {
                self.put(" UNION ALL ");
            }
            self.set(sets, set);
        }
        let keys = (0..sets.keys.len()).map(|i| format!("k{i}"));
        let outputs = (0..sets.aggregates.len()).map(|i| format!("o{i}"));
        let mut names: Vec<String> = keys.chain(outputs).chain(["g".to_owned()]).collect();
        if self.carries {
            let first = sets.sets.first().and_then(|set| sets.integers(self.all(), set));
            names.extend(first.unwrap_or_default().into_keys().map(name));
            names.push("n".to_owned());
        }
        self.put(&format!(") AS r{index}({})", names.join(", ")));
    }

    fn all(&self) -> &'a [Release] {
        self.plan.map(|p| p.releases.as_slice()).unwrap_or_default()
    }

    fn set(&mut self, sets: &GroupingSets, set: &GroupingSet) {
        let all = self.all();
        let own = |r: &Release| r.select == sets.select && r.set == set.of;
        let Some((first, release)) = all.iter().enumerate().find(|(_, r)| own(r)) else { return };
        let mut columns = Vec::new();
        for (i, (_, ty)) in sets.keys.iter().enumerate() {
            let place = set.of_keys.iter().position(|k| *k == i).filter(|_| set.keys.contains(&i));
            columns.push(match place {
                Some(k) => format!("r{first}.k{k}"),
                None => format!("NULL::{}", ty.sql_name()),
            });
        }
        let cells = set.added.unwrap_or(1);
        for i in 0..sets.aggregates.len() {
            let text = sets
                .released(all, set, i)
                .map(|(from, r, output)| output.text(&Row { cells, ..Row::of(first, from) }.released(r)));
            columns.push(text.unwrap_or_else(|| "NULL".into()));
        }
        columns.push(sets.missing(set).to_string());
        if self.carries {
            let own = sets.integers(all, set).unwrap_or_default().into_values();
            columns.extend(
                own.map(|(from, part)| format!("{}::pg_catalog.numeric", Row::of(first, from).column(part))),
            );
            columns.push(match set.added {
                None => "1::pg_catalog.float8".to_owned(),
                Some(_) => format!("r{first}.n"),
            });
        }
        self.put(&format!("SELECT {}", columns.join(", ")));
        match set.added {
            None => self.released(first),
            Some(_) => self.added(first, release, set),
        }
    }

    /// Released groups, added up over the keys that the set does not have.
    fn added(&mut self, first: usize, release: &Release, set: &GroupingSet) {
        let kept: Vec<usize> = (0..set.of_keys.len())
            .filter(|k| set.of_keys.get(*k).is_some_and(|k| set.keys.contains(k)))
            .collect();
        let mut columns: Vec<String> = kept.iter().map(|k| format!("r{first}.k{k}")).collect();
        for (i, part) in release.parts.iter().enumerate() {
            let sum = format!("COALESCE(pg_catalog.sum(r{first}.a{i}), 0)");
            columns.push(match part.kind.grid() {
                Some(_) => format!("{sum} AS a{i}"),
                None => format!(
                    "LEAST(GREATEST({sum}, -9223372036854775808), 9223372036854775807)::pg_catalog.int8 AS a{i}"
                ),
            });
        }
        if self.carries {
            columns.push("pg_catalog.count(*)::pg_catalog.float8 AS n".to_owned());
        }
        self.put(&format!(" FROM (SELECT {}", columns.join(", ")));
        self.released(first);
        if !kept.is_empty() {
            let list: Vec<String> = (1..=kept.len()).map(|i| i.to_string()).collect();
            self.put(&format!(" GROUP BY {}", list.join(", ")));
        }
        self.put(&format!(") AS r{first}"));
    }

    /// A key or an aggregate of the SELECT whose first release has this index, where the expression is one.
    pub(super) fn of_sets(&self, index: usize, sets: &GroupingSets, e: &Expr) -> Option<String> {
        let place = |e: &Expr| sets.keys.iter().position(|(k, _)| k == e);
        if let Some(k) = place(e) {
            return Some(format!("r{index}.k{k}"));
        }
        let ExprKind::Aggregate(a) = &e.kind else { return None };
        if a.name == "grouping" {
            let bits = a.args.iter().rev().enumerate().filter_map(|(bit, arg)| {
                Some(format!("(r{index}.g / {} % 2) * {}", 1u32 << place(arg)?, 1u32 << bit))
            });
            return Some(format!("({})", bits.collect::<Vec<_>>().join(" + ")));
        }
        let o = sets.aggregates.iter().position(|have: &Aggregate| *have == **a)?;
        Some(format!("r{index}.o{o}"))
    }
}
