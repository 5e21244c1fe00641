//! Why a pass of the planner stops before its end.

use crate::refusals::Refusal;
use answer::ClientError;
use sql::ast::BindingId;

/// A refusal, or a rewrite that is found while the work of a release is bounded.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The statement is refused.
    Refused(Box<ClientError>),
    /// This relation is to be read through a cap (`normalise::cap`), for which the statement is refused if that cannot be.
    Cap(BindingId, Box<ClientError>),
}

impl From<ClientError> for Stop {
    fn from(e: ClientError) -> Self {
        Self::Refused(Box::new(e))
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        ClientError::from(refusal).into()
    }
}

impl Stop {
    /// The refusal that stands where nothing is written in another way.
    pub(crate) fn refused(self) -> Box<ClientError> {
        match self {
            Self::Refused(e) | Self::Cap(_, e) => e,
        }
    }
}
