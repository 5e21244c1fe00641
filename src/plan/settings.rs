//! Settings of the planner: a session's choices about prices and bounds.

use crate::quantile_ends::Ends;

/// A session's choices about prices and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// ε of a statement; the most of it, where an accuracy is wanted.
    pub epsilon: dp::Ratio,
    /// The accuracy that numbers are to reach, in place of a price.
    pub accuracy: Option<Accuracy>,
    /// δ of a statement, spent when any group key is private.
    pub delta: dp::Ratio,
    /// Groups one unit may touch.
    pub max_groups: u32,
    /// Rows of one unit that count in each private group, and times `max_groups` in all groups together, where its table sets no
    /// bound of its own.
    pub max_rows: u32,
    /// Rows of one unit that count in all groups together, and in each private group, chosen by the session: for every table.
    pub chosen_rows: Option<u32>,
    /// Rows one unit may bring to all groups together, in the place of what its tables say: chosen by a release before
    /// ([`crate::price::row_choice`]).
    pub total_rows: Option<u32>,
    /// Bounds follow from the profiles of tables, where these have one.
    pub profiles: bool,
    /// The day, in microseconds since 1970 at its begin: profiles that are not valid on it say nothing of what is cut.
    pub day: i64,
    /// EXTRACT gives double precision (before PostgreSQL 14).
    pub old_extract: bool,
    /// The statement is a question to a stream: its groups are bounded one by one.
    pub question: bool,
    /// The session's time zone, by a name that `timezone` knows: a moment that is written without a zone is one of it.
    pub zone: String,
    /// The session shows days as ISO writes them.
    pub iso: bool,
    /// The noise that the session asks for.
    pub mechanism: dp::Preference,
    /// Ends of intervals around quantiles.
    pub ends: Ends,
    /// Numbers with noise are shown to the digit that their intervals support.
    pub round: bool,
    /// Values that say nothing are shown as NULL.
    pub null_unsure: bool,
    /// Name and notion of every budget that the user pays from.
    pub budgets: Vec<(String, dp::Notion)>,
}

impl Settings {
    /// Settings when nobody has chosen anything but these.
    pub fn new(epsilon: dp::Ratio, delta: dp::Ratio, max_groups: u32, max_rows: u32) -> Self {
        Self {
            epsilon,
            accuracy: None,
            delta,
            max_groups,
            max_rows,
            chosen_rows: None,
            total_rows: None,
            profiles: true,
            day: i64::MIN,
            old_extract: false,
            question: false,
            zone: UTC.into(),
            iso: true,
            mechanism: dp::Preference::Auto,
            ends: Ends::default(),
            round: false,
            null_unsure: false,
            budgets: Vec::new(),
        }
    }

    /// Whether the session's days are those of UTC.
    pub fn utc(&self) -> bool {
        self.zone == UTC
    }
}

/// The zone that series of days are listed in.
pub const UTC: &str = "UTC";

/// An accuracy for the numbers of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Half the width of their intervals, in the unit of each number.
    pub half_width: f64,
    /// Confidence: how often an interval holds, in millionths.
    pub confidence: u32,
}
