//! Set operations.

use super::unsupported;
use crate::refusals::set_operation::SetOperation;
use answer::{ClientError, SqlState};

impl SetOperation {
    pub(super) fn words(self) -> ClientError {
        let has = |column: usize, x: &str| {
            unsupported(&format!("a set operation whose column {} has {x}", column + 1))
        };
        match self {
            Self::Mixed => unsupported("a set operation of private rows with other rows")
                .detail("A public row would be counted as somebody's.")
                .hint("Aggregate in each branch, and add up above: SELECT sum(n) FROM (SELECT count(*) AS n FROM trips UNION ALL SELECT count(*) FROM stations) t."),
            Self::WithoutUnit => {
                unsupported("a set operation over private rows without the unit in the same place of every branch")
                    .detail("Rows of different units would be compared, or lose their unit.")
                    .hint("Select the unit column first in every branch: SELECT rider_id, … UNION ALL SELECT rider_id, …")
            }
            Self::Types { column } => {
                has(column, "several types").hint("Cast it to one type in every branch.")
            }
            Self::Type { column } => has(column, "this type").hint("Leave the column out."),
            Self::Collation { column } => {
                has(column, "a nondeterministic collation").hint("Leave the column out.")
            }
            Self::Ungrouped => {
                unsupported("a column that is not grouped by, above private rows and others,")
                    .hint("Write it into GROUP BY, or leave it out.")
            }
            Self::Apart { name, distinct } => {
                let distinct = if distinct { "(DISTINCT …)" } else { "" };
                unsupported(&format!("{name}{distinct} over a UNION ALL of private rows and others"))
                    .detail("Rows of the two kinds are aggregated apart, and it does not follow from what comes out: count, sum, avg, min, max, bool_and and bool_or do.")
                    .hint("Ask for each branch by itself: SELECT 'trips' AS kind, stddev(minutes) FROM trips UNION ALL SELECT 'stations', stddev(capacity) FROM stations. Distinct values of public columns: SELECT count(*) FROM (SELECT station FROM trips GROUP BY station UNION SELECT station FROM stations) d.")
            }
            Self::Constants(most) => ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("more than {most} rows of constants are joined with private rows"),
            )
            .hint("Ask the owner of the data for a public table of them."),
            Self::NoRows => unsupported("VALUES without rows"),
            Self::Function => unsupported("a function in FROM in this place"),
        }
    }
}
