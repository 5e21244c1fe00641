//! Why a pass of the planner stops before its end.

use crate::normalise::Rewrite;
use crate::normalise::cap::Cap;
use crate::refusals::Refusal;
use answer::ClientError;

/// A refusal, or a rewrite that is found while the work of a release is bounded.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The statement is refused.
    Refused(Box<ClientError>),
    /// A relation is to be read through a cap.
    Cap(Cap),
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
            Self::Refused(e) => e,
            Self::Cap(cap) => Box::new(cap.refused().into()),
        }
    }
}
