//! The portals of a session: bound statements that wait for Execute, or that still have rows to give.

use super::prepared::Prepared;
use answer::{ClientError, SqlState};
use policy::Limits;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// 42P03: the name is taken.
const DUPLICATE_CURSOR: SqlState = SqlState(*b"42P03");
/// 24000: the cursor is in no state for that.
const INVALID_CURSOR_STATE: SqlState = SqlState(*b"24000");
/// What keeping a row takes beside its bytes.
const OVERHEAD: usize = 32;

/// A portal over a statement `T`; the session's side of it is `P`.
#[derive(Debug)]
pub(super) struct Portal<T, P> {
    /// What it was made of; Close of the statement does not take it away.
    pub prepared: Arc<Prepared<T>>,
    /// Format of each column.
    pub formats: Vec<i16>,
    /// How far it is.
    pub progress: Progress<P>,
    /// Bytes that it keeps, but for its rows.
    pub held: usize,
    /// How many savepoints there were when it was made.
    pub depth: usize,
}

/// How far a portal is.
#[derive(Debug)]
pub(super) enum Progress<P> {
    /// Its statement is empty; that can be executed again and again.
    Empty,
    /// The frontend will execute its statement.
    Control,
    /// The session will.
    Bound(P),
    /// It was executed, and these rows are left, if any.
    Rest(Rest),
    /// It was executed, and can give nothing more.
    Spent,
}

/// Rows that no Execute has asked for yet.
#[derive(Debug)]
pub(super) struct Rest {
    /// First word of the command tag.
    pub verb: &'static str,
    /// Whether the tag ends in the number of rows.
    pub count: bool,
    rows: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl Rest {
    /// No rows, under this tag.
    pub fn new(verb: &'static str, count: bool) -> Self {
        Self { verb, count, rows: VecDeque::new(), bytes: 0 }
    }

    /// Keeps a row, as long as all of them fit into `room`. A copy, because the row may be a small part of a large
    /// buffer.
    pub fn push(&mut self, row: &[u8], room: usize) -> Result<(), ClientError> {
        self.bytes = self.bytes.saturating_add(row.len() + OVERHEAD);
        if self.bytes > room {
            return Err(too_much(
                "the rest of the rows is too long to be kept",
                "Execute without a row limit (in JDBC: setFetchSize(0)), ask for fewer rows, end other portals by \
                 a Close message or CLOSE",
            ));
        }
        self.rows.push_back(row.into());
        Ok(())
    }

    /// The next row.
    pub fn pop(&mut self) -> Option<Box<[u8]>> {
        let row = self.rows.pop_front()?;
        self.bytes = self.bytes.saturating_sub(row.len() + OVERHEAD);
        Some(row)
    }
}

/// The portals of one session; the name of the unnamed one is empty.
#[derive(Debug)]
pub(super) struct Portals<T, P> {
    all: HashMap<String, Portal<T, P>>,
    max_portals: usize,
    max_bytes: usize,
}

impl<T, P> Portals<T, P> {
    /// None yet.
    pub fn new(limits: &Limits) -> Self {
        Self { all: HashMap::new(), max_portals: limits.max_portals, max_bytes: limits.max_portal_bytes }
    }

    /// Before a portal of this name that holds so many bytes is made: the name must be free and the limits must
    /// leave room. The unnamed portal makes room by itself, whether or not its successor will come to be.
    pub fn admit(&mut self, name: &str, bytes: usize) -> Result<(), ClientError> {
        if name.is_empty() {
            self.all.remove(name);
            return Ok(());
        }
        if self.all.contains_key(name) {
            return Err(ClientError::new(DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        let named = self.all.len() - usize::from(self.all.contains_key(""));
        if named >= self.max_portals {
            return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many portals")
                .detail(format!("limits.max_portals is {}.", self.max_portals))
                .hint(
                    "End portals that are no longer needed, by a Close message, CLOSE or the end of the \
                     transaction, or ask the operator to raise limits.max_portals.",
                ));
        }
        if bytes > self.room() {
            return Err(too_much(
                "the portals keep too many bytes",
                "End portals that are no longer needed, by a Close message, CLOSE or the end of the transaction",
            ));
        }
        Ok(())
    }

    /// Keeps a portal that [`Self::admit`] let in.
    pub fn insert(&mut self, name: String, portal: Portal<T, P>) {
        self.all.insert(name, portal);
    }

    /// The portal of this name, or 34000.
    pub fn get(&mut self, name: &str) -> Result<&mut Portal<T, P>, ClientError> {
        self.all.get_mut(name).ok_or_else(|| {
            ClientError::new(SqlState::UNDEFINED_CURSOR, format!("portal \"{name}\" does not exist"))
        })
    }

    /// Bytes that may still be kept.
    pub fn room(&self) -> usize {
        let kept = |p: &Portal<T, P>| match &p.progress {
            Progress::Rest(rest) => p.held + rest.bytes,
            _ => p.held,
        };
        self.max_bytes.saturating_sub(self.all.values().map(kept).sum())
    }

    /// Close: forgets the portal, if there is one.
    pub fn close(&mut self, name: &str) {
        self.all.remove(name);
    }

    /// `CLOSE`: one that must exist, or all; but not the active one, which is the portal that executes `CLOSE`.
    pub fn close_cursors(&mut self, name: Option<&str>, active: Option<&str>) -> Result<(), ClientError> {
        match name {
            None => self.all.retain(|name, _| Some(name.as_str()) == active),
            Some(name) if name == active.unwrap_or_default() && !name.is_empty() => {
                let message = format!("cannot drop active portal \"{name}\"");
                return Err(ClientError::new(INVALID_CURSOR_STATE, message));
            }
            // SQL cannot name the unnamed portal.
            Some(name) if name.is_empty() || self.all.remove(name).is_none() => {
                let message = format!("cursor \"{name}\" does not exist");
                return Err(ClientError::new(SqlState::UNDEFINED_CURSOR, message));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// The transaction ended.
    pub fn clear(&mut self) {
        self.all = HashMap::new();
    }

    /// The transaction went back to the savepoint that was the `depth`th: what came after it is gone.
    pub fn rolled_back(&mut self, depth: usize) {
        self.all.retain(|_, p| p.depth < depth);
    }

    /// Only `depth` savepoints are left; what came after the others belongs to the last of these.
    pub fn released(&mut self, depth: usize) {
        self.all.values_mut().for_each(|p| p.depth = p.depth.min(depth));
    }
}

fn too_much(message: &str, remedy: &str) -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .hint(format!("{remedy}, or ask the operator to raise limits.max_portal_bytes."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Control;
    use answer::Description;

    fn portal(held: usize, depth: usize) -> Portal<(), ()> {
        let description = Description { parameters: Vec::new(), fields: None };
        let prepared = Prepared { statement: Some(()), control: Control::None, description, text: 0 };
        let prepared = Arc::new(prepared);
        Portal { prepared, formats: Vec::new(), progress: Progress::Bound(()), held, depth }
    }

    fn add(all: &mut Portals<(), ()>, name: &str, portal: Portal<(), ()>) -> Result<(), ClientError> {
        all.admit(name, portal.held)?;
        all.insert(name.to_owned(), portal);
        Ok(())
    }

    #[test]
    fn number_and_bytes_are_limited() {
        let limits = Limits { max_portals: 2, max_portal_bytes: 100, ..Limits::default() };
        let mut all = Portals::new(&limits);
        add(&mut all, "", portal(500, 0)).unwrap();
        add(&mut all, "", portal(0, 0)).unwrap();
        add(&mut all, "a", portal(90, 0)).unwrap();
        assert_eq!(add(&mut all, "a", portal(0, 0)).unwrap_err().code.as_str(), "42P03");
        let e = add(&mut all, "b", portal(11, 0)).unwrap_err();
        assert!(e.code.as_str() == "54000" && e.hint.unwrap().contains("limits.max_portal_bytes"));
        add(&mut all, "b", portal(10, 0)).unwrap();
        let e = add(&mut all, "c", portal(0, 0)).unwrap_err();
        assert!(e.code.as_str() == "54000" && e.hint.unwrap().contains("limits.max_portals"));
        all.close("a");
        add(&mut all, "c", portal(90, 0)).unwrap();
        assert_eq!(all.close_cursors(Some(""), None).unwrap_err().code.as_str(), "34000");
        all.close_cursors(None, None).unwrap();
        assert_eq!(all.get("").unwrap_err().code.as_str(), "34000");
    }

    #[test]
    fn kept_rows_count_until_they_are_given() {
        let limits = Limits { max_portal_bytes: 3 * (OVERHEAD + 10), ..Limits::default() };
        let mut all = Portals::new(&limits);
        add(&mut all, "a", portal(0, 0)).unwrap();
        let mut rest = Rest::new("SELECT", true);
        for _ in 0..3 {
            rest.push(&[0; 10], all.room()).unwrap();
        }
        assert_eq!(rest.push(&[0; 10], all.room()).unwrap_err().code.as_str(), "54000");
        let mut rest = Rest::new("SELECT", true);
        rest.push(&[0; 10], all.room()).unwrap();
        rest.push(&[1; 10], all.room()).unwrap();
        all.get("a").unwrap().progress = Progress::Rest(rest);
        assert_eq!(all.room(), OVERHEAD + 10);
        let Progress::Rest(rest) = &mut all.get("a").unwrap().progress else { unreachable!() };
        assert_eq!(rest.pop().unwrap()[..], [0; 10]);
        assert_eq!(all.room(), 2 * (OVERHEAD + 10));
    }

    #[test]
    fn savepoints_take_their_portals_with_them() {
        let mut all = Portals::new(&Limits::default());
        for (name, depth) in [("outer", 0), ("a", 1), ("b", 2)] {
            add(&mut all, name, portal(0, depth)).unwrap();
        }
        all.released(1);
        all.rolled_back(2);
        assert!(all.get("b").is_ok(), "after RELEASE b belongs to the first savepoint");
        all.rolled_back(1);
        assert!(all.get("a").is_err() && all.get("b").is_err() && all.get("outer").is_ok());
    }
}
