//! Words about computations within units.

use super::unsupported;
use crate::refusals::within::Within;
use answer::ClientError;

impl Within {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Ordered => unsupported("LIMIT, OFFSET or ORDER BY over private rows").hint(
                "Which rows remain would depend on other units. Number the rows of each unit: row_number() OVER (PARTITION BY the unit ORDER BY …) AS n, and filter n <= 3 around it; or order and limit above the aggregates.",
            ),
            Self::Sets => unsupported("GROUPING SETS, ROLLUP or CUBE within units, or below another aggregate,")
                .detail("Rows of a set with the unit are of one unit each, and those of another of many.")
                .hint("Group by the unit below and by the sets above: SELECT s, avg(n) FROM (SELECT unit, s, count(*) AS n FROM … GROUP BY unit, s) t GROUP BY ROLLUP (s)."),
            Self::DistinctComputed => {
                unsupported("SELECT DISTINCT of aggregates or windows over one unit's rows")
                    .hint("Write SELECT DISTINCT around it, over a derived table.")
            }
            Self::DistinctOn { unit } => unsupported("DISTINCT ON over rows of several units")
                .detail("Which row is the first would depend on other units.")
                .hint(format!("Begin it with {unit}, the privacy unit.")),
            Self::Several { unit } => unsupported("an aggregate over several units below another")
                .hint(format!("GROUP BY {unit}, the privacy unit, and what you like behind it.")),
            Self::WindowSeveral { unit } => unsupported("a window over rows of several units")
                .detail("What it says of one unit's row would depend on rows of others.")
                .hint(format!(
                    "PARTITION BY {unit}, the privacy unit; windows over results may stand above the aggregates."
                )),
            Self::WindowFull => unsupported("a window over a FULL JOIN of private rows")
                .hint("Write the FULL JOIN as UNION ALL of two LEFT JOINs."),
            Self::WindowType => unsupported("a window over values of this type, of one unit's rows,").hint(
                "Order and partition by numbers, texts or times, or by a member of a json value: payload ->> 'kind'.",
            ),
            Self::Type(what) => {
                unsupported(&format!("{what} over values of this type, of one unit's rows,"))
            }
            Self::Collation(what) => {
                unsupported(&format!("{what} over a nondeterministic collation, of one unit's rows,"))
            }
            Self::FrameTies => unsupported("a frame of RANGE with an offset over an order that may leave ties")
                .hint("Write ROWS or GROUPS, or order an aggregate by one number."),
            Self::FrameMoves(call) => unsupported(&format!("{call} over a frame of RANGE that moves"))
                .detail("A unit with many rows would take the square of their number.")
                .hint("Write ROWS or GROUPS, order by a whole number, or begin the frame with UNBOUNDED PRECEDING."),
            Self::Ntile => unsupported("ntile of anything but a constant above 0").hint("Write ntile(4)."),
            Self::NthValue => {
                unsupported("nth_value of anything but a constant above 0").hint("Write nth_value(x, 2).")
            }
            Self::Offset(name) => unsupported(&format!("{name} by a number of rows that is no constant")),
            Self::Unlisted(what) => unsupported(&format!("{what} over one unit's rows")).hint(
                "Below an aggregate there are count, sum, avg, min, max, variance, stddev and their kin, bool_and and bool_or; over windows also row_number, rank, dense_rank, percent_rank, cume_dist, ntile(4), lag(x), lead(x), first_value, last_value and nth_value(x, 2).",
            ),
            Self::Public => unsupported("an aggregate or a window of public rows in this place")
                .hint("Join it in FROM, as a derived table or CTE."),
            Self::NoFrom => unsupported("a subquery without FROM in this place"),
        }
    }
}
