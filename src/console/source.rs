//! What the console is asked to show: what is in force, and what goes on, at the moment of a request.

use crate::live::Live;
use frontend::Tls;
use policy::Policy;
use record::Recorder;
use std::pin::Pin;
use std::sync::Arc;

/// A policy in force, and how it came to be.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The policy.
    pub policy: Policy,
    /// Since when, in microseconds since 1970; None where nobody serves it.
    pub since: Option<i64>,
    /// What it allows but probably does not mean, as `noisegate check` says it: a line, and a second one with what would be right.
    pub warnings: Vec<String>,
    /// The one before it, if it was changed while the proxy ran.
    pub before: Option<Arc<Policy>>,
}

/// What is in force at the moment of a request.
pub trait Source: Send + Sync + 'static {
    /// What data this is about, in a word or two.
    fn about(&self) -> String;
    /// The policy in force.
    fn in_force(&self) -> InForce;
    /// Who may log in, and for how long; None where the policy in force has no console any more: then nobody may.
    fn settings(&self) -> Option<policy::Console>;
    /// What runs and ran.
    fn record(&self) -> Arc<Recorder>;
    /// What goes on in the proxy.
    fn live(&self) -> Pin<Box<dyn Future<Output = Live> + Send + '_>>;
    /// The certificate in force, if there is one.
    fn tls(&self) -> Option<Tls>;
}
