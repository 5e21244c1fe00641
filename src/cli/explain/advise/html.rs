//! The findings as one page: no script, nothing loaded from elsewhere, pictures with words beside them.

use super::expected::{self, Asked};
use super::findings::{Findings, Outcome};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plan::words::short;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}\
    pre{white-space:pre-wrap;background:#f2f2f2;padding:.5rem}table{border-collapse:collapse}th,td{text-align:left;padding:.2rem .8rem .2rem 0}\
    .refused{color:#8a1c1c}svg{width:100%;max-width:20rem;height:.8rem}.track{fill:#ddd}.fill{fill:#2a5db0}\
    @media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#262626}.refused{color:#ff9d9d}.track{fill:#444}.fill{fill:#8ab4f8}}";

pub(super) fn print(found: &Findings) -> Markup {
    let widest = found.statements.iter().filter_map(|s| match &s.outcome {
        Outcome::Priced { error, .. } => Some(*error),
        Outcome::Free | Outcome::Refused(_) => None,
    });
    let widest = widest.fold(f64::MIN_POSITIVE, f64::max);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "What these statements cost" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "What these statements cost" }
                    p { (found.statements.len()) " statements, at epsilon " (found.epsilon) " each." @if found.on.is_none() { " Nothing was asked of a database." } }
                    @for line in found.on.iter().flat_map(|(lines, _)| lines) { p { (line) } }
                    @for line in &found.together { p { strong { (line) } } }
                    @if !found.shared.is_empty() {
                        h2 { "What could be shared" }
                        ul { @for shared in &found.shared { li { (shared.told()) } } }
                    }
                    @for (i, statement) in found.statements.iter().enumerate() {
                        h2 { "Statement " (i + 1) }
                        pre { code { (statement.text) } }
                        (outcome(&statement.outcome, widest))
                        @if let Some(asked) = &statement.asked { (errors(asked)) }
                    }
                }
            }
        }
    }
}

fn outcome(outcome: &Outcome, widest: f64) -> Markup {
    match outcome {
        Outcome::Free => html! { p { "It costs nothing: no private rows are read." } },
        Outcome::Refused(r) => html! {
            p class="refused" { strong { "Refused" } " (" (r.code) "): " (r.message) }
            @if let Some(hint) = &r.hint { p { "Hint: " (hint) } }
        },
        Outcome::Priced { costs, expected, error, helps } => html! {
            ul { @for line in costs.iter().chain(expected) { li { (line) } } }
            p {
                "Noise, beside that of the noisiest statement: " (short(error / widest * 100.0)) " %."
                br;
                (bar(error / widest, "noise beside that of the noisiest statement"))
            }
            @if !helps.is_empty() {
                table {
                    caption { "What would help most" }
                    thead { tr { th scope="col" { "Change" } th scope="col" { "Noise that is left" } } }
                    tbody {
                        @for help in helps {
                            tr {
                                td { (help.change) }
                                td {
                                    @if let Some(factor) = help.factor {
                                        (short(factor * 100.0)) " %" (bar(factor, "noise that is left"))
                                    } @else { "as the rows want" }
                                }
                            }
                        }
                    }
                }
            }
        },
    }
}

/// Errors that are expected, as shares of the numbers.
fn errors(asked: &Asked) -> Markup {
    let lines = expected::told(asked);
    html! {
        ul { @for line in lines { li { (line) } } }
        @for column in asked.iter().flatten() {
            @if let Some(share) = column.share {
                p {
                    (column.column) ", expected error beside the number itself: " (short(share * 100.0)) " %"
                    br;
                    (bar(share, &format!("expected error of {}", column.column)))
                }
            }
        }
    }
}

/// A bar of a share.
fn bar(share: f64, what: &str) -> Markup {
    let width = format!("{:.1}", share.clamp(0.0, 1.0) * 100.0);
    html! {
        svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(format!("{what}: {width} %")) {
            rect class="track" width="100" height="4" {}
            rect class="fill" width=(width) height="4" {}
        }
    }
}
