//! Groups.

use super::{shown, unsupported};
use crate::refusals::group::Group;
use answer::{ClientError, SqlState};

impl Group {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Ungrouped { table, column } => ClientError::new(
                SqlState::GROUPING_ERROR,
                format!("column \"{table}.{column}\" must appear in the GROUP BY clause or be used in an aggregate function"),
            ),
            Self::Grouping => ClientError::new(
                SqlState::GROUPING_ERROR,
                "arguments to GROUPING must be grouping expressions of the associated query level",
            ),
            Self::Unit(label) => unsupported(&format!("GROUP BY {label}, the privacy unit,"))
                .detail("Each group would hold one unit: the result would still be private.")
                .hint("Group by something that many units share."),
            Self::Type(ty) => unsupported(&format!("GROUP BY a value of type {}", shown(&ty)))
                .detail("Values of this type have several forms that compare equal; which one is shown would depend on single rows.")
                .hint("Group by text, a number, a date, a time, a timestamp, a boolean, an enum or a uuid."),
            Self::OneUnitEach { keys, unit } => {
                let instead = match unit {
                    Some(unit) => format!(
                        "aggregate over the groups: SELECT avg(n) FROM (SELECT {unit}, k, count(*) AS n FROM … GROUP BY {unit}, k) t"
                    ),
                    None => "count without groups".into(),
                };
                unsupported(&format!("GROUP BY {}, whose groups are of one unit each,", keys.join(", ")))
                    .detail("A group comes back where many units share it: of these none would.")
                    .hint(format!("Group by something that many units share, or {instead}."))
            }
            Self::Optional { why } => unsupported("public LEFT JOIN private with private groups")
                .detail(why)
                .hint("Group by keys whose values are public, or write an inner JOIN."),
            Self::Having => unsupported("HAVING without an aggregate"),
            Self::Released => unsupported("a condition on groups by a released value, without an aggregate,")
                .detail("A list of groups is made of public values alone, and no private row is read for it.")
                .hint("Count as well, which is no dearer: SELECT minutes, count(*) FROM trips WHERE minutes > (SELECT avg(minutes) FROM trips) GROUP BY minutes."),
        }
    }
}
