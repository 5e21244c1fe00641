//! Statements that this proxy saw since it started: what runs, what ran, by user, and what was
//! refused.
//!
//! Times are shown to owners alone: how long rows are read may depend on them, and an auditor need
//! not be trusted with the database.

use super::super::frame::table;
use super::view::{List, View, word};
use crate::words::{count, moment, number, percent};
use maud::{Markup, html};
use policy::ConsoleRole;
use record::{Line, Outcome, Price, Refusals, Shown, Stage, Tally};
use std::time::Duration;

/// Statements that run and are listed.
const RUNNING: usize = 50;

/// Everything but the statements that have ended.
pub fn seen(shown: &Shown, role: ConsoleRole) -> Markup {
    let times = role == ConsoleRole::Owner;
    html! {
        section aria-labelledby="running" {
            h2 id="running" { "Running now" }
            @if shown.live.is_empty() { p { "No statement runs at this moment." } }
            @else { (lines("Statements that run", shown.live.iter().take(RUNNING), times)) }
            @if let Some(more @ 1..) = shown.live.len().checked_sub(RUNNING) { p { "And " (count(more as u128, "other", "others")) "." } }
        }
        section aria-labelledby="refused" {
            h2 id="refused" { "What people want and do not get" }
            @if shown.refused.is_empty() { p { "Nothing was refused since the proxy started." } }
            @else {
                p { "Refused since the proxy started, for the same reason; refusals cost nothing. Names and values that only their author knows are left out (…)." }
                (refusals(&shown.refused))
            }
        }
        section aria-labelledby="users" {
            h2 id="users" { "By user" }
            @if shown.users.is_empty() { p { "Nobody has asked anything since the proxy started." } }
            @else { (users(&shown.users, times)) }
        }
    }
}

/// Statements that have ended, as far as they are looked at.
pub fn latest(shown: &Shown, view: &View, role: ConsoleRole) -> Markup {
    let times = role == ConsoleRole::Owner;
    let wanted: Vec<&Line> = shown.past.iter().filter(|line| view.has(&line.user, line.outcome)).collect();
    let is_setting = |line: &&Line| view.is_of(&line.user) && line.outcome == Some(Outcome::Session);
    let folded = if view.folds_settings() { shown.past.iter().filter(is_setting).count() } else { 0 };
    let (listed, links) = view.cut(List::Latest, wanted);
    html! {
        section aria-labelledby="latest" {
            h2 id="latest" { "Latest statements" }
            p {
                "As this proxy remembers them, in memory: it forgets them when it ends."
                @if folded > 0 {
                    " Without " (count(folded as u128, "setting of a session", "settings of sessions")) " (SET, BEGIN and the like): "
                    a href=(format!("{}#latest", view.with_settings())) { "show these, too" } "."
                }
            }
            @if listed.is_empty() { p { "None." } } @else { (lines("The latest first", listed, times)) }
            (links)
        }
    }
}

fn lines<'l>(caption: &str, lines: impl IntoIterator<Item = &'l Line>, times: bool) -> Markup {
    table(
        caption,
        html! {
            thead { tr {
                th scope="col" { "Time" } th scope="col" { "User" } th scope="col" { "How it ended" }
                th scope="col" { "Took of the budgets" }
                @if times { th scope="col" class="n" { "Rows sent" } th scope="col" { "Duration" } }
            } }
            tbody { @for line in lines { (row(line, times)) } }
        },
    )
}

fn row(line: &Line, times: bool) -> Markup {
    html! {
        tr {
            td class="t" { (moment(line.at)) }
            td { (line.user) " (session " (line.session) ")" }
            td {
                (ended(line))
                @if let Some((code, why)) = &line.error { ": " (why) " (" (code) ")" }
                @if let Some(text) = line.text.as_deref().filter(|_| times) {
                    details { summary { "Text" } pre { (text) } }
                }
            }
            td { (took(&line.prices)) }
            @if times {
                td class="n" { (number(line.rows.into())) }
                td {
                    details {
                        summary { (duration(line.took)) }
                        @for (stage, took) in line.stages.each() { (name(stage)) " " (duration(took)) br; }
                    }
                }
            }
        }
    }
}

fn ended(line: &Line) -> String {
    match line.outcome {
        None => format!("runs: {}", name(line.stage)),
        Some(outcome) => word(outcome).into(),
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Parse => "reading the text",
        Stage::Plan => "planning",
        Stage::Place => "waiting for a place",
        Stage::Ledger => "ledger",
        Stage::Fetch => "reading rows",
        Stage::Noise => "noise",
        Stage::Finish => "finishing",
        Stage::Send => "sending",
    }
}

fn took(prices: &[Price]) -> String {
    let shares = prices.iter().flat_map(|p| &p.shares);
    let each: Vec<String> = shares.map(|s| format!("{} of {}", percent(s.part), s.budget)).collect();
    if each.is_empty() { "nothing".into() } else { each.join(", ") }
}

fn users(users: &[(String, Tally)], times: bool) -> Markup {
    const COLUMNS: [(&str, &[Outcome]); 6] = [
        ("Paid for", &[Outcome::Fresh]),
        ("Given again", &[Outcome::Repeated]),
        ("Free or public", &[Outcome::Free, Outcome::Public, Outcome::Explained, Outcome::Synthetic]),
        ("Refused", &[Outcome::Refused]),
        ("Failed", &[Outcome::Failed]),
        ("Cancelled", &[Outcome::Cancelled]),
    ];
    table(
        "Statements since the proxy started",
        html! {
            thead { tr {
                th scope="col" { "User" }
                @for (title, _) in COLUMNS { th scope="col" class="n" { (title) } }
                @if times { th scope="col" class="n" { "Time of all" } }
                th scope="col" { "Latest" }
            } }
            tbody {
                @for (user, tally) in users {
                    tr {
                        th scope="row" { (user) }
                        @for (_, outcomes) in COLUMNS {
                            td class="n" { (number(outcomes.iter().map(|o| u128::from(tally.of(*o))).sum())) }
                        }
                        @if times { td class="n" { (duration(tally.took)) } }
                        td class="t" { (moment(tally.last)) }
                    }
                }
            }
        },
    )
}

fn refusals(refused: &[Refusals]) -> Markup {
    /// Reasons that are listed.
    const MOST: usize = 50;
    table(
        "The most frequent first",
        html! {
            thead { tr {
                th scope="col" class="n" { "Times" } th scope="col" { "Why" } th scope="col" { "Who" } th scope="col" { "Latest" }
            } }
            tbody {
                @for reason in refused.iter().take(MOST) {
                    tr {
                        td class="n" { (number(reason.times.into())) }
                        td { (reason.why) @if !reason.code.is_empty() { " (" (reason.code) ")" } }
                        td {
                            (reason.users.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
                            @if reason.more { ", …" }
                        }
                        td class="t" { (moment(reason.last)) }
                    }
                }
            }
            @if refused.len() > MOST {
                tfoot { tr { td colspan="4" { "And " (count((refused.len() - MOST) as u128, "other reason", "other reasons")) "." } } }
            }
        },
    )
}

/// A time span as people read it.
fn duration(span: Duration) -> String {
    match span.as_secs_f64() {
        s if s < 0.001 => "< 1 ms".into(),
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Share, Stages};
    use std::collections::BTreeSet;

    fn shown() -> Shown {
        let mut stages = Stages::default();
        stages.add(Stage::Fetch, Duration::from_millis(31));
        let share = Share { budget: "total".into(), part: 0.05 };
        let line = |outcome, error: Option<(&str, &str)>| Line {
            at: 1_700_000_000_000_000,
            user: "ada".into(),
            session: 7,
            class: "query",
            text: Some("SELECT secret".into()),
            outcome,
            error: error.map(|(c, w)| (c.into(), w.into())),
            stage: Stage::Fetch,
            stages,
            took: Duration::from_millis(33),
            prices: vec![Price { epsilon: "1".into(), entry: 4, shares: vec![share.clone()] }],
            rows: 5,
        };
        let refused = Refusals {
            code: "0A000".into(),
            why: "median(fare) <b> is not supported".into(),
            times: 12,
            users: BTreeSet::from(["ada".into(), "bo".into()]),
            more: false,
            last: 1_700_000_000_000_000,
        };
        Shown {
            live: vec![line(None, None)],
            past: vec![line(Some(Outcome::Fresh), None), line(Some(Outcome::Refused), Some(("0A000", "no")))],
            users: vec![("ada".into(), Tally::default())],
            refused: vec![refused],
        }
    }

    #[test]
    fn owners_see_times_and_texts_and_auditors_neither() {
        let page = |role| {
            let shown = shown();
            format!(
                "{}{}",
                seen(&shown, role).into_string(),
                latest(&shown, &View::WHOLE, role).into_string()
            )
        };
        let owner = page(ConsoleRole::Owner);
        for said in [
            "runs: reading rows",
            "paid for",
            "refused: no (0A000)",
            "5.0 % of total",
            "33 ms",
            "SELECT secret",
            "median(fare) &lt;b&gt; is not supported",
            "ada, bo",
            "<td class=\"n\">12</td>",
        ] {
            assert!(owner.contains(said), "{said} in {owner}");
        }
        let auditor = page(ConsoleRole::Auditor);
        assert!(auditor.contains("5.0 % of total") && auditor.contains("is not supported"));
        for hidden in [" ms", "SELECT secret", "Duration", "Time of all"] {
            assert!(!auditor.contains(hidden), "{hidden} in {auditor}");
        }
        let nothing = seen(&Shown::default(), ConsoleRole::Owner).into_string();
        assert!(nothing.contains("No statement runs") && nothing.contains("Nothing was refused"));
    }
}
