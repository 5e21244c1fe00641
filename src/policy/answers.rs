//! `[answers]`: what is answered without rows, and how numbers are shown.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Answers;
use super::reader::{Section, shorten};
use std::time::Duration;

/// Keys of `[answers]`.
pub(super) const ANSWERS: Keys = Keys {
    section: "[answers]",
    list: &[
        Key::of("range_for_min_max", "boolean", "false", "true")
            .says("Answer `SELECT min(x), max(x) FROM t`, without WHERE, GROUP BY and JOIN, with the declared range of x: free, exact, and not of the data. A notice says so. For tools that draw sliders."),
        Key::of("round", "boolean", "false", "true")
            .says("Show averages, ratios and other numbers with noise to the digit that their intervals support, where a session does not set [`noisegate.round`](sql.md#how-far-to-trust-a-number)."),
        Key::of("quantum", "time span, 1ms to 1min", "none, or `\"100ms\"` with `threat = \"timing\"`", "\"250ms\"")
            .says("A read of private rows ends, well or not, at the next multiple of this time after it began: [how long it took](guarantees.md#outside-the-guarantee) says no more than how many of these."),
        Key::of("threat", "`\"timing\"`", "none", "\"timing\"")
            .says("Who asks is believed to look at how long answers take: `quantum` is on."),
        Key::of("unsure", "`keep` or `null`", "\"keep\"", "\"null\"")
            .says("`null` shows NULL for numbers whose 95 % interval is wider than they are, where a session does not set [`noisegate.unsure`](sql.md#values-that-say-nothing). For tools that show no interval and no NOTICE."),
    ],
    later: &[],
};

/// The quantum of a policy that names none against who looks at times.
const QUANTUM: Duration = Duration::from_millis(100);

pub(super) fn answers(root: &Section<'_, '_>, f: &mut Findings) -> Answers {
    let mut answers = Answers::default();
    let Some(section) = root.section("answers", f) else { return answers };
    section.keys(&ANSWERS, f);
    if let Some(range) = section.boolean("range_for_min_max", f) {
        answers.range_for_min_max = range.value;
    }
    if let Some(round) = section.boolean("round", f) {
        answers.round = round.value;
    }
    if let Some(threat) = section.string("threat", "threat = \"timing\"", f) {
        match threat.value.as_str() {
            "timing" => answers.quantum = Some(QUANTUM),
            other => {
                let what = format!("threat = {:?} is not known", shorten(other));
                f.error(&threat.span, what, "write threat = \"timing\", or remove it");
            }
        }
    }
    if let Some(quantum) = section.duration("quantum", f) {
        answers.quantum = Some(quantum);
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&quantum)
            && let Some(written) = section.get("quantum")
        {
            let what = "quantum is not from 1ms to 1min";
            f.error(&written.span(), what, "write for example: quantum = \"100ms\"");
        }
    }
    answers.null_unsure = null_unsure(&section, f).unwrap_or_default();
    answers
}

/// What becomes of values that say nothing, where a section says it.
pub(super) fn null_unsure(section: &Section<'_, '_>, f: &mut Findings) -> Option<bool> {
    let word = section.string("unsure", "unsure = \"null\"", f)?;
    match word.value.as_str() {
        "keep" => Some(false),
        "null" => Some(true),
        other => {
            let what = format!("unsure = {:?} is neither of the two words", shorten(other));
            f.error(
                &word.span,
                what,
                "write \"null\" for NULL in the place of values that say nothing, or \"keep\"",
            );
            None
        }
    }
}
