//! Values that the proxy itself puts into a text, fixed before it runs.

use sql::ast::Own;

/// Values of the session that a statement may name, fixed before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// `now()`, as text that casts to timestamptz.
    pub now: String,
    /// The analyst's login name.
    pub user: String,
    /// The database that the client asked for.
    pub database: String,
    /// `current_schema()`; None where no schema of the search path is there.
    pub schema: Option<String>,
    /// Rows of the relations of `noisegate.*` that the statement names; not needed to type it.
    pub own: Vec<(Own, Vec<OwnRow>)>,
}

/// A row of a relation of `noisegate.*`: text that casts to each column's type.
pub type OwnRow = Vec<Option<String>>;
