//! Refusals of set operations and of rows of constants.

/// What is wrong with the branches of a set operation. Columns count from 0.
#[derive(Clone, Debug)]
pub(crate) enum SetOperation {
    /// Private rows with others.
    Mixed,
    /// Without the unit in the same place of every branch.
    WithoutUnit,
    /// A column of several types.
    Types { column: usize },
    /// A column of a type that cannot be compared.
    Type { column: usize },
    /// A column whose texts have no one spelling.
    Collation { column: usize },
    /// A column above it that is not grouped by.
    Ungrouped,
    /// An aggregate of this name that does not follow from those of private rows and of others.
    Apart { name: &'static str, distinct: bool },
    /// More rows of constants than this.
    Constants(usize),
    /// VALUES of nothing.
    NoRows,
    /// The rows of a function.
    Function,
}
