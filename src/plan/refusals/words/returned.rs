//! Results.

use super::unsupported;
use crate::refusals::returned::{By, Returned};
use answer::ClientError;

impl Returned {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Rows => unsupported("a query that returns private rows")
                .detail("Rows of single units are never returned; aggregates over many units are, with noise.")
                .hint("Aggregate them: SELECT count(*), avg(x) … GROUP BY …"),
            Self::Units { by, example } => {
                let what = match by {
                    By::Groups => "GROUP BY the privacy unit",
                    By::Distinct => "SELECT DISTINCT of the privacy unit",
                };
                let example = example.map(|(table, unit)| {
                    format!(
                        ", for example SELECT avg(n) FROM (SELECT {unit}, count(*) AS n FROM {table} GROUP BY {unit}) t"
                    )
                });
                ClientError::unsupported(format!("{what} is not supported at the top of a statement"))
                    .detail("Each row would be of one unit; aggregates over many units are returned, with noise.")
                    .hint(format!(
                        "Aggregate these rows{}; or group by something that many units share.",
                        example.unwrap_or_default()
                    ))
            }
            Self::Ordered => unsupported("ORDER BY, LIMIT or OFFSET over private rows")
                .detail("Rows of single units are never returned, and which rows remain would depend on them.")
                .hint(
                    "Aggregate, then order and cut the result: SELECT k, count(*) … GROUP BY k ORDER BY 2 LIMIT 10.",
                ),
        }
    }
}
