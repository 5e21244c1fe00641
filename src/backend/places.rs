//! Places by user: a fixed number of one user's statements at once, the others wait in the order of
//! their arrival.

use answer::PerUser;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Places of all users.
#[derive(Debug, Default)]
pub struct Places(PerUser<Semaphore>);

impl Places {
    /// The places of a user: as many as are told when the first of them is asked for.
    pub fn of(&self, user: &str, many: usize) -> Arc<Semaphore> {
        self.0.of(user, || Semaphore::new(many.min(Semaphore::MAX_PERMITS)))
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
        assert_eq!(places.of("ada", 3).available_permits(), 3, "nobody had one");
    }
}
