//! The virtual transaction: what BEGIN, COMMIT, ROLLBACK and savepoints mean to a client of a read-only proxy.
//! Answers and debits are final whatever the transaction does; only its state machine is PostgreSQL's.

use answer::Control;
use answer::Notice;
use answer::{ClientError, SqlState};
use pgwire::messages::response::TransactionStatus;

/// 25P01: only inside a transaction block.
const NO_ACTIVE_TRANSACTION: SqlState = SqlState(*b"25P01");
/// 3B001: no such savepoint.
const UNDEFINED_SAVEPOINT: SqlState = SqlState(*b"3B001");
/// Bytes of all savepoint names of one transaction.
const MAX_SAVEPOINT_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Open,
    Failed,
}

/// State of a session's transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    state: State,
    savepoints: Vec<String>,
    /// A message of several statements is a block of its own, as far as cursors go.
    implicit: bool,
}

/// A step of a control statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The command tag.
    pub tag: &'static str,
    /// The effect in fact: COMMIT of a failed transaction is a rollback.
    pub effect: Control,
    /// A warning, as PostgreSQL gives it.
    pub notice: Option<Notice>,
}

impl Transaction {
    /// Outside of any transaction.
    pub fn new() -> Self {
        Self { state: State::Idle, savepoints: Vec::new(), implicit: false }
    }

    /// The status of ReadyForQuery.
    pub fn status(&self) -> TransactionStatus {
        match self.state {
            State::Idle => TransactionStatus::Idle,
            State::Open => TransactionStatus::Transaction,
            State::Failed => TransactionStatus::Error,
        }
    }

    /// An error happened: inside a transaction it fails.
    pub fn fail(&mut self) {
        if self.state == State::Open {
            self.state = State::Failed;
        }
    }

    /// Refuses what a failed transaction does not allow.
    pub fn admit(&self, control: Option<&Control>) -> Result<(), ClientError> {
        let ends = matches!(
            control,
            Some(Control::Commit { .. } | Control::Rollback { .. } | Control::RollbackTo(_))
        );
        if self.state == State::Failed && !ends {
            return Err(ClientError::new(
                SqlState::IN_FAILED_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    /// Number of savepoints.
    pub fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// Refuses what a transaction block does not allow.
    pub fn outside(&self, what: &str) -> Result<(), ClientError> {
        if self.state == State::Idle {
            return Ok(());
        }
        let message = format!("{what} cannot run inside a transaction block");
        Err(ClientError::new(SqlState::ACTIVE_TRANSACTION, message))
    }

    /// Executes transaction control that [`Self::admit`] let through; `None` for any other.
    pub fn apply(&mut self, control: Control) -> Result<Option<Step>, ClientError> {
        let mut notice = None;
        let (tag, effect) = match control {
            Control::Deallocate(_)
            | Control::CloseCursors(_)
            | Control::DiscardAll
            | Control::Declare(_)
            | Control::Fetch(_)
            | Control::Copy(_)
            | Control::CopyFrom(_)
            | Control::Prepare { .. }
            | Control::Execute(_) => return Ok(None),
            Control::Begin(_) | Control::Start(_) => {
                if self.state == State::Idle {
                    self.state = State::Open;
                } else {
                    notice = Some(warning("25001", "there is already a transaction in progress"));
                }
                let tag = if matches!(control, Control::Begin(_)) { "BEGIN" } else { "START TRANSACTION" };
                (tag, control)
            }
            Control::Commit { chain } => {
                let failed = self.state == State::Failed;
                notice = self.end(chain, "COMMIT AND CHAIN")?;
                if failed { ("ROLLBACK", Control::Rollback { chain }) } else { ("COMMIT", control) }
            }
            Control::Rollback { chain } => {
                notice = self.end(chain, "ROLLBACK AND CHAIN")?;
                ("ROLLBACK", control)
            }
            Control::Savepoint(name) => {
                self.inside("SAVEPOINT")?;
                let used: usize = self.savepoints.iter().map(|s| s.len() + 1).sum();
                if used + name.len() > MAX_SAVEPOINT_BYTES {
                    return Err(ClientError::new(
                        SqlState::PROGRAM_LIMIT_EXCEEDED,
                        "too many savepoints in one transaction",
                    )
                    .hint("Release savepoints that are no longer needed."));
                }
                self.savepoints.push(name.clone());
                ("SAVEPOINT", Control::Savepoint(name))
            }
            Control::Release(name) => {
                self.inside("RELEASE SAVEPOINT")?;
                let at = self.find(&name)?;
                self.savepoints.truncate(at);
                ("RELEASE", Control::Release(name))
            }
            Control::RollbackTo(name) => {
                self.inside("ROLLBACK TO SAVEPOINT")?;
                let at = self.find(&name)?;
                self.savepoints.truncate(at + 1);
                self.state = State::Open;
                ("ROLLBACK", Control::RollbackTo(name))
            }
        };
        Ok(Some(Step { tag, effect, notice }))
    }

    fn end(&mut self, chain: bool, what: &str) -> Result<Option<Notice>, ClientError> {
        if chain {
            self.inside(what)?;
        }
        let notice =
            (self.state == State::Idle).then(|| warning("25P01", "there is no transaction in progress"));
        self.state = if chain { State::Open } else { State::Idle };
        self.savepoints.clear();
        Ok(notice)
    }

    /// Several statements came in one message, or what came is done.
    pub fn set_implicit(&mut self, implicit: bool) {
        self.implicit = implicit;
    }

    /// Refuses what has no sense outside of a transaction block, of which a message of several statements is one.
    pub fn within(&self, what: &str) -> Result<(), ClientError> {
        if self.implicit { Ok(()) } else { self.inside(what) }
    }

    fn inside(&self, what: &str) -> Result<(), ClientError> {
        if self.state == State::Idle {
            let message = format!("{what} can only be used in transaction blocks");
            return Err(ClientError::new(NO_ACTIVE_TRANSACTION, message));
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<usize, ClientError> {
        self.savepoints.iter().rposition(|s| s == name).ok_or_else(|| {
            ClientError::new(UNDEFINED_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
        })
    }
}

fn warning(code: &'static str, message: &str) -> Notice {
    Notice { message: message.to_owned(), code, hint: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use answer::Modes;

    fn run(t: &mut Transaction, control: Control) -> Result<Step, ClientError> {
        t.admit(Some(&control)).and_then(|()| t.apply(control)).map(Option::unwrap).inspect_err(|_| t.fail())
    }

    fn letter(t: &Transaction) -> char {
        char::from(t.status() as u8)
    }

    #[test]
    fn begin_and_commit_warn_as_postgresql_does() {
        let mut t = Transaction::new();
        assert_eq!(run(&mut t, Control::Commit { chain: false }).unwrap().notice.unwrap().code, "25P01");
        let begin = run(&mut t, Control::Begin(Modes::default())).unwrap();
        assert_eq!((begin.tag, begin.notice, letter(&t)), ("BEGIN", None, 'T'));
        let again = run(&mut t, Control::Start(Modes::default())).unwrap();
        assert_eq!((again.tag, again.notice.unwrap().code), ("START TRANSACTION", "25001"));
        assert_eq!(run(&mut t, Control::Commit { chain: false }).unwrap().tag, "COMMIT");
        assert_eq!(letter(&t), 'I');
    }

    #[test]
    fn a_failed_transaction_ends_in_rollback_only() {
        let mut t = Transaction::new();
        t.fail();
        assert_eq!(letter(&t), 'I');
        run(&mut t, Control::Begin(Modes::default())).unwrap();
        t.fail();
        assert_eq!(letter(&t), 'E');
        for control in [None, Some(Control::Begin(Modes::default())), Some(Control::Savepoint("a".into()))] {
            assert_eq!(t.admit(control.as_ref()).unwrap_err().code.as_str(), "25P02");
        }
        let step = run(&mut t, Control::Commit { chain: false }).unwrap();
        assert_eq!((step.tag, step.effect), ("ROLLBACK", Control::Rollback { chain: false }));
        assert_eq!((step.notice, letter(&t)), (None, 'I'));
    }

    #[test]
    fn savepoints_stack_and_recover() {
        let mut t = Transaction::new();
        assert_eq!(run(&mut t, Control::Savepoint("a".into())).unwrap_err().code.as_str(), "25P01");
        run(&mut t, Control::Begin(Modes::default())).unwrap();
        run(&mut t, Control::Savepoint("a".into())).unwrap();
        run(&mut t, Control::Savepoint("b".into())).unwrap();
        t.fail();
        assert_eq!(run(&mut t, Control::RollbackTo("a".into())).unwrap().tag, "ROLLBACK");
        assert_eq!(letter(&t), 'T');
        let gone = run(&mut t, Control::Release("b".into())).unwrap_err();
        assert_eq!((gone.code.as_str(), letter(&t)), ("3B001", 'E'));
        run(&mut t, Control::RollbackTo("a".into())).unwrap();
        run(&mut t, Control::Release("a".into())).unwrap();
        run(&mut t, Control::Rollback { chain: true }).unwrap();
        assert_eq!(letter(&t), 'T');
    }

    #[test]
    fn savepoints_cannot_grow_without_end() {
        let mut t = Transaction::new();
        run(&mut t, Control::Begin(Modes::default())).unwrap();
        let e = (0..100_000).find_map(|_| run(&mut t, Control::Savepoint("s".repeat(60))).err()).unwrap();
        assert_eq!(e.code.as_str(), "54000");
    }
}
