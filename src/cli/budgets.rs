//! Budgets in words.

use ledger::{Amount, BudgetSummary, Counter, Share, Year, decimal, time, year};
use policy::{Budget, Scope, Window};
use std::fmt::Write as _;

/// A budget in one line.
pub fn budget(b: &Budget) -> String {
    let per = match b.scope {
        Scope::Dataset => "for everybody together".to_owned(),
        scope => format!("per {}", scope.word()),
    };
    let mut out = format!("{} ({}, {per}", b.name, b.accounting.word());
    if !b.tables.is_empty() {
        let _ = write!(out, ", statements over {}", b.tables.join(" or "));
    }
    if let Some(window) = b.window {
        let _ = write!(out, ", anew every {}", every(&window));
    }
    let _ = write!(out, "): epsilon = {}", b.epsilon.normalized().to_plain_string());
    if b.accounting.has_delta() {
        let _ = write!(out, ", delta = {}", b.delta.normalized().to_plain_string());
    }
    out
}

/// The notion that was taken when the owner named none, and what each buys; nothing when one is
/// named.
pub fn chosen(b: &Budget) -> Option<String> {
    let each: Vec<String> =
        b.choices.iter().map(|(accounting, n)| format!("{} {n}", accounting.word())).collect();
    (!each.is_empty()).then(|| {
        format!(
            "auto: {}. Answers that each buys (plain counts at statement.epsilon): {}",
            b.accounting.word(),
            each.join(", ")
        )
    })
}

/// Frequency with which a window begins.
pub fn every(window: &Window) -> String {
    match window {
        Window::Days(1) => "day".into(),
        Window::Days(days) => format!("{days} days"),
        window => window.word(),
    }
}

/// Guarantee of a year of windows, in words.
pub fn a_year(year: &Year) -> String {
    if year.epsilon.is_finite() {
        format!(
            "what windows tell adds up: a year touches up to {}, together at most epsilon = {:.3}{}",
            year.windows,
            year.epsilon,
            if year.delta > 0.0 { format!(", delta = {:.1e}", year.delta) } else { String::new() }
        )
    } else {
        format!("what windows tell adds up: the {} that a year touches guarantee nothing", year.windows)
    }
}

/// A budget and what is spent of it.
pub fn summary(s: &BudgetSummary) -> String {
    let mut out = budget(&s.budget);
    out.push('\n');
    if s.closed {
        out.push_str("  closed: it pays for nothing any more\n");
    }
    if let Some(next) = s.next {
        let _ = writeln!(out, "  starts anew on {}", time(next));
    }
    if let Some(year) = year(&s.budget, &s.counter) {
        let _ = writeln!(out, "  {}", a_year(&year));
    }
    if s.shares.is_empty() {
        out.push_str("  nothing spent\n");
    }
    for share in &s.shares {
        let _ = writeln!(out, "  {}", line(share));
    }
    out
}

fn line(share: &Share) -> String {
    let state = &share.state;
    let owner = if share.owner.is_empty() { "everybody" } else { &share.owner };
    let left = state.fraction_left() * 100.0;
    match (&state.counter, &state.spent) {
        (Counter::Filter(filter), Amount::Cost(spent)) => {
            let (loss, limit) = filter.reading(**spent);
            let mut out = format!(
                "{owner}: {} = {} of {} spent, {left:.1} % left",
                filter.notion.symbol(),
                decimal(loss, true),
                decimal(limit, false)
            );
            if filter.limit.delta > 0 {
                let (spent, limit) = (decimal(spent.delta, true), decimal(filter.limit.delta, false));
                let _ = write!(out, "; δ of private groups = {spent} of {limit}");
            }
            out
        }
        (Counter::Envelope(envelope), Amount::Uses(spent)) => {
            let spent = spent.counts().iter().copied().chain(std::iter::repeat(0));
            let uses: Vec<String> =
                envelope.granted().zip(spent).map(|(n, used)| format!("{used} of {n}")).collect();
            format!("{owner}: uses {}, {left:.1} % left", uses.join(", "))
        }
        _ => format!("{owner}: {left:.1} % left"),
    }
}
