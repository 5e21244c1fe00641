//! How many reports a person gave in a window, in one SQLite file: on disk before any of them is stored.
//!
//! A row is a digest of person and window, and a count that is sealed (XChaCha20-Poly1305, the digest as associated data).
//! `synchronous=FULL`: a charge is on disk when it returns. Windows that have ended are deleted, and overwritten.

use super::secret::{Person, Secret};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use durable::OpenError;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};
use std::path::Path;

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpendingError {
    /// SQLite's word.
    #[error("{0:?} cannot be used: {1}")]
    Sqlite(String, rusqlite::Error),
    /// The file cannot be made.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// Another process has it.
    #[error(
        "{0:?} is in use by another noisegate: each keeps count by itself, so that two with one file, or two files, would let through \
         twice as much. Give each policy its own: persons = \"…\""
    )]
    InUse(String),
    /// It was made under another key.
    #[error(
        "{0:?} was made with another person_key_file, by which nobody in it is known again. Put the key back, give this relation a file of \
         its own (persons = \"…\"), or remove the file: everybody then has a whole window before them"
    )]
    Key(String),
    /// Of another version.
    #[error("{0:?} is no file of this version of noisegate for what persons have said")]
    Version(String),
}

/// Nothing was charged.
#[derive(Debug, thiserror::Error)]
pub enum ChargeError {
    /// The person at this place of the list has no report left in the window.
    #[error("a person has no report left in this window")]
    Exceeded(usize),
    /// The file cannot be read or written.
    #[error("what persons have said cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// It was sealed under another key, or changed.
    #[error("what a person has said does not open: the key is another one, or the file was changed")]
    Closed,
    /// No random bits.
    #[error("there is no randomness")]
    Entropy,
}

/// A window, and how much a person may say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Seconds of a window; the first begins at the epoch.
    pub length: u64,
    /// Reports of one person in a window.
    pub most: u64,
}

const VERSION: i64 = 2;
const SCHEMA: &str = "
CREATE TABLE spent (place BLOB PRIMARY KEY, ends INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX spent_ends ON spent (ends);
";
/// What version 2 has beside that: by which key the places are.
const KEY: &str = "CREATE TABLE key (proof BLOB NOT NULL)";
const NONCE: usize = 24;

/// The file.
pub struct Spending {
    connection: Connection,
    secret: Secret,
    cipher: XChaCha20Poly1305,
}

impl Spending {
    /// Opens a file, or makes one that nobody but its owner reads. Messages name it as `named` does.
    ///
    /// # Errors
    /// The file is none, is another process's or another key's, or cannot be written.
    pub fn open(path: &Path, named: &str, secret: Secret) -> Result<Self, SpendingError> {
        let shown = || named.to_owned();
        let connection = prepared(path, &secret).map_err(|e| match e {
            OpenError::File(e) => SpendingError::File(shown(), e),
            OpenError::Sqlite(e) => match e.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SpendingError::InUse(shown()),
                _ => SpendingError::Sqlite(shown(), e),
            },
        })?;
        let connection = match connection {
            Prepared::Ready(connection) => connection,
            Prepared::OtherKey => return Err(SpendingError::Key(shown())),
            Prepared::OtherVersion => return Err(SpendingError::Version(shown())),
        };
        let cipher = XChaCha20Poly1305::new(&secret.storage().into());
        Ok(Self { connection, secret, cipher })
    }

    /// Whether this is its key.
    pub fn is_under(&self, secret: &Secret) -> bool {
        self.secret.proof() == secret.proof()
    }

    /// Charges a report to each of these persons, who may be in the list several times: to all of them, or to none where there is
    /// an error. What was charged is not given back, whatever becomes of the reports.
    ///
    /// Guarantee: with reports that are ε-DP each, what one person gave in a window is (`most`·ε)-DP in the local sense. Whether a
    /// report is refused depends on how many there were and not on what any of them says.
    ///
    /// # Errors
    /// [`ChargeError`].
    pub fn charge(&mut self, window: Window, now: u64, persons: &[Person]) -> Result<(), ChargeError> {
        let length = window.length.max(1);
        let number = now / length;
        let ends = i64::try_from((number + 1).saturating_mul(length)).unwrap_or(i64::MAX);
        let (secret, cipher) = (&self.secret, &self.cipher);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut select = transaction.prepare_cached("SELECT sealed FROM spent WHERE place = ?1")?;
            let mut put = transaction.prepare_cached("INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3)")?;
            for (at, person) in persons.iter().enumerate() {
                let place = secret.place(person, number);
                let sealed: Option<Vec<u8>> =
                    select.query_row(params![place], |row| row.get(0)).optional()?;
                let spent = sealed.map_or(Ok(0), |sealed| open(cipher, &place, &sealed))?;
                if spent >= window.most {
                    return Err(ChargeError::Exceeded(at));
                }
                put.execute(params![place, ends, close(cipher, &place, spent + 1)?])?;
            }
            transaction.execute(
                "DELETE FROM spent WHERE ends <= ?1",
                params![i64::try_from(now).unwrap_or(i64::MAX)],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }
}

enum Prepared {
    Ready(Connection),
    OtherKey,
    OtherVersion,
}

fn prepared(path: &Path, secret: &Secret) -> Result<Prepared, OpenError> {
    // Of one process: two that count by themselves would let twice as much through.
    let mut connection = durable::open_alone(path)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = durable::version(&transaction)?;
    if version.is_none() {
        transaction.execute_batch(SCHEMA)?;
    }
    match version {
        None | Some(1) => {
            transaction.execute_batch(KEY)?;
            transaction.execute("INSERT INTO key VALUES (?1)", params![secret.proof()])?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        Some(VERSION) => {}
        Some(_) => return Ok(Prepared::OtherVersion),
    }
    let proof: [u8; 32] = transaction.query_row("SELECT proof FROM key", [], |row| row.get(0))?;
    if proof != secret.proof() {
        return Ok(Prepared::OtherKey);
    }
    transaction.commit()?;
    Ok(Prepared::Ready(connection))
}

fn close(cipher: &XChaCha20Poly1305, place: &[u8; 32], spent: u64) -> Result<Vec<u8>, ChargeError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| ChargeError::Entropy)?;
    let payload = Payload { msg: &spent.to_le_bytes(), aad: place };
    let sealed = cipher.encrypt(XNonce::from_slice(&nonce), payload).map_err(|_| ChargeError::Closed)?;
    Ok([&nonce[..], &sealed].concat())
}

fn open(cipher: &XChaCha20Poly1305, place: &[u8; 32], sealed: &[u8]) -> Result<u64, ChargeError> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE).ok_or(ChargeError::Closed)?;
    let payload = Payload { msg: sealed, aad: place };
    let plain = cipher.decrypt(XNonce::from_slice(nonce), payload).map_err(|_| ChargeError::Closed)?;
    plain.try_into().map(u64::from_le_bytes).map_err(|_| ChargeError::Closed)
}
