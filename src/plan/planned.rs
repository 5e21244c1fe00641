//! A planned statement, and what is said of it.

use crate::cut::grouping_sets::GroupingSets;
use crate::own::given::Stage;
use crate::release::Release;
use crate::settings::Accuracy;
use bigdecimal::BigDecimal;
use dp::sparse;
use policy::Stream;
use sql::ast::{CteId, Statement};
use std::collections::BTreeSet;

/// A planned statement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The resolved statement.
    pub statement: Statement,
    /// Releases, in the order of the text.
    pub releases: Vec<Release>,
    /// Stages, in the order in which they are released and finished, before other releases are
    /// read.
    pub stages: Vec<Stage>,
    /// SELECTs with grouping sets, and which release each set is of.
    pub grouping_sets: Vec<GroupingSets>,
    /// CTEs that are private rows: they exist inside releases only.
    pub private_ctes: BTreeSet<CteId>,
    /// The price; None where nothing private is read.
    pub charge: Option<dp::Charge>,
    /// The noise and the reason for it, in one sentence.
    pub noise: String,
    /// The accuracy of its numbers, when the price follows from one.
    pub accuracy: Option<Reached>,
    /// Items of the outermost SELECT that are shown to the digit that their intervals support, by their places.
    pub rounded: BTreeSet<usize>,
    /// Which items of the outermost SELECT are NULL where they say nothing; None where all values are kept.
    pub unsure: Option<Unsure>,
    /// Tables whose definition the plan rests on.
    pub tables: Vec<usize>,
    /// The question to a stream that it is: then `charge` is what opening the stream costs.
    pub question: Option<Question>,
    /// Why it costs nothing though it names private tables; there is nothing else in the plan then.
    pub free: Option<Free>,
}

/// Items of the outermost SELECT by whether anything says how far to trust them, by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsure {
    /// NULL where their intervals are wider than they are, or their groups have too few rows.
    pub judged: BTreeSet<usize>,
    /// With noise of which nobody knows what it does: they are kept.
    pub kept: BTreeSet<usize>,
}

impl Plan {
    /// Whether intervals decide how some of its values are shown.
    pub fn shown_by_intervals(&self) -> bool {
        !self.rounded.is_empty() || self.unsure.as_ref().is_some_and(|unsure| !unsure.judged.is_empty())
    }
}

/// An accuracy that a price was chosen for, and the one that it gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The accuracy that was asked for.
    pub wanted: Accuracy,
    /// Half the width of the widest interval.
    pub half_width: f64,
}

/// The part of a plan that is asked of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The stream, as the policy had it when the question was planned.
    pub stream: Stream,
    /// The comparison, in steps of the tested integer.
    pub comparison: sparse::Question,
    /// The threshold as the statement has it.
    pub threshold: BigDecimal,
    /// `avg(x) > T`, asked as `sum(x - T) > 0`.
    pub average: bool,
    /// k: as many questions is accuracy told for.
    pub questions: u64,
    /// β of accuracy.
    pub beta: f64,
}

/// Why a statement that names private tables is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Free {
    /// No row comes back, whatever the tables hold. The plan's own statement has no columns: they are as they were typed.
    NoRows,
    /// Values are the declared ranges of these columns, and are constants of the plan's statement.
    Ranges(Vec<String>),
}

impl Free {
    /// The notice for the reader of the answer.
    pub fn notice(&self) -> Option<String> {
        let Free::Ranges(columns) = self else { return None };
        Some(format!(
            "min and max are the ends of the range that the policy declares for {}, not values of rows; nothing was spent",
            columns.join(", ")
        ))
    }

    /// The line of EXPLAIN.
    pub(crate) fn line(&self) -> String {
        match self {
            Free::NoRows => {
                "No rows: a condition that is false, or LIMIT 0, leaves none whatever the tables hold".into()
            }
            Free::Ranges(columns) => format!("Answer: the declared range of {}", columns.join(", ")),
        }
    }
}
