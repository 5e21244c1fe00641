//! Charts as SVG, drawn here: no script, no font, no colour but those of the style sheet. Each has a title, a description that
//! says in words what is seen, and a table of its numbers behind it.

use maud::{Markup, html};

const WIDTH: f64 = 680.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 68.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// A chart over the square from 0 to 1.
pub struct Chart<'a> {
    /// Unique on its page.
    pub id: &'a str,
    /// Title of the chart.
    pub title: &'a str,
    /// The chart in words.
    pub description: &'a str,
    /// Name of the axis at the bottom.
    pub across: &'a str,
    /// Labels of that axis, with their places.
    pub ticks: Vec<(f64, String)>,
    /// Lines, each of a class of the style sheet.
    pub lines: Vec<(&'static str, Vec<(f64, f64)>)>,
    /// A part across that is set apart, such as the time to come.
    pub shaded: Option<(f64, f64)>,
}

fn x(at: f64) -> f64 {
    LEFT + at.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
}

fn y(at: f64) -> f64 {
    TOP + (1.0 - at.clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM)
}

fn path(points: &[(f64, f64)]) -> String {
    let point = |(i, (a, b)): (usize, &(f64, f64))| {
        format!("{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, x(*a), y(*b))
    };
    points.iter().enumerate().map(point).collect::<Vec<_>>().join(" ")
}

impl Chart<'_> {
    /// Draws it.
    pub fn draw(&self) -> Markup {
        let (title, description) = (format!("{}-title", self.id), format!("{}-text", self.id));
        html! {
            svg class="chart" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-labelledby=(format!("{title} {description}")) {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                @if let Some((from, to)) = self.shaded {
                    rect class="ahead" x=(format!("{:.1}", x(from))) y=(TOP) width=(format!("{:.1}", (x(to) - x(from)).max(0.0))) height=(HEIGHT - TOP - BOTTOM) {}
                }
                @for percent in [0, 25, 50, 75, 100] {
                    @let at = format!("{:.1}", y(f64::from(percent) / 100.0));
                    line class="grid" x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at) y2=(at) {}
                    text class="tick" x=(LEFT - 8.0) y=(at) dy="0.32em" text-anchor="end" { (percent) " %" }
                }
                @for (i, (at, label)) in self.ticks.iter().enumerate() {
                    @let anchor = if i == 0 { "start" } else if i + 1 == self.ticks.len() { "end" } else { "middle" };
                    text class="tick" x=(format!("{:.1}", x(*at))) y=(HEIGHT - BOTTOM + 18.0) text-anchor=(anchor) { (label) }
                }
                text class="axis" x=(x(0.5)) y=(HEIGHT - 6.0) text-anchor="middle" { (self.across) }
                @for (class, points) in &self.lines {
                    path class=(class) d=(path(points)) {}
                }
            }
        }
    }
}

/// A bar of what is left, from 0 to 1.
pub fn bar(left: f64, label: &str) -> Markup {
    html! {
        svg class=(if left < 0.2 { "bar low" } else { "bar" }) viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(label) {
            rect class="track" width="100" height="4" rx="1" {}
            rect class="fill" width=(format!("{:.2}", left.clamp(0.0, 1.0) * 100.0)) height="4" rx="1" {}
        }
    }
}
