//! Aggregates.

use super::{shown, unsupported};
use crate::refusals::aggregate::{Aggregation, Shows, Units};
use answer::{ClientError, SqlState};

const LISTED: &str = "List the values: mode() WITHIN GROUP (ORDER BY x) … WHERE x IN ('a', 'b').";
const FEWER: &str = "Group by something with fewer values.";

impl Aggregation {
    pub(super) fn words(self) -> ClientError {
        let undefined = |m: String| ClientError::new(SqlState::UNDEFINED_FUNCTION, m);
        match self {
            Self::Unlisted { name, listed } => {
                ClientError::unsupported(format!("{name} over private rows is not supported yet")).hint(listed)
            }
            Self::OfValues { shows, name, of } => {
                let kind = match shows {
                    Shows::Values => format!("{name} over private rows"),
                    Shows::Texts => format!("{name} of texts over private rows"),
                    Shows::Distinct => format!("DISTINCT in {name} over private rows"),
                };
                let more = if name == "string_agg" { ", ', '" } else { "" };
                unsupported(&kind).detail("It shows which values single rows have.").hint(format!(
                    "Release the values that enough rows have, and aggregate them: SELECT {name}({of}{more}) FROM (SELECT {of} FROM … GROUP BY {of} HAVING count(*) > 10) d."
                ))
            }
            Self::Arguments { name, takes } => undefined(format!("{name} takes {takes}")),
            Self::WithinGroup(name) => unsupported(&format!("WITHIN GROUP of {name} over private rows")),
            Self::Ordered(name) => undefined(format!("{name} is written {name}(…) WITHIN GROUP (ORDER BY x)")),
            Self::Distinct(name) => unsupported(&format!("DISTINCT in {name}")),
            Self::DistinctUnit(units) => {
                unsupported("count(DISTINCT …) of a unit column of an optional side").hint(units.words())
            }
            Self::DistinctType { name, ty, counts } => {
                let refused = unsupported(&format!("{name}(DISTINCT …) of type {}", shown(&ty)));
                match counts {
                    true => refused
                        .detail("Values of this type have several forms that compare equal.")
                        .hint("Count text, numbers, dates, timestamps, booleans, enums or uuids."),
                    false => refused.hint("Add up numbers."),
                }
            }
            Self::Boolean(name) => undefined(format!("{name} takes a boolean")),
            Self::Sum { ty } => ClientError::unsupported(format!("sum and avg of type {} are not supported", shown(&ty))),
            Self::Ages => ClientError::unsupported("sum and avg of type interval are not supported")
                .detail("Its months have no one length.")
                .hint("Average a difference, avg(a - b), or a part, avg(extract(year FROM age(a, b)))."),
            Self::AgesWhole => unsupported("a sum or an average of ages"),
            Self::TooWide => ClientError::unsupported("the range of this sum is too wide for its grid")
                .hint("Clamp it to a narrower range, or round it to fewer digits."),
            Self::Statistic { name, ty } => undefined(format!("{name} of type {} is not supported", shown(&ty))),
            Self::Quantile { name, ty } => unsupported(&format!("{name} of type {}", shown(&ty)))
                .hint("Numbers, dates and timestamps have quantiles; mode() WITHIN GROUP (ORDER BY x) finds the most frequent of public values."),
            Self::QuantileGroups { name, groups } => unsupported(&format!("{name} in {groups} groups"))
                .detail("Groups and the points of a quantile make more cells than limits.max_public_groups.")
                .hint(FEWER),
            Self::Cells => unsupported("a choice among so many values in so many groups")
                .detail("Groups and values make more cells than limits.max_public_groups.")
                .hint(FEWER),
            Self::Fractions { name, most } => {
                let m = format!("{name} takes from 1 to {most} fractions");
                ClientError::new(SqlState::INVALID_PARAMETER_VALUE, m)
            }
            Self::Fraction => unsupported("a fraction that is not a constant")
                .hint("Write a number from 0 to 1 with at most nine digits: percentile_cont(0.5)."),
            Self::FractionRange(value) => {
                let m = format!("percentile value {value} is not between 0 and 1");
                ClientError::new(SqlState(*b"22003"), m)
            }
            Self::Interval => unsupported("an interval of this quantile")
                .detail("Quantiles of numbers have one, strictly between the least and the greatest value.")
                .hint("Write noisegate.low(percentile_cont(0.05) WITHIN GROUP (ORDER BY x)), or leave the interval away."),
            Self::ModePrivate { why } => {
                unsupported("mode() of values that are not public").detail(why).hint(LISTED)
            }
            Self::ModeUnlisted { of, most } => {
                unsupported("mode() of values that are not listed, with private groups,")
                    .detail(format!(
                        "Beside private groups the statement has to say which values {of} may have, at most {most}."
                    ))
                    .hint(LISTED)
            }
            Self::Optional { what, why } => unsupported(&format!("{what} of public LEFT JOIN private"))
                .detail(why)
                .hint("Write an inner JOIN."),
            Self::Constant => {
                unsupported("a statement whose aggregates are the same whatever the rows hold")
                    .detail("It would read private rows for nothing: a sum of zeros is 0, and no noise would be drawn.")
                    .hint("Sum a value that rows can change, or write the number.")
            }
        }
    }
}

impl Units {
    fn words(self) -> String {
        match self {
            Self::Column(name) => format!("count(DISTINCT {name}) counts units."),
            Self::Sides(sides) => format!("count(DISTINCT coalesce({})) counts units.", sides.join(", ")),
            Self::Unnamed => "Join the table that holds the unit, and count its unit column.".into(),
        }
    }
}
