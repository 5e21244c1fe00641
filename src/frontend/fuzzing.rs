//! Readers of a client's bytes, as functions of bytes: for `tests/fuzz`.

use super::frame::Reader;
use super::message::decode;
use super::startup::{Opening, negotiate};
use futures::FutureExt;
use policy::Limits;
use std::io::Cursor;

/// Cuts bytes into the messages of a client that has logged in, and decodes each; how many there were.
///
/// # Errors
/// More was taken than there is.
pub fn messages(bytes: &[u8], max_statement: usize) -> Result<usize, String> {
    let mut reader = Reader::new(bytes, max_statement);
    reader.logged_in();
    let (mut count, mut taken) = (0, 0);
    // A slice is always ready.
    while let Some(Ok(frame)) = reader.next().now_or_never() {
        count += 1;
        taken += 5 + frame.body.len();
        if bytes.get(taken - 5 - frame.body.len()) != Some(&frame.tag) || taken > bytes.len() {
            return Err(format!("message {count} is not what stands there"));
        }
        // It may be refused.
        let _ = decode(&frame);
    }
    Ok(count)
}

/// Reads what a client says before its login; what it wants, in a word. Needs a runtime with time.
///
/// # Errors
/// Somebody without a name wants to log in.
pub async fn opening(bytes: Vec<u8>) -> Result<&'static str, String> {
    let socket = Box::new(tokio::io::join(Cursor::new(bytes), tokio::io::sink()));
    Ok(match negotiate(socket, None, &Limits::default()).await {
        Opening::Login(login) if login.startup.user().is_empty() || login.startup.database().is_empty() => {
            return Err("a login without a user, or without a database".into());
        }
        Opening::Login(login) => {
            let _ = login.startup.negotiation();
            "login"
        }
        Opening::Cancel { secret, .. } if !(4..=256).contains(&secret.len()) => {
            return Err(format!("a cancel request with a secret of {} bytes", secret.len()));
        }
        Opening::Cancel { .. } => "cancel",
        Opening::Closed => "closed",
        Opening::Silent => "silent",
        Opening::Refused(..) => "refused",
    })
}
