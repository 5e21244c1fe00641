//! Refusals of results that would be rows of units.

/// What a statement would return.
#[derive(Clone, Debug)]
pub(crate) enum Returned {
    /// Rows of units.
    Rows,
    /// A row for each unit. `example`: a table of the policy and its unit.
    Units { by: By, example: Option<(String, String)> },
    /// Rows of units, in an order.
    Ordered,
}

/// How rows came to be one for each unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Groups,
    Distinct,
}
