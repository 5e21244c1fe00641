//! The spool: reports that wait, in one SQLite file: on disk before they are acknowledged, and
//! forgotten when they have gone out.
//!
//! WAL with `synchronous=FULL`: a commit is on disk when it returns. No table has an order of
//! arrival: keys are random ids. Rows that are deleted are overwritten (`secure_delete`).

use super::error::{FormError, Full, SpoolError};
use super::rules::{Rules, Ruling};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dp::Entropy;
use durable::OpenError;
use encode::{Collection, Opened};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::Path;

/// Number of reports that are new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Not seen before.
    pub new: u64,
    /// Here already, or gone out: nothing was changed by them.
    pub again: u64,
}

/// Reports that go out together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Drawn when it was formed. Who gets it twice stores it once.
    pub id: [u8; 16],
    /// The digest of the collection.
    pub collection: Vec<u8>,
    /// The batch has fewer reports than `min_batch`: they hide among fewer.
    pub small: bool,
    /// Number of reports.
    pub reports: u64,
    /// A line of base64 for each sealed report.
    pub lines: String,
}

impl Batch {
    /// The id in hexadecimal digits.
    pub fn name(&self) -> String {
        hex(&self.id)
    }

    /// A line of JSON that says what it is, and a line for each report.
    pub fn text(&self) -> String {
        let head = serde_json::json!({
            "batch": self.name(),
            "collection": hex(&self.collection),
            "reports": self.reports,
            "small": self.small,
        });
        format!("{head}\n{}", self.lines)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const VERSION: i64 = 1;
const SCHEMA: &str = "
CREATE TABLE waiting (id BLOB PRIMARY KEY, collection BLOB NOT NULL, grp BLOB NOT NULL, writer BLOB, sealed BLOB NOT NULL,
    ready INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX waiting_groups ON waiting (ready, collection, grp, writer);
CREATE TABLE seen (id BLOB PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE threshold (collection BLOB NOT NULL, grp BLOB NOT NULL, least INTEGER NOT NULL, PRIMARY KEY (collection, grp))
    WITHOUT ROWID;
CREATE TABLE since (collection BLOB PRIMARY KEY, second INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE batch (id BLOB PRIMARY KEY, collection BLOB NOT NULL, small INTEGER NOT NULL, reports INTEGER NOT NULL,
    lines TEXT NOT NULL) WITHOUT ROWID;
";

/// Days that ids are remembered after they arrived.
const REMEMBERED: u64 = 60;
const DAY: u64 = 86_400;
/// Reports of a batch, where `min_batch` asks for no more: about a second's work for an analyser.
const LARGEST: usize = 10_000;

/// The file.
pub struct Spool {
    connection: Connection,
    /// Reports in it, those in batches included, and how many there may be.
    held: u64,
    most: u64,
}

impl Spool {
    /// Opens a spool, or makes one, for at most so many reports.
    ///
    /// # Errors
    /// The file is none, or cannot be written.
    pub fn open(path: &Path, most: u64) -> Result<Self, SpoolError> {
        let shown = || path.display().to_string();
        // Of one process: another one that opened it would deliver its batches, too.
        let mut connection = durable::open_alone(path).map_err(|e| match e {
            OpenError::File(e) => SpoolError::File(shown(), e),
            OpenError::Sqlite(e) => e.into(),
        })?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match durable::version(&transaction)? {
            None => {
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            Some(VERSION) => {}
            Some(_) => return Err(SpoolError::Version(shown())),
        }
        let held = "SELECT (SELECT count(*) FROM waiting) + (SELECT coalesce(sum(reports), 0) FROM batch)";
        let held = transaction.query_row(held, [], |row| row.get::<_, i64>(0))?;
        transaction.commit()?;
        Ok(Self { connection, held: u64::try_from(held).unwrap_or_default(), most })
    }

    /// Reports in it, those of batches that are not delivered included.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Takes reports of one writer. When it returns they are on disk: all of them, or none where there is an error.
    ///
    /// # Errors
    /// There is no room, or the file cannot be written.
    pub fn accept(
        &mut self,
        reports: &[(&Collection, Opened)],
        writer: [u8; 16],
        now: u64,
    ) -> Result<Accepted, SpoolError> {
        if self.held.saturating_add(reports.len() as u64) > self.most {
            return Err(Full.into());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut accepted = Accepted::default();
        {
            let mut seen = transaction.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?1, ?2)")?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO waiting VALUES (?1, ?2, ?3, ?4, ?5, 0)")?;
            for (collection, opened) in reports {
                if seen.execute(params![opened.id, (now / DAY) as i64])? == 0 {
                    accepted.again += 1;
                    continue;
                }
                let sealed = opened.sealed.bytes();
                insert.execute(params![opened.id, collection.digest(), opened.group, writer, sealed])?;
                accepted.new += 1;
            }
        }
        transaction.commit()?;
        self.held += accepted.new;
        Ok(accepted)
    }

    /// Lets groups go that are large enough, and forms batches of what may go. Gives how many batches there are now.
    ///
    /// # Errors
    /// The file cannot be written, or there is no entropy; nothing is changed then.
    pub fn form(&mut self, rules: &impl Ruling, now: u64, rng: &mut impl Entropy) -> Result<u64, FormError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        release_groups(&transaction, rules, now, rng)?;
        form_batches(&transaction, rules, now, rng)?;
        let old = (now / DAY).saturating_sub(REMEMBERED) as i64;
        transaction.execute("DELETE FROM seen WHERE day < ?1", params![old])?;
        let batches: i64 = transaction.query_row("SELECT count(*) FROM batch", [], |row| row.get(0))?;
        transaction.commit()?;
        // What was overwritten is not to be read from the log, either.
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(u64::try_from(batches).unwrap_or_default())
    }

    /// A batch that is to be delivered: the same one until it was.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next(&self) -> Result<Option<Batch>, SpoolError> {
        self.after(None)
    }

    /// The batch behind that of this id, for who could not deliver that one and tries the others.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn after(&self, id: Option<[u8; 16]>) -> Result<Option<Batch>, SpoolError> {
        let select = "SELECT id, collection, small, reports, lines FROM batch
            WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT 1";
        let batch = self.connection.query_row(select, params![id], |row| {
            let reports: i64 = row.get(3)?;
            Ok(Batch {
                id: row.get(0)?,
                collection: row.get(1)?,
                small: row.get(2)?,
                reports: u64::try_from(reports).unwrap_or_default(),
                lines: row.get(4)?,
            })
        });
        Ok(batch.optional()?)
    }

    /// Forgets a batch that the analyser has.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn delivered(&mut self, batch: &Batch) -> Result<(), SpoolError> {
        let gone = self.connection.execute("DELETE FROM batch WHERE id = ?1", params![batch.id])?;
        if gone > 0 {
            self.held = self.held.saturating_sub(batch.reports);
        }
        Ok(())
    }
}

/// What counts of a group that waits, and its threshold, if it was drawn.
struct Group {
    collection: Vec<u8>,
    group: Vec<u8>,
    count: i64,
    least: Option<i64>,
}

/// Groups that are large enough forget who wrote, and are ready.
fn release_groups(
    transaction: &Transaction<'_>,
    rules: &impl Ruling,
    now: u64,
    rng: &mut impl Entropy,
) -> Result<(), FormError> {
    let mut select = transaction.prepare_cached("SELECT DISTINCT collection FROM waiting WHERE ready = 0")?;
    let waiting: Vec<Vec<u8>> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut groups: Vec<(&Rules, Group)> = Vec::new();
    for collection in waiting {
        let Some(rules) = rules.of(&collection) else { continue };
        let counted = i64::try_from(rules.counted_per_writer()).unwrap_or(i64::MAX);
        let mut select = transaction.prepare_cached(
            "SELECT w.collection, w.grp, sum(min(w.n, ?1)), t.least
               FROM (SELECT collection, grp, writer, count(*) AS n FROM waiting WHERE ready = 0 AND collection = ?2
                     GROUP BY 1, 2, 3) AS w
               LEFT JOIN threshold AS t ON t.collection = w.collection AND t.grp = w.grp
              GROUP BY 1, 2",
        )?;
        let rows = select.query_map(params![counted, collection], |row| {
            Ok(Group { collection: row.get(0)?, group: row.get(1)?, count: row.get(2)?, least: row.get(3)? })
        })?;
        for group in rows {
            groups.push((rules, group?));
        }
    }
    for (rules, Group { collection, group, count, least }) in groups {
        // Drawn once for a group until it goes: drawn anew each time, it would be got around by waiting.
        let threshold = match least {
            Some(least) => least,
            None => rules.threshold(rng)?,
        };
        if count >= threshold {
            transaction.execute(
                "UPDATE waiting SET ready = 1, writer = NULL WHERE ready = 0 AND collection = ?1 AND grp = ?2",
                params![collection, group],
            )?;
            transaction.execute(
                "DELETE FROM threshold WHERE collection = ?1 AND grp = ?2",
                params![collection, group],
            )?;
            transaction
                .execute("INSERT OR IGNORE INTO since VALUES (?1, ?2)", params![collection, now as i64])?;
        } else if least.is_none() {
            transaction.execute(
                "INSERT INTO threshold VALUES (?1, ?2, ?3)",
                params![collection, group, threshold],
            )?;
        }
    }
    Ok(())
}

/// Batches of what is ready, where it is enough or has waited long.
fn form_batches(
    transaction: &Transaction<'_>,
    rules: &impl Ruling,
    now: u64,
    rng: &mut impl Entropy,
) -> Result<(), FormError> {
    let mut select = transaction.prepare_cached(
        "SELECT w.collection, count(*), s.second FROM waiting AS w JOIN since AS s ON s.collection = w.collection
          WHERE w.ready = 1 GROUP BY 1",
    )?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let ready: Vec<(Vec<u8>, i64, i64)> = rows.collect::<Result<_, _>>()?;
    for (collection, count, second) in ready {
        let Some(rules) = rules.of(&collection) else { continue };
        let small = u64::try_from(count).unwrap_or_default() < rules.min_batch();
        let waited = now.saturating_sub(u64::try_from(second).unwrap_or_default());
        if small && waited < rules.max_delay() {
            continue;
        }
        let mut select =
            transaction.prepare_cached("SELECT sealed FROM waiting WHERE ready = 1 AND collection = ?1")?;
        let rows = select.query_map(params![collection], |row| row.get(0))?;
        let mut sealed: Vec<Vec<u8>> = rows.collect::<Result<_, _>>()?;
        dp::shuffle::permute(&mut sealed, rng)?;
        for part in parts(&sealed, rules.min_batch()) {
            let id = rng.bits(128)?.to_le_bytes();
            let lines: String = part.iter().map(|report| URL_SAFE_NO_PAD.encode(report) + "\n").collect();
            let insert = "INSERT INTO batch VALUES (?1, ?2, ?3, ?4, ?5)";
            transaction.execute(insert, params![id, collection, small, part.len() as i64, lines])?;
        }
        transaction
            .execute("DELETE FROM waiting WHERE ready = 1 AND collection = ?1", params![collection])?;
        transaction.execute("DELETE FROM since WHERE collection = ?1", params![collection])?;
    }
    Ok(())
}

/// Reports in an order that was drawn, in parts that an analyser takes at once: each of at least `least`, if all are.
pub(crate) fn parts(sealed: &[Vec<u8>], least: u64) -> impl Iterator<Item = &[Vec<u8>]> {
    let largest = usize::try_from(least).unwrap_or(usize::MAX).max(LARGEST);
    let (all, count) = (sealed.len(), (sealed.len() / largest).max(1));
    // Evenly, so that none is smaller than `largest` where there are several.
    (0..count).map(move |i| sealed.get(i * all / count..(i + 1) * all / count).unwrap_or_default())
}
