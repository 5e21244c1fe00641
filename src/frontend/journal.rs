//! Events of the log, one for each statement: user, kind, price, time, number of rows, end. Never
//! its text, nor any value in it or of an answer. The same goes to the record that owners see.

use answer::Outcome;
use answer::{ClientError, Severity};
use futures::StreamExt;
use record::{Asked, Ended, Recorder, Running};
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// A statement from its start to the last row. Events of its work, incidents for one, stand in its span.
pub struct Record {
    span: Span,
    begun: Instant,
    rows: u64,
    ended: bool,
    running: Running,
    why: Why,
}

/// An error in words that may be kept: without those of its statement.
pub type Why = Box<dyn Fn(&ClientError) -> String + Send>;

impl Record {
    /// Begins a statement, and says how its error is told.
    pub fn begin(recorder: &Arc<Recorder>, (asked, why): (Asked, Why)) -> Self {
        // `epsilon` and `entry` (of the ledger) are filled in by who charges the statement. At the level of errors,
        // because an incident needs to be found whatever else is written.
        let span = tracing::error_span!(
            "statement", id = %random_id(), user = asked.user, database = asked.database, class = asked.class, epsilon = Empty, entry = Empty
        );
        let running = Running::begin(recorder, asked);
        Self { span, begun: Instant::now(), rows: 0, ended: false, running, why }
    }

    /// Runs the statement in its span, and ends the record with it or with its last row.
    pub async fn follow(
        mut self,
        work: impl Future<Output = Result<Outcome, ClientError>>,
    ) -> Result<Outcome, ClientError> {
        let span = self.span.clone();
        match self.running.working(work.instrument(span)).await {
            Ok(Outcome::Rows { fields, rows, verb, count }) => {
                self.running.sends();
                let rows = futures::stream::unfold((rows, self), |(mut rows, mut record)| async move {
                    let span = record.span.clone();
                    let row = rows.next().instrument(span).await;
                    match &row {
                        Some(Ok(_)) => record.rows += 1,
                        Some(Err(e)) => record.end(Some(e)),
                        None => record.end(None),
                    }
                    row.map(|row| (row, (rows, record)))
                });
                Ok(Outcome::Rows { fields, rows: rows.boxed(), verb, count })
            }
            Ok(other) => {
                self.end(None);
                Ok(other)
            }
            Err(e) => {
                self.end(Some(&e));
                Err(e)
            }
        }
    }

    /// Writes how it ended, once. Of an error only the SQLSTATE: its text may repeat the analyst's.
    pub fn end(&mut self, error: Option<&ClientError>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let _inside = self.span.enter();
        let ms = self.begun.elapsed().as_millis() as u64;
        let rows = self.rows;
        let ended = match error {
            None => Ended::Done,
            Some(e) => Ended::Error(e.code.as_str().to_owned(), (self.why)(e)),
        };
        self.running.end(ended, rows);
        match error {
            None => tracing::info!(ms, rows, "done"),
            Some(e) => {
                let fatal = e.severity == Severity::Fatal;
                tracing::info!(ms, rows, sqlstate = e.code.as_str(), fatal, "failed");
            }
        }
    }
}

impl Drop for Record {
    /// A statement that is cancelled, whose client goes away or has seen enough, is dropped.
    fn drop(&mut self) {
        if !self.ended {
            let _inside = self.span.enter();
            let ms = self.begun.elapsed().as_millis() as u64;
            tracing::info!(ms, rows = self.rows, "ended early");
            self.running.end(Ended::Early, self.rows);
        }
    }
}

/// Notes a failure before there was a statement to run: a message that did not parse, a Parse, a
/// Bind.
pub fn failed(recorder: &Arc<Recorder>, asked: (Asked, Why), error: &ClientError) {
    Record::begin(recorder, asked).end(Some(error));
}

/// By the thread's generator: one that asks the system each time is a twentieth of a short statement.
fn random_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}
