//! Policy, database and books: what every session shares.

use super::history::History;
use super::present::Present;
use super::reached::Reached;
use crate::crashes::Crashes;
use crate::gateway::known::fingerprints::Fingerprints;
use crate::gateway::known::remembered::Known;
use crate::gateway::private::stream::{StreamStanding, Streams};
use crate::gateway::way::owner::Passthrough;
use crate::gateway::way::report::{Analyser, Collecting, ToldApart};
use crate::store::Store;
use backend::{Backend, Places};
use ledger::{Ledger, Refusal};
use policy::Policy;
use std::sync::Arc;

/// Policy, database and books: what every session shares.
pub struct Gateway {
    pub(in crate::gateway) policy: Policy,
    pub(in crate::gateway) backend: Arc<Backend>,
    pub(in crate::gateway) reached: Reached,
    pub(in crate::gateway) passthrough: Arc<Passthrough>,
    pub(in crate::gateway) collecting: Arc<Collecting>,
    /// Analysers, which open batches of sealed reports.
    pub(in crate::gateway) analysers: Vec<Arc<Analyser>>,
    /// Whose writers are told apart.
    pub(in crate::gateway) told_apart: Vec<Arc<ToldApart>>,
    pub(in crate::gateway) ledger: Ledger,
    /// Statements that were under way at crashes; None when their file cannot be written.
    pub(in crate::gateway) crashes: Option<Arc<Crashes>>,
    pub(in crate::gateway) fingerprints: Arc<Fingerprints>,
    /// Caches of statements.
    pub(in crate::gateway) known: Arc<Known>,
    pub(in crate::gateway) settings: plan::Settings,
    /// Queues for reads, under all policies.
    pub(in crate::gateway) queues: Arc<Places>,
    pub(in crate::gateway) store: Store,
    /// The system catalogs, once somebody has asked.
    pub(in crate::gateway) catalogs: tokio::sync::OnceCell<catalogs::Catalogs>,
    pub(in crate::gateway) streams: Arc<Streams>,
    /// Names of time zones, once somebody has asked.
    pub(in crate::gateway) time_zones: tokio::sync::OnceCell<String>,
    pub(in crate::gateway) trusted: Option<String>,
    /// Users who are in no list.
    pub(in crate::gateway) directory: Option<backend::Directory>,
    pub(in crate::gateway) history: History,
    /// Connected clients.
    pub(in crate::gateway) present: Arc<Present>,
    /// Numbers of rows that are made up for synthetic roles.
    pub(in crate::gateway) made_up: emit::synthetic::Sizes,
}

impl Gateway {
    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The policy's reach in its database.
    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// History of the policy in force.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Connected clients.
    pub fn present(&self) -> &Arc<Present> {
        &self.present
    }

    /// The database behind.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Answers that are at hand in this process: how many records, and their bytes.
    pub fn answers_at_hand(&self) -> (usize, usize) {
        self.store.at_hand()
    }

    /// Messages that are known by their text.
    pub fn messages_known(&self) -> usize {
        self.known.parsed.len()
    }

    /// Standings with streams of all users who have asked one since the start.
    pub fn stream_standings(&self) -> Vec<StreamStanding> {
        self.streams.standings()
    }

    /// The backend's ParameterStatus values.
    pub fn parameters(&self) -> Vec<(String, String)> {
        self.backend.parameters().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// The directory for users who are in no list.
    pub fn directory(&self) -> Option<&backend::Directory> {
        self.directory.as_ref()
    }

    /// The user who may connect without a password from this machine: the demo's.
    pub fn trusted(&self) -> Option<&str> {
        self.trusted.as_deref()
    }

    /// The process ends in order: nothing that is still under way is suspected of it.
    pub fn ends_in_order(&self) {
        self.crashes.iter().for_each(|crashes| crashes.end());
    }

    /// Ends all kept answers: the data is new.
    pub async fn refresh(&self, author: &str, reason: &str) -> Result<(), Refusal> {
        self.store.refresh(&self.ledger, author, reason).await
    }

    /// The books.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The user of this name in the policy's list.
    pub(in crate::gateway) fn listed(&self, user: &str) -> Option<&policy::User> {
        self.policy.users.iter().find(|u| u.name == user)
    }
}
