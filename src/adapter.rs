//! The gateway behind the wire: names of one side to names of the other, nothing else.

use crate::beside::{Beside, Step};
use crate::crashes;
use crate::gateway::{self, ActiveGateway, Databases, Gateway, Watched};
use answer::{ClientError, SqlState};
use answer::{Description, Identity, Notice, Outcome, Values};
use frontend::journal::{self, Record};
use frontend::{Account, Auth, Client, Control, Service, Session, Weight};
use record::Stage;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The gateways in force as a [`Service`].
pub struct Adapter(Arc<Databases>);

impl Adapter {
    /// Over a gateway that nobody will replace.
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self(Databases::one(ActiveGateway::new(gateway)))
    }

    /// Over whatever gateways are in force.
    pub fn over(databases: Arc<Databases>) -> Self {
        Self(databases)
    }
}

/// A failure before a statement runs, for the record and, as far as it may be told, for the client. `step` is what failed, and
/// `class` the statement's kind.
fn failed(
    session: &mut gateway::Session,
    (step, class): (&'static str, &str),
    text: Arc<str>,
    error: ClientError,
) -> ClientError {
    journal::failed(&session.record(), session.recorded(step, text.clone()), &error);
    session.told(class, &text, error)
}

impl Service for Adapter {
    type Session = gateway::Session;

    fn parameters(&self, user: &str, database: &str) -> Vec<(String, String)> {
        self.0.door(database, user).parameters()
    }

    async fn user(&self, name: &str, database: &str) -> Option<Account> {
        let gateway = self.0.door(database, name);
        // For listed users, too: the time of the answer must not tell who is listed.
        let found = match gateway.directory() {
            Some(directory) => Box::pin(directory.verifier(name)).await,
            None => None,
        };
        let listed = gateway.policy().users.iter().find(|u| u.name == name);
        let (role, verifier) = match listed {
            Some(user) => (user.role.clone(), user.scram.clone()),
            None => (gateway.directory()?.role().map(str::to_owned), Some(found?)),
        };
        let certificate = listed.and_then(|user| user.certificate.clone());
        let trusted = listed.is_some() && gateway.trusted() == Some(name);
        let auth = match verifier {
            _ if trusted => Auth::Trust,
            Some(verifier) => Auth::Scram(verifier),
            None => Auth::Certificate,
        };
        Some(Account { identity: Identity { user: name.to_owned(), role }, auth, certificate })
    }

    fn login_secret(&self, user: &str, database: &str) -> Option<[u8; 32]> {
        Some(self.0.door(database, user).ledger().secret("salts of users who do not exist"))
    }

    fn scram_iterations(&self, user: &str, database: &str) -> Vec<u32> {
        let gateway = self.0.door(database, user);
        let counts = gateway.policy().users.iter();
        let counts: Vec<u32> = counts
            .filter_map(|u| policy::iterations(u.scram.as_deref()?))
            .chain(gateway.directory().map(|d| d.iterations()))
            .collect();
        if counts.is_empty() { vec![4096] } else { counts }
    }

    async fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
        client: Client,
    ) -> Result<Self::Session, ClientError> {
        let database = startup.get("database").cloned().unwrap_or_else(|| identity.user.clone());
        if database.len() > 63 {
            return Err(ClientError::new(SqlState::UNDEFINED_DATABASE, "the database's name is too long"));
        }
        let gateway = self.0.door(&database, &identity.user);
        let listed = gateway.policy().users.iter().any(|u| u.name == identity.user);
        if !listed && gateway.directory().is_none() {
            // Removed by a reload while the password was on its way.
            let message = format!("user \"{}\" may no longer connect", identity.user);
            return Err(ClientError::new(SqlState::INVALID_AUTHORIZATION, message));
        }
        let mut session = self.0.open_session(identity, database)?;
        let application = startup.get("application_name").map_or("", String::as_str);
        session.arrived(client.pid, application, client.address, client.encrypted);
        Box::pin(session.start_with(&startup)).await?;
        Ok(session)
    }
}

/// What works on a statement is boxed: a connection that waits for one would keep room for it otherwise, a hundred kilobytes.
impl Session for gateway::Session {
    type Statement = gateway::Statement;
    type Portal = gateway::Portal;

    fn parse(&mut self, sql: &str) -> Result<Vec<Self::Statement>, ClientError> {
        let begun = Instant::now();
        let parsed = gateway::Session::parse(self, sql);
        self.prepared(Stage::Parse, begun.elapsed());
        parsed.map_err(|e| failed(self, ("unparsed", "unparsed"), sql.into(), e))
    }

    fn control(&self, statement: &Self::Statement) -> Option<Control> {
        statement.control().cloned()
    }

    fn weight(&self, statement: &Self::Statement) -> Weight {
        Weight { kept: statement.bytes(), running: statement.plan_bytes() }
    }

    fn portal_bytes(&self, portal: &Self::Portal) -> usize {
        portal.bytes()
    }

    async fn run(
        &mut self,
        statement: Self::Statement,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let (class, text) = (statement.class(), statement.text());
        let record = Record::begin(&self.record(), self.recorded(class, text.clone()));
        let Watched { brief, shape } = statement.watched();
        let beside = Beside::of(self.user(), brief, Step::Run);
        let under_way = self.under_way(shape, beside.was_brief());
        let run = Box::pin(gateway::Session::run(self, statement, notices));
        let run = beside.work(run);
        let outcome = record.follow(crashes::watched(under_way, run)).await;
        notices.retain(|n| self.is_wanted(n));
        outcome.map_err(|e| self.told(class, &text, e))
    }

    async fn describe(
        &mut self,
        statement: &Self::Statement,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        let begun = Instant::now();
        let Watched { brief, shape } = statement.watched();
        let beside = Beside::of(self.user(), brief, Step::Describe);
        let under_way = self.under_way(shape, beside.was_brief());
        let described = Box::pin(gateway::Session::describe(self, statement, types));
        let described = beside.work(described);
        let described = crashes::held(under_way, described).await;
        self.prepared(Stage::Plan, begun.elapsed());
        described.map_err(|e| failed(self, ("parse", statement.class()), statement.text(), e))
    }

    async fn bind(
        &mut self,
        statement: &Self::Statement,
        description: &Description,
        values: Values,
    ) -> Result<Self::Portal, ClientError> {
        let begun = Instant::now();
        let Watched { brief, shape } = statement.watched();
        let beside = Beside::of(self.user(), brief, Step::Bind);
        let under_way = self.under_way(shape, beside.was_brief());
        let bound = Box::pin(gateway::Session::bind(self, statement, description, values));
        let bound = beside.work(bound);
        let bound = crashes::held(under_way, bound).await;
        self.prepared(Stage::Plan, begun.elapsed());
        bound.map_err(|e| failed(self, ("bind", statement.class()), statement.text(), e))
    }

    async fn execute(
        &mut self,
        portal: Self::Portal,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let (class, text) = (portal.class(), portal.text());
        let record = Record::begin(&self.record(), self.recorded(class, text.clone()));
        let Watched { brief, shape } = portal.watched();
        let beside = Beside::of(self.user(), brief, Step::Execute);
        let under_way = self.under_way(shape, beside.was_brief());
        let execute = Box::pin(gateway::Session::execute(self, portal, notices));
        let execute = beside.work(execute);
        let outcome = record.follow(crashes::watched(under_way, execute)).await;
        notices.retain(|n| self.is_wanted(n));
        outcome.map_err(|e| self.told(class, &text, e))
    }

    fn copy_begin(&mut self, portal: Self::Portal, copy: answer::Copy) -> Result<usize, ClientError> {
        gateway::Session::copy_begin(self, &portal, copy)
            .map_err(|e| failed(self, ("insert", portal.class()), portal.text(), e))
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), ClientError> {
        gateway::Session::copy_data(self, data).map_err(|e| failed(self, ("insert", "insert"), "".into(), e))
    }

    async fn copy_end(&mut self, notices: &mut Vec<Notice>) -> Result<u64, ClientError> {
        let record = Record::begin(&self.record(), self.recorded("insert", "".into()));
        let mut rows = 0;
        let work = async {
            rows = Box::pin(gateway::Session::copy_end(self, notices)).await?;
            Ok(Outcome::Complete(String::new()))
        };
        let done = record.follow(work).await.map(|_| rows);
        notices.retain(|n| self.is_wanted(n));
        done
    }

    fn copy_abandon(&mut self) {
        gateway::Session::copy_abandon(self);
    }

    async fn commit(&mut self) -> Result<(), ClientError> {
        Box::pin(gateway::Session::commit(self)).await
    }

    fn transaction(&mut self, step: &Control) {
        gateway::Session::transaction(self, step);
    }

    fn changed_parameters(&mut self) -> Vec<(String, String)> {
        gateway::Session::changed_parameters(self)
    }
}
