//! The gateway behind the wire: names of one side to names of the other, nothing else.

use super::service::{Account, Auth, Control, Service, Session};
use crate::answer::{Description, Identity, Notice, Outcome, Values};
use crate::error::{ClientError, SqlState};
use crate::gateway::{self, Gateway};
use crate::sql;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The gateway as a [`Service`].
pub struct Adapter(pub Arc<Gateway>);

impl Service for Adapter {
    type Session = gateway::Session;

    fn parameters(&self) -> Vec<(String, String)> {
        self.0.parameters()
    }

    fn user(&self, name: &str) -> Option<Account> {
        let user = self.0.policy().users.iter().find(|u| u.name == name)?;
        let identity = Identity { user: user.name.clone(), role: user.role.clone() };
        let trusted = self.0.trusted() == Some(name);
        let auth = if trusted { Auth::Trust } else { Auth::Scram(user.scram.clone()) };
        Some(Account { identity, auth })
    }

    fn scram_iterations(&self) -> Vec<u32> {
        let counts = self.0.policy().users.iter();
        let counts: Vec<u32> = counts
            .filter_map(|u| u.scram.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?.0.parse().ok())
            .collect();
        if counts.is_empty() { vec![4096] } else { counts }
    }

    fn open(
        &self,
        identity: Identity,
        startup: BTreeMap<String, String>,
    ) -> Result<Self::Session, ClientError> {
        let database = startup.get("database").cloned().unwrap_or_else(|| identity.user.clone());
        if database.len() > 63 {
            return Err(ClientError::new(SqlState::UNDEFINED_DATABASE, "the database's name is too long"));
        }
        Ok(self.0.open_session(identity, database))
    }
}

impl Session for gateway::Session {
    type Statement = gateway::Statement;
    type Portal = Infallible;

    fn parse(&mut self, sql: &str) -> Result<Vec<Self::Statement>, ClientError> {
        gateway::Session::parse(self, sql)
    }

    fn control(&self, statement: &Self::Statement) -> Control {
        use sql::Control as C;
        match statement.control() {
            None => Control::None,
            Some(C::Begin) => Control::Begin,
            Some(C::Start) => Control::StartTransaction,
            Some(C::Commit) => Control::Commit { chain: false },
            Some(C::Rollback) => Control::Rollback { chain: false },
            Some(C::Savepoint(n)) => Control::Savepoint(n.clone()),
            Some(C::Release(n)) => Control::Release(n.clone()),
            Some(C::RollbackTo(n)) => Control::RollbackTo(n.clone()),
        }
    }

    async fn run(
        &mut self,
        statement: Self::Statement,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        gateway::Session::run(self, statement, notices).await
    }

    async fn describe(&mut self, _: &Self::Statement, _: &[u32]) -> Result<Description, ClientError> {
        Err(unprepared())
    }

    async fn bind(
        &mut self,
        _: &Self::Statement,
        _: &Description,
        _: Values,
    ) -> Result<Self::Portal, ClientError> {
        Err(unprepared())
    }

    async fn execute(&mut self, portal: Self::Portal, _: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
        match portal {}
    }

    fn transaction(&mut self, step: &Control) {
        match step {
            Control::Begin | Control::StartTransaction => self.in_transaction(true),
            Control::Commit { chain } | Control::Rollback { chain } => self.in_transaction(*chain),
            _ => {}
        }
    }
}

fn unprepared() -> ClientError {
    ClientError::unsupported("queries cannot be prepared yet")
        .hint("Write the values into the statement and send it by the simple query protocol.")
}
