//! How many clients may be connected, all together and per user.

use crate::error::{ClientError, SqlState};
use crate::policy::Limits;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts authenticated sessions. Who has not logged in yet cannot take a slot from those who can.
#[derive(Clone)]
pub(super) struct Slots {
    counts: Arc<Mutex<Counts>>,
    total: usize,
    per_user: usize,
}

#[derive(Default)]
struct Counts {
    total: usize,
    users: HashMap<String, usize>,
}

/// One session's place, given back on drop.
pub(super) struct Slot {
    slots: Slots,
    user: String,
}

impl Slots {
    /// As many as the limits say.
    pub fn new(limits: &Limits) -> Self {
        Self {
            counts: Arc::default(),
            total: limits.max_connections,
            per_user: limits.max_connections_per_user,
        }
    }

    /// A place for one more session of `user`, or FATAL 53300.
    pub fn take(&self, user: &str) -> Result<Slot, ClientError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = counts.users.get(user).copied().unwrap_or(0);
        let refusal = if counts.total >= self.total {
            Some(("sorry, too many clients already".to_owned(), "limits.max_connections", self.total))
        } else if mine >= self.per_user {
            let message = format!("too many connections for user \"{user}\"");
            Some((message, "limits.max_connections_per_user", self.per_user))
        } else {
            None
        };
        if let Some((message, key, limit)) = refusal {
            return Err(ClientError::new(SqlState::TOO_MANY_CONNECTIONS, message)
                .detail(format!("{key} is {limit}."))
                .hint("Close connections that are not used, or ask the operator to raise the limit.")
                .fatal());
        }
        counts.total += 1;
        counts.users.insert(user.to_owned(), mine + 1);
        Ok(Slot { slots: self.clone(), user: user.to_owned() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total = counts.total.saturating_sub(1);
        if let Some(mine) = counts.users.get_mut(&self.user) {
            *mine = mine.saturating_sub(1);
            if *mine == 0 {
                counts.users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn slots_are_counted_and_given_back() {
        let limits = Limits { max_connections: 3, max_connections_per_user: 2, ..Limits::default() };
        let slots = Slots::new(&limits);
        let first = slots.take("ana").unwrap();
        let _second = slots.take("ana").unwrap();
        let refused = slots.take("ana").err().unwrap();
        assert_eq!((refused.code.as_str(), refused.detail.unwrap().contains("per_user")), ("53300", true));
        let _other = slots.take("bo").unwrap();
        assert!(slots.take("cy").err().unwrap().detail.unwrap().contains("limits.max_connections is"));
        drop(first);
        slots.take("ana").unwrap();
        assert!(slots.counts.lock().unwrap().users.len() == 2);
    }
}
