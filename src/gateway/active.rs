//! The gateway in force, which a reload replaces under open sessions.

use super::settings::SessionSettings;
use super::{Gateway, Session};
use answer::Identity;
use answer::{ClientError, SqlState};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The gateway in force.
pub struct Live(ArcSwap<Gateway>);

impl Live {
    /// Begins with this one.
    pub fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        Arc::new(Self(ArcSwap::new(gateway)))
    }

    /// The one in force now. Who asks twice may get two: a statement asks once.
    pub fn current(&self) -> Arc<Gateway> {
        self.0.load_full()
    }

    /// Puts another one in force, from each session's next statement on.
    pub fn replace(&self, gateway: Arc<Gateway>) {
        self.0.store(gateway);
    }

    /// Opens a session.
    pub fn open_session(self: &Arc<Self>, mut identity: Identity, database: String) -> Session {
        let gateway = self.current();
        if let Some(user) = gateway.listed(&identity.user) {
            identity.role.clone_from(&user.role);
        }
        Session {
            live: self.clone(),
            identity,
            database,
            settings: SessionSettings::default(),
            reported: BTreeMap::new(),
            gateway,
            transaction_start: None,
            reopening: super::stream::Reopening::default(),
        }
    }
}

impl Gateway {
    fn listed(&self, user: &str) -> Option<&policy::User> {
        self.policy.users.iter().find(|u| u.name == user)
    }
}

impl Session {
    /// Who asks.
    pub fn user(&self) -> &str {
        &self.identity.user
    }

    /// Takes the gateway in force, before a statement. From its names to its debit a statement sees one policy.
    pub(super) fn follow(&mut self) -> Result<(), ClientError> {
        let now = self.live.current();
        if Arc::ptr_eq(&now, &self.gateway) {
            return Ok(());
        }
        match now.listed(&self.identity.user) {
            Some(user) => self.identity.role.clone_from(&user.role),
            // Who was never listed is vouched for elsewhere.
            None if self.gateway.listed(&self.identity.user).is_none() => {}
            None => {
                let message = format!("user \"{}\" may no longer connect", self.identity.user);
                return Err(ClientError::new(SqlState::INVALID_AUTHORIZATION, message)
                    .detail("The user was removed from the policy.")
                    .fatal());
            }
        }
        self.gateway = now;
        Ok(())
    }
}
