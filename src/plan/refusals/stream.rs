//! Refusals of questions to a sparse vector stream.

/// Why a statement is no question to a stream of this name. `variant`: the word for how it answers.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    /// A subquery over private rows.
    Subquery,
    /// No HAVING.
    NoHaving { stream: String },
    /// HAVING is no comparison with a number.
    NoComparison { stream: String },
    /// Not one aggregate over private rows.
    NoAggregate { stream: String },
    /// A threshold that is no constant.
    Threshold,
    /// It selects a number, and the stream tells none.
    Number { stream: String, variant: &'static str },
    /// It selects an aggregate that it does not test; an average, perhaps.
    Other { average: bool },
    /// Its groups are private, and why.
    PrivateGroups { why: String },
    /// A sum that may fall, for a stream of what cannot.
    Falling { stream: String, variant: &'static str },
    /// Another comparison than `>`, for such a stream.
    NotAbove { stream: String, variant: &'static str },
}
