//! `[answers]`: what is answered without rows, and how numbers are shown.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Answers;
use super::reader::{Section, shorten};

/// Keys of `[answers]`.
pub(super) const ANSWERS: Keys = Keys {
    section: "[answers]",
    list: &[
        Key::of("range_for_min_max", "boolean", "false", "true")
            .says("Answer `SELECT min(x), max(x) FROM t`, without WHERE, GROUP BY and JOIN, with the declared range of x: free, exact, and not of the data. A notice says so. For tools that draw sliders."),
        Key::of("round", "boolean", "false", "true")
            .says("Show averages, ratios and other numbers with noise to the digit that their intervals support, where a session does not set [`noisegate.round`](sql.md#how-far-to-trust-a-number)."),
        Key::of("unsure", "`keep` or `null`", "\"keep\"", "\"null\"")
            .says("`null` shows NULL for numbers whose 95 % interval is wider than they are, where a session does not set [`noisegate.unsure`](sql.md#values-that-say-nothing). For tools that show no interval and no NOTICE."),
    ],
    later: &[],
};

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
