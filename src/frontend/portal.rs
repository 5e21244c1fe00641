//! The portals of a session, which are its cursors: bound statements that wait for Execute, and rows that wait to be fetched.

use super::budget::{Account, Accounts, Held};
use super::opened::Opened;
use super::scratch::Scratch;
use super::spool::Spool;
use answer::Control;
use answer::{ClientError, Field, SqlState};
use policy::Limits;
use std::collections::HashMap;

/// 42P03: the name is taken.
const DUPLICATE_CURSOR: SqlState = SqlState(*b"42P03");
/// 24000: the cursor is in no state for that.
const INVALID_CURSOR_STATE: SqlState = SqlState(*b"24000");

/// A portal; the session's side of it is `P`.
#[derive(Debug)]
pub(super) struct Portal<P> {
    /// Effect of its statement on the state of the frontend.
    pub control: Option<Control>,
    /// Columns that Describe shows, in the formats that Bind asked for.
    pub fields: Option<Vec<Field>>,
    /// Progress of the portal.
    pub progress: Progress<P>,
    /// Bytes that it holds, but for its rows.
    pub held: Held,
    /// Bytes that running it takes beside.
    pub running: usize,
    /// Number of savepoints when it was made.
    pub depth: usize,
    /// When it ends.
    pub life: Life,
}

impl<P> Portal<P> {
    /// The format of each column.
    pub fn formats(&self) -> Vec<i16> {
        self.fields.iter().flatten().map(|f| f.format).collect()
    }
}

/// When a portal ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// With the transaction.
    Transaction,
    /// `WITH HOLD`: with the transaction, unless that commits.
    Hold,
    /// A cursor `WITH HOLD` whose transaction has committed: with the session.
    Kept,
}

/// Progress of a portal.
#[derive(Debug)]
pub(super) enum Progress<P> {
    /// The statement is empty; it can be executed again and again.
    Empty,
    /// The frontend will execute its statement.
    Control,
    /// The session will, and promises rows of these columns.
    Bound(P, Option<Vec<Field>>),
    /// The portal was executed, and these rows are left, if any.
    Open(Box<Opened>),
    /// The portal was executed, and can give nothing more.
    Spent,
}

/// The portals of one session; the name of the unnamed one is empty.
#[derive(Debug)]
pub(super) struct Portals<P> {
    all: HashMap<String, Portal<P>>,
    memory: Account,
    scratch: Scratch,
    max_portals: usize,
    max_bytes: usize,
}

impl<P> Portals<P> {
    /// Portals of a new session: none.
    pub fn new(limits: &Limits, accounts: &Accounts) -> Self {
        Self {
            all: HashMap::new(),
            memory: accounts.memory.clone(),
            scratch: Scratch::new(accounts.disk.clone()),
            max_portals: limits.max_portals,
            max_bytes: limits.max_portal_bytes,
        }
    }

    /// Makes room for a portal of this name and size: the name must be free and the limits must
    /// leave room. The unnamed portal makes room by itself, whether or not its successor will come
    /// to be.
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
            return Err(ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "the portals keep too many bytes",
            )
            .hint(
                "End portals that are no longer needed, by a Close message, CLOSE or the end of the transaction, or ask \
                 the operator to raise limits.max_portal_bytes.",
            ));
        }
        Ok(())
    }

    /// Keeps a portal that [`Self::admit`] let in.
    pub fn insert(&mut self, name: String, portal: Portal<P>) {
        self.all.insert(name, portal);
    }

    /// The portal of this name, or 34000.
    pub fn get(&mut self, name: &str) -> Result<&mut Portal<P>, ClientError> {
        self.all.get_mut(name).ok_or_else(|| {
            ClientError::new(SqlState::UNDEFINED_CURSOR, format!("portal \"{name}\" does not exist"))
        })
    }

    /// The cursor of this name: a portal whose rows FETCH can give, or 34000.
    pub fn cursor(&mut self, name: &str) -> Result<&mut Portal<P>, ClientError> {
        // SQL cannot name the unnamed portal.
        let found = self.all.get_mut(name).filter(|_| !name.is_empty());
        found.ok_or_else(|| no_cursor(name))
    }

    /// Bytes that may still be kept in memory.
    pub fn room(&self) -> usize {
        let kept = |p: &Portal<P>| match &p.progress {
            Progress::Open(rows) => p.held.bytes() + rows.memory(),
            _ => p.held.bytes(),
        };
        self.max_bytes.saturating_sub(self.all.values().map(kept).sum())
    }

    /// An empty spool with the room that is left. Rows leave a quarter of it to new portals.
    pub fn spool(&self) -> Spool {
        let room = self.room().saturating_sub(self.max_bytes / 4);
        Spool::new(room, self.memory.clone(), self.scratch.clone())
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
            Some(name) if name.is_empty() || self.all.remove(name).is_none() => return Err(no_cursor(name)),
            Some(_) => {}
        }
        Ok(())
    }

    /// All are gone.
    pub fn clear(&mut self) {
        self.all = HashMap::new();
    }

    /// The transaction was committed.
    pub fn committed(&mut self) {
        self.all.retain(|_, p| p.life != Life::Transaction);
        self.all.values_mut().for_each(|p| (p.life, p.depth) = (Life::Kept, 0));
    }

    /// The transaction was rolled back.
    pub fn aborted(&mut self) {
        self.all.retain(|_, p| p.life == Life::Kept);
    }

    /// The transaction went back to the savepoint that was the `depth`th: what came after it is gone.
    pub fn rolled_back(&mut self, depth: usize) {
        self.all.retain(|_, p| p.depth < depth || p.life == Life::Kept);
    }

    /// Only `depth` savepoints are left; what came after the others belongs to the last of these.
    pub fn released(&mut self, depth: usize) {
        self.all.values_mut().for_each(|p| p.depth = p.depth.min(depth));
    }
}

/// 34000, as SQL says it.
fn no_cursor(name: &str) -> ClientError {
    ClientError::new(SqlState::UNDEFINED_CURSOR, format!("cursor \"{name}\" does not exist"))
}

/// 55000: it ran, and can give nothing more.
pub(super) fn cannot_run(name: &str) -> ClientError {
    let message = format!("portal \"{name}\" cannot be run");
    ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Bind the statement again.")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::budget::testing::accounts;

    fn portal(held: usize, depth: usize) -> Portal<()> {
        let progress = Progress::Bound((), None);
        let held = accounts(1_000, 0).memory.hold(held).unwrap();
        let life = Life::Transaction;
        Portal { control: None, fields: None, progress, held, running: 0, depth, life }
    }

    fn portals(limits: &Limits) -> Portals<()> {
        Portals::new(limits, &accounts(1_000, 0))
    }

    fn add(all: &mut Portals<()>, name: &str, portal: Portal<()>) -> Result<(), ClientError> {
        all.admit(name, portal.held.bytes())?;
        all.insert(name.to_owned(), portal);
        Ok(())
    }

    #[test]
    fn number_and_bytes_are_limited() {
        let limits = Limits { max_portals: 2, max_portal_bytes: 100, ..Limits::default() };
        let mut all = portals(&limits);
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
    fn cursors_with_hold_stay_when_their_transaction_commits() {
        let mut all = portals(&Limits::default());
        let hold = |depth| Portal { life: Life::Hold, ..portal(0, depth) };
        add(&mut all, "plain", portal(0, 0)).unwrap();
        add(&mut all, "kept", hold(1)).unwrap();
        all.committed();
        assert!(all.cursor("plain").is_err() && all.cursor("kept").is_ok());
        add(&mut all, "other", hold(1)).unwrap();
        all.rolled_back(1);
        assert!(all.cursor("other").is_err() && all.cursor("kept").is_ok());
        add(&mut all, "other", hold(0)).unwrap();
        all.aborted();
        assert!(all.cursor("other").is_err() && all.cursor("kept").is_ok());
    }

    #[test]
    fn savepoints_take_their_portals_with_them() {
        let mut all = portals(&Limits::default());
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
