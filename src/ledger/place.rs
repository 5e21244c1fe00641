//! Places of reads: held while rows are read, and given back when that has ended well.

use super::log::ReadChange;
use super::reads::ReadTerms;
use super::writer::Request;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{WeakSender, error::TrySendError};

/// A read's place. Until [`begin`](Self::begin) dropping it gives the place back; from then on dropping it leaves a
/// failure, and only [`ended_well`](Self::ended_well) gives it back.
pub struct ReadPlace {
    id: Option<String>,
    limit: u32,
    began: bool,
    writer: WeakSender<Request>,
    held: Arc<Held>,
}

/// Places that are held in this process.
#[derive(Default)]
pub(super) struct Held(Mutex<HeldPlaces>);

#[derive(Default)]
pub(super) struct HeldPlaces {
    pub(super) ids: HashSet<String>,
    /// Somebody renews them.
    renewed: bool,
}

impl Held {
    pub(super) fn places(&self) -> MutexGuard<'_, HeldPlaces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds one more, and sees to it that its lease is renewed until it is given back.
    fn hold(self: &Arc<Self>, id: &str, lease: Duration, writer: &WeakSender<Request>) {
        let mut places = self.places();
        places.ids.insert(id.to_owned());
        if places.renewed {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            places.renewed = true;
            runtime.spawn(self.clone().renew(lease, writer.clone()));
        }
    }

    /// Renews all that are held, three times in each lease, until there is none.
    async fn renew(self: Arc<Self>, lease: Duration, writer: WeakSender<Request>) {
        loop {
            tokio::time::sleep(lease / 3).await;
            let reads: Vec<String> = {
                let mut places = self.places();
                places.renewed = !places.ids.is_empty();
                places.ids.iter().cloned().collect()
            };
            let writer = writer.upgrade().filter(|_| !reads.is_empty());
            let Some(writer) = writer else { return };
            if writer.send(Request::Renew { reads, lease: super::time::micros(lease) }).await.is_err() {
                return;
            }
        }
    }
}

impl ReadPlace {
    pub(super) fn new(id: String, terms: ReadTerms, writer: WeakSender<Request>, held: Arc<Held>) -> Self {
        held.hold(&id, terms.lease, &writer);
        Self { id: Some(id), limit: terms.limit, began: false, writer, held }
    }

    /// From here on rows are read.
    pub fn begin(&mut self) {
        self.began = true;
    }

    /// Notes that the read ended for a reason that rows have no part in.
    pub fn never_failed(&mut self) {
        self.began = false;
    }

    /// Notes that rows have arrived, and are such as were expected.
    pub fn ended_well(mut self) {
        self.began = false;
    }

    /// Notes that the place was not reserved.
    pub(super) fn never_was(mut self) {
        if let Some(id) = self.id.take() {
            self.held.places().ids.remove(&id);
        }
    }
}

impl Drop for ReadPlace {
    fn drop(&mut self) {
        // Where the writer is gone, the place stays reserved until its lease is over.
        let Some(id) = self.id.take() else { return };
        self.held.places().ids.remove(&id);
        let Some(writer) = self.writer.upgrade() else { return };
        let change = if self.began { ReadChange::Fail(id) } else { ReadChange::Remove(id) };
        if let Err(TrySendError::Full(request)) = writer.try_send(Request::Note { change, limit: self.limit })
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = writer.send(request).await;
            });
        }
    }
}
