//! Questions to streams.

use super::unsupported;
use crate::refusals::stream::Question;
use answer::ClientError;

impl Question {
    pub(super) fn words(self) -> ClientError {
        let refused = |m: &str| ClientError::unsupported(m);
        let monotone = |stream: &str, variant: &str| {
            format!(
                "Stream \"{stream}\" ({variant}) takes whether a count or a sum of non-negative values exceeds a number. \
                 noisegate.streams lists the others."
            )
        };
        match self {
            Self::Subquery => unsupported("a subquery over private rows in a question to a stream")
                .hint("Ask for it by itself (SET noisegate.stream TO DEFAULT), and write its answer as a constant."),
            Self::NoHaving { stream } => {
                refused("a statement over private rows without HAVING is no question to a stream")
                    .hint(shape(&stream))
            }
            Self::NoComparison { stream } => {
                refused("a question to a stream is one comparison of one aggregate with a number")
                    .hint(shape(&stream))
            }
            Self::NoAggregate { stream } => {
                refused("this statement is no question to a stream: it is not one aggregate over private rows")
                    .hint(shape(&stream))
            }
            Self::Threshold => refused("the threshold of a question must be a constant number")
                .hint("Write HAVING count(*) > 100, or > $1 with a value for $1."),
            Self::Number { stream, variant } => {
                refused("a number cannot be selected in a question to this stream").hint(format!(
                    "Stream \"{stream}\" ({variant}) tells which groups pass, and no number: select the keys alone."
                ))
            }
            Self::Other { average } => {
                let hint = if average {
                    "An average would need a count of its own: test a sum or a count to see its number, or leave it out."
                } else {
                    "The stream answers with the tested aggregate; ask for others apart, or without the stream: SET \
                     noisegate.stream = DEFAULT."
                };
                refused("a question tells its group keys and the aggregate that it tests, and no other").hint(hint)
            }
            Self::PrivateGroups { why } => refused("a question to a stream needs public groups")
                .detail(format!("Groups are {why}."))
                .hint("Group by columns whose values are public, or ask about one group: WHERE k = 'a'."),
            Self::Falling { stream, variant } => {
                refused("a sum of values that may be negative is no question to this stream")
                    .hint(monotone(&stream, variant))
            }
            Self::NotAbove { stream, variant } => {
                refused("only > is a question to this stream").hint(monotone(&stream, variant))
            }
        }
    }
}

fn shape(stream: &str) -> String {
    format!(
        "While stream \"{stream}\" is selected, write SELECT … HAVING count(*) > 100, with a count, sum or avg, and <, <=, > or \
         >=; other conditions go to WHERE. To pay for the statement instead: SET noisegate.stream = DEFAULT."
    )
}
