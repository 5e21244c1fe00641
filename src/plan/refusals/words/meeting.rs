//! Private, released and public rows that meet.

use super::unsupported;
use crate::refusals::meeting::Meeting;
use answer::{ClientError, SqlState};

const APART: &str = "Release each by itself, and join the results.";

impl Meeting {
    pub(super) fn words(self) -> ClientError {
        let beyond = |what: String| ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what);
        match self {
            Self::Values => unsupported("VALUES as a released result among private rows")
                .hint("Write SELECT instead."),
            Self::Type => unsupported("a released value of this type among private rows")
                .hint("Cast it to a number, text, date, timestamp or boolean."),
            Self::ReleasedRows(most) => beyond(format!("more than {most} released rows meet private ones"))
                .detail("Released rows become constants of what is read next.")
                .hint(format!("Take fewer of them: ORDER BY … LIMIT {most}.")),
            Self::Joined => unsupported("a join of private rows with these released results").hint(APART),
            Self::InSubquery => unsupported("a released result in a subquery over private rows").hint(APART),
            Self::InPublic => unsupported("a private subquery in a query over public rows")
                .hint("Release it by itself: SELECT (SELECT count(*) FROM …)."),
            Self::Members { tied } => unsupported("IN or EXISTS over a private subquery")
                .detail("Whether a row is there would be told without noise.")
                .hint(match tied {
                    true => "Write IN: t.station IN (SELECT x.station FROM (SELECT station, count(*) AS n FROM trips GROUP BY station) x WHERE n > 5).",
                    false => "Compare a count: (SELECT count(*) FROM … WHERE …) > 10.",
                }),
            Self::Around => unsupported("a subquery that refers to private rows around it")
                .hint("Release each by itself, as a derived table or CTE, and join the results."),
            Self::Lateral => unsupported("LATERAL with aggregates, an order or a limit over public rows")
                .hint("Join the table in FROM: JOIN stations s ON s.station = t.station."),
            Self::PublicRows(most) => {
                beyond(format!("more than {most} computed public rows meet private ones"))
                    .detail("Public rows that are grouped, ordered, cut or generated become constants of the statement.")
                    .hint("Compute fewer, or ask the owner of the data for a public table of them, which is joined as it is.")
            }
            Self::Value => {
                let what = "more than one row returned by a subquery used as an expression";
                ClientError::new(SqlState(*b"21000"), what)
            }
        }
    }
}
