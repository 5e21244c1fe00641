//! State that the frontend keeps for a session, and the statements that it executes on that by
//! itself.

use super::budget::{Account, Accounts};
use super::portal::Portals;
use super::prepared::Statements;
use super::service::Session;
use super::transaction::{Step, Transaction};
use super::turns::Turn;
use answer::Control;
use answer::{ClientError, Copy};
use pgwire::messages::response::TransactionStatus;
use policy::Limits;

/// A session and what belongs to it on this side of the wire.
pub(super) struct State<S: Session> {
    /// The program's side.
    pub session: S,
    /// BEGIN, COMMIT and so on.
    pub transaction: Transaction,
    /// Prepared statements; no transaction ends them.
    pub statements: Statements<S::Statement>,
    /// Portals and cursors; the end of the transaction ends them, but for those `WITH HOLD`.
    pub portals: Portals<S::Portal>,
    /// Bytes of memory.
    pub memory: Account,
    /// The session's turn at large statements.
    pub turn: Turn,
    /// A COPY FROM that was executed: its rows come next.
    pub copy_from: Option<(S::Portal, Copy)>,
}

impl<S: Session> State<S> {
    /// A new session's.
    pub fn new(session: S, limits: &Limits, accounts: Accounts, turn: Turn) -> Self {
        Self {
            session,
            transaction: Transaction::new(),
            statements: Statements::new(limits),
            portals: Portals::new(limits, &accounts),
            memory: accounts.memory,
            turn,
            copy_from: None,
        }
    }

    /// Before a COMMIT: what the transaction wrote becomes durable. Where it cannot, the transaction is rolled back.
    pub async fn settle(&mut self, control: &Control) -> Result<(), ClientError> {
        let open = self.transaction.status() == TransactionStatus::Transaction;
        if !open || !matches!(control, Control::Commit { .. }) {
            return Ok(());
        }
        if let Err(e) = self.session.commit().await {
            self.control(Control::Rollback { chain: false }, None)?;
            return Err(e);
        }
        Ok(())
    }

    /// Executes a control statement that [`Transaction::admit`] let through; `None` for any other.
    /// `active` is the portal that executes it, if the extended protocol brought it.
    pub fn control(&mut self, control: Control, active: Option<&str>) -> Result<Option<Step>, ClientError> {
        let tag = match &control {
            Control::Deallocate(name) => {
                self.statements.deallocate(name.as_deref())?;
                Some(if name.is_some() { "DEALLOCATE" } else { "DEALLOCATE ALL" })
            }
            Control::CloseCursors(name) => {
                self.portals.close_cursors(name.as_deref(), active)?;
                Some(if name.is_some() { "CLOSE CURSOR" } else { "CLOSE CURSOR ALL" })
            }
            Control::DiscardAll => {
                self.transaction.outside("DISCARD ALL")?;
                self.portals.clear();
                self.statements.deallocate(None)?;
                Some("DISCARD ALL")
            }
            _ => None,
        };
        let step = match tag {
            Some(tag) => Step { tag, effect: control, notice: None },
            None => match self.transaction.apply(control)? {
                Some(step) => step,
                None => return Ok(None),
            },
        };
        let depth = self.transaction.depth();
        match &step.effect {
            Control::Commit { .. } => self.portals.committed(),
            Control::Rollback { .. } => self.portals.aborted(),
            Control::RollbackTo(_) => self.portals.rolled_back(depth),
            Control::Release(_) => self.portals.released(depth),
            _ => {}
        }
        self.session.transaction(&step.effect);
        Ok(Some(step))
    }

    /// An error happened.
    pub fn fail(&mut self) {
        self.transaction.fail();
        if self.transaction.status() == TransactionStatus::Idle {
            self.portals.aborted();
        }
    }

    /// Outside of a transaction block a batch is a transaction of its own, which ends at Sync, after a simple
    /// query, and at an error.
    pub fn end_implicit(&mut self) {
        self.transaction.set_implicit(false);
        if self.transaction.status() == TransactionStatus::Idle {
            self.portals.committed();
        }
    }
}
