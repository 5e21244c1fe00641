//! Budgets: what was promised, what is left, who used it, and how it will go on.

use super::promise::promise;
use crate::chart::{Chart, bar};
use crate::reading::{Drawn, Part, Reading};
use crate::words::{DAY, count, day, moment, number, percent};
use ledger::{BudgetSummary, Share};
use maud::{Markup, html};
use policy::{Budget, Policy, Scope, Window};
use std::collections::BTreeMap;

/// The page.
pub fn budgets(reading: &Reading, policy: &Policy) -> Markup {
    let (promises, quotas): (Vec<_>, Vec<_>) =
        reading.budgets.iter().enumerate().partition(|(_, b)| b.budget.scope == Scope::Dataset);
    html! {
        h1 { "Budgets" }
        p class="lead" {
            "Every answer about the people in this data tells a little about each of them. A budget says how much may be told in all. "
            "What is spent never comes back; when a budget is used up, questions that need it are refused."
        }
        @if let Some(why) = &reading.mismatch { p class="wrong" role="alert" { (why) } }
        @for (i, summary) in promises { (budget(i, summary, reading, policy)) }
        @for (i, summary) in quotas { (budget(i, summary, reading, policy)) }
    }
}

fn whom(budget: &Budget) -> &'static str {
    match budget.scope {
        Scope::Dataset => "Shared by everybody: this is the promise to the people in the data.",
        Scope::User => {
            "Each user has one of these. It shares out what may be asked; the promise is made by the shared budgets."
        }
        Scope::Role => {
            "Each role has one of these. It shares out what may be asked; the promise is made by the shared budgets."
        }
    }
}

fn window(window: Window) -> String {
    match window {
        Window::Month => "every calendar month".into(),
        Window::Days(1) => "every day".into(),
        Window::Days(n) => format!("every {n} days"),
    }
}

fn budget(index: usize, summary: &BudgetSummary, reading: &Reading, policy: &Policy) -> Markup {
    let b = &summary.budget;
    let shared = b.scope == Scope::Dataset;
    let everybody = summary.shares.first().filter(|_| shared);
    html! {
        section class="budget" aria-labelledby=(format!("b{index}")) {
            h2 id=(format!("b{index}")) { (b.name) @if summary.closed { " " span class="tag" { "closed" } } }
            p {
                (whom(b)) " "
                @if !b.tables.is_empty() { "It pays for questions about " (b.tables.join(" or ")) ". " }
                @if let (Some(w), Some(next)) = (b.window, summary.next) {
                    "It starts anew " (window(w)) ", next on " (day(next)) "."
                } @else { "It never starts anew." }
            }
            @if summary.closed { p { "Its owner has closed it: it pays for nothing any more." } }
            @if shared {
                (one(index, summary, everybody, reading, policy))
                (promise(index, summary, everybody))
            } @else {
                (each(summary, reading, policy))
            }
        }
    }
}

/// A budget that everybody shares.
fn one(
    index: usize,
    summary: &BudgetSummary,
    share: Option<&Share>,
    reading: &Reading,
    policy: &Policy,
) -> Markup {
    let name = &summary.budget.name;
    let left = share.map_or(if summary.closed { 0.0 } else { 1.0 }, |s| s.state.fraction_left());
    let drawn = reading.drawn(name, "");
    let ahead = drawn.and_then(|d| Ahead::of(d, left, reading.at, summary.next));
    html! {
        dl class="figures" {
            div { dt { "Left" } dd { (percent(left)) } }
            div { dt { "Questions asked" } dd { (number(drawn.map_or(0, |d| d.statements) as u128)) } }
            @if let Some(n) = fits(summary, share, policy) {
                div { dt { "Simple questions left, about" } dd { (number(n)) } }
            }
            @if let Some(ahead) = &ahead { div { dt { (ahead.label) } dd { (ahead.figure) } } }
        }
        (bar(left, &format!("{} of the budget is left", percent(left))))
        @if let Some(drawn) = drawn {
            (burn_down(index, name, drawn, left, reading.at, ahead.as_ref()))
            @for (title, by) in ["User", "Role", "Tables"].into_iter().zip(&drawn.by) {
                @if by.len() > 1 || by.keys().any(|k| k != "no role" && k != "not recorded") { (parts(title, by)) }
            }
        } @else {
            p { "Nothing has been asked yet." }
        }
    }
}

/// A budget that each user or role has.
fn each(summary: &BudgetSummary, reading: &Reading, policy: &Policy) -> Markup {
    let whose = if summary.budget.scope == Scope::User { "User" } else { "Role" };
    if summary.shares.is_empty() {
        return html! { p { "Nobody has used any of it." } };
    }
    html! {
        div class="wide" {
            table {
                caption { "What each " (whose.to_lowercase()) " has left" }
                thead { tr {
                    th scope="col" { (whose) } th scope="col" class="n" { "Left" } th scope="col" { span class="unseen" { "Bar" } }
                    th scope="col" class="n" { "Questions" } th scope="col" class="n" { "Simple questions left" } th scope="col" { "Last asked" }
                } }
                tbody {
                    @for share in &summary.shares {
                        @let left = share.state.fraction_left();
                        @let drawn = reading.drawn(&summary.budget.name, &share.owner);
                        tr {
                            th scope="row" { (share.owner) }
                            td class="n" { (percent(left)) }
                            td class="bars" { (bar(left, &format!("{} left", percent(left)))) }
                            td class="n" { (number(drawn.map_or(0, |d| d.statements) as u128)) }
                            td class="n" { (fits(summary, Some(share), policy).map(number).unwrap_or_else(|| "–".into())) }
                            td { (drawn.and_then(|d| d.curve.last()).map(|(at, _)| moment(*at)).unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    }
}

/// How many plain counts at the usual price still fit.
fn fits(summary: &BudgetSummary, share: Option<&Share>, policy: &Policy) -> Option<u128> {
    let usual = ledger::usual_of(policy)?;
    match share {
        Some(share) => share.state.fits(&usual).ok(),
        None if summary.closed => Some(0),
        None => {
            let price = summary.counter.price(&usual).ok()?;
            Some(summary.counter.fits(&summary.counter.nothing(), &price))
        }
    }
}

fn parts(title: &str, by: &BTreeMap<String, Part>) -> Markup {
    let mut parts: Vec<_> = by.iter().collect();
    parts.sort_by(|a, b| b.1.part.total_cmp(&a.1.part));
    html! {
        div class="wide" {
            table {
                caption { "Who used it, by " (title.to_lowercase()) }
                thead { tr { th scope="col" { (title) } th scope="col" class="n" { "Used of the budget" } th scope="col" class="n" { "Questions" } th scope="col" { "Last asked" } } }
                tbody {
                    @for (name, part) in parts {
                        tr { th scope="row" { (name) } td class="n" { (percent(part.part)) } td class="n" { (number(part.statements as u128)) } td { (moment(part.last)) } }
                    }
                }
            }
        }
    }
}

/// How a budget goes on if people ask as they did lately.
struct Ahead {
    label: &'static str,
    figure: String,
    /// Until when, and what is left then.
    end: (i64, f64),
    words: String,
}

/// The past that a forecast goes by: no more than so much, and no less.
const MOST: i64 = 14 * DAY;
const LEAST: i64 = DAY / 24;

impl Ahead {
    /// From what is left at `now`, as it went down lately. None where there is too little to go by.
    fn of(drawn: &Drawn, left: f64, now: i64, next: Option<i64>) -> Option<Self> {
        let (first, _) = *drawn.curve.first()?;
        let since = first.max(now - MOST);
        let before = drawn.curve.iter().take_while(|(at, _)| *at <= since).last().map_or(1.0, |(_, l)| *l);
        let (span, used) = (now - since, before - left);
        if span < LEAST || used <= 0.0 || left <= 0.0 {
            return None;
        }
        let lasts = left / used * span as f64;
        // What lies further away than ten years is not worth a date.
        let empty = (lasts < 3650.0 * DAY as f64).then(|| now.saturating_add(lasts as i64));
        let pace = "if questions go on as lately";
        Some(match (empty, next) {
            (Some(empty), next) if next.is_none_or(|next| empty < next) => Self {
                label: "Used up, at this pace",
                figure: day(empty),
                end: (empty, 0.0),
                words: format!("{pace}, it is used up on {}", day(empty)),
            },
            (_, Some(next)) => {
                let then = (left - used * (next - now) as f64 / span as f64).max(0.0);
                Self {
                    label: "Left at the end, at this pace",
                    figure: percent(then),
                    end: (next, then),
                    words: format!("{pace}, {} is left when it starts anew on {}", percent(then), day(next)),
                }
            }
            _ => Self {
                label: "At this pace it lasts",
                figure: "over 10 years".into(),
                end: (now + span / 2, left - used / 2.0),
                words: format!("{pace}, it lasts for more than ten years"),
            },
        })
    }
}

fn burn_down(index: usize, name: &str, drawn: &Drawn, left: f64, now: i64, ahead: Option<&Ahead>) -> Markup {
    let first = drawn.curve.first().map_or(now, |(at, _)| *at);
    // The time to come is not allowed to squeeze what has been into a corner.
    let shown = ahead.map(|a| (a.end.0.min(now.saturating_add((now - first).saturating_mul(2))), a));
    let end = shown.map_or(now, |(at, _)| at).max(first + 1);
    let x = |at: i64| (at - first) as f64 / (end - first) as f64;
    let mut past = vec![(0.0, 1.0)];
    for (at, after) in &drawn.curve {
        past.push((x(*at), past.last().map_or(1.0, |(_, l)| *l)));
        past.push((x(*at), *after));
    }
    past.push((x(now), left));
    let mut lines = vec![("past", past)];
    if let Some((at, a)) = shown {
        let reached = left + (a.end.1 - left) * (at - now) as f64 / ((a.end.0 - now) as f64).max(1.0);
        lines.push(("future", vec![(x(now), left), (x(at), reached)]));
    }
    let label = |at: i64| if end - first < 2 * DAY { moment(at) } else { day(at) };
    let mut ticks = vec![(0.0, label(first))];
    if shown.is_some() && x(now) > 0.25 && x(now) < 0.75 {
        ticks.push((x(now), "now".into()));
    }
    ticks.push((1.0, label(end)));
    let description = format!(
        "From {} to {} it went from 100 % to {}, by {}{}.",
        moment(first),
        moment(now),
        percent(left),
        count(drawn.statements as u128, "question", "questions"),
        ahead.map(|a| format!("; {}", a.words)).unwrap_or_default()
    );
    let chart = Chart {
        id: &format!("burn{index}"),
        title: &format!("What was left of {name} over time"),
        description: &description,
        across: "Time",
        ticks,
        lines,
        shaded: shown.map(|(at, _)| (x(now), x(at))),
    };
    html! {
        figure {
            (chart.draw())
            figcaption { (description) }
            details {
                summary { "The numbers behind this picture" }
                div class="wide" {
                    table {
                        thead { tr { th scope="col" { "Time" } th scope="col" class="n" { "Left" } } }
                        tbody { @for (at, left) in thinned(&drawn.curve) { tr { td { (moment(at)) } td class="n" { (percent(left)) } } } }
                    }
                }
            }
        }
    }
}

/// Fifty points of a curve, the last among them.
fn thinned(curve: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let step = curve.len().div_ceil(50).max(1);
    let mut points: Vec<_> = curve.iter().rev().step_by(step).copied().collect();
    points.reverse();
    points
}
