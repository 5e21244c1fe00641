//! Texts, patterns, and members of json values.

use super::{mismatch, unsupported};
use crate::refusals::text::{Member, Pattern, Text};
use answer::ClientError;

const COMPARE: &str = "Compare with = or IN.";

impl Text {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Other => mismatch("a function of text needs text").hint("Only texts are taken."),
            Self::Spelled => {
                unsupported("a function of text with a nondeterministic collation").hint(COMPARE)
            }
            Self::PatternSpelled => {
                unsupported("a pattern over text with a nondeterministic collation").hint(COMPARE)
            }
            Self::Long => unsupported("a text that may be longer than 100,000 characters")
                .hint("Cut its parts first: left(x, 1000)."),
            Self::Joined => unsupported("a text made of a value of this type")
                .hint("Texts, integers, enums and uuids can be joined: note || ' ' || stars."),
            Self::Inconstant => unsupported("this argument of a function of text, which is not a constant,")
                .hint("Write it into the statement: replace(note, 'from', 'to')."),
            Self::LongConstant => {
                unsupported("a constant of more than 1,000 characters in a function of text")
            }
            Self::Place => unsupported(
                "this position or number of characters, which is not a constant within a million,",
            )
            .hint("Write it into the statement: left(note, 3)."),
            Self::Negative => unsupported("a negative length of substring"),
            Self::Field => unsupported("split_part of a field before the first")
                .hint("Fields count from 1: split_part(note, ' ', 1)."),
            Self::Wildcards(most) => unsupported(&format!("LIKE with more than {most} wildcards"))
                .hint("Write several conditions, or a shorter pattern."),
        }
    }
}

impl Pattern {
    pub(super) fn words(self) -> ClientError {
        let what = match self {
            Self::States(most) => format!("of more than {most} states"),
            Self::Times(most) => format!("that repeats something more than {most} times"),
            Self::Repetition => "with a repetition of another form than {m,n}".into(),
            Self::Nothing => "that repeats nothing".into(),
            Self::Twice => "that repeats a repetition".into(),
            Self::Anchor => "that repeats an anchor".into(),
            Self::Deep => "nested too deeply".into(),
            Self::Empty => return refused("an empty pattern"),
            Self::EmptyPart => "with an empty part".into(),
            Self::Closed => "with a bracket that nothing opens".into(),
            Self::Opened => "with a bracket that nothing closes".into(),
            Self::Around => "that looks around, or with options".into(),
            Self::Escape => "with a reference, a constraint, or a letter behind a backslash".into(),
            Self::Range => "with a range of anything but letters or digits in their order".into(),
            Self::Class => "with an unknown class".into(),
            Self::Nul => "with the character NUL".into(),
            Self::Control => "with a control character".into(),
        };
        refused(&format!("a pattern {what}"))
    }
}

fn refused(what: &str) -> ClientError {
    unsupported(what).hint("Patterns are made of characters, ., [a-z], \\d, \\s, \\w, (a|b), *, +, ?, {m,n}, ^ and $, such as '^[A-Z]+-\\d{3}$'.")
}

impl Member {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::NoText => unsupported("a part of a json value that is no text")
                .hint("End with the text of a member: payload->'device'->>'os'."),
            Self::OfNoColumn => unsupported("a member of anything but a column of type jsonb")
                .hint("Write the column's name: payload->>'device'."),
            Self::OfComputed => unsupported("a member of what a subquery over several rows computes")
                .hint("Select the member in the subquery: payload->>'device' AS device."),
            Self::Name => unsupported("a member whose name is not a constant text")
                .hint("Write the name of a member: payload->>'device'. Elements of lists have none."),
            Self::Path => {
                unsupported("this path of members").hint("Write their names: payload #>> '{device,os}'.")
            }
            Self::Undeclared { column, wanted, declared } => {
                let hint = match declared.as_slice() {
                    [] => format!(
                        "Ask the owner to declare it in the policy: columns.{column} = {{ paths = {{ \"{}\" = {{}} }} }}.",
                        wanted.keys.join(".")
                    ),
                    list => {
                        let all: Vec<String> = list.iter().map(|p| p.written(&column)).collect();
                        format!("Declared are {}.", all.join(", "))
                    }
                };
                unsupported(&format!("{}, which the policy does not declare,", wanted.written(&column)))
                    .hint(hint)
            }
        }
    }
}
