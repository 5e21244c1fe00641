//! Phases of the shutdown, and what waits for it.

use answer::{ClientError, SqlState};
use tokio::sync::watch;

/// A phase of the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Not begun.
    Serving,
    /// Idle sessions end, running statements finish.
    Draining,
    /// Running statements end, too.
    Ending,
}

/// Returns when the server is in `phase` or beyond.
pub(super) async fn reached(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    if phases.wait_for(|now| *now >= phase).await.is_err() {
        // The server went away without a word, which only a panic of it could do.
        std::future::pending().await
    }
}

/// FATAL 57P01.
pub(super) fn shutdown() -> ClientError {
    ClientError::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}
