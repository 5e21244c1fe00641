//! Prices.

use crate::refusals::price::Price;
use crate::words::decimal;
use answer::{ClientError, SqlState};

impl Price {
    pub(super) fn words(self) -> ClientError {
        let invalid = |m: String| ClientError::new(SqlState::INVALID_PARAMETER_VALUE, m);
        match self {
            Self::Undrawn(e) => invalid(format!("the noise of this statement cannot be drawn: {e}"))
                .hint("Ask with a larger epsilon, or over narrower ranges."),
            Self::StreamUndrawn { stream, why } => {
                invalid(format!("the noise of stream \"{stream}\" cannot be drawn: {why}"))
            }
            Self::Gaussian { budget, notion } => {
                invalid(format!("privacy budget \"{budget}\" ({notion} accounting) has no price for Gaussian noise"))
                    .hint("SET noisegate.mechanism = auto, or ask the owner of the data for a budget with zcdp accounting.")
            }
            Self::Statements { count, budget, least } => {
                let (budget, least) = (decimal(&budget), decimal(&least));
                invalid(format!("a budget of {budget} is not enough for {count} statements"))
                    .hint(format!("Each costs at least {least}, the policy's statement.min_epsilon: ask for fewer, or with a larger budget."))
            }
        }
    }
}
