//! The settings of `noisegate.*` as a table: an entry for each, with all that is known of it.
//!
//! SET, SHOW, RESET, `pg_settings`, `noisegate.settings` and the reference in `docs/sql.md` read
//! from here, and so do the planner's settings and the key under which statements are remembered. A
//! new setting is an entry, and the code that reads it.

use super::SessionSettings;

/// Facts about a setting.
pub(super) struct Entry {
    /// The full name.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: Takes,
    /// The value when nobody has set it.
    pub first: First,
    /// Its reader, which decides about the key of remembered statements.
    pub read: Read,
    /// The sentence that SHOW ALL has for it.
    pub description: &'static str,
    /// The same for the document, in Markdown.
    pub meaning: &'static str,
}

/// The values that a setting takes.
pub(super) enum Takes {
    /// A decimal number; ends are digits and how many of them stand behind the point.
    Number {
        /// The least.
        low: (i64, i64),
        /// The most.
        high: (i64, i64),
        /// Whether the most is too much already.
        below: bool,
        /// Both ends, as people write them.
        words: &'static str,
    },
    /// A whole number from 1 to this.
    Whole(u64),
    /// A word of this list.
    Word(&'static [&'static str]),
    /// On or off, in any of PostgreSQL's spellings.
    Switch,
    /// The same, or this word.
    SwitchOr(&'static str),
    /// The name of a stream, or nothing.
    Stream,
    /// An accuracy that numbers are to reach, or off.
    Accuracy,
}

/// The value of a setting that nobody has set.
pub(super) enum First {
    /// The same for everybody.
    Always(&'static str),
    /// The policy's value under this key.
    Policy(&'static str, fn(&plan::Settings) -> String),
}

/// Puts a setting that a session has into the planner's.
pub(super) type Put = fn(&SessionSettings, &mut plan::Settings);

/// The reader of a setting: a remembered statement is used again only when these values are the
/// same.
pub(super) enum Read {
    /// Names and columns follow from it, and the plan where it is put into the planner's settings.
    /// The value is part of every key.
    Text(Option<Put>),
    /// The planner: a plan is used again only with the very settings that it was made with.
    Plan(Put),
    /// Answers alone follow from it, and nothing that is remembered.
    Answer,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $setting:ident = $entry:expr;)*) => {
        /// A setting of `noisegate.*`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NoisegateSetting { $($(#[$doc])* $setting),* }

        impl NoisegateSetting {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$setting),*];

            pub(super) fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$setting => {
                        static ENTRY: Entry = $entry;
                        &ENTRY
                    })*
                }
            }
        }
    };
}

settings! {
    /// ε of a statement.
    Epsilon = Entry {
        name: "noisegate.epsilon",
        takes: Takes::Number { low: (1, 9), high: (1000, 0), below: false, words: "a number from 1e-9 to 1000" },
        first: First::Policy("statement.epsilon", |policy| plan::words::decimal(&policy.epsilon)),
        read: Read::Plan(|own, plan| {
            plan.epsilon = own.ratio(NoisegateSetting::Epsilon).unwrap_or(plan.epsilon);
        }),
        description: "What one statement costs: its epsilon. A larger one buys less noise.",
        meaning: "what one statement costs, `noisegate.min_epsilon` at least; a larger one buys less noise",
    };
    /// The accuracy that numbers are to reach, in place of a price.
    Accuracy = Entry {
        name: "noisegate.accuracy",
        takes: Takes::Accuracy,
        first: First::Always("off"),
        read: Read::Plan(|own, plan| plan.accuracy = own.accuracy()),
        description: "How near each number of a statement comes, in its own unit: the least price that reaches it is charged, up to \
                      noisegate.epsilon; off charges noisegate.epsilon.",
        meaning: "how near each number of a statement is to come, in place of a price: see \
                  [accuracy in place of a price](#accuracy-in-place-of-a-price)",
    };
    /// δ of a statement.
    Delta = Entry {
        name: "noisegate.delta",
        takes: Takes::Number { low: (1, 28), high: (1, 3), below: true, words: "a number from 1e-28 to below 0.001" },
        first: First::Policy("statement.delta", |policy| plan::words::decimal(&policy.delta)),
        read: Read::Plan(|own, plan| {
            plan.delta = own.ratio(NoisegateSetting::Delta).unwrap_or(plan.delta);
        }),
        description: "The delta of one statement, spent where the groups of its result do not follow from the policy or the statement.",
        meaning: "δ of one statement, spent where groups are private",
    };
    /// Groups one unit may touch.
    MaxGroups = Entry {
        name: "noisegate.max_groups",
        takes: Takes::Whole(1_000_000),
        first: First::Policy("statement.max_groups", |policy| policy.max_groups.to_string()),
        read: Read::Plan(|own, plan| {
            plan.max_groups = own.count(NoisegateSetting::MaxGroups).unwrap_or(plan.max_groups);
        }),
        description: "Groups that one unit may touch; what it brings to others is dropped at random.",
        meaning: "groups that one unit may touch",
    };
    /// Rows of one unit that count.
    MaxRows = Entry {
        name: "noisegate.max_rows",
        takes: Takes::Whole(1_000_000),
        first: First::Policy("statement.max_rows", |policy| policy.max_rows.to_string()),
        read: Read::Plan(|own, plan| plan.chosen_rows = own.count(NoisegateSetting::MaxRows)),
        description: "Rows of one unit that count in all groups together, and in each private group; the sums and counts of a unit with more are scaled down.",
        meaning: "rows of one unit that count in all groups together, for every table; in each, where groups are private",
    };
    /// Whether bounds on rows are the policy's, or chosen.
    Bounds = Entry {
        name: "noisegate.bounds",
        takes: Takes::Word(&["profile", "policy", "auto"]),
        first: First::Always("profile"),
        // A plan whose bound was chosen is told by the statement that is kept with it.
        read: Read::Plan(|own, plan| plan.profiles = own.value(NoisegateSetting::Bounds) == "profile"),
        description: "Where the bound on the rows of a unit comes from: the profile of its table, where the owner has measured one, and else the \
                      policy; policy; auto spends a share of each statement's price on choosing it from the rows.",
        meaning: "where the bound on rows comes from: see [bounds that are chosen](#bounds-that-are-chosen)",
    };
    /// The noise.
    Mechanism = Entry {
        name: "noisegate.mechanism",
        takes: Takes::Word(&["auto", "laplace", "gaussian"]),
        first: First::Always("auto"),
        read: Read::Plan(|own, plan| {
            plan.mechanism = match own.value(NoisegateSetting::Mechanism) {
                "laplace" => dp::Preference::Laplace,
                "gaussian" => dp::Preference::Gaussian,
                _ => dp::Preference::Auto,
            };
        }),
        description: "The noise: auto takes the one with the least expected error; laplace; gaussian.",
        meaning: "which noise; auto takes the least expected error that every budget has a price for",
    };
    /// Whether each charge is told.
    Notices = Entry {
        name: "noisegate.notices",
        takes: Takes::Switch,
        first: First::Always("on"),
        read: Read::Answer,
        description: "Whether a NOTICE tells what each statement cost and what is left.",
        meaning: "whether a NOTICE tells what a statement cost; `client_min_messages` of `warning` or `error` silences all of them, \
                  as in PostgreSQL",
    };
    /// Whether stored answers are given.
    Cache = Entry {
        name: "noisegate.cache",
        takes: Takes::SwitchOr("best"),
        first: First::Always("on"),
        read: Read::Answer,
        description: "Whether what was answered before is answered the same again, for nothing: on; off pays for new noise; \
                      best pays where a fresh answer has less.",
        meaning: "whether what was answered before is answered the same again, for nothing; best pays for new noise where that would \
                  be narrower, as where an accuracy is wanted; off always",
    };
    /// Whether public groups that cannot be told from empty ones come back.
    EmptyGroups = Entry {
        name: "noisegate.empty_groups",
        takes: Takes::Switch,
        first: First::Always("on"),
        read: Read::Answer,
        description: "Whether all public groups come back: on; off leaves out those whose noisy count is within its own noise of 0.",
        meaning: "whether all public groups come back; off leaves out those whose noisy count is at most its own 95 % error",
    };
    /// Whether estimates over what was collected are made consistent.
    Consistent = Entry {
        name: "noisegate.consistent",
        takes: Takes::Switch,
        first: First::Always("off"),
        read: Read::Text(None),
        description: "Whether estimates over what was collected are cut to what can be: none below 0, and all parts together the whole.",
        meaning: "whether estimates over what was collected are cut to what can be",
    };
    /// Whether numbers have an interval beside them.
    Intervals = Entry {
        name: "noisegate.intervals",
        takes: Takes::Switch,
        first: First::Always("off"),
        read: Read::Text(Some(SessionSettings::put_ends)),
        description: "Whether each number with noise has columns beside it, _low and _high, between which it lies without noise.",
        meaning: "whether each number with noise has an interval beside it: see \
                  [how far to trust a number](#how-far-to-trust-a-number)",
    };
    /// Confidence of intervals: how often one holds its number without noise.
    Confidence = Entry {
        name: "noisegate.confidence",
        takes: Takes::Number { low: (5, 1), high: (9999, 4), below: false, words: "a number from 0.5 to 0.9999" },
        first: First::Always("0.95"),
        read: Read::Text(Some(SessionSettings::put_ends)),
        description: "How often it does, of 1: 0.95.",
        meaning: "how often an interval holds the number without its noise",
    };
    /// Whether numbers are shown to the digit that their intervals support.
    Round = Entry {
        name: "noisegate.round",
        takes: Takes::Switch,
        first: First::Policy("answers.round", |policy| if policy.round { "on" } else { "off" }.into()),
        read: Read::Plan(|own, plan| plan.round = own.switch(NoisegateSetting::Round).unwrap_or(plan.round)),
        description: "Whether averages, ratios and other numbers with noise are shown to the digit that their 95 % interval supports.",
        meaning: "whether numbers with noise are shown without the digits that their 95 % interval says nothing of: see \
                  [how far to trust a number](#how-far-to-trust-a-number)",
    };
    /// Whether values that say nothing are shown.
    Unsure = Entry {
        name: "noisegate.unsure",
        takes: Takes::Word(&["keep", "null"]),
        first: First::Policy("answers.unsure", |policy| if policy.null_unsure { "null" } else { "keep" }.into()),
        read: Read::Plan(|own, plan| {
            plan.null_unsure = own.get(NoisegateSetting::Unsure.name()).map_or(plan.null_unsure, |word| word == "null");
        }),
        description: "Whether values with noise that say nothing are shown: keep; null shows NULL for numbers whose 95 % interval is wider \
                      than they are.",
        meaning: "what becomes of numbers whose 95 % interval is wider than they are: see \
                  [values that say nothing](#values-that-say-nothing)",
    };
    /// The stream that is asked.
    Stream = Entry {
        name: "noisegate.stream",
        takes: Takes::Stream,
        first: First::Always(""),
        // Plans of questions to a stream are not kept.
        read: Read::Answer,
        description: "The stream of the policy that statements over private rows are questions to; empty for none.",
        meaning: "statements over private rows are questions to it",
    };
    /// The ended stream that the next question may open anew.
    StreamReopen = Entry {
        name: "noisegate.stream_reopen",
        takes: Takes::Stream,
        first: First::Always(""),
        read: Read::Answer,
        description: "A stream that has ended: the session's next question to it opens it anew, at its whole price.",
        meaning: "a stream that has ended may be opened anew by the next question",
    };
    /// k of accuracy.
    StreamQuestions = Entry {
        name: "noisegate.stream_questions",
        takes: Takes::Whole(1_000_000_000_000),
        first: First::Always("1000"),
        read: Read::Answer,
        description: "How many questions noisegate.stream_accuracy is for.",
        meaning: "how many questions `noisegate.stream_accuracy` is for",
    };
    /// β of accuracy.
    StreamBeta = Entry {
        name: "noisegate.stream_beta",
        takes: Takes::Number { low: (1, 12), high: (5, 1), below: false, words: "a number from 1e-12 to 0.5" },
        first: First::Always("0.05"),
        read: Read::Answer,
        description: "How likely it is that noisegate.stream_accuracy is exceeded by one of them.",
        meaning: "how likely one of them exceeds it",
    };
}

/// The least price of a statement: the policy's.
pub(in crate::gateway) const MIN_EPSILON: &str = "noisegate.min_epsilon";

/// Accuracy of the selected stream's answers: shown, never set.
pub(in crate::gateway) const STREAM_ACCURACY: &str = "noisegate.stream_accuracy";

/// Names that are shown and never set, and the document's words for them.
const SHOWN: [(&str, &str); 2] = [
    (MIN_EPSILON, "the least price, which is the policy's `statement.min_epsilon`"),
    (STREAM_ACCURACY, "how far the answers of the stream that is asked will be off at most"),
];

/// The reference of the settings, as a table of Markdown.
pub fn reference() -> String {
    let mut out = String::from("| setting | takes | at first | meaning |\n|---|---|---|---|\n");
    for entry in NoisegateSetting::ALL.iter().map(|own| own.entry()) {
        let first = match entry.first {
            First::Always("") => "nothing".to_owned(),
            First::Always(value) => value.to_owned(),
            First::Policy(key, _) => format!("the policy's `{key}`"),
        };
        out += &format!("| `{}` | {} | {first} | {} |\n", entry.name, entry.takes.words(), entry.meaning);
    }
    for (name, meaning) in SHOWN {
        out += &format!("| `{name}` | only shown | | {meaning} |\n");
    }
    out
}
