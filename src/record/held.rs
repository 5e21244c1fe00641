//! Holds on a statement: kept as long as anything works on it, beyond its session's part, when work
//! that it began goes on without a client.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

/// Whatever it is that is held.
pub type Held = Arc<dyn Any + Send + Sync>;

tokio::task_local! {
    static HELD: Held;
}

/// Has a future, and whatever inherits from it, hold something.
pub async fn holding<F: Future>(held: Held, work: F) -> F::Output {
    HELD.scope(held, work).await
}

/// The hold of this task's work.
pub fn held() -> Option<Held> {
    HELD.try_with(Arc::clone).ok()
}
