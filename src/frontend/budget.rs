//! Budgets of bytes that clients hold, in memory and on disk: for each session, each user, and all
//! together.
//!
//! Sessions count what they know of: statements by an estimate of their syntax trees and plans,
//! portals by their values, rows by their length.

use answer::{ClientError, PerUser, SqlState};
use policy::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 53200: no memory. For disk, too, it is the session's own kind of 53100.
const OUT_OF_MEMORY: SqlState = SqlState(*b"53200");

/// All that clients of one server hold.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    memory: Budget,
    disk: Budget,
}

#[derive(Debug, Default)]
struct Budget {
    all: Arc<AtomicU64>,
    users: PerUser<AtomicU64>,
}

/// Accounts of one session, in memory and on disk.
#[derive(Clone, Debug)]
pub(super) struct Accounts {
    pub memory: Account,
    pub disk: Account,
}

impl Budgets {
    /// The accounts of a session that begins.
    pub fn open(&self, user: &str, limits: &Limits) -> Accounts {
        let account = |budget: &Budget, most: [(u64, &'static str); 3]| {
            let taken = [Arc::default(), budget.users.of(user, AtomicU64::default), budget.all.clone()];
            let levels = taken.into_iter().zip(most);
            Account(levels.map(|(taken, (most, key))| Level { taken, most, key }).collect())
        };
        Accounts {
            memory: account(
                &self.memory,
                [
                    (limits.max_session_bytes, "limits.max_session_bytes"),
                    (limits.max_user_bytes, "limits.max_user_bytes"),
                    (limits.max_total_bytes, "limits.max_total_bytes"),
                ],
            ),
            disk: account(
                &self.disk,
                [
                    (limits.max_spool_bytes, "limits.max_spool_bytes"),
                    (limits.max_user_spool_bytes, "limits.max_user_spool_bytes"),
                    (limits.max_total_spool_bytes, "limits.max_total_spool_bytes"),
                ],
            ),
        }
    }
}

/// Of one kind: what the session holds, its user, and all.
#[derive(Clone, Debug)]
pub(super) struct Account(Arc<[Level]>);

#[derive(Debug)]
struct Level {
    taken: Arc<AtomicU64>,
    most: u64,
    key: &'static str,
}

/// Bytes that are held, given back on drop.
#[derive(Debug)]
pub(super) struct Held {
    account: Account,
    bytes: u64,
}

/// The limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub key: &'static str,
    most: u64,
}

impl Account {
    /// Takes all of these bytes, or none.
    pub fn hold(&self, bytes: usize) -> Result<Held, Full> {
        let mut held = Held { account: self.clone(), bytes: 0 };
        held.grow(bytes)?;
        Ok(held)
    }

    #[cfg(test)]
    pub fn taken(&self) -> u64 {
        self.0.first().map_or(0, |own| own.taken.load(Ordering::Relaxed))
    }
}

impl Held {
    /// Takes all of these bytes as well, or none.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = bytes as u64;
        let levels = &self.account.0;
        for (n, level) in levels.iter().enumerate() {
            let before = level.taken.fetch_add(bytes, Ordering::Relaxed);
            if before.saturating_add(bytes) > level.most {
                for level in levels.iter().take(n + 1) {
                    level.taken.fetch_sub(bytes, Ordering::Relaxed);
                }
                return Err(Full { key: level.key, most: level.most });
            }
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for level in self.account.0.iter() {
            level.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// 53200, for memory.
impl From<Full> for ClientError {
    fn from(full: Full) -> Self {
        let Full { key, most } = full;
        ClientError::new(OUT_OF_MEMORY, "the statements and rows that are kept take too much memory")
            .detail(format!("{key} is {most}."))
            .hint(
                "Give up prepared statements, portals and cursors that are no longer needed (DEALLOCATE, CLOSE), write a shorter \
                 statement, or ask the operator to raise the limit.",
            )
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Accounts of a session with these bytes of memory and of disk.
    pub fn accounts(memory: u64, disk: u64) -> Accounts {
        let limits = Limits { max_session_bytes: memory, max_spool_bytes: disk, ..Limits::default() };
        Budgets::default().open("ada", &limits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_session_a_user_and_all_have_their_shares() {
        let limits =
            Limits { max_session_bytes: 10, max_user_bytes: 15, max_total_bytes: 25, ..Limits::default() };
        let budgets = Budgets::default();
        let [one, two] = [(); 2].map(|()| budgets.open("eve", &limits).memory);
        let other = budgets.open("ada", &limits).memory;
        let first = one.hold(10).unwrap();
        assert_eq!(one.hold(1).unwrap_err().key, "limits.max_session_bytes");
        let _second = two.hold(5).unwrap();
        assert_eq!(two.hold(1).unwrap_err().key, "limits.max_user_bytes");
        let mut third = other.hold(9).unwrap();
        third.grow(1).unwrap();
        let fourth = budgets.open("bo", &limits).memory;
        assert_eq!(fourth.hold(1).unwrap_err().key, "limits.max_total_bytes");
        drop(first);
        assert_eq!((one.taken(), fourth.hold(10).unwrap().bytes()), (0, 10));
        let error = ClientError::from(one.hold(11).unwrap_err());
        assert_eq!(
            (error.code.as_str(), error.detail.unwrap().as_str()),
            ("53200", "limits.max_session_bytes is 10.")
        );
    }
}
