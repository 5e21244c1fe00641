//! EXPLAIN of a question: public data only (soundness rule 30).

use super::parts::{bounds, meaning_of_stream, relations, work};
use crate::release::Release;
use crate::words::decimal;
use crate::words::short;
use crate::{Plan, Question};
use bigdecimal::ToPrimitive;
use dp::sparse::SENSITIVITY;
use dp::{Ratio, sparse};
use policy::Policy;

/// The lines of a plan that asks a question. `standing` says how the stream stands for the user, and so what the
/// question costs.
pub fn lines(plan: &Plan, question: &Question, standing: &str, policy: &Policy) -> Vec<String> {
    let stream = &question.stream;
    let [release] = plan.releases.as_slice() else { return Vec::new() };
    let Some(part) = release.parts.first() else { return Vec::new() };
    let average = if question.average { ", asked of the sum of what exceeds it" } else { "" };
    let mut out = vec![
        format!(
            "Question to stream \"{}\" ({}): {} {} {}{average}",
            stream.name,
            stream.variant.word(),
            if question.average { "average" } else { part.label.as_str() },
            question.comparison.test().symbol(),
            question.threshold.normalized().to_plain_string()
        ),
        format!("Price: {standing}"),
    ];
    if let (Some(charge), Ok(noise)) = (&plan.charge, stream.plan()) {
        let delta = noise.guarantee().delta().copied().unwrap_or(Ratio::from_integer(0));
        out.push(format!(
            "Meaning of all its questions together: {}",
            meaning_of_stream(charge, &delta).brief()
        ));
    }
    relations(&mut out, &release.source, policy);
    if !release.source.filter.is_empty() {
        out.push(format!("  Filter: {} condition(s) on single rows", release.source.filter.len()));
    }
    let each = if release.keys.is_empty() { "" } else { "; each is one question, in the order of its keys" };
    out.push(format!("  Groups {}{each}", release.groups_why));
    for why in bounds(&release.bounding, None) {
        out.push(format!("  Bound: {why}"));
    }
    out.extend(work(&release.work));
    let unit = part.unit();
    let delta = question.comparison.sensitivity();
    out.push(format!("  One unit changes {} by at most {delta}{unit}", part.label));
    if let Ok(plan) = stream.plan() {
        out.push(format!("  Noise: discrete Laplace; {}", noise(&plan, delta, &unit)));
    }
    out.push(format!("  Accuracy: {} ({})", accuracy(question, release), stream.theorem()));
    out.push(
        "Finish: everything above the question is computed by PostgreSQL over the rows that pass, at no price"
            .into(),
    );
    out
}

/// Sentences about the error of the answer, and about what is cut.
pub fn sentences(plan: &Plan, question: &Question, policy: &Policy) -> Vec<String> {
    let [release] = plan.releases.as_slice() else { return Vec::new() };
    let mut accuracy = accuracy(question, release);
    // It begins a sentence.
    if let Some(first) = accuracy.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let cut = super::summary::what_cuts(plan, policy);
    [format!("{accuracy}."), super::summary::cuts(plan, policy)].into_iter().chain(cut).collect()
}

fn accuracy(question: &Question, release: &Release) -> String {
    format!(
        "of {} questions like this none errs by more than {}, but with probability {}, if at most {} of them are near or \
         beyond their thresholds",
        question.questions,
        short(question.alpha_in_values(release)),
        question.beta,
        question.stream.positives,
    )
}

/// The scales of a stream's noise for a question of this sensitivity.
fn noise(plan: &sparse::Plan, delta: u128, unit: &str) -> String {
    let scale = |s: &Ratio| {
        let steps = *s.numer() as f64 / *s.denom() as f64 / SENSITIVITY as f64;
        format!("scale {}{unit}", short(steps * delta as f64))
    };
    let mut text =
        format!("threshold {}, question {}", scale(plan.threshold_scale()), scale(plan.question_scale()));
    if let Some(answer) = plan.answer_scale() {
        text.push_str(&format!(", number {}", scale(answer)));
    }
    text
}

impl Question {
    /// α in the unit of the tested value.
    fn alpha_in_values(&self, release: &Release) -> f64 {
        let grid = release.parts.first().and_then(|p| p.kind.grid()?.to_f64()).unwrap_or(1.0);
        self.stream.alpha(self.questions, self.beta) * self.comparison.sensitivity() as f64 * grid
    }

    /// Price of opening the stream.
    pub fn opening(&self) -> String {
        let delta = match self.stream.plan().ok().and_then(|p| p.guarantee().delta().copied()) {
            Some(d) => format!(" and delta {:.3e}", *d.numer() as f64 / *d.denom() as f64),
            None => String::new(),
        };
        let epsilon = dp::ratio(&self.stream.epsilon).as_ref().map(decimal).unwrap_or_default();
        format!("epsilon {epsilon}{delta}")
    }
}
