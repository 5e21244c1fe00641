//! Errands: whether a cancel has arrived everywhere that a statement was at work.
//!
//! A client library takes a cancel request for delivered when its connection is closed. The
//! frontend closes it once no [`Errand`] of the statement is held any more: the statement's own
//! future is gone, and all code that had to stop something elsewhere on its behalf has asked for
//! that.

use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;

tokio::task_local! {
    static CANCELLING: Errand;
}

/// An errand, held by code that will have something left to stop when the statement of its task is
/// cancelled.
#[derive(Clone, Debug)]
#[must_use]
pub struct Errand {
    _held: watch::Receiver<()>,
}

/// All errands of a statement.
#[derive(Clone, Debug)]
pub struct Errands(Arc<watch::Sender<()>>);

impl Errands {
    /// Errands of a statement, and the first of them.
    pub fn new() -> (Self, Errand) {
        let (sender, receiver) = watch::channel(());
        (Self(Arc::new(sender)), Errand { _held: receiver })
    }

    /// Returns when all have been run.
    pub async fn run(&self) {
        self.0.closed().await;
    }
}

impl Errand {
    /// Has a future work on the statement.
    pub async fn working<F: Future>(self, work: F) -> F::Output {
        CANCELLING.scope(self, work).await
    }

    /// Another errand of the statement of this task, if it has one.
    pub fn of_this_task() -> Option<Self> {
        CANCELLING.try_with(Clone::clone).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn a_statement_s_errands_are_run_when_the_last_of_them_is_gone() {
        let (errands, first) = Errands::new();
        assert!(Errand::of_this_task().is_none(), "no statement is at work here");
        let mut elsewhere = None;
        let work = first.clone().working(async {
            elsewhere = Errand::of_this_task();
        });
        assert!(work.now_or_never().is_some());
        drop(first);
        assert!(elsewhere.is_some() && errands.run().now_or_never().is_none());
        drop(elsewhere);
        assert!(errands.run().now_or_never().is_some());
    }
}
