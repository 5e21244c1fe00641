//! Opening a stream again is a statement of its own: what repeats a session's usual SETs must not pay again.

use super::{State, ended};
use crate::gateway::Session;
use crate::gateway::settings::custom::Own;
use answer::ClientError;
use answer::Notice;
use policy::Stream;
use std::sync::atomic::{AtomicI64, Ordering};

/// The ended instance that the session's next question may replace, by the ledger's entry of its opening; 0 is none.
#[derive(Default)]
pub(in crate::gateway) struct Reopening(AtomicI64);

impl Reopening {
    /// Whether the instance that this entry paid for may be replaced.
    fn covers(&self, entry: i64) -> bool {
        entry != 0 && self.0.load(Ordering::Relaxed) == entry
    }

    /// ROLLBACK: what SET has said in the transaction is unsaid.
    pub(in crate::gateway) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Session {
    /// Whether this session's next question may replace an instance that has ended: it was said of this instance, and
    /// stands (it may have been SET LOCAL, or reset since).
    pub(super) fn may_reopen(&self, stream: &Stream, entry: i64) -> bool {
        self.reopening.covers(entry) && self.settings.get(Own::StreamReopen.name()) == Some(&stream.name)
    }

    /// After a SET: what it means for streams, and what the user should know before the next question.
    pub(in crate::gateway) async fn stream_was_set(
        &self,
        name: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ClientError> {
        let again = name == Own::StreamReopen.name();
        if again {
            self.reopening.forget();
        }
        let chosen = self.settings.get(name).filter(|v| !v.is_empty());
        let Some(chosen) = chosen.filter(|_| again || name == Own::Stream.name()) else { return Ok(()) };
        let stream = self.stream_named(&self.gateway, chosen)?;
        let seat = self.gateway.streams.seat(&self.identity.user, stream, &self.gateway.ledger).await?;
        let (message, hint) = match (&seat.standing().state, again) {
            (State::Ended { entry, .. }, true) => {
                self.reopening.0.store(*entry, Ordering::Relaxed);
                let price = super::shown::price(stream);
                (format!("the next question to stream \"{chosen}\" opens it anew, for {price}"), None)
            }
            (_, true) => (format!("stream \"{chosen}\" has not ended: there is nothing to reopen"), None),
            (State::Closed, false) => {
                let price = super::shown::price(stream);
                let hint = "SHOW noisegate.stream_accuracy says what its answers will be worth.".to_owned();
                (format!("the first question to stream \"{chosen}\" opens it, for {price}"), Some(hint))
            }
            (State::Open { instance, .. }, false) => {
                let (left, all) = (instance.left(), instance.positives());
                (format!("stream \"{chosen}\" is open: {left} of {all} positives left"), None)
            }
            (State::Ended { why, .. }, false) => {
                let error = ended(stream, *why);
                (error.message, error.hint)
            }
        };
        if self.settings.notices() {
            notices.push(Notice { message, code: "00000", hint });
        }
        Ok(())
    }
}
