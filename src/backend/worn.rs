//! When a session of the pool is replaced: PostgreSQL gives little of what a statement took back while its session lives, and what
//! it keeps of catalogs and plans grows with it.

use deadpool::managed::Metrics;
use std::time::Duration;

/// A statement that took longer than this may have taken much.
pub(super) const LONG: Duration = Duration::from_secs(5);
/// Bytes of a text and its values from which on a connection may be worn.
pub(super) const HEAVY: usize = 256 << 10;
/// How old a session may get, and how often it is lent.
const AGE: Duration = Duration::from_secs(30 * 60);
const USES: usize = 20_000;

/// Whether it has served long enough.
pub(super) fn is_old(metrics: &Metrics) -> bool {
    metrics.created.elapsed() > AGE || metrics.recycle_count > USES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_serves_so_often_and_no_longer() {
        let mut metrics = Metrics::default();
        assert!(!is_old(&metrics));
        metrics.recycle_count = USES + 1;
        assert!(is_old(&metrics));
    }
}
