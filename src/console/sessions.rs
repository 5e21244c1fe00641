//! Sessions of the console: random tokens, of which only a hash is kept.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use policy::{ConsoleRole, ConsoleUser};
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
    /// Role, which decides what the visitor sees.
    pub role: ConsoleRole,
    /// Hash of the verifier that let them in.
    verifier: [u8; 32],
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
    /// Token for the visitor's forms.
    pub fn form(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.form)
    }
}

impl Sessions {
    /// Begins the session of a user, and gives its token.
    pub fn begin(&self, user: &ConsoleUser) -> Result<String, getrandom::Error> {
        let token = token()?;
        let mut form = [0; 32];
        getrandom::fill(&mut form)?;
        let (name, verifier) = (user.name.clone(), key(&user.scram));
        let visitor = Visitor { name, role: user.role, verifier, form, since: Instant::now() };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, v)| v.since).map(|(key, _)| *key)
        {
            all.remove(&oldest);
        }
        all.insert(key(&token), visitor);
        Ok(token)
    }

    /// Whose token this is, if it is not older than `limit`, and the user is among these as they were when it began: with the
    /// same password and role. Else it has ended, and begins to hold again by another login only.
    pub fn find(&self, token: &str, limit: Duration, users: &[ConsoleUser]) -> Option<Visitor> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visitor = all.get(&key(token))?.clone();
        let same = |u: &ConsoleUser| {
            u.name == visitor.name && u.role == visitor.role && key(&u.scram) == visitor.verifier
        };
        if visitor.since.elapsed() >= limit || !users.iter().any(same) {
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

    fn dpo(role: ConsoleRole, scram: &str) -> ConsoleUser {
        ConsoleUser { name: "dpo".into(), role, scram: scram.into() }
    }

    #[test]
    fn a_session_ends_by_its_age_by_its_end_and_by_later_ones() {
        let sessions = Sessions::default();
        let day = Duration::from_secs(86_400);
        let users = [dpo(ConsoleRole::Auditor, "a")];
        let find = |token: &str, limit| sessions.find(token, limit, &users);
        let token = sessions.begin(&users[0]).unwrap();
        assert_eq!(token.len(), 43, "256 bits");
        assert_eq!(find(&token, day).unwrap().name, "dpo");
        assert!(find(&token.to_lowercase(), day).is_none() && find("", day).is_none());
        assert!(find(&token, Duration::ZERO).is_none());
        assert!(find(&token, day).is_none(), "an old one is gone");
        let token = sessions.begin(&users[0]).unwrap();
        sessions.end(&token);
        assert!(find(&token, day).is_none());
        let first = sessions.begin(&users[0]).unwrap();
        for _ in 0..MOST {
            sessions.begin(&users[0]).unwrap();
        }
        assert!(find(&first, day).is_none());
        assert!(sessions.0.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn a_session_ends_with_the_password_and_the_role_that_it_began_with() {
        let day = Duration::from_secs(86_400);
        let before = dpo(ConsoleRole::Owner, "a");
        for after in [vec![], vec![dpo(ConsoleRole::Owner, "b")], vec![dpo(ConsoleRole::Auditor, "a")]] {
            let sessions = Sessions::default();
            let token = sessions.begin(&before).unwrap();
            assert!(sessions.find(&token, day, std::slice::from_ref(&before)).is_some());
            assert!(sessions.find(&token, day, &after).is_none());
            assert!(
                sessions.find(&token, day, std::slice::from_ref(&before)).is_none(),
                "it does not come back"
            );
        }
    }

    #[test]
    fn nothing_is_the_same_as_nothing() {
        assert!(same("a", "a") && !same("a", "b") && !same("", "") && !same("a", "aa"));
    }
}
