//! Subqueries for each private row.

use super::unsupported;
use crate::refusals::subquery::Subquery;
use answer::ClientError;

impl Subquery {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Form => unsupported("a subquery of this form over private rows").hint(
                "Write (SELECT avg(u.x) FROM … u WHERE u.unit = t.unit): one aggregate, tied by equalities.",
            ),
            Self::Inequality => {
                unsupported("a subquery that is tied to private rows around it by more than equalities")
                    .hint("Tie it by AND of inner column = outer column; windows see the rows before: lag(x) OVER (PARTITION BY unit ORDER BY …).")
            }
            Self::Untied => unsupported("a subquery over private rows that is not tied to the unit around it")
                .detail("It would look at rows of other units.")
                .hint("Equate the unit columns in its WHERE: (SELECT avg(u.x) FROM … u WHERE u.unit = t.unit AND …)."),
            Self::AlongPath => {
                unsupported("a subquery that is tied to the row around it along the path to the unit")
            }
            Self::Beyond => unsupported("a subquery over private rows that is tied to rows beyond those around it")
                .hint("Join the groups: LEFT JOIN (SELECT station, avg(fare) AS mean FROM trips GROUP BY station) g ON g.station = t.station."),
            Self::PublicAggregate => unsupported("an aggregate of public rows for each private one")
                .hint("Select a column by a key of its table, or join the table in FROM."),
            Self::Several => unsupported("a subquery that may have several rows for a private one")
                .hint("Aggregate in it, or tie it by a key of its table."),
            Self::Columns => unsupported("IN over a subquery of several columns"),
            Self::SetOperation => unsupported("IN or EXISTS over a set operation")
                .hint("Write one condition for each branch, joined by OR."),
            Self::UntiedMember { tie, member } => {
                let of = if member { "the subquery's WHERE" } else { "its WHERE" };
                unsupported("IN or EXISTS over private rows that is not tied to the unit around it")
                    .detail("Whether a row of another unit is there would be told.")
                    .hint(tie.words(|each| format!("Write {each} into {of}.")))
            }
        }
    }
}
