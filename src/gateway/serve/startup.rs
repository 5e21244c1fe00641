//! Start-up: connect, read the schema, check the policy, prove the logins, open the books.

use super::history::{History, Reopened};
use super::present::Present;
use super::reached::Reached;
use crate::crashes::Crashes;
use crate::gateway::Gateway;
use crate::gateway::known::fingerprints::Fingerprints;
use crate::gateway::known::remembered::Known;
use crate::gateway::private::stream;
use crate::gateway::session::settings::time_zone::{NAMES, is_among, is_plain_offset};
use crate::gateway::way::owner::Passthrough;
use crate::gateway::way::report::{Analyser, Collecting, secrets};
use crate::store::Store;
use backend::{Backend, ConnectError, Directory, Places, Reader, citus, introspect, needs, row_triggers};
use bigdecimal::BigDecimal;
use emit::synthetic::Sizes;
use ledger::{Ledger, LedgerError, Terms};
use persons::Secret;
use policy::{LedgerLocation, Policy, PolicyError, PolicyErrors, Privacy, RawPolicy};
use schema::Engine;
use std::sync::Arc;

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
    /// The server is none that can be relied on; each line says what it lacks.
    #[error("the database is not as PostgreSQL, on which answers rest:\n{0}")]
    Lacks(String),
    /// The finish login could reach private rows, or a login lacks a right; each line says which and what mends it.
    #[error("the database's logins do not have just the rights that they need:\n{0}")]
    Logins(String),
    /// A view of the policy is no query that analysts may ask, or names what is not there.
    #[error("{0}")]
    View(String),
    /// A login's sessions begin in a time zone that analysts may not have either.
    #[error(
        "the default time zone of the finish login, \"{zone}\", is neither a name in pg_timezone_names nor a plain offset; \
         set another one in postgresql.conf, or with ALTER ROLE … SET timezone = 'UTC'"
    )]
    TimeZone {
        /// The zone.
        zone: String,
    },
    /// The books.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A reload that would protect somebody else.
    #[error("privacy.unit has changed, which needs a restart; nothing was reloaded")]
    Unit,
    /// A reload over another server than the one that was opened.
    #[error("the database's server is of version {0} now, which needs a restart; nothing was reloaded")]
    OtherServer(u32),
    /// The key of an analyser.
    #[error("{0}")]
    Analyser(String),
    /// The key or the file by which persons are told apart.
    #[error("{0}")]
    Persons(String),
    /// The key of stored answers.
    #[error("{0}")]
    CacheKey(String),
    /// A price that cannot be computed with.
    #[error("statement.{0} has too many digits to compute with")]
    Price(&'static str),
}

/// A policy that was checked against the database it names, with the connection to it.
pub struct Checked {
    /// The policy.
    pub policy: Policy,
    /// Warnings: allowed, but probably not meant.
    pub warnings: Vec<String>,
    /// Notes: as it is, and nothing mends it. Owners and auditors read them; no log repeats them.
    pub notes: Vec<String>,
    /// The policy's reach in the database.
    pub reached: Reached,
    backend: Arc<Backend>,
    passthrough: Arc<Passthrough>,
    collecting: Arc<Collecting>,
    analysers: Vec<Arc<Analyser>>,
    secrets: Vec<Secret>,
    /// Fingerprint of each table of the policy.
    tables: Vec<String>,
}

impl Checked {
    /// Connects, reads the schema, and checks policy and logins.
    pub async fn new(raw: &RawPolicy) -> Result<Self, OpenError> {
        let Some(backend) = raw.backend() else {
            return Err(OpenError::Policy(PolicyErrors(raw.mistakes())));
        };
        let connected = Arc::new(Backend::connect(backend).await?);
        let passthrough = Arc::new(Passthrough::connect(backend, &connected).await?);
        let collecting = Arc::new(Collecting::connect(backend, &connected).await?);
        let reader = reader(&connected).await?;
        Self::over(connected, passthrough, collecting, raw, &reader).await
    }

    /// Reads the schema, and checks policy and logins, over connections that are there.
    async fn over(
        backend: Arc<Backend>,
        passthrough: Arc<Passthrough>,
        collecting: Arc<Collecting>,
        raw: &RawPolicy,
        reader: &Reader,
    ) -> Result<Self, OpenError> {
        let read = introspect::read_schema(reader).await.map_err(|e| schema(&e))?;
        let (mut policy, warnings) = raw.check_with_warnings(&read).map_err(OpenError::Policy)?;
        let mut tables = Vec::with_capacity(policy.tables.len());
        for table in &policy.tables {
            tables.push(
                introspect::fingerprint(reader, &[table.oid], read.engine).await.map_err(|e| schema(&e))?,
            );
        }
        // What was read before the fingerprints must still be so after them.
        if introspect::read_schema(reader).await.map_err(|e| schema(&e))? != read {
            return Err(OpenError::Schema("it changed while it was read; start again".into()));
        }
        let lacking = needs::lacking(reader).await.map_err(OpenError::Schema)?;
        if !lacking.is_empty() {
            return Err(OpenError::Lacks(lacking.join("\n")));
        }
        let named = |public: bool| -> Vec<(String, String)> {
            let tables = policy.tables.iter().filter(|t| (t.privacy == Privacy::Public) == public);
            tables.map(|t| (t.schema.clone(), t.name.clone())).collect()
        };
        let published: Vec<(String, String)> = policy
            .tables
            .iter()
            .filter(|t| t.published)
            .map(|t| (t.schema.clone(), t.name.clone()))
            .collect();
        backend
            .prove_finish_login(reader, &named(false), &named(true), &published)
            .await
            .map_err(|problems| OpenError::Logins(problems.join("\n")))?;
        if read.engine == Engine::Citus {
            let problems = citus::finish_login_on_servers(&backend, reader, &policy).await;
            let problems = problems.map_err(OpenError::Schema)?;
            if !problems.is_empty() {
                return Err(OpenError::Logins(problems.join("\n")));
            }
        }
        collecting.prove(&policy).await.map_err(OpenError::Logins)?;
        let analysers = policy.collects.iter().filter_map(|c| Analyser::read(c).transpose());
        let analysers: Vec<_> =
            analysers.map(|a| a.map(Arc::new)).collect::<Result<_, _>>().map_err(OpenError::Analyser)?;
        let secrets = secrets(&policy).map_err(OpenError::Persons)?;
        default_zone(&backend, reader).await?;
        let views = super::views::columns(&policy, &backend).await.map_err(OpenError::View)?;
        policy.views.iter_mut().zip(views).for_each(|(view, columns)| view.columns = columns);
        let reached = Reached::of(backend.database(), &policy, reader).await.map_err(OpenError::Schema)?;
        let (notes, warnings): (Vec<_>, Vec<_>) = warnings.iter().partition(|w| w.note);
        let texts = |of: Vec<&PolicyError>| of.into_iter().map(ToString::to_string).collect::<Vec<_>>();
        let (notes, mut warnings) = (texts(notes), texts(warnings));
        warnings.extend_from_slice(backend.warnings());
        warnings.extend(
            backend.needless_rights(reader, &named(true), &named(false)).await.map_err(OpenError::Schema)?,
        );
        warnings.extend(row_triggers(reader, &policy).await.map_err(OpenError::Schema)?);
        if read.engine == Engine::Citus {
            warnings.extend(citus::unproven_placement(reader, &policy).await.map_err(OpenError::Schema)?);
        }
        Ok(Self {
            policy,
            warnings,
            notes,
            reached,
            backend,
            passthrough,
            collecting,
            analysers,
            secrets,
            tables,
        })
    }
}

impl Checked {
    /// Terms for the books.
    fn terms(&self) -> Terms {
        Terms::of(&self.policy).over(&self.reached.data)
    }
}

async fn reader(backend: &Backend) -> Result<Reader, OpenError> {
    backend.reader().await.map_err(|e| schema(&e))
}

fn schema(e: &dyn std::fmt::Display) -> OpenError {
    OpenError::Schema(e.to_string())
}

/// Refuses a server whose sessions begin in a time zone of its own making (soundness rule 37). Every transaction of ours
/// sets the session's zone; this is for what might ever be read before that. Fetch sessions have one that is pinned.
async fn default_zone(backend: &Backend, reader: &Reader) -> Result<(), OpenError> {
    const DEFAULT: &str = "SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'TimeZone'";
    let answer = backend.query(&backend::Settings::default(), DEFAULT, &[], &[0]).await;
    let rows = answer.map_err(|e| schema(&e))?.into_texts().await.map_err(|e| schema(&e))?;
    let zone = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    let names = reader.query_one(NAMES, &[]).await.and_then(|r| r.try_get::<_, String>(0));
    match is_plain_offset(&zone) || is_among(&zone, &names.map_err(|e| schema(&e))?) {
        true => Ok(()),
        false => Err(OpenError::TimeZone { zone }),
    }
}

/// Parts of a gateway that a reload leaves as they are.
#[derive(Default)]
struct Kept {
    crashes: Option<Arc<Crashes>>,
    streams: Arc<stream::Streams>,
    present: Arc<Present>,
    queues: Arc<Places>,
    made_up: Sizes,
    /// Caches of tables and statements, when neither the policy nor a table has changed. The
    /// catalogs are read anew in any case.
    statements: Option<(Arc<Fingerprints>, Arc<Known>)>,
}

impl Gateway {
    /// Opens the gateway over a checked policy. `trusted` names a user who needs no password on this machine.
    pub fn open(checked: Checked, trusted: Option<String>) -> Result<Arc<Self>, OpenError> {
        Self::open_with(checked, trusted, Sizes::default())
    }

    /// Opens a gateway with given numbers of made-up rows.
    pub(in crate::gateway) fn open_with(
        mut checked: Checked,
        trusted: Option<String>,
        made_up: Sizes,
    ) -> Result<Arc<Self>, OpenError> {
        let location = checked.policy.ledger.clone();
        let ledger = Ledger::open_as(&location, |profiles| {
            checked.policy.with_profiles(profiles);
            checked.terms()
        })?;
        let crashes = Crashes::open(&ledger::beside(&checked.policy.ledger)).inspect_err(|error| {
            tracing::warn!(%error, "what is under way cannot be written down: no statement is known after a crash");
        });
        let kept = Kept { crashes: crashes.ok(), made_up, ..Kept::default() };
        Self::begin(checked, ledger, trusted, kept)
    }

    /// Opens the gateway over a policy that shares its books with this one's.
    pub async fn open_beside(&self, mut checked: Checked) -> Result<Arc<Self>, OpenError> {
        checked.policy.with_profiles(&self.ledger.profiles().await?);
        let ledger = self.ledger.renew(&checked.terms()).await?;
        Self::begin(checked, ledger, None, Kept { crashes: self.crashes.clone(), ..Kept::default() })
    }

    fn begin(
        checked: Checked,
        ledger: Ledger,
        trusted: Option<String>,
        kept: Kept,
    ) -> Result<Arc<Self>, OpenError> {
        let store = Store::new(&checked.policy.cache).map_err(OpenError::CacheKey)?;
        let history = History::begun([checked.warnings.as_slice(), &checked.notes].concat());
        if let Some(crashes) = kept.crashes.clone() {
            checked.backend.tell_of_crashes(Box::new(move || Box::new(crashes.witness())));
        }
        Self::assemble(checked, ledger, store, kept, trusted, history)
    }

    /// A gateway over another policy, which [`Self::compare`] gave, with the books and the connections of this one. This one
    /// goes on: nothing is in force until somebody puts it there.
    pub async fn reopen(&self, checked: Checked, reopened: &Reopened) -> Result<Arc<Self>, OpenError> {
        let ledger = self.ledger.renew(&checked.terms()).await?;
        let store = self.store.reopened(&checked.policy.cache).map_err(OpenError::CacheKey)?;
        let history = self.history.followed(&self.policy, reopened);
        let nothing_changed = !reopened.schema_changed && checked.policy.is_like(&self.policy);
        let kept = Kept {
            crashes: self.crashes.clone(),
            streams: self.streams.clone(),
            present: self.present.clone(),
            queues: self.queues.clone(),
            made_up: self.made_up.clone(),
            statements: nothing_changed.then(|| (self.fingerprints.clone(), self.known.clone())),
        };
        Self::assemble(checked, ledger, store, kept, self.trusted.clone(), history)
    }

    /// The same policy checked, and what would change with it; nothing does.
    pub async fn compare(&self, raw: &RawPolicy) -> Result<(Checked, Reopened), OpenError> {
        if raw.backend().is_none() {
            return Err(OpenError::Policy(PolicyErrors(raw.mistakes())));
        }
        let reader = reader(&self.backend).await?;
        self.same_server(&reader).await?;
        let (backend, passthrough) = (self.backend.clone(), self.passthrough.clone());
        let mut checked = Checked::over(backend, passthrough, self.collecting.clone(), raw, &reader).await?;
        checked.policy.with_profiles(&self.ledger.profiles().await?);
        let Some(reloaded) = checked.policy.after(&self.policy) else { return Err(OpenError::Unit) };
        checked.policy = reloaded.policy;
        let reopened = Reopened {
            changed: reloaded.changed,
            restart: reloaded.restart,
            schema_changed: !self.fingerprints.same(&checked.tables),
            warnings: std::mem::take(&mut checked.warnings),
            notes: std::mem::take(&mut checked.notes),
        };
        Ok((checked, reopened))
    }

    /// The major version decides how statements are printed, and was asked once.
    async fn same_server(&self, reader: &Reader) -> Result<(), OpenError> {
        let version = "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4";
        let row = reader.query_one(version, &[]).await.map_err(|e| schema(&e))?;
        let version: i32 = row.try_get(0).map_err(|e| schema(&e))?;
        let version = version.unsigned_abs();
        if version / 10_000 == self.backend.server_version() / 10_000 {
            Ok(())
        } else {
            Err(OpenError::OtherServer(version))
        }
    }

    fn assemble(
        checked: Checked,
        ledger: Ledger,
        store: Store,
        kept: Kept,
        trusted: Option<String>,
        history: History,
    ) -> Result<Arc<Self>, OpenError> {
        let Checked { policy, reached, backend, passthrough, collecting, analysers, secrets, tables, .. } =
            checked;
        let told_apart = collecting.told_apart(&policy, secrets).map_err(OpenError::Persons)?;
        let Kept { crashes, streams, present, queues, made_up, statements } = kept;
        let (fingerprints, known) =
            statements.unwrap_or_else(|| (Arc::new(Fingerprints::new(tables)), Arc::default()));
        let ratio = |x: &BigDecimal, key| dp::ratio(x).ok_or(OpenError::Price(key));
        let statement = &policy.statement;
        let (epsilon, delta) = (ratio(&statement.epsilon, "epsilon")?, ratio(&statement.delta, "delta")?);
        // Budgets are those of a session's user, once there is one.
        let settings = plan::Settings {
            old_extract: backend.server_version() < 140_000,
            round: policy.answers.round,
            null_unsure: policy.answers.null_unsure,
            ..plan::Settings::new(epsilon, delta, statement.max_groups, statement.max_rows)
        };
        store.listen(&backend, &ledger);
        let auth_query = policy.server.auth_query.clone();
        let of_backend = &policy.backend;
        let urls = [&of_backend.url, &of_backend.finish_url].into_iter().chain(&of_backend.passthrough_url);
        let books = match &policy.ledger {
            LedgerLocation::Postgres(at) => Some(&at.url),
            LedgerLocation::Sqlite(_) => None,
        };
        let urls = urls.chain(books);
        let directory = auth_query.map(|q| Directory::new(q, of_backend.password_file.clone(), urls));
        Ok(Arc::new(Self {
            policy,
            backend,
            reached,
            passthrough,
            collecting,
            analysers,
            told_apart,
            ledger,
            crashes,
            fingerprints,
            known,
            settings,
            queues,
            time_zones: tokio::sync::OnceCell::new(),
            catalogs: tokio::sync::OnceCell::new(),
            store,
            streams,
            trusted,
            directory,
            history,
            present,
            made_up,
        }))
    }
}
