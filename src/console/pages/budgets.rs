//! Budgets: what was promised, what is left, who used it, and how it will go on.

use super::burn_down::{Ahead, NoForecast, burn_down};
use super::frame::table;
use super::promise::promise;
use crate::chart::bar;
use crate::reading::{Part, Reading};
use crate::words::{day, moment, number, percent};
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
                (each(index, summary, reading, policy))
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
    let ahead = drawn.and_then(|d| Ahead::of(d, left, reading.at, summary.next).ok());
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
            (burn_down(&format!("burn{index}"), name, drawn, left, reading.at, ahead.as_ref()))
            @for (title, by) in ["User", "Role", "Tables"].into_iter().zip(&drawn.by) {
                @if by.len() > 1 || by.keys().any(|k| k != "no role" && k != "not recorded") {
                    (parts(title, by, &|part: &Part| Ahead::of_part(part, drawn, left, reading.at, summary.next)))
                }
            }
        } @else {
            p { "Nothing has been asked yet." }
        }
    }
}

/// A budget that each user or role has.
fn each(index: usize, summary: &BudgetSummary, reading: &Reading, policy: &Policy) -> Markup {
    let whose = if summary.budget.scope == Scope::User { "User" } else { "Role" };
    if summary.shares.is_empty() {
        return html! { p { "Nobody has used any of it." } };
    }
    html! {
        (table(&format!("What each {} has left", whose.to_lowercase()), html! {
            thead { tr {
                th scope="col" { (whose) } th scope="col" class="n" { "Left" } th scope="col" { span class="unseen" { "Bar" } }
                th scope="col" class="n" { "Questions" } th scope="col" class="n" { "Simple questions left" } th scope="col" { "Last asked" } th scope="col" { "At this pace" }
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
                        td class="t" { (drawn.and_then(|d| d.curve.last()).map(|(at, _)| moment(*at)).unwrap_or_default()) }
                        td { (short(drawn.map_or(Err(NoForecast::Idle), |d| Ahead::of(d, left, reading.at, summary.next)))) }
                    }
                }
            }
        }))
        @for (n, share) in summary.shares.iter().enumerate() {
            @if let Some(drawn) = reading.drawn(&summary.budget.name, &share.owner) {
                @let left = share.state.fraction_left();
                @let ahead = Ahead::of(drawn, left, reading.at, summary.next).ok();
                details {
                    summary { (share.owner) " over time" }
                    (burn_down(&format!("burn{index}-{n}"), &format!("{} of {}", summary.budget.name, share.owner), drawn, left, reading.at, ahead.as_ref()))
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

/// A forecast in a table, or why there is none.
fn short(ahead: Result<Ahead, NoForecast>) -> String {
    ahead.map_or_else(|why| why.words().into(), |ahead| ahead.short)
}

fn parts(
    title: &str,
    by: &BTreeMap<String, Part>,
    ahead: &dyn Fn(&Part) -> Result<Ahead, NoForecast>,
) -> Markup {
    let mut parts: Vec<_> = by.iter().collect();
    parts.sort_by(|a, b| b.1.part.total_cmp(&a.1.part));
    html! {
        (table(&format!("Who used it, by {}", title.to_lowercase()), html! {
            thead { tr { th scope="col" { (title) } th scope="col" class="n" { "Used of the budget" } th scope="col" class="n" { "Questions" } th scope="col" { "Last asked" } th scope="col" { "Forecast, if these alone go on as lately" } } }
            tbody {
                @for (name, part) in parts {
                    tr { th scope="row" { (name) } td class="n" { (percent(part.part)) } td class="n" { (number(part.statements as u128)) } td class="t" { (moment(part.last)) } td { (short(ahead(part))) } }
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::reading::Drawn;
    use crate::words::DAY;

    /// What a part's forecast says follows from that part alone, and from the whole budget that is left.
    #[test]
    fn each_user_has_a_forecast_of_their_own() {
        // At noon: a day is not missed by what floats round.
        let now = 20_000 * DAY + DAY / 2;
        let mut drawn = Drawn::default();
        drawn.curve = vec![(now - 4 * DAY, 0.9), (now - DAY, 0.6)];
        let part = |part, lately| Part { statements: 3, part, lately, last: now - DAY };
        let by = BTreeMap::from([
            ("ada".to_owned(), part(0.3, 0.3)),
            ("bo".to_owned(), part(0.1, 0.05)),
            ("cyd".to_owned(), part(0.2, 0.0)),
        ]);
        let row = |page: &str, name: &str| {
            let rest = page.split_once(&format!("<th scope=\"row\">{name}</th>")).unwrap().1;
            rest.split_once("</tr>").unwrap().0.to_owned()
        };
        let page = |next| {
            let ahead = |part: &Part| Ahead::of_part(part, &drawn, 0.6, now, next);
            parts("User", &by, &ahead).into_string()
        };
        // Three tenths in four days: six tenths last eight more.
        let lasting = page(None);
        assert!(row(&lasting, "ada").contains(&format!("used up on {}", day(now + 8 * DAY))), "{lasting}");
        assert!(row(&lasting, "bo").contains(&format!("used up on {}", day(now + 48 * DAY))), "{lasting}");
        assert!(row(&lasting, "cyd").ends_with("<td>nothing taken in the last 14 days</td>"), "{lasting}");
        // What is used up, or has just begun, says so in the place of a forecast.
        let why = |left, after| {
            let ahead = |part: &Part| Ahead::of_part(part, &drawn, left, now - 4 * DAY + after, None);
            row(&parts("User", &by, &ahead).into_string(), "ada")
        };
        assert!(why(0.0, DAY).ends_with("<td>used up</td>"));
        assert!(why(0.6, DAY / 48).ends_with("<td>told an hour after the first question</td>"));
        // A budget that starts anew in twelve days is not used up by Bo before.
        let windowed = page(Some(now + 12 * DAY));
        assert!(row(&windowed, "ada").contains("used up on"), "{windowed}");
        let left = format!("{} left on {}", percent(0.45), day(now + 12 * DAY));
        assert!(row(&windowed, "bo").contains(&left), "{windowed}");
        assert!(lasting.find("ada").unwrap() < lasting.find("cyd").unwrap(), "the largest part comes first");
        assert!(lasting.contains("if these alone go on as lately"));
    }
}
