//! Refusals of texts over single rows, of patterns, and of members of json values.

use policy::JsonPath;

/// What is wrong with a text that is computed, or with what is computed of one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text {
    Other,
    /// A function of texts that are equal in several spellings.
    Spelled,
    PatternSpelled,
    Long,
    /// A value that is not joined to texts.
    Joined,
    Inconstant,
    LongConstant,
    /// A position that is no constant, or a large one.
    Place,
    Negative,
    Field,
    /// LIKE with more wildcards than this.
    Wildcards(usize),
}

/// What is wrong with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// More states than this.
    States(u64),
    /// Repetitions of more times than this.
    Times(u64),
    Repetition,
    Nothing,
    Twice,
    Anchor,
    Deep,
    Empty,
    EmptyPart,
    Closed,
    Opened,
    Around,
    Escape,
    Range,
    Class,
    Nul,
    Control,
}

/// What is wrong with a member.
#[derive(Clone, Debug)]
pub(crate) enum Member {
    NoText,
    OfNoColumn,
    OfComputed,
    Name,
    Path,
    /// A member that the policy does not declare for this column, and those that it declares.
    Undeclared {
        column: String,
        wanted: Box<JsonPath>,
        declared: Vec<JsonPath>,
    },
}
