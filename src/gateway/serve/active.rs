//! The gateway in force, which a reload replaces under open sessions.

use crate::gateway::Gateway;
use arc_swap::ArcSwap;
use record::Recorder;
use std::sync::Arc;

/// The gateway in force. Sessions take it anew before each statement.
pub struct ActiveGateway {
    gateway: ArcSwap<Gateway>,
    /// The record of statements, under all policies.
    pub(in crate::gateway) record: Arc<Recorder>,
}

impl ActiveGateway {
    /// Begins with this one.
    pub fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        Arc::new(Self { gateway: ArcSwap::new(gateway), record: Arc::default() })
    }

    /// The one in force now. Who asks twice may get two: a statement asks once.
    pub fn current(&self) -> Arc<Gateway> {
        self.gateway.load_full()
    }

    /// Puts another one in force, from each session's next statement on.
    pub fn replace(&self, gateway: Arc<Gateway>) {
        self.gateway.store(gateway);
    }
}
