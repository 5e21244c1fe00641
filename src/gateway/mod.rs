//! The way of a query, in order: parse, resolve, plan, type, charge, fetch, release, finish.
//!
//! [`Session::run`] is that way, and `answer` its second half; each step is a line of it, and the order is the
//! guarantee: nothing is debited before the database has typed the statement, nothing private is read before the debit
//! is on disk, and nothing leaves but what was perturbed against a receipt, now or when it was asked first.

mod constant_folding;
mod execution;
pub mod finish;
mod parameters;
mod pay;
mod reload;
mod session;
pub mod settings;
mod snapping;
mod startup;
mod stream;
mod suspend;
mod type_cache;
mod virtual_relations;

pub use reload::Live;
pub use startup::{Checked, OpenError, Reopened};

use crate::store::Store;
use answer::{ClientError, SqlState};
use answer::{Description, Field, Identity, Notice, Outcome, Values};
use backend::{self, Backend, Param};
use emit::print::{self, Constants, Printed};
use ledger::{Ledger, Refusal};
use plan::{self, Plan, PlanError};
use policy::Policy;
use settings::SessionSettings;
use sql::ast::Binding;
use sql::{self, Kind, parse::Parsed};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the number of values of a public column is believed.
const SIZE_LIFETIME: Duration = Duration::from_secs(60);

/// 42P02: a parameter that nothing brings a value for.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

type Sizes = HashMap<(usize, String), (usize, Instant)>;

/// Policy, database and books: what every session shares.
pub struct Gateway {
    policy: Policy,
    backend: Arc<Backend>,
    ledger: Ledger,
    fingerprints: startup::Fingerprints,
    typed: type_cache::Cache,
    settings: plan::Settings,
    sizes: Mutex<Sizes>,
    suspended: suspend::Suspensions,
    store: Store,
    streams: Arc<stream::Streams>,
    trusted: Option<String>,
    /// Users who are in no list.
    directory: Option<backend::Directory>,
}

/// One client's session.
pub struct Session {
    live: Arc<Live>,
    /// The gateway of the statement at hand.
    gateway: Arc<Gateway>,
    identity: Identity,
    database: String,
    settings: SessionSettings,
    /// ParameterStatus values that the client was told, where they differ from the backend's.
    reported: BTreeMap<String, String>,
    /// `now()`, fixed while a transaction is open.
    transaction_start: Option<String>,
    reopening: stream::Reopening,
}

/// One parsed statement.
pub struct Statement {
    kind: Arc<Kind>,
}

/// A bound statement: its parameters have values, and it is planned with them.
pub struct Portal {
    gateway: Arc<Gateway>,
    kind: Arc<Kind>,
    description: Description,
    values: Values,
    planned: Option<Planned>,
}

/// A plan, and what it was made with.
struct Planned {
    plan: Plan,
    constants: Constants,
    settings: plan::Settings,
    /// What `now()` was rounded to, where it was.
    snapped: Option<String>,
}

impl Statement {
    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }

    /// What it does to the session's transaction, statements and cursors.
    pub fn control(&self) -> Option<&sql::Control> {
        match &*self.kind {
            Kind::Control(c) => Some(c),
            _ => None,
        }
    }
}

impl Portal {
    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }
}

fn class(kind: &Kind) -> &'static str {
    match kind {
        Kind::Control(_) => "control",
        Kind::Explain(..) => "explain",
        Kind::Query(..) => "query",
        Kind::Session(_) => "session",
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

    /// Where users are looked up who are in no list.
    pub fn directory(&self) -> Option<&backend::Directory> {
        self.directory.as_ref()
    }

    /// The user who may connect without a password from this machine: the demo's.
    pub fn trusted(&self) -> Option<&str> {
        self.trusted.as_deref()
    }

    /// Ends all kept answers: the data is new.
    pub async fn refresh(&self, author: &str, reason: &str) -> Result<(), Refusal> {
        self.store.refresh(&self.ledger, author, reason).await
    }

    /// The books.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
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
    pub fn parse(&mut self, sql: &str) -> Result<Vec<Statement>, ClientError> {
        self.follow()?;
        let parsed = sql::parse::parse(sql, &self.gateway.policy.limits)?;
        parsed.into_iter().map(|p: Parsed| Ok(Statement { kind: Arc::new(sql::classify(p)?) })).collect()
    }

    /// The virtual transaction took a step: `now()` is fixed within one, and settings follow it.
    pub fn transaction(&mut self, step: &sql::Control) {
        match step {
            sql::Control::Begin | sql::Control::Start => {
                self.transaction_start.get_or_insert_with(now);
            }
            sql::Control::Commit { chain } | sql::Control::Rollback { chain } => {
                self.transaction_start = chain.then(now);
            }
            _ => {}
        }
        if matches!(step, sql::Control::Rollback { .. } | sql::Control::RollbackTo(_)) {
            self.reopening.forget();
        }
        self.settings.transaction(step);
    }

    /// The way of a statement of the simple protocol: no parameters, text results.
    pub async fn run(
        &mut self,
        statement: Statement,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        let (query, lines) = match &*statement.kind {
            Kind::Query(query, lines) | Kind::Explain(query, lines) => (query, lines),
            Kind::Session(s) => return self.session_statement(s, notices).await,
            Kind::Control(_) => return Err(control_here()),
        };
        let gateway = self.gateway.clone();
        let resolved = self.resolve(&gateway, query, lines)?;
        let (highest, pos) = sql::constants::parameters(&mut resolved.clone());
        if highest > 0 {
            return Err(ClientError::new(UNDEFINED_PARAMETER, format!("there is no parameter ${highest}"))
                .hint("Parameters come with the extended query protocol: bind values to the statement.")
                .at(pos));
        }
        let constants = self.constants();
        let planned = self.plan(&gateway, resolved.clone(), constants, &[], &Values::default()).await?;
        let private = planned.plan.charge.is_some();
        let typed = self.type_check(&gateway, &resolved, private, &[], &planned.constants).await?;
        match &*statement.kind {
            Kind::Explain(..) => self.explained(&gateway, &planned.plan, plan::explain::fields()).await,
            _ => self.answer(&gateway, planned, typed.fields, notices).await,
        }
    }

    /// Parse: has PostgreSQL type the statement, and freezes its parameters and columns. `types` are the client's; 0
    /// leaves one open.
    pub async fn describe(
        &mut self,
        statement: &Statement,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        self.follow()?;
        let gateway = &*self.gateway;
        let (query, lines, explain) = match &*statement.kind {
            Kind::Query(query, lines) => (query, lines, false),
            Kind::Explain(query, lines) => (query, lines, true),
            Kind::Session(s) => {
                let fields = session::show_fields(s);
                let fields = (!fields.is_empty()).then_some(fields);
                return Ok(Description { parameters: Vec::new(), fields });
            }
            Kind::Control(_) => return Ok(Description { parameters: Vec::new(), fields: None }),
        };
        // `unknown` is as good as none.
        let types: Vec<u32> = types.iter().map(|t| if *t == 705 { 0 } else { *t }).collect();
        self.allowed(gateway, &types).await?;
        let constants = self.constants();
        let mut resolved = self.resolve(gateway, query, lines)?;
        let parameters = sql::constants::parameters(&mut resolved).0 > 0 || !types.is_empty();
        // What is refused whatever the parameters are is refused here, before PostgreSQL hears of the statement.
        let private = if parameters {
            false
        } else {
            let planned =
                self.plan(gateway, resolved.clone(), constants.clone(), &[], &Values::default()).await?;
            planned.plan.charge.is_some()
        };
        let description = self.type_check(gateway, &resolved, private, &types, &constants).await?;
        self.allowed(gateway, &description.parameters).await?;
        let fields = if explain { plan::explain::fields() } else { description.fields };
        Ok(Description { parameters: description.parameters, fields: Some(fields) })
    }

    /// Bind: the statement planned with its parameters' values (soundness rule 25).
    pub async fn bind(
        &mut self,
        statement: &Statement,
        description: &Description,
        values: Values,
    ) -> Result<Portal, ClientError> {
        self.follow()?;
        let gateway = self.gateway.clone();
        let planned = match &*statement.kind {
            Kind::Query(query, lines) | Kind::Explain(query, lines) => {
                let resolved = self.resolve(&gateway, query, lines)?;
                let types = &description.parameters;
                Some(self.plan(&gateway, resolved, self.constants(), types, &values).await?)
            }
            Kind::Control(_) | Kind::Session(_) => None,
        };
        let (kind, description) = (statement.kind.clone(), description.clone());
        Ok(Portal { gateway, kind, description, values, planned })
    }

    /// Execute: charges, and runs.
    pub async fn execute(
        &mut self,
        mut portal: Portal,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        if let Kind::Session(s) = &*portal.kind {
            // These give text, which looks the same in both formats.
            return Ok(match self.session_statement(s, notices).await? {
                Outcome::Rows { fields, rows, verb, count } => {
                    Outcome::Rows { fields: formatted(fields, &portal.values), rows, verb, count }
                }
                done => done,
            });
        }
        if !Arc::ptr_eq(&portal.gateway, &self.gateway) {
            // Another policy came into force since Bind.
            let statement = Statement { kind: portal.kind };
            portal = self.bind(&statement, &portal.description, portal.values).await?;
        }
        let Portal { gateway, kind, description, values, planned } = portal;
        let Some(planned) = planned else {
            return Err(control_here());
        };
        let fields = formatted(description.fields.unwrap_or_default(), &values);
        if matches!(&*kind, Kind::Explain(..)) {
            return self.explained(&gateway, &planned.plan, fields).await;
        }
        self.answer(&gateway, planned, fields, notices).await
    }

    fn resolve(
        &self,
        gateway: &Gateway,
        query: &sqlparser::ast::Query,
        lines: &sql::parse::Lines,
    ) -> Result<sql::ast::Statement, ClientError> {
        sql::resolve::resolve(query, lines, &gateway.policy, &gateway.policy.limits)
    }

    async fn plan(
        &self,
        gateway: &Gateway,
        mut statement: sql::ast::Statement,
        constants: Constants,
        types: &[u32],
        values: &Values,
    ) -> Result<Planned, ClientError> {
        let every = gateway.policy.cache.snap;
        let snapped =
            every.and_then(|every| snapping::snap(&mut statement, &gateway.policy, &constants.now, every));
        self.fold(&mut statement, &gateway.policy, &constants, types, values).await?;
        let mut settings = self.settings.plan(&gateway.settings);
        settings.budgets = gateway.ledger.notions(&self.identity);
        loop {
            let sizes = gateway.known_sizes();
            match self.planned(gateway, statement.clone(), &settings, &sizes) {
                Ok(plan) => return Ok(Planned { plan, constants, settings, snapped }),
                Err(PlanError::Refused(e)) => return Err(*e),
                Err(PlanError::NeedSize { table, column }) => gateway.measure(table, column).await?,
            }
        }
    }

    /// Refuses types of parameters that are not on the list.
    async fn allowed(&self, gateway: &Gateway, types: &[u32]) -> Result<(), ClientError> {
        for (i, oid) in types.iter().enumerate().filter(|(_, t)| **t != 0) {
            if !parameters::allowed(*oid, &gateway.policy) && !self.holds_allowed(gateway, *oid).await? {
                return Err(parameters::refused(i + 1, *oid));
            }
        }
        Ok(())
    }

    /// Whether a type is an array of a type on the list: of an enum, whose array types nobody numbers.
    async fn holds_allowed(&self, gateway: &Gateway, oid: u32) -> Result<bool, ClientError> {
        // True arrays only: they are subscripted by their elements, and have a length that varies.
        let sql = "SELECT t.typelem::pg_catalog.text FROM pg_catalog.pg_type AS t
            WHERE t.oid = $1::pg_catalog.int8::pg_catalog.oid AND t.typcategory = 'A' AND t.typlen = -1";
        let params = [Param::int8(i64::from(oid))];
        let settings = backend::Settings::default();
        let rows = gateway.backend.query(&settings, sql, &params, &[0]).await;
        let rows = rows.map_err(backend::RelayError::into_finish_error)?;
        let rows = rows.into_texts().await.map_err(backend::RelayError::into_finish_error)?;
        let element = rows.into_iter().flatten().flatten().next().and_then(|e| e.parse().ok());
        Ok(element.is_some_and(|e| parameters::scalar(e, &gateway.policy).is_some()))
    }

    /// Has the statement prepared over the real tables and never executed.
    async fn type_check(
        &self,
        gateway: &Gateway,
        statement: &sql::ast::Statement,
        private: bool,
        types: &[u32],
        constants: &Constants,
    ) -> Result<backend::Description, ClientError> {
        let text = print::typed(statement, &gateway.policy, constants);
        let settings = self.settings.backend();
        // A statement that reads private rows is fetched under a fingerprint of its tables: had they changed since
        // it was typed, it would be refused there. Others are typed anew each time.
        if private && let Some(fields) = gateway.typed.get(&settings, &text.sql) {
            return Ok(backend::Description { parameters: Vec::new(), fields });
        }
        let described = gateway.backend.describe(&settings, &text.sql, types).await;
        let mut description = match described {
            Ok(description) => description,
            Err(e) => {
                let error = typing_error(e, &text, &statement.bindings);
                let tables: Vec<usize> = statement.bindings.iter().filter_map(Binding::table).collect();
                let policy = &gateway.policy;
                return Err(gateway.fingerprints.judged(&gateway.backend, policy, &tables, error).await);
            }
        };
        description.fields.iter_mut().for_each(|f| f.format = 0);
        if private {
            gateway.typed.keep(&settings, &text.sql, &description.fields);
        }
        Ok(description)
    }

    fn constants(&self) -> Constants {
        Constants {
            now: self.transaction_start.clone().unwrap_or_else(now),
            user: self.identity.user.clone(),
            database: self.database.clone(),
            schema: "public".into(),
            own: Vec::new(),
        }
    }
}

/// Columns in the formats that Bind asked for.
fn formatted(fields: Vec<Field>, values: &Values) -> Vec<Field> {
    let format = |i: usize| values.results.get(i).copied().unwrap_or(0);
    fields.into_iter().enumerate().map(|(i, f)| Field { format: format(i), ..f }).collect()
}

/// The frontend does transaction control itself.
fn control_here() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "transaction control cannot run here",
        &"a control statement reached the gateway",
    )
}

/// The moment, as text that casts to timestamptz.
fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // 2000-01-01 is 946,684,800 seconds after 1970-01-01.
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX) - 946_684_800 * 1_000_000;
    format!("{}+00", schema::time::timestamp(micros))
}

/// PostgreSQL's judgement of a statement's names and types. Its text names only these and the statement's own
/// constants; positions are turned into the analyst's.
pub fn typing_error(error: backend::RelayError, text: &Printed, bindings: &[Binding]) -> ClientError {
    match error {
        backend::RelayError::Db(db) => {
            let position = db.position.and_then(|p| text.position(usize::try_from(p).ok()?));
            let own = |text: &str| print::analysts_names(text, bindings);
            let mut e = ClientError::new(db.code, own(&db.message)).at(position);
            e.hint = db.hint.as_deref().map(own);
            e
        }
        other => other.into_finish_error(),
    }
}
