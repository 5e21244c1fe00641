//! Errors of encoding. No text here has a value that somebody gave.

use dp::EntropyError;
use dp::randomised::RandomiseError;

/// A description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// It is not JSON of the right form.
    #[error("the description cannot be read: {0}")]
    Form(String),
    /// A column has a mistake.
    #[error("column {column:?}: {what}")]
    Column {
        /// Name of the column.
        column: String,
        /// The mistake, and what to write instead.
        what: String,
    },
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// Why an answer became no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The value is none of the column's.
    #[error(
        "column {0:?}: the value is not in its domain; give one of the description's, or leave the record out"
    )]
    Outside(String),
    /// The column was not answered, and has no value for that.
    #[error("column {0:?} has no answer, and the description does not say missing = true")]
    Missing(String),
    /// More values than the column takes.
    #[error("column {0:?} has more values than the description's max_values")]
    TooMany(String),
    /// A value of a set stands there twice.
    #[error("column {0:?} has a value twice")]
    Twice(String),
    /// A record has another number of answers than the description has columns.
    #[error("a record has {given} answers, and the description has {wanted} columns")]
    Width {
        /// Answers.
        given: usize,
        /// Columns.
        wanted: usize,
    },
    /// The key in the description is none.
    #[error("the report cannot be sealed to the description's keys")]
    Seal,
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl EncodeError {
    pub(crate) fn of(column: &str, error: RandomiseError) -> Self {
        match error {
            RandomiseError::Outside => Self::Outside(column.into()),
            RandomiseError::TooMany => Self::TooMany(column.into()),
            RandomiseError::Twice => Self::Twice(column.into()),
            RandomiseError::Entropy(e) => Self::Entropy(e),
        }
    }
}

/// Why something cannot be opened. Which of several it was is told to its owner, and never to who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It has another length than all reports of the collection.
    #[error("it has not the length of a report of this collection")]
    Length,
    /// It belongs to another collection, or to another version of it.
    #[error("it is no report of this collection")]
    Collection,
    /// It was not sealed to this key, or was changed.
    #[error("it was not sealed to this key")]
    Key,
    /// What was sealed is no report.
    #[error("it holds what no randomiser of this collection says")]
    Report,
}
