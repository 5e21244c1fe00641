//! Terms that a statement runs on.

use super::shares::Place;
use std::sync::Arc;
use std::time::Duration;

/// Terms of a statement.
#[derive(Clone, Default)]
pub(super) struct Terms {
    /// Place among those of its user.
    pub(super) place: Option<Arc<Place>>,
    /// Time limit, when it is less than that of every statement.
    pub(super) time: Option<Duration>,
    /// The statement may be anything that the login may do, and is undone at its end.
    pub(super) undone: bool,
}
