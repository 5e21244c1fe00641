//! Places of connections at a door. Every new one gets a place: when there is none left, the
//! address that has the most gives its oldest. So a client that holds many connections open pays
//! with its own, and no crowd keeps anybody out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The places of one door.
#[derive(Clone)]
pub(crate) struct Places {
    most: usize,
    most_of_one: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    all: usize,
    /// Of each address those that it has, by age. Whoever loses one hears that its sender is gone.
    of: HashMap<IpAddr, BTreeMap<u64, oneshot::Sender<()>>>,
}

/// A place, given back on drop.
pub(crate) struct Place {
    places: Places,
    from: IpAddr,
    number: u64,
    taken_away: oneshot::Receiver<()>,
}

impl Places {
    /// Places for `most` connections in all, and `most_of_one` of one address.
    pub(crate) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, taken: Arc::default() }
    }

    /// A place for a connection from there.
    pub(crate) fn take(&self, from: IpAddr) -> Place {
        let from = frontend::neighbourhood(from);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.of.get(&from).map_or(0, BTreeMap::len) >= self.most_of_one {
            taken.send_away_oldest(from);
        }
        if taken.all >= self.most
            && let Some(from) = taken.crowd()
        {
            taken.send_away_oldest(from);
        }
        let (number, (held, taken_away)) = (taken.next, oneshot::channel());
        taken.next += 1;
        taken.all += 1;
        taken.of.entry(from).or_default().insert(number, held);
        Place { places: self.clone(), from, number, taken_away }
    }
}

impl Taken {
    /// The address with the most places; of several, the one whose oldest is older.
    fn crowd(&self) -> Option<IpAddr> {
        let oldest = |own: &BTreeMap<u64, _>| own.keys().next().copied().unwrap_or(u64::MAX);
        let most = self.of.iter().max_by_key(|(_, own)| (own.len(), u64::MAX - oldest(own)));
        most.map(|(from, _)| *from)
    }

    fn send_away_oldest(&mut self, from: IpAddr) {
        let oldest = self.of.get(&from).and_then(|own| own.keys().next().copied());
        if let Some(number) = oldest {
            self.remove(from, number);
        }
    }

    fn remove(&mut self, from: IpAddr, number: u64) {
        let Some(own) = self.of.get_mut(&from) else { return };
        if own.remove(&number).is_some() {
            self.all -= 1;
        }
        if own.is_empty() {
            self.of.remove(&from);
        }
    }
}

impl Place {
    /// Returns when somebody else has got the place.
    pub(crate) async fn lost(&mut self) {
        // Nothing is ever sent: the sender goes.
        let _ = (&mut self.taken_away).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(self.from, self.number);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    fn is_lost(place: &mut Place) -> bool {
        place.taken_away.try_recv() == Err(TryRecvError::Closed)
    }

    fn at(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    #[test]
    fn an_address_beyond_its_part_loses_its_oldest() {
        let places = Places::new(8, 3);
        let mut other = places.take(at(2));
        let mut own: Vec<Place> = (0..5).map(|_| places.take(at(1))).collect();
        let lost: Vec<bool> = own.iter_mut().map(is_lost).collect();
        assert_eq!(lost, [true, true, false, false, false]);
        assert!(!is_lost(&mut other));
        // What was lost is not given back twice.
        drop(own);
        assert_eq!(places.taken.lock().unwrap().all, 1);
        drop(other);
        assert!(places.taken.lock().unwrap().of.is_empty());
    }

    #[test]
    fn where_all_are_taken_whoever_has_the_most_makes_room() {
        let places = Places::new(6, 4);
        let mut few: Vec<Place> = [1, 2].map(|n| places.take(at(n))).into();
        let mut many: Vec<Place> = (0..4).map(|_| places.take(at(9))).collect();
        let mut new = places.take(at(3));
        assert!(!is_lost(&mut new) && !few.iter_mut().any(is_lost) && many.first_mut().is_some_and(is_lost));
        // Where each has one, the oldest of all.
        drop(many);
        drop(new);
        let mut crowd: Vec<Place> = (10..30).map(|n| places.take(at(n))).collect();
        let lost = crowd.iter_mut().map(is_lost).filter(|lost| *lost).count();
        assert_eq!(lost, 14);
        assert!(few.iter_mut().all(is_lost) && !is_lost(crowd.last_mut().unwrap()));
        assert_eq!(places.taken.lock().unwrap().all, 6);
    }

    #[test]
    fn one_site_of_ipv6_is_one_address() {
        let places = Places::new(8, 1);
        let [a, b]: [IpAddr; 2] = ["2001:db8::1", "2001:db8::2"].map(|a| a.parse().unwrap());
        let (mut first, _second) = (places.take(a), places.take(b));
        assert!(is_lost(&mut first));
    }
}
