//! Crashes: statements that were under way when the proxy or the database fell (soundness rule 56).
//! A crash is nobody's failure; but a statement that was under way at two crashes, and did not end
//! well between them, is refused from then on, until the operator admits it again.
//!
//! `shape` is what a statement is known by, `journal` the file of those that are under way,
//! `suspects` the list of those that were at a crash. Neither holds a constant or a word of a
//! statement, nor its user.

mod journal;
mod shape;
mod suspects;

use answer::{ClientError, Outcome, SqlState};
use futures::{StreamExt, stream};
use journal::Journal;
use policy::GivenFile;
pub use shape::Shape;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use suspects::Suspects;

/// The record of crashes.
pub struct Crashes {
    journal: Journal,
    suspects: Mutex<Suspects>,
}

/// A statement that is under way until this goes.
pub struct UnderWay {
    crashes: Arc<Crashes>,
    shape: Shape,
    slot: Option<u32>,
}

impl Crashes {
    /// Reads which statements were under way when the last process ended, if it did not end in order, and begins anew. `beside` is a
    /// file whose name the names of both files begin with.
    ///
    /// # Errors
    /// What the system says of one of the files.
    pub fn open(beside: &GivenFile) -> io::Result<Arc<Self>> {
        let mut suspects = Suspects::read(beside.and("-crashes"))?;
        let (journal, left) = Journal::open(&beside.and("-running"))?;
        if !left.is_empty() {
            tracing::warn!(statements = left.len(), "the last process ended while statements were under way");
        }
        suspects.crashed(&journal.process(), &left);
        Ok(Arc::new(Self { journal, suspects: Mutex::new(suspects) }))
    }

    fn suspects(&self) -> MutexGuard<'_, Suspects> {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a statement is under way, before anything is done with it; written down unless it is known not to end the process.
    ///
    /// # Errors
    /// 55000 for one that was at two crashes.
    pub fn begin(self: &Arc<Self>, shape: Shape, written: bool) -> Result<UnderWay, ClientError> {
        if let Some(incident) = self.suspects().refused(&shape) {
            return Err(refused(&incident));
        }
        let slot = self.journal.begin(&shape, written);
        Ok(UnderWay { crashes: self.clone(), shape, slot })
    }

    /// Statements that are under way now, and what to do once it is known that the database fell under them: say by which name this
    /// crash is told from others.
    pub fn witness(self: &Arc<Self>) -> impl FnOnce(&str) + Send + use<> {
        let (crashes, at_work) = (self.clone(), self.journal.under_way());
        move |crash: &str| crashes.suspects().crashed(crash, &at_work)
    }

    /// The process ends in order: what is still under way is given up, and nobody's fault.
    pub fn end(&self) {
        self.journal.end();
    }
}

impl UnderWay {
    /// Notes that the statement ended well: it was not the cause of an earlier crash.
    pub fn ended_well(&self) {
        self.crashes.suspects().cleared(&self.shape);
    }
}

/// Does a part of what a statement needs, unless it is refused.
pub async fn held<T>(
    under_way: Result<Option<Arc<UnderWay>>, ClientError>,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    match under_way? {
        Some(under_way) => record::holding(under_way, work).await,
        None => work.await,
    }
}

/// Runs a statement, unless it is refused; it is under way until its last row, and ended well with that.
pub async fn watched(
    under_way: Result<Option<Arc<UnderWay>>, ClientError>,
    work: impl Future<Output = Result<Outcome, ClientError>>,
) -> Result<Outcome, ClientError> {
    let Some(under_way) = under_way? else { return work.await };
    match record::holding(under_way.clone(), work).await? {
        Outcome::Rows { fields, rows, verb, count } => {
            let rows = stream::unfold((rows, under_way), |(mut rows, under_way)| async move {
                let row = rows.next().await;
                if row.is_none() {
                    under_way.ended_well();
                }
                row.map(|row| (row, (rows, under_way)))
            });
            Ok(Outcome::Rows { fields, rows: rows.boxed(), verb, count })
        }
        done => {
            under_way.ended_well();
            Ok(done)
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.crashes.journal.over(&self.shape, self.slot);
    }
}

fn refused(incident: &str) -> ClientError {
    let message =
        "this statement was under way each time when proxy or database fell, and is not run any more";
    ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail(format!("Incident {incident}."))
        .hint("Ask for the same in another way. The operator finds in the proxy's log under this id how to admit it again.")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A process that ends with these statements under way.
    fn falls(beside: &GivenFile, under_way: &[&str], end_well: &[&str]) {
        let crashes = Crashes::open(beside).unwrap();
        for text in end_well {
            crashes.begin(Shape::of(text), true).unwrap().ended_well();
        }
        under_way.iter().for_each(|text| {
            crashes.journal.begin(&Shape::of(text), true);
        });
    }

    #[test]
    fn rule_56_what_was_under_way_at_two_crashes_is_refused_until_the_operator_admits_it() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join("ledger.db").into();
        falls(&beside, &["SELECT 1", "SELECT a", "SELECT b"], &[]);
        // One of them ends well meanwhile.
        falls(&beside, &["SELECT  1 -- again", "SELECT a", "SELECT c"], &["SELECT a"]);
        let crashes = Crashes::open(&beside).unwrap();
        let error = crashes.begin(Shape::of("select 2"), true).err().unwrap();
        assert_eq!(error.code.as_str(), "55000");
        for text in ["SELECT a", "SELECT b", "SELECT c"] {
            crashes.begin(Shape::of(text), true).unwrap();
        }
        let list = folder.path().join("ledger.db-crashes");
        let told = std::fs::read_to_string(&list).unwrap();
        let incident = error.detail.unwrap().replace("Incident ", "").replace('.', "");
        assert!(told.contains(&incident) && !told.contains("SELECT"), "{told}");
        // The operator takes its line out.
        let left: String =
            told.lines().filter(|l| !l.contains(&incident)).map(|l| format!("{l}\n")).collect();
        std::fs::write(&list, left).unwrap();
        crashes.begin(Shape::of("SELECT 1"), true).unwrap();
    }

    #[test]
    fn what_ends_in_order_leaves_nobody_suspected() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join("ledger.db").into();
        for _ in 0..3 {
            let crashes = Crashes::open(&beside).unwrap();
            crashes.journal.begin(&Shape::of("SELECT 1"), true);
            drop(crashes.begin(Shape::of("SELECT 2"), true).unwrap());
            crashes.end();
        }
        assert!(!folder.path().join("ledger.db-crashes").exists());
    }

    #[test]
    fn what_is_not_written_is_seen_when_the_database_falls_and_gone_with_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join("ledger.db").into();
        let begin = |crashes: &Arc<Crashes>| crashes.begin(Shape::of("SELECT 1"), false);
        for at in ["one", "two"] {
            let crashes = Crashes::open(&beside).unwrap();
            // Twice at once, of which one ends before.
            let (first, second) = (begin(&crashes).unwrap(), begin(&crashes).unwrap());
            drop(first);
            crashes.witness()(at);
            drop(second);
            crashes.witness()("nobody");
            crashes.journal.begin(&Shape::of("SELECT a"), false);
        }
        let crashes = Crashes::open(&beside).unwrap();
        assert!(begin(&crashes).is_err());
        crashes.begin(Shape::of("SELECT a"), true).unwrap();
    }

    #[test]
    fn one_fall_of_the_database_counts_once_for_a_statement() {
        let folder = tempfile::tempdir().unwrap();
        let crashes = Crashes::open(&folder.path().join("ledger.db").into()).unwrap();
        let running = [
            crashes.begin(Shape::of("SELECT 1"), true).unwrap(),
            crashes.begin(Shape::of("SELECT 1"), true).unwrap(),
        ];
        let first = crashes.witness();
        let second = crashes.witness();
        first("one");
        second("one");
        drop(running);
        crashes.witness()("two");
        let running = crashes.begin(Shape::of("SELECT 1"), true).unwrap();
        crashes.witness()("three");
        drop(running);
        assert!(crashes.begin(Shape::of("SELECT 1"), true).is_err());
    }
}
