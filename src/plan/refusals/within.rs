//! Refusals of what is computed within units, below a release.

/// What is wrong with a SELECT over the rows of single units.
#[derive(Clone, Debug)]
pub(crate) enum Within {
    /// Which rows remain depends on an order of all of them.
    Ordered,
    /// Grouping sets.
    Sets,
    /// DISTINCT of what is computed from several rows.
    DistinctComputed,
    /// DISTINCT ON that does not begin with the unit, which is called so.
    DistinctOn { unit: String },
    /// Groups of several units.
    Several { unit: String },
    /// A window over several units.
    WindowSeveral { unit: String },
    /// A window over a FULL JOIN.
    WindowFull,
    /// A window that tells rows apart by a type of which nothing is known.
    WindowType,
    /// A call or clause of this name, over a type of which nothing is known.
    Type(String),
    /// A call or clause over texts that are equal in several spellings.
    Collation(String),
    /// A frame of RANGE with an offset, over more than one number.
    FrameTies,
    /// A frame of RANGE that moves, under this call, which cannot leave rows behind.
    FrameMoves(&'static str),
    /// `ntile` of no constant.
    Ntile,
    /// `nth_value` of no constant.
    NthValue,
    /// This function, by a number of rows that is no constant.
    Offset(&'static str),
    /// A function or an aggregate that is not on the list.
    Unlisted(&'static str),
    /// No rows that could be somebody's.
    Public,
    /// No FROM.
    NoFrom,
}
