//! A question to visitors, which shows what collecting privately is like.

use super::table;
use crate::source::Question;
use maud::{Markup, html};

/// The question, and what is known of the answers. `form` is what a browser brings back.
pub fn survey(question: &Question, form: &str) -> Markup {
    let Question { asks, relation, answers, epsilon, lie, run, truthful } = question;
    html! {
        h1 { "Survey" }
        p class="lead" { "One question, whose answers nobody stores. Your browser changes them at random before it sends them." }
        noscript {
            p class="wrong" { "This page needs a script: it is the one that changes your answer before it leaves this browser." }
        }
        div id="survey" data-answers=(answers.len()) data-lie=(lie) data-form=(form) data-run=(run) {
            form class="login" {
                fieldset {
                    legend { (asks) }
                    @for (n, answer) in answers.iter().enumerate() {
                        label class="choice" { input type="radio" name="answer" value=(n); " " (answer) }
                    }
                }
                button { "Answer" }
            }
            p { button id="crowd" type="button" { "Let 1,000 made-up people answer" } }
            p id="said" class="promise" role="status" { "Nobody has answered in this browser yet." }
        }
        h2 { "What was said, and what is known" }
        div id="results" {
            (table("Answers: what this browser knows, and what the database can tell", html! {
                thead { tr {
                    th scope="col" { "Answer" }
                    th scope="col" { "Truly said, in this browser" }
                    th scope="col" { "Estimated from the reports" }
                    th scope="col" { "95 % between" }
                } }
                tbody {
                    @for answer in answers {
                        tr {
                            th scope="row" { (answer) }
                            td class="bars" { span { "0" } (bar()) }
                            td class="bars" { span { "0" } (bar()) }
                            td { }
                        }
                    }
                }
            }))
        }
        p id="reports" {}
        h2 { "How that can be" }
        p {
            "With a probability of " (format!("{:.0} %", 100.0 * truthful)) " your browser sends what you said, else one of the other answers. \
             Nobody who sees a report can know which: whatever they believed of you before, at ε = " (epsilon) " the odds change by a \
             factor of at most " (format!("{:.2}", epsilon_factor(*truthful, answers.len()))) ". Over many people the changes cancel out, because it is known how often they happen."
        }
        p {
            "The database holds reports and nothing else. Anybody who may ask questions here sees the same estimates, as often as they \
             like, and they cost no budget:"
        }
        pre { "SELECT answer, count(*), noisegate.low(count(*)), noisegate.high(count(*)) FROM " (relation) " GROUP BY answer" }
    }
}

/// The largest ratio of probabilities with which two answers lead to one report.
fn epsilon_factor(truthful: f64, answers: usize) -> f64 {
    let others = answers.saturating_sub(1).max(1) as f64;
    truthful * others / (1.0 - truthful)
}

/// A bar that the script draws: the number beside it says the same.
fn bar() -> Markup {
    html! {
        svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            rect class="track" width="100" height="4" rx="1" {}
            rect class="fill" width="0" height="4" rx="1" {}
        }
    }
}
