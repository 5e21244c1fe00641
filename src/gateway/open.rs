//! Start-up: connect, read the schema, check the policy, prove the logins, open the books.

use super::{Gateway, suspend};
use crate::backend::{Backend, ConnectError, FetchError, Fingerprint, introspect};
use crate::dp;
use crate::error::{ClientError, SqlState};
use crate::ledger::{Ledger, LedgerError};
use crate::plan;
use crate::policy::{LedgerLocation, Policy, PolicyErrors, Privacy, RawPolicy};
use bigdecimal::BigDecimal;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why the gateway does not open. For the owner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The policy is wrong.
    #[error("{0}")]
    Policy(PolicyErrors),
    /// The database cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The schema cannot be read.
    #[error("cannot read the schema: {0}")]
    Schema(String),
    /// The finish login could reach private rows.
    #[error("the finish login is not safe (soundness needs it to reach public tables only):\n{0}")]
    FinishLogin(String),
    /// The books.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A price that cannot be computed with.
    #[error("statement.{0} has too many digits to compute with")]
    Price(&'static str),
}

/// A policy that was checked against the database it names, with the connection to it.
pub struct Checked {
    /// The policy.
    pub policy: Policy,
    /// What is allowed but probably not meant.
    pub warnings: Vec<String>,
    backend: Backend,
    fingerprint: Fingerprint,
}

impl Checked {
    /// Connects, reads the schema, and checks policy and logins.
    pub async fn new(raw: &RawPolicy) -> Result<Self, OpenError> {
        let Some(backend) = raw.backend() else {
            return Err(OpenError::Policy(PolicyErrors(raw.mistakes())));
        };
        let backend = Backend::connect(backend).await?;
        let schema = |e: &dyn std::fmt::Display| OpenError::Schema(e.to_string());
        let reader = backend.reader().await.map_err(|e: FetchError| schema(&e))?;
        let read = introspect::read_schema(&reader).await.map_err(|e| schema(&e))?;
        let (policy, warnings) = raw.check_with_warnings(&read).map_err(OpenError::Policy)?;
        let oids: Vec<u32> = policy.tables.iter().map(|t| t.oid).collect();
        let expected = introspect::fingerprint(&reader, &oids).await.map_err(|e| schema(&e))?;
        // What was read before the fingerprint must still be so after it.
        if introspect::read_schema(&reader).await.map_err(|e| schema(&e))? != read {
            return Err(OpenError::Schema("it changed while it was read; start again".into()));
        }
        drop(reader);
        let named = |public: bool| -> Vec<(String, String)> {
            let tables = policy.tables.iter().filter(|t| (t.privacy == Privacy::Public) == public);
            tables.map(|t| (t.schema.clone(), t.name.clone())).collect()
        };
        backend
            .prove_finish_login(&named(false), &named(true))
            .await
            .map_err(|problems| OpenError::FinishLogin(problems.join("\n")))?;
        let fingerprint = Fingerprint::new(introspect::fingerprint_sql(&oids), expected);
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(Self { policy, warnings, backend, fingerprint })
    }
}

impl Gateway {
    /// Opens the gateway over a checked policy. `trusted` names a user who needs no password on this machine.
    pub fn open(checked: Checked, trusted: Option<String>) -> Result<Arc<Self>, OpenError> {
        let Checked { policy, backend, fingerprint, .. } = checked;
        let LedgerLocation::Sqlite(path) = &policy.ledger;
        let ledger = Ledger::open(path, &policy.budgets)?.with_policy_version(policy.version);
        let ratio = |x: &BigDecimal, key| dp::ratio(x).ok_or(OpenError::Price(key));
        let settings = plan::Settings {
            epsilon: ratio(&policy.statement.epsilon, "epsilon")?,
            delta: ratio(&policy.statement.delta, "delta")?,
            max_groups: policy.statement.max_groups,
            max_rows: policy.statement.max_rows,
            old_extract: backend.server_version() < 140_000,
        };
        let suspended = suspend::Suspensions::new(policy.limits.max_backend_errors);
        Ok(Arc::new(Self {
            policy,
            backend,
            ledger,
            fingerprints: Fingerprints::new(fingerprint),
            typed: super::typing::Cache::default(),
            settings,
            sizes: Mutex::new(HashMap::new()),
            suspended,
            trusted,
        }))
    }
}

/// Fingerprints of the tables that statements use (soundness rule 7), each proven to belong to the schema that the
/// policy was checked against.
pub(super) struct Fingerprints {
    whole: Fingerprint,
    of: Mutex<HashMap<Vec<usize>, Fingerprint>>,
}

impl Fingerprints {
    fn new(whole: Fingerprint) -> Self {
        Self { whole, of: Mutex::default() }
    }

    /// The fingerprint of these tables: a smaller one than that of the whole policy, because every fetch pays for it.
    pub(super) async fn of(
        &self,
        backend: &Backend,
        policy: &Policy,
        tables: &[usize],
    ) -> Result<Fingerprint, ClientError> {
        let known = self.of.lock().unwrap_or_else(PoisonError::into_inner).get(tables).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let oids: Vec<u32> = tables.iter().filter_map(|t| policy.tables.get(*t)).map(|t| t.oid).collect();
        let reader = backend.reader().await.map_err(FetchError::into_client_error)?;
        let failed = |e: &dyn std::fmt::Display| {
            ClientError::incident(SqlState::INTERNAL, "the schema could not be checked", e)
        };
        // Both in one snapshot: what is expected of the part is what it was when the whole was as planned on.
        reader
            .batch_execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .map_err(|e| failed(&e))?;
        let whole: String = reader
            .query_one(self.whole.sql(), &[])
            .await
            .and_then(|r| r.try_get(0))
            .map_err(|e| failed(&e))?;
        if whole != self.whole.expected() {
            return Err(FetchError::SchemaChanged.into_client_error());
        }
        let part = introspect::watch(&reader, &oids).await.map_err(|e| failed(&e))?;
        self.of.lock().unwrap_or_else(PoisonError::into_inner).insert(tables.to_vec(), part.clone());
        Ok(part)
    }
}
