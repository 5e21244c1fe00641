//! The prepared statements of a session: one namespace for the protocol and for SQL.

use super::service::Control;
use answer::{ClientError, SqlState};
use answer::{Description, Field};
use policy::Limits;
use std::collections::HashMap;
use std::sync::Arc;

/// 42P05: the name is taken.
const DUPLICATE_STATEMENT: SqlState = SqlState(*b"42P05");
/// All prepared texts of a session together may be this many times as long as one statement.
const TEXTS: usize = 2;

/// A prepared statement. Its portals share it, so that Close does not hurt them.
#[derive(Debug)]
pub(super) struct Prepared<T> {
    /// The statement; `None` for an empty text.
    pub statement: Option<T>,
    /// What it does to what the frontend keeps.
    pub control: Control,
    /// What Parse froze.
    pub description: Description,
    /// Length of its text, which stands for the memory that it takes.
    pub text: usize,
}

impl<T> Prepared<T> {
    /// The columns of the rows that executing it sends: none where its rows are kept, or copied.
    pub fn shown(&self) -> Option<&[Field]> {
        match self.control {
            Control::Declare(_) | Control::Copy(_) => None,
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
    max_statement_bytes: usize,
}

impl<T> Statements<T> {
    /// None yet.
    pub fn new(limits: &Limits) -> Self {
        Self {
            unnamed: None,
            named: HashMap::new(),
            max_prepared: limits.max_prepared,
            max_statement_bytes: limits.max_statement_bytes,
        }
    }

    /// Before a statement of this name and length of text is prepared: the name must be free and the limits must
    /// leave room. The unnamed statement makes room by itself, whether or not its successor will come to be.
    pub fn admit(&mut self, name: &str, text: usize) -> Result<(), ClientError> {
        if name.is_empty() {
            self.unnamed = None;
            return Ok(());
        }
        if self.named.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(ClientError::new(DUPLICATE_STATEMENT, message));
        }
        if self.named.len() >= self.max_prepared {
            let detail = format!("limits.max_prepared is {}.", self.max_prepared);
            return Err(too_many("too many prepared statements", detail, "limits.max_prepared"));
        }
        let used: usize = self.named.iter().map(|(name, s)| name.len() + s.text).sum();
        let limit = self.max_statement_bytes.saturating_mul(TEXTS);
        if used.saturating_add(name.len() + text) > limit {
            let detail = format!(
                "They may be {TEXTS} times as long as one statement, and limits.max_statement_bytes is {}.",
                self.max_statement_bytes
            );
            let message = "the texts of the prepared statements are too long together";
            return Err(too_many(message, detail, "limits.max_statement_bytes"));
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

fn too_many(message: &str, detail: String, key: &str) -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).detail(detail).hint(format!(
        "Give up statements that are no longer needed, by DEALLOCATE or a Close message, \
         or ask the operator to raise {key}."
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn prepared(text: usize) -> Prepared<()> {
        let description = Description { parameters: Vec::new(), fields: None };
        Prepared { statement: Some(()), control: Control::None, description, text }
    }

    fn add(all: &mut Statements<()>, name: &str, text: usize) -> Result<(), ClientError> {
        all.admit(name, text)?;
        all.insert(name.to_owned(), prepared(text));
        Ok(())
    }

    #[test]
    fn the_unnamed_statement_is_replaced_and_never_counts() {
        let limits = Limits { max_prepared: 1, max_statement_bytes: 10, ..Limits::default() };
        let mut all = Statements::new(&limits);
        add(&mut all, "a", 10).unwrap();
        add(&mut all, "", 10).unwrap();
        add(&mut all, "", 10).unwrap();
        all.deallocate(None).unwrap();
        assert!(all.get("a").is_err() && all.get("").is_ok());
        assert_eq!(all.deallocate(Some("")).unwrap_err().code.as_str(), "26000");
        assert!(all.get("").is_ok(), "SQL cannot name it");
        all.admit("", 10).unwrap();
        assert!(all.get("").is_err(), "it is gone even if its successor fails");
    }

    #[test]
    fn number_and_length_are_limited() {
        let limits = Limits { max_prepared: 2, ..Limits::default() };
        let mut all = Statements::new(&limits);
        add(&mut all, "a", 1).unwrap();
        assert_eq!(add(&mut all, "a", 1).unwrap_err().code.as_str(), "42P05");
        add(&mut all, "b", 1).unwrap();
        let e = add(&mut all, "c", 1).unwrap_err();
        assert_eq!((e.code.as_str(), e.detail.unwrap().as_str()), ("54000", "limits.max_prepared is 2."));
        all.close("a");
        all.close("never there");
        add(&mut all, "c", 1).unwrap();

        let limits = Limits { max_statement_bytes: 10, ..Limits::default() };
        let mut all = Statements::new(&limits);
        let refused = ('a'..='z').position(|name| add(&mut all, &name.to_string(), 9).is_err());
        assert_eq!(refused, Some(2), "twice ten bytes");
        let hint = add(&mut all, "z", 9).unwrap_err().hint.unwrap();
        assert!(hint.contains("DEALLOCATE") && hint.contains("limits.max_statement_bytes"), "{hint}");
    }
}
