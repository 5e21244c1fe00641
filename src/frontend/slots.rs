//! How many clients may be connected, all together and per user, and how many may be about to log in.

use answer::{ClientError, SqlState};
use policy::Limits;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Clients beyond the connection limit that may be about to log in at one time.
const SPARE_LOGINS: usize = 32;
/// Clients beyond these that are heard only because they may want to cancel a statement.
const SPARE_CANCELS: usize = 32;

/// Counts authenticated sessions. Who has not logged in yet cannot take a slot from those who can.
#[derive(Clone, Default)]
pub(super) struct Slots {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    waiting: usize,
    total: usize,
    users: HashMap<String, usize>,
}

/// A place among those who have not logged in yet, given back on drop.
pub(super) struct Place {
    slots: Slots,
    /// There are too many already: no login, but a cancel request is served.
    pub cancel_only: bool,
}

/// One session's place, given back on drop.
pub(super) struct Slot {
    slots: Slots,
    user: String,
}

impl Slots {
    /// A place for somebody who has just arrived; None where there is not even one for a cancel request.
    pub fn arrive(&self, limits: &Limits) -> Option<Place> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let logins = limits.max_connections.saturating_add(SPARE_LOGINS);
        if counts.waiting >= logins.saturating_add(SPARE_CANCELS) {
            return None;
        }
        let cancel_only = counts.waiting >= logins;
        counts.waiting += 1;
        Some(Place { slots: self.clone(), cancel_only })
    }

    /// A place for one more session of `user`, or FATAL 53300.
    pub fn take(&self, user: &str, limits: &Limits) -> Result<Slot, ClientError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = counts.users.get(user).copied().unwrap_or(0);
        let refusal = if counts.total >= limits.max_connections {
            Some((TOO_MANY.to_owned(), "limits.max_connections", limits.max_connections))
        } else if mine >= limits.max_connections_per_user {
            let message = format!("too many connections for user \"{user}\"");
            Some((message, "limits.max_connections_per_user", limits.max_connections_per_user))
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

const TOO_MANY: &str = "sorry, too many clients already";

/// FATAL 53300 for who has a place for cancel requests only.
pub(super) fn too_many_logins() -> ClientError {
    ClientError::new(SqlState::TOO_MANY_CONNECTIONS, TOO_MANY)
        .detail("Too many clients have connected and not logged in yet.")
        .hint("Try again later.")
        .fatal()
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.slots.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.waiting = counts.waiting.saturating_sub(1);
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
        let slots = Slots::default();
        let first = slots.take("ana", &limits).unwrap();
        let _second = slots.take("ana", &limits).unwrap();
        let refused = slots.take("ana", &limits).err().unwrap();
        assert_eq!((refused.code.as_str(), refused.detail.unwrap().contains("per_user")), ("53300", true));
        let _other = slots.take("bo", &limits).unwrap();
        let refused = slots.take("cy", &limits).err().unwrap();
        assert!(refused.detail.unwrap().contains("limits.max_connections is"));
        drop(first);
        slots.take("ana", &limits).unwrap();
        assert!(slots.counts.lock().unwrap().users.len() == 2);
    }

    #[test]
    fn limits_may_change_while_slots_are_taken() {
        let limits = |n| Limits { max_connections_per_user: n, ..Limits::default() };
        let slots = Slots::default();
        let taken: Vec<Slot> = (0..3).map(|_| slots.take("ana", &limits(3)).unwrap()).collect();
        assert!(slots.take("ana", &limits(3)).is_err());
        assert!(slots.take("ana", &limits(4)).is_ok());
        assert!(slots.take("ana", &limits(1)).is_err());
        drop(taken);
        assert!(slots.take("ana", &limits(1)).is_ok());
    }

    #[test]
    fn there_is_room_for_cancel_requests_when_there_is_none_for_logins() {
        let limits = Limits { max_connections: 1, ..Limits::default() };
        let slots = Slots::default();
        let mut places: Vec<Place> = (0..33).map(|_| slots.arrive(&limits).unwrap()).collect();
        assert!(places.iter().all(|p| !p.cancel_only));
        places.extend((0..32).map(|_| slots.arrive(&limits).unwrap()));
        assert_eq!(places.iter().filter(|p| p.cancel_only).count(), 32);
        assert!(slots.arrive(&limits).is_none());
        drop(places);
        assert!(!slots.arrive(&limits).unwrap().cancel_only);
    }
}
