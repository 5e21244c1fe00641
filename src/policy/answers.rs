//! `[answers]`: what is answered without rows, and how numbers are shown.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Answers;
use super::reader::Section;

/// Keys of `[answers]`.
pub(super) const ANSWERS: Keys = Keys {
    section: "[answers]",
    list: &[
        Key::of("range_for_min_max", "boolean", "false", "true")
            .says("Answer `SELECT min(x), max(x) FROM t`, without WHERE, GROUP BY and JOIN, with the declared range of x: free, exact, and not of the data. A notice says so. For tools that draw sliders."),
        Key::of("round", "boolean", "false", "true")
            .says("Show averages, ratios and other numbers with noise to the digit that their intervals support, where a session does not set [`noisegate.round`](sql.md#how-far-to-trust-a-number)."),
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
    answers
}
