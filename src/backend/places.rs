//! Places by user: so many of one user's statements at once, the others wait in the order in which they came.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Who has places here.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<String, Weak<Semaphore>>>);

impl Places {
    /// The places of a user: as many as are told when the first of them is asked for.
    pub fn of(&self, user: &str, many: usize) -> Arc<Semaphore> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = users.get(user).and_then(Weak::upgrade) {
            return places;
        }
        users.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(many.min(Semaphore::MAX_PERMITS)));
        users.insert(user.to_owned(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_places_of_their_own_for_as_long_as_somebody_has_one() {
        let places = Places::default();
        let eve = places.of("eve", 2);
        let _held = eve.try_acquire_many(2).ok();
        assert_eq!(places.of("eve", 9).available_permits(), 0, "the same ones");
        assert_eq!(places.of("ada", 2).available_permits(), 2);
        assert_eq!(places.0.lock().map(|q| q.contains_key("ada")).ok(), Some(true));
        let _bob = places.of("bob", 2);
        assert_eq!(places.0.lock().map(|q| q.contains_key("ada")).ok(), Some(false), "nobody has one");
    }
}
