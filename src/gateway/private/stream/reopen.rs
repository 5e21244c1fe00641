//! Opening a stream again is a statement of its own: what repeats a session's usual SETs must not pay again.

use super::instances::{State, ended};
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::custom::NoisegateSetting;
use answer::ClientError;
use answer::Notice;
use policy::Stream;

impl Ask<'_> {
    /// Whether this session's next question may replace an instance that has ended: it was said of this instance, and
    /// stands (it may have been SET LOCAL, or reset since).
    pub(super) fn may_reopen(&self, stream: &Stream, entry: i64) -> bool {
        self.reopening.covers(entry)
            && self.settings.get(NoisegateSetting::StreamReopen.name()) == Some(&stream.name)
    }

    /// After a SET: what it means for streams, and what the user should know before the next question.
    pub async fn stream_was_set(&self, name: &str, notices: &mut Vec<Notice>) -> Result<(), ClientError> {
        let again = name == NoisegateSetting::StreamReopen.name();
        if again {
            self.reopening.forget();
        }
        let chosen = self.settings.get(name).filter(|v| !v.is_empty());
        let Some(chosen) = chosen.filter(|_| again || name == NoisegateSetting::Stream.name()) else {
            return Ok(());
        };
        let stream = self.stream_named(chosen)?;
        let user_stream =
            self.gateway.streams.as_the_books_say(&self.identity.user, stream, &self.gateway.ledger).await?;
        let price = self.opening_price(stream).await?;
        let (message, hint) = match (&user_stream.status().state, again) {
            (State::Ended { entry, .. }, true) => {
                self.reopening.cover(*entry);
                (format!("the next question to stream \"{chosen}\" opens it anew, which costs {price}"), None)
            }
            (_, true) => (format!("stream \"{chosen}\" has not ended: there is nothing to reopen"), None),
            (State::Closed, false) => {
                let hint = "SHOW noisegate.stream_accuracy says what its answers will be worth.".to_owned();
                let told = format!("the first question to stream \"{chosen}\" opens it, which costs {price}");
                (told, Some(hint))
            }
            (State::Open { instance, .. }, false) => {
                let (left, all) = (instance.left(), instance.positives());
                (format!("stream \"{chosen}\" is open: {left} of {all} positives left"), None)
            }
            (State::Ended { why, .. }, false) => {
                let error = ended(stream, why);
                (error.message, error.hint)
            }
        };
        if self.settings.notices() {
            notices.push(Notice { message, code: "00000", hint });
        }
        Ok(())
    }
}
