//! The figures as one page: no script, nothing loaded from elsewhere, each picture with its numbers.

use super::found::Risk;
use super::policy::Protection;
use super::text::mismatch;
use super::words::{NOTICE, STEPS, TOLD, listed};
use ::risk::{Diversity, curve, most_identifying};
use console::chart::{Chart, bar};
use console::words::{number, percent};
use console::{STYLE, meta, table};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// What browsers are told to refuse; the style sheet stands in the file itself.
const SECURITY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Values of a group that a picture shows at most.
const VALUES: u64 = 20;

pub(super) fn print(found: &Risk) -> Markup {
    let (asked, c) = (&found.asked, &found.classes);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta())
                meta http-equiv="Content-Security-Policy" content=(SECURITY);
                title { "Risk of " (found.about) " · noisegate" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                main id="content" {
                    h1 { "Risk of " (found.about) ", if its rows left as they are" }
                    p class="wrong" { strong { (NOTICE) } }
                    p class="lead" { (number(c.people().into())) " " (found.counted()) ". Others may know " (listed(&asked.quasi)) "." }
                    (known(found))
                    (sets(found))
                    @for (i, d) in found.diversity.iter().enumerate() { (learned(i, d)) }
                    (population(found))
                    @if let Some(said) = &found.protection { (policy(said)) }
                }
                footer { p { "Made by noisegate report risk. This file loads nothing and runs nothing, and shows no value of a row." } }
            }
        }
    }
}

/// A place of a size on a line on which each step is as wide as the next.
fn place(index: usize, all: usize) -> f64 {
    index as f64 / (all.max(2) - 1) as f64
}

fn known(found: &Risk) -> Markup {
    let c = &found.classes;
    let line = |share: &dyn Fn(u64) -> f64| -> Vec<(f64, f64)> {
        STEPS.iter().enumerate().map(|(i, k)| (place(i, STEPS.len()), share(*k))).collect()
    };
    let mut lines = vec![("past", line(&|k| c.within(k)))];
    if let Some(p) = &found.population {
        lines.push(("future", line(&|k| p.within(k))));
    }
    let description = format!(
        "{} of people share the columns with nobody, {} are in a group of at most 10.",
        percent(c.within(1)),
        percent(c.within(10))
    );
    let chart = Chart {
        id: "sizes",
        title: "People in groups of at most so many",
        description: &description,
        across: "People who share all the columns, at most",
        ticks: STEPS.iter().enumerate().map(|(i, k)| (place(i, STEPS.len()), k.to_string())).collect(),
        lines,
        shaded: None,
    };
    html! {
        h2 { "Who is found by these columns" }
        dl class="figures" {
            div { dt { "k-anonymity" } dd { (number(c.k().into())) } }
            div { dt { "Unique people" } dd { (number(c.unique().into())) " (" (percent(c.within(1))) ")" } }
            div { dt { "Found by guessing" } dd { (percent(c.named())) } }
            div { dt { "Groups" } dd { (number(c.classes().into())) } }
        }
        p {
            "k is the number of people in the smallest group who share all the columns. Found by guessing are those whom somebody names rightly "
            "who knows the columns of everybody, and picks one of each group."
        }
        figure {
            (chart.draw())
            figcaption {
                (description)
                @if found.population.is_some() { " Solid: groups of the table. Dashed: groups of the population." }
            }
            details {
                summary { "The numbers behind this picture" }
                (table("People in groups of at most so many", html! {
                    thead { tr { th scope="col" class="n" { "At most" } th scope="col" class="n" { "In the table" } @if found.population.is_some() { th scope="col" class="n" { "In the population" } } } }
                    tbody { @for k in STEPS { tr { th scope="row" class="n" { (k) } td class="n" { (percent(c.within(k))) } @if let Some(p) = &found.population { td class="n" { (percent(p.within(k))) } } } } }
                }))
            }
        }
    }
}

fn sets(found: &Risk) -> Markup {
    let points = curve(&found.sets);
    let best = most_identifying(&found.sets, TOLD);
    let widest = points.iter().map(|p| p.columns).max().unwrap_or(1);
    let at = |columns: usize| place(columns.saturating_sub(1), widest);
    let line = |share: &dyn Fn(&::risk::Curve) -> f64| {
        points.iter().map(|p| (at(p.columns), share(p))).collect::<Vec<_>>()
    };
    let description = points.last().map_or(String::new(), |p| {
        format!(
            "Who knows {} of the columns finds {} of people unique, with the worst set.",
            p.columns,
            percent(p.most)
        )
    });
    let chart = Chart {
        id: "uniqueness",
        title: "Unique people by how many of the columns are known",
        description: &description,
        across: "Columns that are known (unique people are upwards)",
        ticks: points.iter().map(|p| (at(p.columns), p.columns.to_string())).collect(),
        lines: vec![
            ("guess", line(&|p| p.least)),
            ("future", line(&|p| p.mean)),
            ("past", line(&|p| p.most)),
        ],
        shaded: None,
    };
    html! {
        @if points.len() > 1 {
            h2 { "How much each further column tells" }
            figure {
                (chart.draw())
                figcaption { (description) " Solid: the worst set of so many columns. Dashed: all sets on average. Dotted: the best set." }
                details {
                    summary { "The numbers behind this picture" }
                    (table("Unique people by columns known", html! {
                        thead { tr { th scope="col" class="n" { "Columns" } th scope="col" class="n" { "Worst set" } th scope="col" class="n" { "On average" } th scope="col" class="n" { "Best set" } } }
                        tbody { @for p in &points { tr { th scope="row" class="n" { (p.columns) } td class="n" { (percent(p.most)) } td class="n" { (percent(p.mean)) } td class="n" { (percent(p.least)) } } } }
                    }))
                }
            }
        }
        @if !best.is_empty() {
            h2 { "The most identifying sets of columns" }
            (table("Sets by the share of people whom they make unique", html! {
                thead { tr { th scope="col" { "Columns" } th scope="col" class="n" { "Unique people" } th scope="col" { span class="unseen" { "Bar" } } th scope="col" class="n" { "k" } } }
                tbody {
                    @for set in best {
                        tr {
                            th scope="row" { (set.columns.join(", ")) }
                            td class="n" { (percent(set.share)) }
                            td class="bars" { (bar(set.share, &format!("{} unique", percent(set.share)))) }
                            td class="n" { (number(set.k.into())) }
                        }
                    }
                }
            }))
        }
    }
}

fn learned(index: usize, d: &Diversity) -> Markup {
    let shown = d.values.clamp(2, VALUES);
    let points: Vec<(f64, f64)> =
        (1..=shown).map(|l| (place(l.saturating_sub(1) as usize, shown as usize), d.within(l))).collect();
    let description = format!(
        "{} are in groups that have one value of {} only: who knows the group knows it.",
        percent(d.given_away()),
        d.column
    );
    let id = format!("values{index}");
    let ticks = [1, shown].map(|l| (place(l.saturating_sub(1) as usize, shown as usize), l.to_string()));
    let chart = Chart {
        id: &id,
        title: &format!("People in groups with at most so many values of {}", d.column),
        description: &description,
        across: "Distinct values in a group, at most",
        ticks: ticks.to_vec(),
        lines: vec![("past", points)],
        shaded: None,
    };
    html! {
        h2 { "What they learn of " (d.column) }
        dl class="figures" {
            div { dt { "Distinct l-diversity" } dd { (d.distinct()) } }
            div { dt { "Entropy l-diversity" } dd { (format!("{:.2}", d.entropy())) } }
            div { dt { "t-closeness" } dd { (format!("{:.3}", d.closeness())) } }
            div { dt { "Given away" } dd { (percent(d.given_away())) } }
        }
        p {
            "l is the number of values in the group that has fewest, of " (number(d.values.into())) "; by entropy values count by how even they are. t says "
            "how far the values of a group are from those of the whole table at most, from 0 to 1, with "
            @if d.ordered { "values on a line." } @else { "all values equally far from each other." }
        }
        figure {
            (chart.draw())
            figcaption { (description) }
            details {
                summary { "The numbers behind this picture" }
                (table("Groups by how many values they have", html! {
                    thead { tr { th scope="col" class="n" { "Values" } th scope="col" class="n" { "Groups" } th scope="col" class="n" { "People in groups of at most so many" } } }
                    tbody { @for v in d.by_values.iter().take(VALUES as usize) { tr { th scope="row" class="n" { (v.values) } td class="n" { (number(v.classes.into())) } td class="n" { (percent(d.within(v.values))) } } } }
                }))
            }
        }
    }
}

fn population(found: &Risk) -> Markup {
    let Some((p, name)) = found.population.as_ref().zip(found.beside.as_ref()) else {
        return html! {};
    };
    html! {
        h2 { "Beside the population of " (name) }
        dl class="figures" {
            div { dt { "k-map" } dd { (number(p.k_map().into())) } }
            div { dt { "Found by guessing" } dd { (percent(p.named())) } }
            @if let Some((least, most)) = p.presence() { div { dt { "δ-presence" } dd { (format!("{least:.4} to {most:.4}")) } } }
            div { dt { "People of the population" } dd { (number(p.people().into())) } }
        }
        p {
            "k-map is the number of people of the population who look like somebody of the table, where they are fewest. δ-presence is how sure one can "
            "be that somebody of the population is in the table, at least and at most."
        }
        @if let Some(why) = mismatch(found) { p class="wrong" { "Note: " (why) "." } }
    }
}

fn policy(said: &Protection) -> Markup {
    html! {
        h2 { "What the policy would protect" }
        @if said.protects.is_empty() { p { "Nothing." } }
        ul { @for line in &said.protects { li { (line) } } }
        h2 { "What it would not" }
        ul { @for line in &said.leaves { li { (line) } } }
        @if !said.columns.is_empty() {
            (table("What analysts get of each column", html! {
                thead { tr { th scope="col" { "Column" } th scope="col" { "What they get" } } }
                tbody { @for (name, line) in &said.columns { tr { th scope="row" { (name) } td { (line) } } } }
            }))
        }
    }
}
