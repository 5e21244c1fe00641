//! Whether tables are still defined as they were when the policy was checked against them.

use answer::{ClientError, SqlState};
use backend::{Backend, FetchError, Fingerprint, Reader, introspect};
use policy::{Policy, Table};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Fingerprints of the tables that statements use (soundness rule 7), each proven to belong to the schema that the
/// policy was checked against.
pub struct Fingerprints {
    /// Of each table of the policy, when it was checked.
    tables: Vec<String>,
    /// Of tables together, as statements asked for them.
    of: Mutex<HashMap<Vec<usize>, Fingerprint>>,
}

impl Fingerprints {
    /// With those that the tables had when the policy was checked.
    pub fn new(tables: Vec<String>) -> Self {
        Self { tables, of: Mutex::default() }
    }

    /// Whether the tables are defined as they were when these were taken.
    pub fn same(&self, tables: &[String]) -> bool {
        self.tables == tables
    }

    /// The fingerprint of these tables together.
    pub async fn of(
        &self,
        backend: &Backend,
        policy: &Policy,
        tables: &[usize],
    ) -> Result<Fingerprint, ClientError> {
        let known = self.of.lock().unwrap_or_else(PoisonError::into_inner).get(tables).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let reader = backend.reader().await.map_err(FetchError::into_client_error)?;
        let failed = |e: &dyn std::fmt::Display| {
            ClientError::incident(SqlState::INTERNAL, "the schema could not be checked", e)
        };
        // All in one snapshot: what is expected of them together is what it was when each was as planned on.
        reader
            .batch_execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .map_err(|e| failed(&e))?;
        if let Some(table) = self.changed(&reader, policy, tables).await.map_err(|e| failed(&e))? {
            return Err(changed(table));
        }
        let oids: Vec<u32> = tables.iter().filter_map(|t| policy.tables.get(*t)).map(|t| t.oid).collect();
        let part = introspect::watch(&reader, &oids, policy.backend.engine).await.map_err(|e| failed(&e))?;
        self.of.lock().unwrap_or_else(PoisonError::into_inner).insert(tables.to_vec(), part.clone());
        Ok(part)
    }

    /// PostgreSQL's judgement of a statement over these tables, if they are still those that it was printed for.
    pub async fn judged(
        &self,
        backend: &Backend,
        policy: &Policy,
        tables: &[usize],
        judgement: ClientError,
    ) -> ClientError {
        // Names, types and rights: classes 42 and 3F.
        if !["42", "3F"].iter().any(|class| judgement.code.as_str().starts_with(class)) {
            return judgement;
        }
        self.change(backend, policy, tables).await.unwrap_or(judgement)
    }

    /// The error to tell when one of these tables has changed; None when none has, as far as can be
    /// seen.
    pub async fn change(&self, backend: &Backend, policy: &Policy, tables: &[usize]) -> Option<ClientError> {
        let reader = backend.reader().await.ok()?;
        self.changed(&reader, policy, tables).await.ok()?.map(changed)
    }

    /// A failure of a fetch over these tables; a change of the schema by the table that has changed.
    pub async fn told(
        &self,
        backend: &Backend,
        policy: &Policy,
        tables: &[usize],
        error: FetchError,
    ) -> ClientError {
        if matches!(error, FetchError::SchemaChanged)
            && let Some(change) = self.change(backend, policy, tables).await
        {
            return change;
        }
        error.into_client_error()
    }

    /// The first of these tables that is not as it was when the policy was checked.
    async fn changed<'p>(
        &self,
        reader: &Reader,
        policy: &'p Policy,
        tables: &[usize],
    ) -> Result<Option<&'p Table>, introspect::IntrospectError> {
        for t in tables {
            if let (Some(table), Some(expected)) = (policy.tables.get(*t), self.tables.get(*t))
                && introspect::fingerprint(reader, &[table.oid], policy.backend.engine).await? != *expected
            {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }
}

fn changed(table: &Table) -> ClientError {
    ClientError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("the table \"{}\" is not defined as it was when the policy was checked", table.name),
    )
    .hint("The operator looks whether the policy still says what is meant, and runs `noisegate ctl reload`.")
}
