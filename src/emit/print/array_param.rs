//! Parameters of the finish.

use bigdecimal::BigDecimal;
use schema::SqlType;

/// A parameter of the finish: a column of a released relation, as an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayParam {
    /// Group key number `key` of release number `release`.
    Key {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the key.
        key: usize,
        /// Type of the key.
        ty: SqlType,
    },
    /// A count, as int8.
    Count {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
    },
    /// A sum times its grid, as numeric.
    Sum {
        /// Index in [`plan::Plan::releases`].
        release: usize,
        /// Index of the part.
        part: usize,
        /// The grid.
        grid: BigDecimal,
    },
}
