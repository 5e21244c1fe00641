//! Connected clients, for owners of the proxy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A client that is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// Login name.
    pub user: String,
    /// Role, if it has one.
    pub role: Option<String>,
    /// Name that the client gives itself; may be empty.
    pub application: String,
    /// Address of the client.
    pub address: String,
    /// TLS protects the connection.
    pub encrypted: bool,
    /// Since when, in microseconds since 1970.
    pub since: i64,
}

/// All of them, by the number by which each cancels.
#[derive(Debug, Default)]
pub struct Present(Mutex<BTreeMap<i32, Connected>>);

/// A client's place among those who are connected, given back on drop.
pub struct Seat {
    present: Arc<Present>,
    number: i32,
}

impl Present {
    /// Takes note of a client.
    pub(in crate::gateway) fn enter(self: &Arc<Self>, number: i32, connected: Connected) -> Seat {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, connected);
        Seat { present: self.clone(), number }
    }

    /// Connected clients, the earliest first.
    pub fn all(&self) -> Vec<Connected> {
        let mut all: Vec<_> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        all.sort_by_key(|c| c.since);
        all
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.present.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_is_not_there_any_more() {
        let present = Arc::new(Present::default());
        let client = |user: &str, since| Connected {
            user: user.into(),
            role: None,
            application: String::new(),
            address: "127.0.0.1".into(),
            encrypted: false,
            since,
        };
        let first = present.enter(7, client("ada", 2));
        let _second = present.enter(8, client("bo", 1));
        let names = || present.all().into_iter().map(|c| c.user).collect::<Vec<_>>();
        assert_eq!(names(), ["bo", "ada"]);
        drop(first);
        assert_eq!(names(), ["bo"]);
    }
}
