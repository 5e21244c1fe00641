//! How many reports a person gave in a window, in one SQLite file: on disk before any of them is stored.
//!
//! A row is a digest of person and window, and a count that is sealed (XChaCha20-Poly1305, the digest as associated data).
//! `synchronous=FULL`: a charge is on disk when it returns. Windows that have ended are deleted, and overwritten.
//!
//! The file is a book as the ledger is one (soundness rule 53): its clock only goes forward, its end is known outside of it, by
//! a mark, and what admits more has a signature of the owner of the data ([`Owner`](super::Owner)).

use super::error::{ChargeError, SpendingError};
use super::secret::{Person, Secret};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use durable::{Fault, Mark, OpenError, Tip};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A window, and how much a person may say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Seconds of a window; the first begins at the epoch.
    pub length: u64,
    /// Reports of one person in a window.
    pub most: u64,
}

pub(crate) const VERSION: i64 = 3;
/// `relation` has the terms of the window that is under way and its end, those that the owner has signed for the next ones, and
/// whether counts of this window were lost. `tip` has the last ends of the book, of which the mark knows one.
const SCHEMA: &str = "
CREATE TABLE key (proof BLOB NOT NULL);
CREATE TABLE book (first BLOB NOT NULL, clock INTEGER NOT NULL, restored INTEGER NOT NULL);
CREATE TABLE tip (id INTEGER PRIMARY KEY, hash BLOB NOT NULL);
CREATE TABLE relation (name TEXT PRIMARY KEY, length INTEGER NOT NULL, most INTEGER NOT NULL, ends INTEGER NOT NULL,
    next_length INTEGER NOT NULL, next_most INTEGER NOT NULL, lost INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE signed (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, what TEXT NOT NULL);
CREATE TABLE spent (place BLOB PRIMARY KEY, ends INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX spent_ends ON spent (ends);
";
const NONCE: usize = 24;
/// Ends of the book that are kept: the mark is not waited for on disk, and lags behind by a few where the machine stops.
const TIPS: i64 = 100_000;

/// The file.
pub struct Spending {
    pub(crate) connection: Connection,
    pub(crate) mark: Mark,
    path: PathBuf,
    /// The file that is open.
    file: (u64, u64),
    first: [u8; 32],
    secret: Secret,
    cipher: XChaCha20Poly1305,
}

/// Terms of a relation, as the file has them.
pub(crate) struct Terms {
    pub(crate) now: Window,
    pub(crate) ends: u64,
    pub(crate) next: Window,
    pub(crate) lost: bool,
}

impl Spending {
    /// Opens a file that its owner has made. Messages name it as `named` does.
    ///
    /// # Errors
    /// The file is not there, does not fit its mark, is none, is another process's or another key's, or cannot be written.
    pub fn open(path: &Path, named: &str, secret: Secret) -> Result<Self, SpendingError> {
        if !path.exists() {
            return Err(SpendingError::Missing(named.to_owned()));
        }
        let (spending, fault) = Self::unmarked(path, named, secret)?;
        match fault {
            None => Ok(spending),
            Some(fault) => Err(SpendingError::Mark(named.to_owned(), why(&fault))),
        }
    }

    /// The same, or a new file, for an owner, who has a way to go on where it does not fit its mark.
    pub(crate) fn unmarked(
        path: &Path,
        named: &str,
        secret: Secret,
    ) -> Result<(Self, Option<Fault>), SpendingError> {
        let shown = || named.to_owned();
        let sqlite = |e: rusqlite::Error| match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SpendingError::InUse(shown()),
            _ => SpendingError::Sqlite(shown(), e),
        };
        let file = |e| SpendingError::File(shown(), e);
        // Of one process: two that count by themselves would let twice as much through.
        let mut connection = durable::open_alone(path).map_err(|e| match e {
            OpenError::File(e) => file(e),
            OpenError::Sqlite(e) => sqlite(e),
        })?;
        match prepared(&mut connection, &secret).map_err(sqlite)? {
            Prepared::Ready => {}
            Prepared::OtherKey => return Err(SpendingError::Key(shown())),
            Prepared::OtherVersion => return Err(SpendingError::Version(shown())),
            Prepared::Entropy => return Err(SpendingError::Entropy),
        }
        let first = connection.query_row("SELECT first FROM book", [], |row| row.get(0)).map_err(sqlite)?;
        let mark = Mark::find(&mark_of(path), Some(path), true).map_err(file)?;
        let tip = tip(&connection).map_err(sqlite)?;
        let known = mark.seen.map(|seen| seen.tip.id);
        let at = "SELECT hash FROM tip WHERE id = ?1";
        let at = connection.query_row(at, [known], |row| row.get(0)).optional().map_err(sqlite)?;
        let fault = mark.check(first, (tip, at), |_| false).err();
        let found = std::fs::metadata(path).map_err(file)?;
        let cipher = XChaCha20Poly1305::new(&secret.storage().into());
        let (path, file) = (path.to_owned(), (found.dev(), found.ino()));
        Ok((Self { connection, mark, path, file, first, secret, cipher }, fault))
    }

    /// Whether this is its key.
    pub fn is_under(&self, secret: &Secret) -> bool {
        self.secret.proof() == secret.proof()
    }

    /// Whether the owner has signed so much for a relation: the same windows, and no fewer reports in each.
    ///
    /// # Errors
    /// [`ChargeError::Unsigned`], or the file cannot be read.
    pub fn admits(&self, relation: &str, window: Window) -> Result<(), ChargeError> {
        terms(&self.connection, relation)?
            .filter(|terms| terms.admit(window))
            .map(drop)
            .ok_or(ChargeError::Unsigned)
    }

    /// Charges a report to each of these persons, who may be in the list several times: to all of them, or to none where there is
    /// an error. What was charged is not given back, whatever becomes of the reports.
    ///
    /// Guarantee: with reports that are ε-DP each, what one person gave in a window is (`most`·ε)-DP in the local sense. Whether a
    /// report is refused depends on how many there were and not on what any of them says. Windows do not overlap: one that is under
    /// way goes on under its own terms, whatever is signed meanwhile, and the clock does not go back to one that has ended.
    ///
    /// # Errors
    /// [`ChargeError`].
    pub fn charge(
        &mut self,
        relation: &str,
        window: Window,
        now: u64,
        persons: &[Person],
    ) -> Result<(), ChargeError> {
        let found = std::fs::metadata(&self.path).map(|found| (found.dev(), found.ino()));
        if found.ok() != Some(self.file) || !self.mark.in_place() {
            return Err(ChargeError::Gone);
        }
        let (secret, cipher) = (&self.secret, &self.cipher);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = tick(&transaction, now)?;
        let terms = terms(&transaction, relation)?
            .filter(|terms| terms.admit(window))
            .ok_or(ChargeError::Unsigned)?;
        let terms = terms.at(now);
        put(&transaction, relation, &terms)?;
        if terms.lost {
            return Err(ChargeError::Lost);
        }
        let most = terms.now.most.min(window.most);
        {
            let mut select = transaction.prepare_cached("SELECT sealed FROM spent WHERE place = ?1")?;
            let mut put = transaction.prepare_cached("INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3)")?;
            for (at, person) in persons.iter().enumerate() {
                let place = secret.place(person, terms.ends);
                let sealed: Option<Vec<u8>> =
                    select.query_row(params![place], |row| row.get(0)).optional()?;
                let spent = sealed.map_or(Ok(0), |sealed| open(cipher, &place, &sealed))?;
                if spent >= most {
                    return Err(ChargeError::Exceeded(at));
                }
                put.execute(params![place, signed(terms.ends), close(cipher, &place, spent + 1)?])?;
            }
            transaction.execute("DELETE FROM spent WHERE ends <= ?1", params![signed(now)])?;
        }
        let tip = step(&transaction)?;
        transaction.commit()?;
        // Before anybody is answered.
        self.mark.write(self.first, tip, 0).map_err(ChargeError::Mark)
    }

    /// With another mark.
    pub(crate) fn marked(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// Has the mark say where the book ends, after an owner's deed.
    pub(crate) fn remark(&mut self) -> Result<(), ChargeError> {
        let tip = tip(&self.connection)?;
        self.mark.write(self.first, tip, 0).map_err(ChargeError::Mark)
    }
}

impl Terms {
    /// Terms of a relation's first window.
    pub(crate) fn new(window: Window, now: u64, lost: bool) -> Self {
        Self { now: window, ends: end(window, now, 1), next: window, lost }
    }

    fn admit(&self, window: Window) -> bool {
        self.next.length == window.length && window.most <= self.next.most
    }

    /// The terms at a moment: those of the window that is under way, or of the one that begins.
    fn at(self, now: u64) -> Self {
        if now < self.ends {
            return self;
        }
        // Windows of another length begin with one that is no shorter than they are.
        let ends = end(self.next, now, if self.next.length == self.now.length { 1 } else { 2 });
        Self { now: self.next, ends, next: self.next, lost: false }
    }
}

/// The end of the window of a moment, or of one after it.
fn end(window: Window, now: u64, more: u64) -> u64 {
    let length = window.length.max(1);
    (now / length).saturating_add(more).saturating_mul(length)
}

/// The file's clock, moved on: it only goes forward.
pub(crate) fn tick(transaction: &Transaction<'_>, now: u64) -> rusqlite::Result<u64> {
    let last: i64 = transaction.query_row("SELECT clock FROM book", [], |row| row.get(0))?;
    let now = durable::forward(now, last.cast_unsigned());
    transaction.execute("UPDATE book SET clock = ?1", params![signed(now)])?;
    Ok(now)
}

/// The next end of the book: it has a hash that nobody could foresee.
pub(crate) fn step(transaction: &Transaction<'_>) -> Result<Tip, ChargeError> {
    let last = tip(transaction)?;
    let mut nonce = [0u8; 32];
    getrandom::fill(&mut nonce).map_err(|_| ChargeError::Entropy)?;
    let id = last.id.saturating_add(1);
    let hash = Sha256::new()
        .chain_update(last.hash)
        .chain_update(id.to_be_bytes())
        .chain_update(nonce)
        .finalize()
        .into();
    transaction.execute("INSERT INTO tip VALUES (?1, ?2)", params![id, hash])?;
    transaction.execute("DELETE FROM tip WHERE id <= ?1", params![id.saturating_sub(TIPS)])?;
    Ok(Tip { id, hash })
}

fn tip(connection: &Connection) -> rusqlite::Result<Tip> {
    let last = "SELECT id, hash FROM tip ORDER BY id DESC LIMIT 1";
    connection.query_row(last, [], |row| Ok(Tip { id: row.get(0)?, hash: row.get(1)? }))
}

/// Terms of a relation.
pub(crate) fn terms(connection: &Connection, relation: &str) -> rusqlite::Result<Option<Terms>> {
    let select = "SELECT length, most, ends, next_length, next_most, lost FROM relation WHERE name = ?1";
    let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let window = |row: &rusqlite::Row<'_>, at| {
        Ok::<_, rusqlite::Error>(Window { length: number(row, at)?, most: number(row, at + 1)? })
    };
    let found = connection.query_row(select, [relation], |row| {
        Ok(Terms { now: window(row, 0)?, ends: number(row, 2)?, next: window(row, 3)?, lost: row.get(5)? })
    });
    found.optional()
}

pub(crate) fn put(connection: &Connection, relation: &str, terms: &Terms) -> rusqlite::Result<()> {
    let Terms { now, ends, next, lost } = terms;
    let numbers = [now.length, now.most, *ends, next.length, next.most].map(signed);
    let [length, most, ends, next_length, next_most] = numbers;
    connection.execute(
        "INSERT OR REPLACE INTO relation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![relation, length, most, ends, next_length, next_most, lost],
    )?;
    Ok(())
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Where the mark of a file is.
pub(crate) fn mark_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-mark");
    name.into()
}

fn why(fault: &Fault) -> String {
    match fault {
        Fault::Missing { why } => format!("its mark {why}"),
        Fault::Other => "its mark is that of another file".into(),
        Fault::Behind { expected, found } => format!("its mark says entry {expected}, and {found}"),
        Fault::Copy => "it is another file than the one that its mark was made for: a copy".into(),
    }
}

enum Prepared {
    Ready,
    OtherKey,
    OtherVersion,
    Entropy,
}

fn prepared(connection: &mut Connection, secret: &Secret) -> rusqlite::Result<Prepared> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match durable::version(&transaction)? {
        None => {
            let mut first = [0u8; 32];
            if getrandom::fill(&mut first).is_err() {
                return Ok(Prepared::Entropy);
            }
            transaction.execute_batch(SCHEMA)?;
            transaction.execute("INSERT INTO key VALUES (?1)", params![secret.proof()])?;
            transaction.execute("INSERT INTO book VALUES (?1, 0, 0)", params![first])?;
            transaction.execute("INSERT INTO tip VALUES (1, ?1)", params![first])?;
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
    Ok(Prepared::Ready)
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
