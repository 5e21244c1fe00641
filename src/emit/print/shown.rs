//! How an item of the outermost SELECT is shown, which is not how it is computed with.

use schema::SqlType;

/// How an item is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// Rounded, as a number of this type.
    pub rounded: Option<SqlType>,
    /// NULL where it says nothing.
    pub judged: bool,
}
