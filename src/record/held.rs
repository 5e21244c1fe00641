//! What is held for as long as anything works on a statement: beyond its session's part, where what it began goes on without a
//! client.

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

/// What the work of this task holds.
pub fn held() -> Option<Held> {
    HELD.try_with(Arc::clone).ok()
}
