//! Places of clients: how many may be connected, all together and per user, and how many may be
//! about to log in, all together and from one address.

use super::peer::Peer;
use answer::{ClientError, SqlState};
use policy::Limits;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Clients beyond the connection limit that may be about to log in at one time.
const SPARE_LOGINS: usize = 32;
/// Clients beyond these that are heard only because they may want to cancel a statement.
const SPARE_CANCELS: usize = 32;
/// Those of them that may be of one address.
const SPARE_CANCELS_PER_ADDRESS: usize = SPARE_CANCELS / 2;

/// Counts authenticated sessions. Who has not logged in yet cannot take a slot from those who can; nor can those of one
/// address take all the places of those who are about to.
#[derive(Clone, Default)]
pub(super) struct Slots {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    waiting: Waiting,
    addresses: HashMap<Peer, Waiting>,
    total: usize,
    users: HashMap<String, usize>,
}

/// Who has not logged in yet.
#[derive(Clone, Copy, Default)]
struct Waiting {
    logins: usize,
    cancels: usize,
}

impl Waiting {
    fn of(&mut self, login: bool) -> &mut usize {
        if login { &mut self.logins } else { &mut self.cancels }
    }
}

/// A place among those who have not logged in yet, given back on drop.
pub(super) struct Place {
    slots: Slots,
    address: Peer,
    /// There are too many already: no login, but a cancel request is served.
    pub crowd: Option<Crowd>,
}

/// Reasons why no place is left for a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowd {
    /// Clients of all addresses.
    Everybody,
    /// Clients of the same address, as many as may.
    Address(usize),
    /// The access rules let nobody of this address in.
    Nobody,
}

/// A session's place, given back on drop.
pub(super) struct Slot {
    slots: Slots,
    user: String,
}

impl Slots {
    /// A place for somebody who has just arrived; None where there is not even one for a cancel request. Who is not welcome
    /// takes none from those who are.
    pub fn arrive(&self, peer: Peer, welcome: bool, limits: &Limits) -> Option<Place> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let address = peer.neighbourhood();
        let (all, own) = (counts.waiting, counts.addresses.get(&address).copied().unwrap_or_default());
        let crowd = if !welcome {
            Some(Crowd::Nobody)
        } else if own.logins >= limits.max_logins_per_address {
            Some(Crowd::Address(limits.max_logins_per_address))
        } else if all.logins >= limits.max_connections.saturating_add(SPARE_LOGINS) {
            Some(Crowd::Everybody)
        } else {
            None
        };
        if crowd.is_some() && (all.cancels >= SPARE_CANCELS || own.cancels >= SPARE_CANCELS_PER_ADDRESS) {
            return None;
        }
        *counts.waiting.of(crowd.is_none()) += 1;
        *counts.addresses.entry(address).or_default().of(crowd.is_none()) += 1;
        Some(Place { slots: self.clone(), address, crowd })
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).total
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
pub(super) fn too_many_logins(crowd: Crowd) -> ClientError {
    let error = ClientError::new(SqlState::TOO_MANY_CONNECTIONS, TOO_MANY);
    let error = match crowd {
        Crowd::Everybody | Crowd::Nobody => {
            error.detail("Too many clients have connected and not logged in yet.").hint("Try again later.")
        }
        Crowd::Address(limit) => error
            .detail(format!(
                "limits.max_logins_per_address is {limit}, and as many clients of your address have connected and not \
                 logged in yet."
            ))
            .hint("Try again later, open fewer connections at one time, or ask the operator to raise the limit."),
    };
    error.fatal()
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.slots.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let login = self.crowd.is_none();
        let less = |waiting: &mut Waiting| {
            let count = waiting.of(login);
            *count = count.saturating_sub(1);
        };
        less(&mut counts.waiting);
        if let Some(own) = counts.addresses.get_mut(&self.address) {
            less(own);
            if own.logins + own.cancels == 0 {
                counts.addresses.remove(&self.address);
            }
        }
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

    fn at(address: &str) -> Peer {
        Peer::inet(address.parse().unwrap())
    }

    #[test]
    fn there_is_room_for_cancel_requests_when_there_is_none_for_logins() {
        let limits = Limits { max_connections: 1, ..Limits::default() };
        let slots = Slots::default();
        let mut places: Vec<Place> =
            (0..33).map(|_| slots.arrive(at("10.0.0.1"), true, &limits).unwrap()).collect();
        assert!(places.iter().all(|p| p.crowd.is_none()));
        for address in ["10.0.0.1", "10.0.0.2"] {
            places.extend((0..16).map(|_| slots.arrive(at(address), true, &limits).unwrap()));
            assert!(slots.arrive(at(address), true, &limits).is_none());
        }
        assert_eq!(places.iter().filter(|p| p.crowd == Some(Crowd::Everybody)).count(), 32);
        assert!(slots.arrive(at("10.0.0.3"), true, &limits).is_none());
        drop(places);
        assert!(slots.arrive(at("10.0.0.1"), true, &limits).unwrap().crowd.is_none());
        assert!(slots.counts.lock().unwrap().addresses.is_empty());
    }

    #[test]
    fn one_address_cannot_keep_the_others_out() {
        let limits = Limits { max_logins_per_address: 2, ..Limits::default() };
        let slots = Slots::default();
        // An address of IPv4, of IPv6 with its neighbours, and all that come by Unix sockets.
        for [one, two] in [
            [at("10.0.0.1"), at("::ffff:10.0.0.1")],
            [at("2001:db8::1"), at("2001:db8::ffff:2")],
            [Peer::Local; 2],
        ] {
            let mut places: Vec<Place> = [one, two].map(|p| slots.arrive(p, true, &limits).unwrap()).into();
            assert!(places.iter().all(|p| p.crowd.is_none()));
            // However many there are, they keep nobody else out, who wants to log in or to cancel.
            places.extend((0..300).filter_map(|_| slots.arrive(one, true, &limits)));
            assert_eq!(places.iter().filter(|p| p.crowd == Some(Crowd::Address(2))).count(), 16);
            let others =
                [at("10.0.0.2"), at("2001:db8:0:1::1")].map(|p| slots.arrive(p, true, &limits).unwrap());
            assert!(others.iter().all(|p| p.crowd.is_none()));
            let refused = too_many_logins(Crowd::Address(2));
            assert!(refused.detail.unwrap().contains("limits.max_logins_per_address is 2"));
        }
    }

    #[test]
    fn who_is_not_welcome_takes_no_place_of_those_who_are() {
        let limits = Limits { max_connections: 1, ..Limits::default() };
        let slots = Slots::default();
        let strangers: Vec<Place> = (0..=255u8)
            .filter_map(|n| slots.arrive(Peer::inet([10, 9, 0, n].into()), false, &limits))
            .collect();
        assert_eq!((strangers.len(), strangers.iter().all(|p| p.crowd == Some(Crowd::Nobody))), (32, true));
        let mut guests = (0..33).map(|_| slots.arrive(at("10.0.0.1"), true, &limits).unwrap());
        assert!(guests.all(|p| p.crowd.is_none()));
    }
}
