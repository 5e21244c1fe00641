//! Metrics for monitoring: `[metrics]`.

use std::net::SocketAddr;

/// `[metrics]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Address of the metrics.
    pub listen: SocketAddr,
    /// Address of the probes, when it is another.
    pub health_listen: Option<SocketAddr>,
}
