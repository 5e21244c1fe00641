//! A client's session, over the gateway that is in force when its next statement arrives.

pub mod ask;
mod judged;
pub mod settings;
pub mod statement;

use crate::gateway::known::remembered::{Key, Reading};
use crate::gateway::private::stream::Reopening;
use crate::gateway::serve::history;
use crate::gateway::serve::present::{Connected, Seat};
use crate::gateway::way::report::Writing;
use crate::gateway::{ActiveGateway, Databases, Gateway};
use answer::{ClientError, Identity, Notice, SqlState, Values};
use ask::{Ask, now};
use settings::SessionSettings;
use settings::custom::NoisegateSetting;
use sql::Kind;
use statement::Planned;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of the largest plan that a session keeps from Bind to Execute. What takes more is planned twice.
const LARGEST_PLAN: usize = 2 << 20;

/// A client's session.
pub struct Session {
    pub(in crate::gateway) active: Arc<ActiveGateway>,
    /// All databases of the port.
    pub(in crate::gateway) databases: Arc<Databases>,
    /// The gateway of the statement at hand.
    pub(in crate::gateway) gateway: Arc<Gateway>,
    pub(in crate::gateway) identity: Identity,
    pub(in crate::gateway) database: String,
    pub(in crate::gateway) settings: SessionSettings,
    /// ParameterStatus values that the client was told, where they differ from the backend's.
    pub(in crate::gateway) reported: BTreeMap<String, String>,
    /// The revision of the settings when the client was told last, under the gateway at hand.
    pub(in crate::gateway) reported_at: Option<u64>,
    /// The terms by which statements are read, at a revision of the settings under the gateway at
    /// hand.
    reading: Option<(u64, Arc<Reading>)>,
    /// The number of portals that were planned, and the plan of the last one.
    bound: (u64, Option<Box<Planned>>),
    /// `now()`, fixed while a transaction is open.
    pub(in crate::gateway) transaction_start: Option<String>,
    /// A query was asked, or prepared, in the transaction that is open.
    pub(in crate::gateway) queried: bool,
    pub(in crate::gateway) reopening: Reopening,
    /// Times of parsing and binding since the last statement ran.
    pub(in crate::gateway) before: record::Stages,
    /// The number of `pg_backend_pid()`, by which the client cancels.
    pub(crate) pid: i32,
    /// The session's place among connected clients.
    seat: Option<Seat>,
    /// Reports that wait for a COMMIT.
    pub(in crate::gateway) writing: Writing,
}

impl Session {
    /// Whether the client wants to be told, by its `client_min_messages`.
    pub(crate) fn is_wanted(&self, notice: &Notice) -> bool {
        match self.settings.get("client_min_messages").map(str::to_ascii_lowercase).as_deref() {
            Some("error" | "fatal" | "panic") => false,
            Some("warning") => notice.is_warning(),
            _ => true,
        }
    }

    /// Opens one.
    pub(in crate::gateway) fn new(
        active: Arc<ActiveGateway>,
        databases: Arc<Databases>,
        mut identity: Identity,
        database: String,
    ) -> Self {
        let gateway = active.current();
        if let Some(user) = gateway.listed(&identity.user) {
            identity.role.clone_from(&user.role);
        }
        let mut settings = SessionSettings::default();
        if !gateway.policy.notices(&identity.user, identity.role.as_deref()) {
            settings.start_with(NoisegateSetting::Notices.name(), "off".into());
        }
        if let Some(role) = gateway.policy.role(identity.role.as_deref()) {
            if role.intervals {
                settings.start_with(NoisegateSetting::Intervals.name(), "on".into());
            }
            if let Some(null) = role.null_unsure {
                settings
                    .start_with(NoisegateSetting::Unsure.name(), if null { "null" } else { "keep" }.into());
            }
        }
        Self {
            active,
            databases,
            identity,
            database,
            settings,
            // A finish session's is on; the client was told otherwise.
            reported: BTreeMap::from([("default_transaction_read_only".to_owned(), "off".to_owned())]),
            reported_at: None,
            reading: None,
            bound: (0, None),
            gateway,
            transaction_start: None,
            queried: false,
            reopening: Reopening::default(),
            before: Default::default(),
            pid: 0,
            seat: None,
            writing: Writing::default(),
        }
    }

    /// Takes note that it is connected: by which number it cancels, what it calls itself, where it is, and whether TLS protects it.
    pub fn arrived(&mut self, pid: i32, application: &str, address: String, encrypted: bool) {
        self.pid = pid;
        let Identity { user, role } = self.identity.clone();
        let (application, since) = (application.to_owned(), history::now());
        let connected = Connected { user, role, application, address, encrypted, since };
        self.seat = Some(self.gateway.present.enter(pid, connected));
    }

    /// The user who asks.
    pub fn user(&self) -> &str {
        &self.identity.user
    }

    /// Takes the gateway in force, before a statement. From its names to its debit a statement sees one policy.
    pub(in crate::gateway) fn follow(&mut self) -> Result<(), ClientError> {
        let now = self.active.current();
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
        self.reported_at = None;
        self.reading = None;
        Ok(())
    }

    /// The virtual transaction took a step: `now()` is fixed within one, and settings follow it.
    pub fn transaction(&mut self, step: &sql::Control) {
        match step {
            sql::Control::Begin(_) | sql::Control::Start(_) => {
                self.queried &= self.transaction_start.is_some();
                self.transaction_start.get_or_insert_with(now);
            }
            sql::Control::Commit { chain } | sql::Control::Rollback { chain } => {
                self.transaction_start = chain.then(now);
                self.queried = false;
            }
            _ => {}
        }
        if matches!(step, sql::Control::Rollback { .. } | sql::Control::RollbackTo(_)) {
            self.reopening.forget();
        }
        self.writing.transaction(step);
        self.settings.transaction(step);
    }

    /// Keeps the plan of the portal that is bound now, unless it takes too many bytes; its number.
    pub(in crate::gateway) fn bound(&mut self, planned: Planned, bytes: usize) -> u64 {
        self.bound = (self.bound.0 + 1, (bytes <= LARGEST_PLAN).then(|| Box::new(planned)));
        self.bound.0
    }

    /// The plan of a portal, if no other one was bound since.
    pub(in crate::gateway) fn plan_of(&mut self, number: u64) -> Option<Planned> {
        self.bound.1.take_if(|_| self.bound.0 == number).map(|planned| *planned)
    }

    /// The key under which a query is remembered; other statements have none.
    pub(in crate::gateway) fn key(
        &mut self,
        kind: &Kind,
        text: &Arc<str>,
        types: &[u32],
        values: &Values,
    ) -> Option<Key> {
        let Kind::Query(..) = kind else { return None };
        // What others asked is not to be had by those who read nothing.
        if self.ask().writes() {
            return None;
        }
        let revision = self.settings.revision();
        let reading = match self.reading.take() {
            Some((at, reading)) if at == revision => reading,
            _ => Reading {
                settings: self.settings.backend(),
                path: self.ask().search_path(),
                database: self.database.clone(),
                own: self.settings.of_texts(),
            }
            .into(),
        };
        self.reading = Some((revision, reading.clone()));
        Some(Key::new(reading, text, types, values))
    }

    /// A view of the session, for as long as a statement is answered.
    pub(in crate::gateway) fn ask(&self) -> Ask<'_> {
        Ask {
            gateway: &self.gateway,
            identity: &self.identity,
            settings: &self.settings,
            database: &self.database,
            databases: &self.databases,
            transaction_start: self.transaction_start.as_deref(),
            queried: self.queried,
            pid: self.pid,
            encoders: &self.writing.encoders,
            reopening: &self.reopening,
        }
    }
}
