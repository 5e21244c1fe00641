//! The prepared statements of a session: one namespace for the protocol and for SQL.

use super::budget::Held;
use super::service::Weight;
use answer::Control;
use answer::{ClientError, SqlState};
use answer::{Description, Field};
use policy::Limits;
use std::collections::HashMap;
use std::sync::Arc;

/// 42P05: the name is taken.
const DUPLICATE_STATEMENT: SqlState = SqlState(*b"42P05");
/// A prepared statement. Its portals share it, so that Close does not hurt them.
#[derive(Debug)]
pub(super) struct Prepared<T> {
    /// The statement; `None` for an empty text.
    pub statement: Option<T>,
    /// Effect on the state of the frontend.
    pub control: Option<Control>,
    /// The description that Parse froze.
    pub description: Description,
    /// Bytes of the statement, and of running it.
    pub weight: Weight,
    /// The memory that it keeps.
    pub _held: Held,
}

impl<T> Prepared<T> {
    /// The columns of the rows that executing it sends: none where its rows are kept, or copied.
    pub fn shown(&self) -> Option<&[Field]> {
        match self.control {
            Some(Control::Declare(_) | Control::Copy(_)) => None,
            _ => self.description.fields.as_deref(),
        }
    }
}

/// The prepared statements of one session.
#[derive(Debug)]
pub(super) struct Statements<T> {
    unnamed: Option<Arc<Prepared<T>>>,
    named: HashMap<String, Arc<Prepared<T>>>,
    max_prepared: usize,
}

impl<T> Statements<T> {
    /// Statements of a new session: none.
    pub fn new(limits: &Limits) -> Self {
        Self { unnamed: None, named: HashMap::new(), max_prepared: limits.max_prepared }
    }

    /// Before a statement of this name is prepared: the name must be free and the limits must leave room. The unnamed
    /// statement makes room by itself, whether or not its successor will come to be.
    pub fn admit(&mut self, name: &str) -> Result<(), ClientError> {
        if name.is_empty() {
            self.unnamed = None;
            return Ok(());
        }
        if self.named.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(ClientError::new(DUPLICATE_STATEMENT, message));
        }
        if self.named.len() >= self.max_prepared {
            return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many prepared statements")
                .detail(format!("limits.max_prepared is {}.", self.max_prepared))
                .hint(
                    "Give up statements that are no longer needed, by DEALLOCATE or a Close message, or ask the operator to \
                     raise limits.max_prepared.",
                ));
        }
        Ok(())
    }

    /// Keeps a statement that [`Self::admit`] let in.
    pub fn insert(&mut self, name: String, prepared: Prepared<T>) {
        let prepared = Arc::new(prepared);
        if name.is_empty() {
            self.unnamed = Some(prepared);
        } else {
            self.named.insert(name, prepared);
        }
    }

    /// The statement of this name, or 26000.
    pub fn get(&self, name: &str) -> Result<Arc<Prepared<T>>, ClientError> {
        let found = if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) };
        found.map(Arc::clone).ok_or_else(|| unknown(name))
    }

    /// Close: forgets the statement, if there is one.
    pub fn close(&mut self, name: &str) {
        if name.is_empty() {
            self.unnamed = None;
        } else {
            self.named.remove(name);
        }
    }

    /// `DEALLOCATE`: one that must exist, or every named one.
    pub fn deallocate(&mut self, name: Option<&str>) -> Result<(), ClientError> {
        match name {
            None => self.named.clear(),
            Some(name) => drop(self.named.remove(name).ok_or_else(|| unknown(name))?),
        }
        Ok(())
    }
}

fn unknown(name: &str) -> ClientError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    ClientError::new(SqlState::UNDEFINED_STATEMENT, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::budget::testing::accounts;

    fn prepared() -> Prepared<()> {
        let description = Description { parameters: Vec::new(), fields: None };
        let held = accounts(0, 0).memory.hold(0).unwrap();
        Prepared { statement: Some(()), control: None, description, weight: Weight::default(), _held: held }
    }

    fn add(all: &mut Statements<()>, name: &str) -> Result<(), ClientError> {
        all.admit(name)?;
        all.insert(name.to_owned(), prepared());
        Ok(())
    }

    #[test]
    fn the_unnamed_statement_is_replaced_and_never_counts() {
        let limits = Limits { max_prepared: 1, ..Limits::default() };
        let mut all = Statements::new(&limits);
        add(&mut all, "a").unwrap();
        add(&mut all, "").unwrap();
        add(&mut all, "").unwrap();
        all.deallocate(None).unwrap();
        assert!(all.get("a").is_err() && all.get("").is_ok());
        assert_eq!(all.deallocate(Some("")).unwrap_err().code.as_str(), "26000");
        assert!(all.get("").is_ok(), "SQL cannot name it");
        all.admit("").unwrap();
        assert!(all.get("").is_err(), "it is gone even if its successor fails");
    }

    #[test]
    fn their_number_is_limited() {
        let limits = Limits { max_prepared: 2, ..Limits::default() };
        let mut all = Statements::new(&limits);
        add(&mut all, "a").unwrap();
        assert_eq!(add(&mut all, "a").unwrap_err().code.as_str(), "42P05");
        add(&mut all, "b").unwrap();
        let e = add(&mut all, "c").unwrap_err();
        assert_eq!((e.code.as_str(), e.detail.unwrap().as_str()), ("54000", "limits.max_prepared is 2."));
        all.close("a");
        all.close("never there");
        add(&mut all, "c").unwrap();
    }
}
