//! Burn-down of a budget, and its forecast if people ask as they did lately.

use super::frame::table;
use crate::chart::Chart;
use crate::reading::{Drawn, LATELY, Part};
use crate::words::{DAY, count, day, moment, percent};
use maud::{Markup, html};

/// Forecast of a budget, if people ask as they did lately.
pub struct Ahead {
    /// Label of the figure.
    pub label: &'static str,
    /// A day, or a part.
    pub figure: String,
    /// Figure and reason in a few words, for a table.
    pub short: String,
    /// Until when, and what is left then.
    end: (i64, f64),
    words: String,
}

/// The past that a forecast goes by, at least.
const LEAST: i64 = DAY / 24;

/// Why there is no forecast, in words that stand in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoForecast {
    /// Nothing is left to go down.
    UsedUp,
    /// Nothing was taken lately.
    Idle,
    /// The first question is less than an hour old.
    TooEarly,
}

impl NoForecast {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::UsedUp => "used up",
            Self::Idle => "nothing taken in the last 14 days",
            Self::TooEarly => "told an hour after the first question",
        }
    }
}

impl Ahead {
    /// From what is left at `now`, as it went down lately.
    ///
    /// # Errors
    /// There is too little to go by.
    pub fn of(drawn: &Drawn, left: f64, now: i64, next: Option<i64>) -> Result<Self, NoForecast> {
        let since = since(drawn, now).ok_or(NoForecast::Idle)?;
        let before = drawn.curve.iter().take_while(|(at, _)| *at <= since).last().map_or(1.0, |(_, l)| *l);
        Self::at_pace(before - left, now - since, left, now, next)
    }

    /// The same if those alone went on whose part this is.
    ///
    /// # Errors
    /// As of [`Ahead::of`].
    pub fn of_part(
        part: &Part,
        drawn: &Drawn,
        left: f64,
        now: i64,
        next: Option<i64>,
    ) -> Result<Self, NoForecast> {
        let since = since(drawn, now).ok_or(NoForecast::Idle)?;
        Self::at_pace(part.lately, now - since, left, now, next)
    }

    /// Where so much was used in so many microseconds.
    fn at_pace(used: f64, span: i64, left: f64, now: i64, next: Option<i64>) -> Result<Self, NoForecast> {
        match () {
            () if left <= 0.0 => return Err(NoForecast::UsedUp),
            () if used <= 0.0 => return Err(NoForecast::Idle),
            () if span < LEAST => return Err(NoForecast::TooEarly),
            () => {}
        }
        let lasts = left / used * span as f64;
        // What lies further away than ten years is not worth a date.
        let empty = (lasts < 3650.0 * DAY as f64).then(|| now.saturating_add(lasts as i64));
        let pace = "if questions go on as lately";
        Ok(match (empty, next) {
            (Some(empty), next) if next.is_none_or(|next| empty < next) => Self {
                label: "Used up, at this pace",
                figure: day(empty),
                short: format!("used up on {}", day(empty)),
                end: (empty, 0.0),
                words: format!("{pace}, it is used up on {}", day(empty)),
            },
            (_, Some(next)) => {
                let then = (left - used * (next - now) as f64 / span as f64).max(0.0);
                Self {
                    label: "Left at the end, at this pace",
                    figure: percent(then),
                    short: format!("{} left on {}", percent(then), day(next)),
                    end: (next, then),
                    words: format!("{pace}, {} is left when it starts anew on {}", percent(then), day(next)),
                }
            }
            _ => Self {
                label: "At this pace it lasts",
                figure: "over 10 years".into(),
                short: "lasts over 10 years".into(),
                end: (now + span / 2, left - used / 2.0),
                words: format!("{pace}, it lasts for more than ten years"),
            },
        })
    }
}

/// Since when a forecast looks.
fn since(drawn: &Drawn, now: i64) -> Option<i64> {
    drawn.curve.first().map(|(first, _)| (*first).max(now - LATELY))
}

/// The curve of what was left of `name`, with the time to come. `id` is unique on the page.
pub fn burn_down(id: &str, name: &str, drawn: &Drawn, left: f64, now: i64, ahead: Option<&Ahead>) -> Markup {
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
        id,
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
                (table(&format!("What was left of {name}, by time"), html! {
                    thead { tr { th scope="col" { "Time" } th scope="col" class="n" { "Left" } } }
                    tbody { @for (at, left) in thinned(&drawn.curve) { tr { td class="t" { (moment(at)) } td class="n" { (percent(left)) } } } }
                }))
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
