//! Account of a statement: one counter for every pass that makes something of it, from the text to
//! the plan.
//!
//! A pass takes before it allocates, so that what is refused was never there. Levels are counted by
//! themselves: recursion over a tree needs a part of the stack for each.

use answer::{ClientError, SqlState};
use policy::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Levels of a tree, operators in a row included, for each of `limits.max_depth`, which is of brackets and queries.
const LEVELS: usize = 10;

/// Levels that a tree may have, whatever wrote or rewrote it.
pub fn most_levels(limits: &Limits) -> usize {
    limits.max_depth.saturating_mul(LEVELS)
}

/// Expressions that passes made of a statement.
#[derive(Debug, Default)]
pub struct Spend(Arc<AtomicUsize>);

impl Spend {
    /// Takes `more` from the account, or nothing. `of`: of what they are, for the statement's
    /// author.
    ///
    /// # Errors
    /// 54000: the statement came to more than `limits.max_expressions`.
    pub fn take(&self, more: usize, of: &str, limits: &Limits) -> Result<(), ClientError> {
        let taken = self.taken().saturating_add(more);
        if taken > limits.max_expressions {
            return Err(too_large(of, "max_expressions", limits.max_expressions));
        }
        self.0.store(taken, Ordering::Relaxed);
        Ok(())
    }

    /// Number that was taken.
    pub fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Back to an earlier number: what was made since is gone.
    pub fn back_to(&self, taken: usize) {
        self.0.store(taken, Ordering::Relaxed);
    }

    /// The outcome of a pass that looks, or may be taken again: it is held against what is left, and not charged.
    pub fn uncharged<T>(&self, pass: impl FnOnce() -> T) -> T {
        let taken = self.taken();
        let outcome = pass();
        self.back_to(taken);
        outcome
    }

    /// The same counter, for another pass over the same statement.
    pub fn same(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A copy counts by itself: it is planned by itself.
impl Clone for Spend {
    fn clone(&self) -> Self {
        Self(Arc::new(self.taken().into()))
    }
}

/// Statements are the same whatever was made of them.
impl PartialEq for Spend {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// 54000, naming the key of `[limits]`.
pub fn too_large(what: &str, key: &str, limit: usize) -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("{what} exceeds limits.{key} = {limit}"))
        .hint(format!("Write a smaller statement, or ask the owner to raise limits.{key} in the policy."))
}

/// 54000: too many levels.
pub fn nested(limits: &Limits) -> ClientError {
    let m = format!("the statement is nested deeper than limits.max_depth = {} allows", limits.max_depth);
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
        .hint("Flatten it, or ask the owner to raise limits.max_depth in the policy.")
}
