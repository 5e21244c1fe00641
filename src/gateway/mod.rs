//! The way of a query, in order: parse, resolve, plan, type, charge, fetch, release, finish.
//!
//! [`Session::run`] is that way; each step is a line of it, and the order is the guarantee: nothing is debited
//! before the database has typed the statement, nothing private is read before the debit is on disk, and nothing
//! leaves but what was perturbed against the receipt.

pub mod finish;
mod open;
mod suspend;
mod typing;

pub use open::{Checked, OpenError};

use crate::answer::{Field, Identity, Notice, Outcome};
use crate::backend::{self, Backend, FetchRequest, FetchText, Param};
use crate::dp::{Entropy, SecureRng};
use crate::emit::fetch;
use crate::emit::print::{self, Constants, Printed};
use crate::error::{ClientError, SqlState};
use crate::ledger::{Ledger, Receipt};
use crate::plan::{self, Plan, PlanError};
use crate::policy::Policy;
use crate::release::{Exact, Noisy, perturb};
use crate::sql::{self, Kind, parse::Parsed};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the number of values of a public column is believed.
const SIZE_LIFETIME: Duration = Duration::from_secs(60);

type Sizes = HashMap<(usize, String), (usize, Instant)>;

/// Policy, database and books: what every session shares.
pub struct Gateway {
    policy: Policy,
    backend: Backend,
    ledger: Ledger,
    fingerprints: open::Fingerprints,
    typed: typing::Cache,
    settings: plan::Settings,
    sizes: Mutex<Sizes>,
    suspended: suspend::Suspensions,
    trusted: Option<String>,
}

/// One client's session.
pub struct Session {
    gateway: Arc<Gateway>,
    identity: Identity,
    database: String,
    settings: backend::Settings,
    plan: plan::Settings,
    /// `now()`, fixed while a transaction is open.
    transaction_start: Option<String>,
}

/// One parsed statement.
pub struct Statement {
    kind: Kind,
}

impl Statement {
    /// What it does to the transaction, if it is transaction control.
    pub fn control(&self) -> Option<&sql::Control> {
        match &self.kind {
            Kind::Control(c) => Some(c),
            _ => None,
        }
    }
}

impl Gateway {
    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The backend's ParameterStatus values.
    pub fn parameters(&self) -> Vec<(String, String)> {
        self.backend.parameters().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// The user who may connect without a password from this machine: the demo's.
    pub fn trusted(&self) -> Option<&str> {
        self.trusted.as_deref()
    }

    /// The books.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Opens a session.
    pub fn open_session(self: &Arc<Self>, identity: Identity, database: String) -> Session {
        Session {
            gateway: self.clone(),
            identity,
            database,
            settings: backend::Settings::default(),
            plan: self.settings.clone(),
            transaction_start: None,
        }
    }

    fn known_sizes(&self) -> HashMap<(usize, String), usize> {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.retain(|_, (_, at)| at.elapsed() < SIZE_LIFETIME);
        sizes.iter().map(|(k, (n, _))| (k.clone(), *n)).collect()
    }

    /// Counts the values of a public column, by the login that reads public tables only.
    async fn measure(&self, table: usize, column: String) -> Result<(), ClientError> {
        let sql = print::domain_size(&self.policy, table, &column);
        let settings = backend::Settings::default();
        let rows = self
            .backend
            .query(&settings, &sql, &[], &[0])
            .await
            .map_err(backend::RelayError::into_finish_error)?;
        let rows = rows.into_texts().await.map_err(backend::RelayError::into_finish_error)?;
        let cell = rows.into_iter().flatten().flatten().next();
        let n = cell.and_then(|n| n.parse().ok()).ok_or_else(|| {
            ClientError::incident(
                SqlState::INTERNAL,
                "a public table could not be measured",
                &"no count came back",
            )
        })?;
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.insert((table, column), (n, Instant::now()));
        Ok(())
    }
}

impl Session {
    /// Parses a message into its statements; what writes is refused here.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>, ClientError> {
        let parsed = sql::parse::parse(sql, &self.gateway.policy.limits)?;
        parsed.into_iter().map(|p: Parsed| Ok(Statement { kind: sql::classify(p)? })).collect()
    }

    /// A transaction begins or ends: `now()` is fixed within one.
    pub fn in_transaction(&mut self, open: bool) {
        self.transaction_start = open.then(now);
    }

    /// The way of a statement.
    pub async fn run(&self, statement: Statement, notices: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
        match statement.kind {
            Kind::Control(_) => Err(ClientError::incident(
                SqlState::INTERNAL,
                "transaction control cannot run here",
                &"a control statement reached the gateway",
            )),
            Kind::Explain(query, lines) => {
                let plan = self.plan(&query, &lines).await?;
                self.type_check(&plan, &self.constants()).await?;
                Ok(plan::explain::outcome(&plan, &self.gateway.policy))
            }
            Kind::Query(query, lines) => self.query(&query, &lines, notices).await,
        }
    }

    async fn query(
        &self,
        query: &sqlparser::ast::Query,
        lines: &sql::parse::Lines,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let gateway = &*self.gateway;
        let constants = self.constants();
        let plan = self.plan(query, lines).await?;
        let fields = self.type_check(&plan, &constants).await?;
        let noisy = match &plan.charge {
            None => Vec::new(),
            Some(charge) => {
                gateway.suspended.check(&self.identity.user)?;
                // Printed before it is paid for: what cannot be printed costs nothing.
                let fetches = fetches(&plan, &gateway.policy)?;
                let hash = statement_hash(&fetches);
                let fingerprint =
                    gateway.fingerprints.of(&gateway.backend, &gateway.policy, &plan.tables).await?;
                // Up to the first private row: a database that is away, or was altered, must not cost anything.
                let request = FetchRequest {
                    settings: self.settings.clone(),
                    statements: fetches,
                    fingerprint: Some(fingerprint),
                    max_rows: gateway.policy.limits.max_result_groups,
                };
                let opened =
                    gateway.backend.open(request).await.map_err(backend::FetchError::into_client_error)?;
                let receipt =
                    gateway.ledger.debit(&self.identity, hash, charge).await.map_err(|r| r.client())?;
                notices.push(price_notice(&receipt));
                self.fetch_and_release(&plan, opened, receipt).await?
            }
        };
        let (text, arrays) = print::finish(&plan, &gateway.policy, &constants);
        let params = finish::params(&plan, &noisy, &arrays)?;
        let rows = gateway
            .backend
            .query(&self.settings, &text.sql, &params, &[0])
            .await
            .map_err(backend::RelayError::into_finish_error)?;
        finish::same_types(&fields, &rows.fields)?;
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    async fn plan(
        &self,
        query: &sqlparser::ast::Query,
        lines: &sql::parse::Lines,
    ) -> Result<Plan, ClientError> {
        let gateway = &*self.gateway;
        let statement = sql::resolve::resolve(query, lines, &gateway.policy, &gateway.policy.limits)?;
        loop {
            let sizes = gateway.known_sizes();
            match plan::plan(statement.clone(), &gateway.policy, &self.plan, &sizes) {
                Ok(plan) => return Ok(plan),
                Err(PlanError::Refused(e)) => return Err(*e),
                Err(PlanError::NeedSize { table, column }) => gateway.measure(table, column).await?,
            }
        }
    }

    /// Has the statement prepared over the real tables and never executed; its columns are frozen.
    async fn type_check(&self, plan: &Plan, constants: &Constants) -> Result<Vec<Field>, ClientError> {
        let text = print::typed(plan, &self.gateway.policy, constants);
        // A statement that reads private rows is fetched under a fingerprint of its tables: had they changed since
        // it was typed, it would be refused there. Others are typed anew each time.
        let cached = plan.charge.is_some();
        if cached && let Some(fields) = self.gateway.typed.get(&self.settings, &text.sql) {
            return Ok(fields);
        }
        let described = self.gateway.backend.describe(&self.settings, &text.sql, &[]).await;
        let description = described.map_err(|e| typing_error(e, &text, plan))?;
        let fields: Vec<Field> = description.fields.into_iter().map(|f| Field { format: 0, ..f }).collect();
        if cached {
            self.gateway.typed.keep(&self.settings, &text.sql, &fields);
        }
        Ok(fields)
    }

    async fn fetch_and_release(
        &self,
        plan: &Plan,
        opened: backend::Opened,
        receipt: Receipt,
    ) -> Result<Vec<Noisy>, ClientError> {
        let gateway = &*self.gateway;
        let answers = opened.read().await.map_err(|e| {
            if matches!(e, backend::FetchError::Failed(_)) {
                gateway.suspended.failed(&self.identity.user);
            }
            e.into_client_error()
        })?;
        let paying = plan.releases.iter().filter(|r| !r.is_domain_only());
        let mut parts = Vec::with_capacity(answers.len());
        for (release, rows) in paying.zip(&answers) {
            let exact = Exact::decode(rows, release.keys.len(), &release.spec).map_err(|e| e.client())?;
            parts.push((exact, &release.spec));
        }
        drop(answers);
        let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
        let mut noisy = perturb(parts, receipt, &mut rng).map_err(|e| e.client())?.into_iter();
        // Releases that read nothing private stay in their place, empty.
        let empty = || Noisy { keys: Vec::new(), values: Vec::new(), rows: 0 };
        let place = |r: &plan::Release| if r.is_domain_only() { Some(empty()) } else { noisy.next() };
        let all: Vec<Noisy> = plan.releases.iter().filter_map(place).collect();
        Ok(all)
    }

    fn constants(&self) -> Constants {
        Constants {
            now: self.transaction_start.clone().unwrap_or_else(now),
            user: self.identity.user.clone(),
            database: self.database.clone(),
            schema: "public".into(),
        }
    }
}

/// The fetch of each release, with a secret seed where one is needed.
fn fetches(plan: &Plan, policy: &Policy) -> Result<Vec<FetchText>, ClientError> {
    let mut rng = SecureRng::new().map_err(|e| no_entropy(&e))?;
    let mut seed = || rng.next_u64().map(u64::cast_signed).map_err(|e| no_entropy(&e));
    plan.releases
        .iter()
        .filter(|r| !r.is_domain_only())
        .map(|r| {
            let text = fetch::fetch(r, policy);
            let params = if text.seeded { vec![Param::int8(seed()?)] } else { Vec::new() };
            Ok(FetchText { sql: text.sql, params })
        })
        .collect()
}

fn no_entropy(e: &dyn std::fmt::Display) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "no randomness is available", e)
}

/// A statement's identity in the books: a hash of what is fetched, seeds left out.
fn statement_hash(fetches: &[FetchText]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for f in fetches {
        hash.update(f.sql.len().to_be_bytes());
        hash.update(f.sql.as_bytes());
    }
    hash.finalize().into()
}

/// The moment, as text that casts to timestamptz.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // 2000-01-01 is 946,684,800 seconds after 1970-01-01.
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX) - 946_684_800 * 1_000_000;
    format!("{}+00", plan::time::timestamp(micros))
}

/// PostgreSQL's judgement of a statement's names and types. Its text names only these and the statement's own
/// constants; positions are turned into the analyst's.
pub fn typing_error(error: backend::RelayError, text: &Printed, plan: &Plan) -> ClientError {
    match error {
        backend::RelayError::Db(db) => {
            let position = db.position.and_then(|p| text.position(usize::try_from(p).ok()?));
            let own = |text: &str| print::analysts_names(text, &plan.statement.bindings);
            let mut e = ClientError::new(db.code, own(&db.message)).at(position);
            e.hint = db.hint.as_deref().map(own);
            e
        }
        other => other.into_finish_error(),
    }
}

/// What the statement cost and what is left, in one line.
fn price_notice(receipt: &Receipt) -> Notice {
    let charge = receipt.charge();
    let left: Vec<String> = receipt
        .budgets()
        .iter()
        .map(|b| {
            let more = match b.fits(charge) {
                Ok(n) => format!(", {n} more like this"),
                Err(_) => String::new(),
            };
            format!("{} {:.1} % left{more}", b.budget.name, b.fraction_left() * 100.0)
        })
        .collect();
    let epsilon = plan::explain::decimal(&charge.epsilon);
    Notice { message: format!("charged epsilon {epsilon}; {}", left.join("; ")), code: "00000", hint: None }
}
