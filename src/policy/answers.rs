//! `[answers]`: what is answered without rows.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::Answers;
use super::reader::Section;

/// Keys of `[answers]`.
pub(super) const ANSWERS: Keys = Keys {
    section: "[answers]",
    list: &[Key {
        name: "range_for_min_max",
        ty: "boolean",
        default: "false",
        example: "true",
        purpose: "Answer `SELECT min(x), max(x) FROM t`, without WHERE, GROUP BY and JOIN, with the declared range of x: free, exact, and not of the data. A notice says so. For tools that draw sliders.",
    }],
    later: &[],
};

pub(super) fn answers(root: &Section<'_, '_>, f: &mut Findings) -> Answers {
    let mut answers = Answers::default();
    let Some(section) = root.section("answers", f) else { return answers };
    section.keys(&ANSWERS, f);
    if let Some(range) = section.boolean("range_for_min_max", f) {
        answers.range_for_min_max = range.value;
    }
    answers
}
