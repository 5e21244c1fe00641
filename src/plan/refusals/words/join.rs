//! Joins.

use super::unsupported;
use crate::refusals::join::{Join, Tie};
use answer::{ClientError, SqlState};

const INNER: &str = "Write private LEFT JOIN public, or an inner JOIN.";

impl Join {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Units(tie) => unsupported("a join of private rows of different units")
                .detail("The condition must imply that both rows belong to one unit.")
                .hint(tie.words(|each| format!("Write ON {each}."))),
            Self::FullWithPublic => unsupported("FULL JOIN of private rows with public ones").hint(INNER),
            Self::FullFiltered => unsupported("a subquery with WHERE in a FULL JOIN of private rows")
                .hint("Join the tables themselves, or UNION ALL two LEFT JOINs."),
            Self::OptionalInside => {
                unsupported("public LEFT JOIN private inside another outer join").hint(INNER)
            }
            Self::OptionalInSubquery => unsupported("public LEFT JOIN private in this subquery").hint(INNER),
            Self::OptionalCounted => {
                unsupported("an aggregate that counts public rows without private ones, under public LEFT JOIN private,")
                    .hint("Aggregate a private column, count(t.x) in place of count(*), or write an inner JOIN: groups of a public key without rows come back, too.")
            }
            Self::OptionalKey => {
                unsupported("GROUP BY a private column under public LEFT JOIN private")
                    .hint("Group by columns of the public side, or write an inner JOIN.")
            }
            Self::Absence => unsupported("IS NULL of a private column beside public LEFT JOIN private")
                .detail("It asks which public rows have no private one, which would be told without noise.")
                .hint("Count the rows that are there, by the public key: count(t.x) … GROUP BY s.key."),
            Self::OptionalComputed => {
                unsupported("a computed column of a subquery on the optional side of an outer join")
                    .detail("Where the subquery has no row the column is NULL, and its expression might not be.")
                    .hint("Select the plain column in the subquery, and compute with it above.")
            }
            Self::FanOut { product, limit } => {
                let m = format!("one private row can meet {product} or more public rows, more than limits.max_fan_out = {limit}");
                ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
                    .detail("How long a statement takes would tell which rows there are.")
                    .hint("Join public tables by the columns of a key.")
            }
            Self::Unnarrowed(column) => {
                let refused = unsupported("a join in which each private row meets all rows of its unit on the other side")
                    .hint("Join by the columns of a key; or number the rows of each unit in a subquery of one side, row_number() OVER (PARTITION BY the unit ORDER BY …) AS n, and join those with n <= 100.");
                let Some((table, column)) = column else { return refused };
                refused.detail(format!("Of \"{table}\".\"{column}\": equal values of it may look different, so that they do not tell which rows remain."))
            }
            Self::Steps { steps, limit, joined } => {
                let m = format!("one row can take {steps} steps in this statement, more than limits.max_row_cost = {limit}");
                ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
                    .detail("How long a statement takes would tell which rows there are. EXPLAIN of a shorter statement shows what costs.")
                    .hint(match joined {
                        true => "A row meets up to limits.max_joined_rows rows of its unit in each join that no key narrows: join by a key, or number the rows of a unit, and join fewer.",
                        false => "Use fewer or shorter patterns and conditions, or join public tables by their keys.",
                    })
            }
            Self::Relations(most) => {
                let m = format!("more than {most} relations are read for one aggregate over private rows");
                ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
                    .hint("Release parts of it by themselves, and join the results.")
            }
        }
    }
}

impl Tie {
    /// Words for what to write. `on`: text of equalities that are missing.
    pub(super) fn words(self, on: impl FnOnce(String) -> String) -> String {
        match self {
            Self::On(each) => on(each),
            Self::Along { table, columns } => format!("Join {table} too, along {columns}."),
            Self::Units => "Equate their unit columns in ON or WHERE.".into(),
        }
    }
}
