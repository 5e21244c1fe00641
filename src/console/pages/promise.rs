//! The meaning of a shared budget for one person in the data.

use super::frame::table;
use crate::chart::Chart;
use crate::meaning::Meaning;
use crate::words::{at_most, one_in, percent};
use bigdecimal::ToPrimitive;
use ledger::{BudgetSummary, Share};
use maud::{Markup, html};

const STEPS: u32 = 50;
/// The suspicion beforehand of the one sentence.
const BEFORE: f64 = 0.1;

/// Of a budget that everybody shares; `share` is None where nothing is spent.
pub fn promise(index: usize, summary: &BudgetSummary, share: Option<&Share>) -> Markup {
    let admitted = share.map_or_else(|| (*summary.budget).clone(), |s| s.state.admitted());
    let float = |d: &bigdecimal::BigDecimal| d.to_f64().unwrap_or(f64::INFINITY);
    let whole = Meaning::of(float(&admitted.epsilon), float(&admitted.delta));
    let so_far = match share {
        Some(share) => ledger::released(&share.state).map(|(epsilon, delta)| Meaning::of(epsilon, delta)),
        None => Some(Meaning::of(0.0, 0.0)),
    };
    let year =
        share.map_or_else(|| ledger::year(&summary.budget, &summary.counter), |s| ledger::year_of(&s.state));
    let id = format!("p{index}");
    html! {
        section aria-labelledby=(id) {
            h3 id=(id) { "What this promises to each person" }
            @if let Some(so_far) = so_far { p class="promise" { (sentence(&so_far, "all answers so far")) } }
            p { (sentence(&whole, "all answers that this budget can ever pay for")) }
            @if summary.budget.window.is_some() {
                p {
                    "Both hold for one period of the budget. "
                    @match year {
                        Some(year) if year.epsilon.is_finite() => {
                            "Periods add up: " (sentence(&Meaning::of(year.epsilon, year.delta), "all answers of a year"))
                        }
                        _ => "Periods add up, and over a year nothing is promised."
                    }
                }
            }
            @if let Some(so_far) = so_far { (suspicions(&so_far, &whole)) (detection(index, &so_far, &whole)) }
            @else { (suspicions(&whole, &whole)) }
        }
    }
}

fn sentence(meaning: &Meaning, what: &str) -> Markup {
    let suspicion = meaning.suspicion(BEFORE);
    let chance = meaning.chance();
    html! {
        "A neighbour who was " (percent(BEFORE).replace(".0", "")) " sure that somebody is in the data, and then sees " (what)
        ", can become at most " strong { (at_most(suspicion.most)) " sure" }
        @if chance > 0.0 { ", but for a chance of " (one_in(chance)) }
        "."
    }
}

fn suspicions(so_far: &Meaning, whole: &Meaning) -> Markup {
    html! {
        (table("How sure somebody can become about one person", html! {
            thead { tr { th scope="col" class="n" { "Sure beforehand" } th scope="col" class="n" { "After all answers so far, at most" } th scope="col" class="n" { "When all is spent, at most" } } }
            tbody {
                @for (now, then) in so_far.suspicions().iter().zip(whole.suspicions()) {
                    tr { th scope="row" class="n" { (percent(now.before).replace(".0", "")) } td class="n" { (at_most(now.most)) } td class="n" { (at_most(then.most)) } }
                }
            }
        }))
    }
}

/// The trade-off curve of all that has been released, and of the whole budget.
fn detection(index: usize, so_far: &Meaning, whole: &Meaning) -> Markup {
    let (now, then) = (so_far.detection(STEPS), whole.detection(STEPS));
    let at = |points: &[(f64, f64)], alarms: f64| {
        points.iter().find(|(a, _)| *a >= alarms - 1e-9).map_or(1.0, |(_, found)| *found)
    };
    let description = format!(
        "Whoever tries to tell from all answers so far who is in the data, and wrongly accuses 10 of 100 people who are not, finds at most \
         {:.0} of 100 who are; when all is spent, {:.0}. Guessing blindly would find 10.",
        (at(&now, 0.1) * 100.0).ceil(),
        (at(&then, 0.1) * 100.0).ceil()
    );
    let chart = Chart {
        id: &format!("found{index}"),
        title: "People found against people wrongly accused",
        description: &description,
        across: "Accused wrongly (across) and found (upwards)",
        ticks: vec![
            (0.0, "0 %".into()),
            (0.25, "25 %".into()),
            (0.5, "50 %".into()),
            (0.75, "75 %".into()),
            (1.0, "100 %".into()),
        ],
        lines: vec![("guess", vec![(0.0, 0.0), (1.0, 1.0)]), ("future", then.clone()), ("past", now.clone())],
        shaded: None,
    };
    html! {
        figure {
            (chart.draw())
            figcaption { (description) " Solid: all answers so far. Dashed: the whole budget. Dotted: guessing." }
            details {
                summary { "The numbers behind this picture" }
                (table("People found, by people wrongly accused", html! {
                    thead { tr { th scope="col" class="n" { "Wrongly accused" } th scope="col" class="n" { "Found, so far at most" } th scope="col" class="n" { "When all is spent, at most" } } }
                    tbody {
                        @for ((alarms, found), (_, later)) in now.iter().zip(&then).step_by(5) {
                            tr { th scope="row" class="n" { (percent(*alarms)) } td class="n" { (at_most(*found)) } td class="n" { (at_most(*later)) } }
                        }
                    }
                }))
            }
        }
    }
}
