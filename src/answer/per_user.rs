//! State that all sessions of one user share, for as long as one of them has it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A value for each user who has it now.
#[derive(Debug)]
pub struct PerUser<T>(Mutex<HashMap<String, Weak<T>>>);

impl<T> Default for PerUser<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> PerUser<T> {
    /// The value of this user, made when somebody is the first to have it.
    pub fn of(&self, user: &str, make: impl FnOnce() -> T) -> Arc<T> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = users.get(user).and_then(Weak::upgrade) {
            return shared;
        }
        users.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(make());
        users.insert(user.to_owned(), Arc::downgrade(&shared));
        shared
    }
}

impl<T> PerUser<T> {
    /// Whether somebody's is such.
    pub fn any(&self, is: impl Fn(&T) -> bool) -> bool {
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.values().filter_map(Weak::upgrade).any(|shared| is(&shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_for_as_long_as_somebody_has_it() {
        let all = PerUser::default();
        let eve = all.of("eve", || 2);
        assert!(Arc::ptr_eq(&eve, &all.of("eve", || 9)), "the same one");
        let has = |user: &str| all.0.lock().map(|users| users.contains_key(user)).ok();
        assert_eq!((*all.of("ada", || 3), has("ada")), (3, Some(true)));
        assert!(all.any(|n| *n == 2) && !all.any(|n| *n == 3));
        let _bob = all.of("bob", || 4);
        assert_eq!((has("ada"), has("eve")), (Some(false), Some(true)), "nobody has one");
    }
}
