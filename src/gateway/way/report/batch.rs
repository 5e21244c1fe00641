//! Batches of a shuffler: `COPY relation FROM STDIN`, whose lines are the batch's own. Nothing is opened before it is here whole,
//! and all of it is stored by one transaction with its id: a batch that arrives again stores nothing.

use super::analyser::{Analyser, Opened};
use super::stored::{no_entropy, not_stored, put, target, too_many};
use crate::gateway::Session;
use crate::gateway::session::ask::Ask;
use answer::{ClientError, Copy, Notice, SqlState};
use backend::Batch;
use dp::SecureRng;
use policy::Collect;
use sql::Insert;
use std::sync::Arc;

/// A batch that is coming.
pub(super) struct Receiving {
    analyser: Arc<Analyser>,
    bytes: Vec<u8>,
    most: usize,
    most_rows: usize,
}

impl Receiving {
    /// More of it.
    pub(super) fn push(&mut self, data: &[u8]) -> Result<(), ClientError> {
        if self.bytes.len() + data.len() > self.most {
            return Err(too_many(self.most_rows));
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

/// The refusal of a row that is not sealed.
pub(super) fn sealed_only(collect: &Collect) -> ClientError {
    let name = &collect.name;
    ClientError::unsupported(format!("rows of \"{name}\" are randomised where they are given, and are not taken as they are"))
        .hint(format!("Encode them by noisegate collect encode, and send the reports to the shuffler; its batches come by COPY {name} FROM STDIN."))
}

impl Ask<'_> {
    fn analyser(&self, collect: &Collect) -> Result<Arc<Analyser>, ClientError> {
        let found = self.gateway.analysers.iter().find(|a| a.collect() == collect);
        found.cloned().ok_or_else(|| {
            let cause = format!("there is no analyser of {}", collect.name);
            ClientError::incident(SqlState::INTERNAL, "internal error", &cause)
        })
    }
}

impl Session {
    /// A batch begins to come.
    pub(super) fn receive(
        &self,
        collect: &Collect,
        insert: &Insert,
        copy: &Copy,
    ) -> Result<Receiving, ClientError> {
        if insert.columns.is_some() || !matches!(copy, Copy::Text { .. }) {
            let name = &collect.name;
            return Err(ClientError::unsupported("a batch has neither columns nor a format")
                .hint(format!("Send the lines of noisegate collect shuffle by COPY {name} FROM STDIN.")));
        }
        if self.writing.open {
            return Err(ClientError::new(
                SqlState(*b"25001"),
                "a batch cannot be stored in a transaction block",
            )
            .hint("It is a transaction by itself: it is stored once, or not at all."));
        }
        let analyser = self.ask().analyser(collect)?;
        let most_rows = self.gateway.policy.limits.max_waiting_rows;
        Ok(Receiving { most: analyser.bytes(most_rows), most_rows, analyser, bytes: Vec::new() })
    }

    /// All of a batch has come: opens and stores it.
    pub(super) async fn store_batch(
        &mut self,
        receiving: Receiving,
        notices: &mut Vec<Notice>,
    ) -> Result<u64, ClientError> {
        self.follow()?;
        let Receiving { analyser, bytes, most_rows, .. } = receiving;
        // Under a policy that collects otherwise it has another description.
        self.ask().analyser(analyser.collect()).map_err(|_| {
            let message = "what is collected has changed while the batch arrived; nothing was stored";
            ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Send it again.")
        })?;
        let name = analyser.collect().name.clone();
        let opener = analyser.clone();
        // A public-key operation for each report: a second's work for a large batch.
        let opened = tokio::task::spawn_blocking(move || opener.open(&bytes)).await;
        let internal =
            |e: tokio::task::JoinError| ClientError::incident(SqlState::INTERNAL, "internal error", &e);
        let Opened { id, small, mut reports, left_out } = opened
            .map_err(internal)?
            .inspect_err(|e| tracing::warn!(relation = %name, why = %e.message, "a batch was refused"))?;
        if reports.len() > most_rows {
            return Err(too_many(most_rows));
        }
        let mut rng = SecureRng::new().map_err(no_entropy)?;
        dp::shuffle::permute(&mut reports, &mut rng).map_err(no_entropy)?;
        let whole = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let stored = reports.len() as u64;
        let batch = Batch { id, reports: whole(reports.len()), left_out: whole(left_out), small };
        let mut columns = super::encode::columns(analyser.collect());
        for report in reports {
            columns.iter_mut().zip(report).for_each(|(column, cell)| put(column, cell));
        }
        let login = self.ask().login()?;
        if !login.store_batch(&batch, &target(analyser.collect()), &columns).await.map_err(not_stored)? {
            notices
                .push(Notice::new(format!("batch {} is here already, and was not stored again", batch.id)));
            return Ok(0);
        }
        if left_out > 0 {
            tracing::warn!(relation = %name, batch = %batch.id, left_out, "reports of a batch do not open");
            notices
                .push(Notice::new(format!("{left_out} reports of the batch do not open, and were left out")));
        }
        Ok(stored)
    }
}
