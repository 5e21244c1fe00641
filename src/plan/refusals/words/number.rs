//! Numbers.

use super::{mismatch, unsupported};
use crate::refusals::number::Number;
use answer::ClientError;

impl Number {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Operand => mismatch("arithmetic needs numbers"),
            Self::Unbounded => unsupported("arithmetic without finite ranges"),
            Self::ArgumentUnbounded => unsupported("a function of a number without a finite range"),
            Self::Long => unsupported("arithmetic beyond 60 digits"),
            Self::FunctionLong => {
                unsupported("a function whose values may have more than 60 digits").hint("Clamp its argument.")
            }
            Self::PowerLong => unsupported("a power that may have more than 60 digits")
                .hint("Clamp its base away from 0 and from large numbers: power(GREATEST(x, 1), -1)."),
            Self::Product => {
                unsupported("a product of so many digits").hint("Round its factors: round(x, 6).")
            }
            Self::PowerScale => unsupported("a power of a number of so many digits"),
            Self::NearZero => unsupported("division by a value that may come arbitrarily near to 0")
                .hint("Clamp the divisor away from 0: GREATEST(x, 1)."),
            Self::Base => unsupported("log with a base that is not a constant above 0, and not 1,")
                .hint("Write log(2, x), or ln(x) / ln(b) with b in a range away from 1."),
            Self::Exp => unsupported("exp of a number that may be beyond 700")
                .hint("Clamp it: exp(LEAST(GREATEST(x, -10), 10))."),
            Self::Exponent => unsupported("power with an exponent that is not a constant from -10 to 10")
                .hint("Write power(x, 2)."),
            Self::Bucket => unsupported("width_bucket with bounds or a count that are not constants")
                .hint("Write them into the statement: width_bucket(fare, 0, 60, 12)."),
            Self::BucketEmpty => unsupported("width_bucket with one bound twice"),
            Self::Format => unsupported("to_number with this format over private rows").hint(
                "Formats are made of up to 30 digits 9 and 0, commas and one point: to_number(note, '999,999.99').",
            ),
        }
    }
}
