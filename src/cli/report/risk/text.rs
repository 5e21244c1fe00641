//! The figures in lines.

use super::found::Risk;
use super::words::{NOTICE, STEPS, TOLD, listed};
use ::risk::{curve, most_identifying};
use console::words::{count, number, percent};
use std::fmt::Write as _;

pub(super) fn print(found: &Risk) -> String {
    let mut out = String::new();
    // A String takes whatever is written.
    let _ =
        head(found, &mut out).and_then(|()| known(found, &mut out)).and_then(|()| learned(found, &mut out));
    let _ = population(found, &mut out).and_then(|()| policy(found, &mut out));
    out.truncate(out.trim_end().len());
    out
}

fn head(found: &Risk, out: &mut String) -> std::fmt::Result {
    let (asked, c) = (&found.asked, &found.classes);
    writeln!(out, "Risk of {}, if its rows left as they are", found.about)?;
    writeln!(out, "{NOTICE}")?;
    writeln!(
        out,
        "{} {}. Others may know {}.",
        number(c.people().into()),
        found.counted(),
        listed(&asked.quasi)
    )
}

fn known(found: &Risk, out: &mut String) -> std::fmt::Result {
    let c = &found.classes;
    let share = |n: u64| percent(n as f64 / (c.people() as f64).max(1.0));
    writeln!(out, "\nWho is found by these columns")?;
    writeln!(out, "  k-anonymity            {}", c.k())?;
    writeln!(out, "  unique                 {} ({})", number(c.unique().into()), share(c.unique()))?;
    writeln!(
        out,
        "  found by guessing      {} of all, in {}",
        percent(c.named()),
        count(c.classes().into(), "group", "groups")
    )?;
    let steps = STEPS.map(|k| format!("{k}: {}", percent(c.within(k)))).join(", ");
    writeln!(out, "  in groups of at most   {steps}")?;
    let points = curve(&found.sets);
    if points.len() > 1 {
        writeln!(out, "\nUnique by how many of the columns are known (the worst set, all sets on average)")?;
        for p in &points {
            writeln!(out, "  {:>2}  {:>8}  {:>8}", p.columns, percent(p.most), percent(p.mean))?;
        }
    }
    let best = most_identifying(&found.sets, TOLD);
    if !best.is_empty() {
        writeln!(out, "\nThe most identifying sets of columns (unique people, smallest group)")?;
        for set in best {
            writeln!(out, "  {:>8}  {:>6}  {}", percent(set.share), set.k, set.columns.join(", "))?;
        }
    }
    Ok(())
}

fn learned(found: &Risk, out: &mut String) -> std::fmt::Result {
    for d in &found.diversity {
        let line = if d.ordered { "values on a line" } else { "values equally far from each other" };
        writeln!(
            out,
            "\nWhat they learn of {} ({}, {line})",
            d.column,
            count(d.values.into(), "value", "values")
        )?;
        writeln!(out, "  distinct l-diversity   {}", d.distinct())?;
        writeln!(out, "  entropy l-diversity    {:.2}", d.entropy())?;
        writeln!(out, "  t-closeness            {:.3}", d.closeness())?;
        writeln!(
            out,
            "  given away             {} of all are in groups that have one value only",
            percent(d.given_away())
        )?;
    }
    Ok(())
}

fn population(found: &Risk, out: &mut String) -> std::fmt::Result {
    let Some((p, table)) = found.population.as_ref().zip(found.beside.as_ref()) else {
        return Ok(());
    };
    writeln!(out, "\nBeside the population of {table} ({})", count(p.people().into(), "person", "people"))?;
    writeln!(out, "  k-map                  {}", p.k_map())?;
    writeln!(out, "  found by guessing      {} of all", percent(p.named()))?;
    if let Some((least, most)) = p.presence() {
        writeln!(
            out,
            "  delta-presence         {least:.4} to {most:.4}: how sure one is that somebody of the population is in the table"
        )?;
    }
    if let Some(why) = mismatch(found) {
        writeln!(out, "  note: {why}")?;
    }
    Ok(())
}

/// Sentence about figures which show that the population is none of this table.
pub(super) fn mismatch(found: &Risk) -> Option<String> {
    let p = found.population.as_ref()?;
    (p.missing() > 0 || p.exceeding() > 0).then(|| {
        format!(
            "this is not the population of all of them: {} with columns that nobody there has, and {} with more people here than \
             there. k-map counts the first as 0",
            count(p.missing().into(), "person", "people"),
            count(p.exceeding().into(), "group", "groups"),
        )
    })
}

fn policy(found: &Risk, out: &mut String) -> std::fmt::Result {
    let Some(said) = &found.protection else { return Ok(()) };
    for (title, lines) in
        [("What the policy would protect", &said.protects), ("What it would not", &said.leaves)]
    {
        writeln!(out, "\n{title}")?;
        if lines.is_empty() {
            writeln!(out, "  Nothing.")?;
        }
        for line in lines {
            writeln!(out, "  - {line}")?;
        }
    }
    if !said.columns.is_empty() {
        writeln!(out, "\nWhat analysts get")?;
    }
    for (name, line) in &said.columns {
        writeln!(out, "  {name}: {line}")?;
    }
    Ok(())
}
