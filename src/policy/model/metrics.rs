//! What monitoring reads: `[metrics]`.

use std::net::SocketAddr;

/// `[metrics]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Where it arrives.
    pub listen: SocketAddr,
    /// Where probes arrive, if not there as well.
    pub health_listen: Option<SocketAddr>,
}
