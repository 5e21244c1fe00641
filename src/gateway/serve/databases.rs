//! The databases behind one port: for each a policy, a backend and books of its own.

use crate::gateway::{ActiveGateway, Gateway, Session};
use answer::{ClientError, Identity, SqlState};
use std::sync::Arc;

/// A database that clients may ask for.
pub struct Database {
    /// The name; None answers to any.
    pub name: Option<String>,
    /// The gateway in force.
    pub active: Arc<ActiveGateway>,
}

/// All databases of a port, one at least: the first judges logins that name no other.
pub struct Databases {
    first: Database,
    others: Vec<Database>,
}

impl Databases {
    /// A single database, whatever clients call it.
    pub fn one(active: Arc<ActiveGateway>) -> Arc<Self> {
        Arc::new(Self { first: Database { name: None, active }, others: Vec::new() })
    }

    /// Several databases, whose names differ.
    pub fn new(first: Database, others: Vec<Database>) -> Arc<Self> {
        Arc::new(Self { first, others })
    }

    fn all(&self) -> impl Iterator<Item = &Database> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The gateway of the database of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<ActiveGateway>> {
        let named = |d: &&Database| d.name.as_deref().is_none_or(|own| own == name);
        self.all().find(named).map(|d| &d.active)
    }

    /// The name of this gateway's database, when there are several.
    pub(in crate::gateway) fn named(&self, active: &Arc<ActiveGateway>) -> Option<&str> {
        let own = self.all().find(|d| Arc::ptr_eq(&d.active, active))?;
        own.name.as_deref().filter(|_| !self.others.is_empty())
    }

    /// The gateway that judges a login for a database. PostgreSQL says that there is no such
    /// database only to users who have proven who they are: the first policy that knows the user
    /// judges.
    pub fn door(&self, name: &str, user: &str) -> Arc<Gateway> {
        let knows = |d: &&Database| d.active.current().listed(user).is_some();
        let known = || self.all().find(knows).unwrap_or(&self.first);
        self.find(name).unwrap_or_else(|| &known().active).current()
    }

    /// The names of the other databases whose policies list the user.
    pub(in crate::gateway) fn beside(&self, name: &str, user: &str) -> Vec<String> {
        let others = self.all().filter(|d| d.active.current().listed(user).is_some());
        others.filter_map(|d| d.name.clone()).filter(|own| own != name).collect()
    }

    /// Opens a session in a database.
    ///
    /// # Errors
    /// 3D000 where there is none of this name.
    pub fn open_session(
        self: &Arc<Self>,
        identity: Identity,
        database: String,
    ) -> Result<Session, ClientError> {
        let missing = || {
            let message = format!("database \"{}\" does not exist", sql::names::truncate(database.clone()));
            ClientError::new(SqlState::UNDEFINED_DATABASE, message)
        };
        let active = self.find(&database).ok_or_else(missing)?.clone();
        let session = Session::new(active, self.clone(), identity, database);
        session.ask().announce()?;
        Ok(session)
    }
}
