//! Deeds of the owner of the data: making the file, and signing what admits more. Nothing here runs for a client.

use super::error::{ChargeError, SpendingError};
use super::secret::Secret;
use super::spending::{Spending, Terms, Window, mark_of, put, step, terms, tick};
use rusqlite::{TransactionBehavior, params};
use std::path::Path;

/// Who signs, when, and why: it stays in the file.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// Who.
    pub author: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Seconds since 1970.
    pub at: u64,
}

/// A file in the owner's hands.
pub struct Owner {
    spending: Spending,
    /// What is in it cannot be relied on, in words.
    lost: bool,
}

impl Owner {
    /// Makes a file that was never there. One that is there is left as it is.
    ///
    /// # Errors
    /// There is one, or its mark; or it cannot be made.
    pub fn create(path: &Path, named: &str, secret: Secret) -> Result<Self, SpendingError> {
        if path.exists() || mark_of(path).exists() {
            return Err(SpendingError::Exists(named.to_owned()));
        }
        let (spending, _) = Spending::unmarked(path, named, secret)?;
        Ok(Self { spending, lost: false })
    }

    /// Opens one that is there and fits its mark, to add what is new.
    ///
    /// # Errors
    /// As [`Spending::open`] has them.
    pub fn open(path: &Path, named: &str, secret: Secret) -> Result<Self, SpendingError> {
        Ok(Self { spending: Spending::open(path, named, secret)?, lost: false })
    }

    /// Opens one whatever its mark says, or makes one in the place of one that is lost.
    ///
    /// # Errors
    /// It is another process's or another key's, or cannot be written.
    pub fn restore(path: &Path, named: &str, secret: Secret) -> Result<Self, SpendingError> {
        let there = path.exists();
        let (spending, fault) = Spending::unmarked(path, named, secret)?;
        let lost = !there || fault.is_some();
        if fault.is_some() {
            // Another file's, or one that says what is no more: a new one takes its place.
            match std::fs::remove_file(mark_of(path)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(SpendingError::File(named.to_owned(), e));
                }
                _ => {}
            }
            let mark = durable::Mark::find(&mark_of(path), Some(path), true);
            let mark = mark.map_err(|e| SpendingError::File(named.to_owned(), e))?;
            return Ok(Self { spending: spending.marked(mark), lost });
        }
        Ok(Self { spending, lost })
    }

    /// Signs the terms of relations, in words for the owner: those that are new begin, those that are changed hold from the end of
    /// the window that is under way, and where something is lost this window is over for everybody.
    ///
    /// `only_new`: only relations that the file has not are added; the others stay as they were signed.
    ///
    /// # Errors
    /// The file cannot be written; nothing is signed then.
    pub fn sign(
        &mut self,
        relations: &[(&str, Window)],
        only_new: bool,
        by: Signature<'_>,
    ) -> Result<Vec<String>, ChargeError> {
        let connection = &mut self.spending.connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = tick(&transaction, by.at)?;
        let mut said = Vec::new();
        for (name, window) in relations {
            let words = |w: &Window| format!("{} rows in {} s", w.most, w.length);
            let lost = || {
                format!(
                    "{name}: {}, from the next window on; what was said in this one is lost, and counts as all that may be said",
                    words(window)
                )
            };
            let (terms, what) = match terms(&transaction, name)? {
                None if self.lost => (Terms::new(*window, now, true), lost()),
                None => (Terms::new(*window, now, false), format!("{name}: {}", words(window))),
                Some(old) if self.lost => {
                    let what = lost();
                    // Of what is lost nobody knows the window.
                    let ends = old.ends.max(Terms::new(*window, now, true).ends);
                    (Terms { next: *window, ends, lost: true, ..old }, what)
                }
                Some(old) if only_new || old.next == *window => continue,
                Some(old) => {
                    let what = format!(
                        "{name}: {} in place of {}, from the next window on",
                        words(window),
                        words(&old.next)
                    );
                    (Terms { next: *window, ..old }, what)
                }
            };
            put(&transaction, name, &terms)?;
            let insert = "INSERT INTO signed (at, author, reason, what) VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(
                insert,
                params![i64::try_from(now).unwrap_or(i64::MAX), by.author, by.reason, what],
            )?;
            said.push(what);
        }
        step(&transaction)?;
        transaction.commit()?;
        self.spending.remark()?;
        Ok(said)
    }
}
