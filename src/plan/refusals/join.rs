//! Refusals of joins.

/// What is wrong with a join, or with a column that comes out of one.
#[derive(Clone, Debug)]
pub(crate) enum Join {
    /// Rows of different units would meet.
    Units(Tie),
    /// FULL JOIN of private rows with public ones.
    FullWithPublic,
    /// FULL JOIN with a side that has a WHERE of its own.
    FullFiltered,
    /// Public LEFT JOIN private below another outer join.
    OptionalInside,
    /// The same in a subquery.
    OptionalInSubquery,
    /// An aggregate that counts rows without a partner.
    OptionalCounted,
    /// Groups by a column of the optional side.
    OptionalKey,
    /// A test for rows without a partner.
    Absence,
    /// A column computed on the optional side.
    OptionalComputed,
    /// Rows that meet all of their unit; and a column of a table, whose values do not tell which rows remain.
    Unnarrowed(Option<(String, String)>),
    /// More steps for a row than may be taken. `joined`: of private rows.
    Steps { steps: u64, limit: u64, joined: bool },
    /// More relations than this.
    Relations(usize),
    /// A private row that meets so many public ones, or more.
    FanOut { product: u64, limit: u64 },
}

/// What would keep rows of different units apart.
#[derive(Clone, Debug)]
pub(crate) enum Tie {
    /// These equalities.
    On(String),
    /// A join with this table, along these columns.
    Along { table: String, columns: String },
    /// An equality of units, of which one has no name.
    Units,
}
