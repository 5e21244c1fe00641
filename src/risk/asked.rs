//! Questions about a table: which of its columns are looked at.

/// `GROUPING` takes 31 arguments; twelve columns have 4,095 sets, and nobody reads more.
pub const MAX_COLUMNS: usize = 12;

/// A table, the columns of it that others may know of somebody, and those that they shall not learn.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The table as SQL names it, quoted and with its schema.
    pub table: String,
    /// The column that says whose a row is; None where each row is somebody else.
    pub unit: Option<String>,
    /// Quasi-identifiers (Samarati and Sweeney 1998): at least 1, at most [`MAX_COLUMNS`].
    pub quasi: Vec<String>,
    /// Sensitive columns.
    pub sensitive: Vec<Column>,
    /// A table with a row for everybody who could be in `table`, with the same quasi-identifiers; named like `table`.
    pub population: Option<String>,
}

/// A sensitive column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Whether its values lie on a line (numbers, dates, times): some are nearer to each other than others.
    pub ordered: bool,
}
