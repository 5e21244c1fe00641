//! Settings of the policy that the frontend keeps to, and a reload replaces.

use super::tls::Tls;
use arc_swap::ArcSwap;
use policy::{AccessRule, Limits, Policy};
use std::io;
use std::sync::Arc;

/// Limits, certificate and access rules.
#[derive(Clone, Default)]
pub struct Settings {
    /// Every limit.
    pub limits: Limits,
    /// The certificate, if there is one.
    pub tls: Option<Tls>,
    /// Rules of who may connect from where; an empty list lets in everybody who can log in.
    pub access: Vec<AccessRule>,
}

impl Settings {
    /// As the policy says. Reads the certificate; errors name the file.
    pub fn of(policy: &Policy) -> io::Result<Self> {
        Ok(Self {
            limits: policy.limits.clone(),
            tls: policy.server.tls.as_ref().map(Tls::load).transpose()?,
            access: policy.access.clone(),
        })
    }
}

/// The settings in force. Clones name the same ones.
#[derive(Clone)]
pub struct InForce(Arc<ArcSwap<Settings>>);

impl InForce {
    pub(super) fn new(settings: Settings) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(settings)))
    }

    /// Puts others in force, and says whether they have another certificate. Who is connected keeps those of their
    /// arrival.
    pub fn replace(&self, settings: Settings) -> bool {
        let digest = |s: &Settings| s.tls.as_ref().map(Tls::digest);
        let new = digest(&settings);
        digest(&self.0.swap(Arc::new(settings))) != new
    }

    /// The certificate in force, if there is one.
    pub fn tls(&self) -> Option<Tls> {
        self.current().tls.clone()
    }

    pub(super) fn current(&self) -> Arc<Settings> {
        self.0.load_full()
    }
}
