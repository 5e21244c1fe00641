//! `cache.notify`: a load job says by NOTIFY that the data is new.

use super::epoch::EpochCache;
use backend::Backend;
use ledger::Ledger;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// How long until a lost connection is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The channel that is heard, and the task that hears it.
#[derive(Debug, Default)]
pub(super) struct Listener(Mutex<Option<(String, Duration, AbortHandle)>>);

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((_, _, task)) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// Hears this channel from now on, and no other.
pub(super) fn listen(
    listener: &Listener,
    epochs: &Arc<EpochCache>,
    backend: &Arc<Backend>,
    ledger: &Ledger,
    channel: Option<(&str, Duration)>,
) {
    let mut listener = listener.0.lock().unwrap_or_else(PoisonError::into_inner);
    if listener.as_ref().map(|(name, pause, _)| (name.as_str(), *pause)) == channel {
        return;
    }
    if let Some((_, _, task)) = listener.take() {
        task.abort();
    }
    let (Some((channel, pause)), Ok(runtime)) = (channel, tokio::runtime::Handle::try_current()) else {
        return;
    };
    let hearing = hear(Arc::downgrade(epochs), backend.clone(), ledger.clone(), channel.to_owned(), pause);
    *listener = Some((channel.to_owned(), pause, runtime.spawn(hearing).abort_handle()));
}

/// Any login of the database may send a NOTIFY, and every end of an epoch makes everybody's answers cost again: so between
/// two that are heard there is a pause, and what comes meanwhile counts as one when it is over.
async fn hear(
    epochs: Weak<EpochCache>,
    backend: Arc<Backend>,
    ledger: Ledger,
    channel: String,
    pause: Duration,
) {
    let mut last: Option<Instant> = None;
    loop {
        match backend.listen(&channel).await {
            Ok(mut listening) => {
                tracing::info!(%channel, "listening for load jobs");
                while listening.heard().await.is_some() {
                    let left = last.map_or(Duration::ZERO, |last| pause.saturating_sub(last.elapsed()));
                    if !left.is_zero() {
                        tracing::warn!(
                            %channel, seconds = left.as_secs_f64(),
                            "a NOTIFY came sooner than cache.notify_interval after the one before: kept answers end when \
                             that is over. Any login of the database can send it"
                        );
                        tokio::time::sleep(left).await;
                        // What came meanwhile says the same.
                        let _ = listening.heard_meanwhile();
                    }
                    last = Some(Instant::now());
                    let Some(epochs) = epochs.upgrade() else { return };
                    end(&epochs, &ledger, &channel).await;
                }
                tracing::warn!(
                    %channel,
                    "the connection that listens for load jobs is lost; what they say meanwhile is not heard, \
                     and `noisegate ctl refresh` says it by hand"
                );
            }
            // A hot standby cannot listen; the log says so again and again.
            Err(cause) => tracing::warn!(%channel, %cause, "cannot listen for load jobs"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Ends the epoch once for all proxies that heard the same: each reads its number, waits a moment, and ends that one.
async fn end(epochs: &EpochCache, ledger: &Ledger, channel: &str) {
    let ended = async {
        let heard = ledger.epoch().await?;
        let mut byte = [0];
        let jitter = getrandom::fill(&mut byte).map_or(0, |()| u64::from(byte[0] % 100));
        tokio::time::sleep(Duration::from_millis(50 + jitter)).await;
        epochs.end(ledger, heard.number, "NOTIFY", &format!("channel {channel:?}")).await
    };
    match ended.await {
        Ok(()) => tracing::info!(%channel, "the data is new: kept answers have ended"),
        Err(refusal) => tracing::error!(%channel, %refusal, "the data is new, and the ledger cannot say so"),
    }
}
