//! Who is logged in: random tokens, of which only a hash is kept.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use policy::ConsoleRole;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// Logins at once; the oldest makes room.
const MOST: usize = 256;

/// Somebody who has logged in.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Login name.
    pub name: String,
    /// What they see.
    pub role: ConsoleRole,
    /// What a form of theirs must bring back.
    form: [u8; 32],
    since: Instant,
}

/// All of them.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<[u8; 32], Visitor>>);

/// 256 random bits, as text for cookies and forms.
pub fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether two texts are the same, in a time that does not say where they differ.
pub fn same(a: &str, b: &str) -> bool {
    !a.is_empty() && bool::from(a.as_bytes().ct_eq(b.as_bytes()))
}

impl Visitor {
    /// What their forms carry.
    pub fn form(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.form)
    }
}

impl Sessions {
    /// Begins a session, and gives its token.
    pub fn begin(&self, name: &str, role: ConsoleRole) -> Result<String, getrandom::Error> {
        let token = token()?;
        let mut form = [0; 32];
        getrandom::fill(&mut form)?;
        let visitor = Visitor { name: name.to_owned(), role, form, since: Instant::now() };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, v)| v.since).map(|(key, _)| *key)
        {
            all.remove(&oldest);
        }
        all.insert(key(&token), visitor);
        Ok(token)
    }

    /// Whose token this is, if it is not older than `limit`.
    pub fn find(&self, token: &str, limit: Duration) -> Option<Visitor> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visitor = all.get(&key(token))?.clone();
        if visitor.since.elapsed() >= limit {
            all.remove(&key(token));
            return None;
        }
        Some(visitor)
    }

    /// Ends a session.
    pub fn end(&self, token: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(token));
    }
}

fn key(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_session_ends_by_its_age_by_its_end_and_by_later_ones() {
        let sessions = Sessions::default();
        let day = Duration::from_secs(86_400);
        let token = sessions.begin("dpo", ConsoleRole::Auditor).unwrap();
        assert_eq!(token.len(), 43, "256 bits");
        assert_eq!(sessions.find(&token, day).unwrap().name, "dpo");
        assert!(sessions.find(&token.to_lowercase(), day).is_none() && sessions.find("", day).is_none());
        assert!(sessions.find(&token, Duration::ZERO).is_none());
        assert!(sessions.find(&token, day).is_none(), "an old one is gone");
        let token = sessions.begin("dpo", ConsoleRole::Owner).unwrap();
        sessions.end(&token);
        assert!(sessions.find(&token, day).is_none());
        let first = sessions.begin("dpo", ConsoleRole::Owner).unwrap();
        for _ in 0..MOST {
            sessions.begin("dpo", ConsoleRole::Owner).unwrap();
        }
        assert!(sessions.find(&first, day).is_none());
        assert!(sessions.0.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn nothing_is_the_same_as_nothing() {
        assert!(same("a", "a") && !same("a", "b") && !same("", "") && !same("a", "aa"));
    }
}
