//! The way of a query with its noise pinned, over a small fixed data set.
//!
//! The steps are those of the gateway's session, from the same public functions and in the same order; two things
//! differ: noise comes from a seeded generator, and so does the order in which a unit's surplus groups are dropped.
#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::support::{self, TestDb};
use noisegate::answer::{Field, Identity};
use noisegate::backend::{
    Backend, FetchError, FetchRequest, FetchText, Fingerprint, Hints, Param, RelayError, Settings,
};
use noisegate::backend::{Setting, introspect};
use noisegate::dp::profile::{BINS, Histogram};
use noisegate::dp::{Distribution, Entropy, EntropyError, Notion, Ratio, Spec};
use noisegate::emit::{fetch, print};
use noisegate::error::ClientError;
use noisegate::gateway::{self, private_groups, rounds};
use noisegate::kernel::{self, Certified};
use noisegate::ledger::{Ledger, Terms};
use noisegate::plan::reach::columns::{Beside, Intervals};
use noisegate::plan::{self, Missing, Plan, PlanError, Stage};
use noisegate::policy::{self, Added, Deviations, Measure, Measured, Policy, Range};
use noisegate::price::{Proof, Proven};
use noisegate::release::stream::{Instance, Told};
use noisegate::release::within::Groups;
use noisegate::release::{Exact, Noisy, perturb};
use noisegate::schema::SqlType;
use noisegate::sql::{self, Kind, parse::Lines};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use testing::SeededRng;

/// Rounds of questions to PostgreSQL that any statement of the tests takes, before it has a plan.
const QUESTIONS: usize = 3;

mod straight;
/// The library's own seeded generator, which is compiled for tests alone and so is not in the library that they link.
#[path = "../../src/dp/testing.rs"]
pub mod testing;
#[path = "../worst/mod.rs"]
mod worst;

/// The tables.
pub const SETUP: &str = include_str!("setup.sql");
/// What the owner says about them.
pub const POLICY: &str = include_str!("policy.toml");

/// Reports that are plain arithmetic on their numbers, too.
const REPORTS: &str = "
    CREATE TABLE survey_reports (answer int4 NOT NULL, pet bytea NOT NULL, word int4 NOT NULL, visits int4 NOT NULL, age int4 NOT NULL,
        towns int4 NOT NULL);
    INSERT INTO survey_reports SELECT i * i % 3, decode(lpad(to_hex(i % 8), 2, '0'), 'hex'), i * 3 % 8, i % 5, i % 2, i * 7 % 4
        FROM generate_series(1, 60) i;";
/// What they are reports of.
const SURVEY: &str = "
[collect.survey]
users = [\"form\"]
columns.answer = { kind = \"categorical\", values = [\"no\", \"yes\", \"maybe\"], epsilon = 1, randomiser = \"response\" }
columns.pet = { kind = \"categorical\", values = [\"cat\", \"dog\", \"fish\"], epsilon = 1, randomiser = \"unary\" }
columns.word = { kind = \"categorical\", values = [\"a\", \"b\", \"c\", \"d\", \"e\"], epsilon = 1, randomiser = \"hadamard\" }
columns.visits = { kind = \"count\", range = [0, 3], epsilon = 1, missing = true, randomiser = \"response\" }
columns.age = { kind = \"number\", range = [0, 100], epsilon = 1, randomiser = \"rounding\" }
columns.towns = { kind = \"set\", values = [\"Norwick\", \"Eastport\", \"Kingsford\"], max_values = 2, epsilon = 1, randomiser = \"response\" }
";

/// Seeds the order in which surplus groups are dropped.
const GROUP_SEED: i64 = 42;

/// A policy over a database, with books of its own.
pub struct Bikes {
    /// The database.
    pub db: TestDb,
    /// The policy.
    pub policy: Policy,
    /// Prices and bounds; tests may change them.
    pub plan: plan::Settings,
    /// Session settings; tests may change them.
    pub settings: Settings,
    /// Seeds the noise of every statement.
    pub seed: u64,
    /// The stream that is asked, by its name.
    pub stream: Option<String>,
    /// Numbers have an interval beside them.
    pub intervals: bool,
    /// Estimates over what was collected are made consistent.
    pub consistent: bool,
    /// How often it holds them, in millionths.
    pub confidence: u32,
    instances: tokio::sync::Mutex<HashMap<String, Instance>>,
    backend: Backend,
    ledger: Ledger,
    fingerprint: Fingerprint,
    sizes: Mutex<plan::Sizes>,
    _dir: tempfile::TempDir,
}

/// Everything that one statement led to.
pub struct Asked {
    /// The plan.
    pub plan: Plan,
    /// The lines of EXPLAIN.
    pub lines: Vec<String>,
    /// What is fetched, one text for each release that reads private rows.
    pub fetches: Vec<fetch::FetchText>,
    /// What finishes.
    pub finish: String,
    /// Whether noisegate needs no database for it.
    pub straight: bool,
    /// What a stream was asked, and how many more groups may pass.
    pub told: Option<(Told, u32)>,
    /// Released values before the finish, one for each release that reads private rows.
    pub noisy: Vec<Noisy>,
    /// The columns.
    pub fields: Vec<Field>,
    /// The rows, as text.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Bikes {
    /// The small data set under its policy.
    pub async fn new() -> Self {
        let db = support::database(SETUP).await;
        db.publish(&["stations"]).await;
        Self::over(db, POLICY).await
    }

    /// The small data set, whose budget counts in another notion.
    pub async fn paying_by(accounting: &str) -> Self {
        let db = support::database(SETUP).await;
        db.publish(&["stations"]).await;
        let old = "accounting = \"approx\"";
        assert!(POLICY.contains(old));
        Self::over(db, &POLICY.replace(old, &format!("accounting = \"{accounting}\""))).await
    }

    /// The small data set, and a survey of which there are sixty reports.
    pub async fn collecting() -> Self {
        let db = support::database(&format!("{SETUP}{REPORTS}")).await;
        db.publish(&["stations", "survey_reports"]).await;
        Self::over(db, &format!("{POLICY}{SURVEY}")).await
    }

    /// Any tables under any rules (`[privacy]` and what follows).
    pub async fn over(db: TestDb, rules: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Nobody writes here.
        let collect = if rules.contains("[collect.") {
            "collect_url = \"postgres://writer@127.0.0.1/bikes\"\n"
        } else {
            ""
        };
        let text = format!("{}{collect}\n[ledger]\nurl = \"sqlite:books.db\"\n\n{rules}", db.backend_toml());
        let raw = policy::parse(&text, "policy.toml", dir.path()).unwrap_or_else(|e| panic!("{e}"));
        let backend = raw.backend().unwrap_or_else(|| panic!("{:?}", raw.mistakes()));
        let backend = Backend::connect(backend).await.unwrap();
        let reader = backend.reader().await.unwrap();
        let schema = introspect::read_schema(&reader).await.unwrap();
        let mut policy = raw.check(&schema).unwrap_or_else(|e| panic!("{e}"));
        for b in &mut policy.budgets {
            // More than a policy may say: what is tested here is not when a budget ends.
            b.epsilon = 600_000_000_000_000u64.into();
        }
        let oids: Vec<u32> = policy.tables.iter().map(|t| t.oid).collect();
        let fingerprint = introspect::watch(&reader, &oids, policy.backend.engine).await.unwrap();
        drop(reader);
        let terms = Terms::of(&policy);
        Ledger::create(&policy.ledger, &terms).unwrap();
        let ledger = Ledger::open(&policy.ledger, &terms).unwrap();
        let ratio = |x| noisegate::dp::ratio(x).unwrap();
        let by = &policy.statement;
        let plan = plan::Settings {
            old_extract: backend.server_version() < 140_000,
            budgets: ledger.notions(&identity()),
            ..plan::Settings::new(ratio(&by.epsilon), ratio(&by.delta), by.max_groups, by.max_rows)
        };
        let sizes = Mutex::default();
        Self {
            db,
            policy,
            plan,
            settings: Settings::default(),
            seed: 7,
            stream: None,
            intervals: false,
            consistent: false,
            confidence: sql::ast::Reach::USUAL,
            instances: Default::default(),
            backend,
            ledger,
            fingerprint,
            sizes,
            _dir: dir,
        }
    }

    /// Prices so high that no noise is left, and bounds so wide that nothing is scaled or dropped.
    pub fn without_noise(mut self) -> Self {
        self.plan.epsilon = noisegate::dp::Ratio::from_integer(1_000_000_000_000);
        self.plan.max_groups = 60;
        self.plan.max_rows = 60;
        for t in &mut self.policy.tables {
            (t.max_rows, t.max_total_rows, t.cut_rows) = (None, Some(60), None);
        }
        self
    }

    /// What was measured of a table, with Gaussian noise of an ε of 0.1, beside what was before: the first bins, and nobody in
    /// others.
    pub fn profile(&mut self, table: &str, of: Measure, mut bins: Vec<i64>) {
        bins.resize(BINS, 0);
        let noise = Distribution::Gaussian { variance: Ratio::from_integer(100) };
        let histogram = Histogram::new(bins, noise, Ratio::new(1, 10)).unwrap();
        let table = self.policy.tables.iter().find(|t| t.name == table).unwrap();
        let before = table.items().iter().filter(|item| item.of != of);
        let mut items: Vec<_> = before.map(|item| (item.of.clone(), item.histogram.clone())).collect();
        items.push((of, histogram));
        let measured = Measured {
            schema: table.schema.clone(),
            table: table.name.clone(),
            owner: self.policy.owner(table).unwrap(),
            id: 7,
            // 2026-11-23
            measured: 1_795_392_000_000_000,
            valid_until: i64::MAX,
            items,
        };
        self.policy.with_profiles([&measured]);
    }

    /// Magnitudes of what a column of trips deviates from a number, in cents for fares.
    pub fn deviations(&self, column: &str, about: &str, steps: u64) -> Added {
        let trips = self.policy.tables.iter().find(|t| t.name == "trips").unwrap();
        let column = trips.column(column).unwrap();
        let Some(Range::Number { low, high }) = column.range.clone() else { panic!("{column:?}") };
        let (about, grid) = (about.parse().unwrap(), column.grid.clone().unwrap());
        Added::Deviations(Deviations { column: column.name.clone(), about, low, high, grid, steps })
    }

    /// The sizes of public columns that plans have asked for.
    pub fn sizes(&self) -> plan::Sizes {
        self.sizes.lock().unwrap().clone()
    }

    /// The session's time zone.
    pub fn time_zone(&mut self, zone: &str) {
        self.settings.set(Setting::TimeZone, zone);
        self.plan.zone = zone.to_owned();
    }

    /// Parses one query; EXPLAIN is not among them.
    fn parse(&self, text: &str) -> Result<(Box<sqlparser::ast::Query>, Lines), ClientError> {
        let mut parsed = sql::parse::parse(text, &self.policy.limits)?;
        assert_eq!(parsed.len(), 1, "{text}");
        match sql::classify(parsed.remove(0))?.kind {
            Kind::Query(query, lines) => {
                sql::text_size::check(&query, &lines, None, &self.policy.limits)?;
                Ok((query, lines))
            }
            // Nothing is written here.
            Kind::Insert(insert) => Err(insert.read_only()),
            _ => panic!("not a query: {text}"),
        }
    }

    fn resolve(
        &self,
        query: &sqlparser::ast::Query,
        lines: &Lines,
    ) -> Result<sql::ast::Statement, ClientError> {
        let estimates = sql::resolve::Estimates {
            intervals: self.intervals,
            consistent: self.consistent,
            ..Default::default()
        };
        let schemas = self.policy.tables.iter().map(|t| t.schema.clone());
        let path = ["public".to_owned()].into_iter().chain(schemas).collect();
        let names = sql::catalog::InPath { policy: &self.policy, path, database: "bikes", estimates };
        sql::resolve::resolve(query, lines, &names, &self.policy.limits)
    }

    /// Plans a query, and measures public columns where the plan asks for it.
    pub async fn plan(&self, text: &str) -> Result<Plan, ClientError> {
        self.planned(text).await.map(|(plan, _)| plan)
    }

    /// The plan, and the intervals that its columns have beside them.
    async fn planned(&self, text: &str) -> Result<(Plan, Intervals), ClientError> {
        let (query, lines) = self.parse(text)?;
        let mut statement = self.resolve(&query, &lines)?;
        // Types and public rows; types of what a rule makes of these; sizes; and then the plan.
        for _ in 0..=QUESTIONS {
            let sizes = self.sizes.lock().unwrap().clone();
            match self.plan_one(&mut statement, &sizes) {
                Ok(mut plan) => {
                    let beside = if self.intervals { Beside::Numbers } else { Beside::Nothing };
                    let settings = &self.plan;
                    let intervals =
                        plan::reach::columns::prepare(&mut plan, &beside, self.confidence, settings)?;
                    return Ok((plan, intervals));
                }
                Err(PlanError::Refused(e)) => return Err(*e),
                Err(PlanError::Missing(missing)) => self.learn(&mut statement, missing).await?,
            }
        }
        panic!("more than {QUESTIONS} rounds of questions: {text}");
    }

    /// Asks PostgreSQL for facts, and puts them where a plan looks for them.
    async fn learn(
        &self,
        statement: &mut sql::ast::Statement,
        Missing { types, rows, sizes }: Missing,
    ) -> Result<(), ClientError> {
        for (of, query) in types {
            let alone = sql::ast::Statement { query, ..statement.clone() };
            let typed = print::typed(&alone, &self.policy, &constants());
            let described = self.backend.describe(&self.settings, &typed.sql, &[]).await;
            let fields = described.map_err(|e| gateway::typing_error(e, &typed, &statement.bindings))?.fields;
            let types = fields.iter().map(|f| SqlType::from_oid(f.type_oid, -1, "other"));
            statement.types.insert(of, types.collect());
        }
        for wanted in rows {
            let text = print::public_rows(statement, &wanted, &self.policy, &constants());
            let failed = |e| gateway::typing_error(e, &text, &statement.bindings);
            let rows = self.backend.query(&self.settings, &text.sql, &[], &[0]).await.map_err(failed)?;
            let rows = rows.into_texts().await.map_err(failed)?;
            gateway::public_rows::put(statement, &wanted, &self.policy, &rows)?;
        }
        for size in sizes {
            let sql = print::size(&self.policy, &size);
            let rows = self.backend.query(&self.settings, &sql, &[], &[0]).await.unwrap();
            let n = rows.into_texts().await.unwrap()[0][0].as_deref().unwrap().parse().unwrap();
            self.sizes.lock().unwrap().insert(size, n);
        }
        Ok(())
    }

    fn plan_one(&self, statement: &mut sql::ast::Statement, sizes: &plan::Sizes) -> Result<Plan, PlanError> {
        let ends = plan::Ends::new(self.confidence, self.intervals);
        let settings = &plan::Settings { ends, ..self.plan.clone() };
        let Some(name) = &self.stream else { return plan::plan(statement, &self.policy, settings, sizes) };
        let stream = self.policy.streams.iter().find(|s| s.name == *name).unwrap();
        let terms = plan::stream::Terms { stream, questions: 1000, beta: 0.05 };
        plan::stream::plan(statement, &self.policy, settings, sizes, terms)
    }

    /// The plan, after PostgreSQL has judged names and types.
    pub async fn typed(&self, text: &str) -> Result<(Plan, Vec<Field>), ClientError> {
        let (plan, intervals) = self.planned(text).await?;
        let (query, lines) = self.parse(text)?;
        let mut resolved = self.resolve(&query, &lines)?;
        intervals.put(&mut resolved.query);
        let statement = &resolved;
        let typed = print::typed(statement, &self.policy, &constants());
        let described = self.backend.describe(&self.settings, &typed.sql, &[]).await;
        let fields = described.map_err(|e| gateway::typing_error(e, &typed, &statement.bindings))?.fields;
        Ok((plan, fields))
    }

    /// The whole way.
    pub async fn ask(&self, text: &str) -> Result<Asked, ClientError> {
        let (plan, fields) = self.typed(text).await?;
        let lines = plan::explain::lines(&plan, &self.policy);
        let paying: Vec<&plan::Release> = plan.releases.iter().filter(|r| !r.is_domain_only()).collect();
        let fetches: Vec<fetch::FetchText> = paying.iter().map(|r| fetch::fetch(r, &self.policy)).collect();
        let (all, told) = self.release(&plan).await?;
        let noisy = (0..).zip(&all).filter(|(i, _)| !plan.releases[*i].is_domain_only());
        let noisy = noisy.map(|(_, n)| n.clone()).collect();
        let types: Vec<u32> = fields.iter().map(|f| f.type_oid).collect();
        let (finish, arrays) = print::finish(&plan, &self.policy, &constants(), &types);
        let params = gateway::columns::params(&plan, &all, &arrays)?;
        let rows = self.backend.query(&self.settings, &finish.sql, &params, &[0]).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        if plan.free == Some(plan::Free::NoRows) {
            return Ok(Asked {
                plan,
                lines,
                fetches,
                finish: finish.sql,
                straight: false,
                told,
                noisy,
                fields,
                rows: Vec::new(),
            });
        }
        gateway::finish::same_types(&fields, &rows.fields)?;
        let rows = rows.into_texts().await.map_err(RelayError::into_finish_error)?;
        let straight = straight::compare(&plan, &self.policy, &all, &fields, &rows);
        Ok(Asked { plan, lines, fetches, finish: finish.sql, straight, told, noisy, fields, rows })
    }

    /// All releases in their order, those without a price empty; stage after stage.
    async fn release(&self, plan: &Plan) -> Result<(Vec<Noisy>, Option<(Told, u32)>), ClientError> {
        let mut all = vec![Noisy { keys: Vec::new(), values: Vec::new(), rows: 0 }; plan.releases.len()];
        let Some(whole) = &plan.charge else { return Ok((all, None)) };
        let debit = async |charge: Proven| {
            self.ledger.debit(&identity(), [0; 32], &charge).await.map_err(|r| r.client())
        };
        let mut rng = SeededRng::new(self.seed);
        let mut left: Vec<usize> =
            (0..plan.releases.len()).filter(|i| !plan.releases[*i].is_domain_only()).collect();
        if let Some(question) = &plan.question {
            let mut instances = self.instances.lock().await;
            let name = &question.stream.name;
            if !instances.contains_key(name) {
                let opened = Proven::of_stream(&question.stream.plan().unwrap()).unwrap();
                let opened = debit(opened).await?;
                let opened = Instance::open(question.stream.plan().unwrap(), opened, &mut rng);
                instances.insert(name.clone(), opened.map_err(|e| e.client())?);
            }
            let instance = instances.get_mut(name).unwrap();
            let (exact, _) = self.exact_parts(plan, &left, &[], &all).await?.remove(0);
            let (noisy, told) =
                instance.ask(exact, &question.comparison, &mut rng).map_err(|e| e.client())?;
            all[left[0]] = noisy;
            return Ok((all, Some((told, instance.left()))));
        }
        let mut given = Vec::new();
        for stage in plan.stages.iter().map(Some).chain([None]) {
            let (now, later): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|p| stage.is_none_or(|s| s.releases.contains(p)));
            left = later;
            for now in rounds::apart(plan, &now).into_iter().filter(|now| !now.is_empty()) {
                let charge = match plan.stages.is_empty() && plan.releases.iter().all(|r| r.round.is_none()) {
                    true => whole.clone(),
                    false => plan::price::shares::rest(plan, &now, whole).unwrap(),
                };
                let exact = self.exact_parts(plan, &now, &given, &all).await?;
                let fetches: Vec<(&Certified, &Spec)> =
                    exact.iter().zip(&now).map(|((_, c), p)| (&**c, &plan.releases[*p].spec)).collect();
                let proofs: Vec<_> = fetches.iter().map(|(c, spec)| (Proof::from(*c), *spec)).collect();
                let proven = Proven::of(&charge.epsilon, &proofs).unwrap();
                worst::is_covered(proven.charge(), &fetches);
                // What was told beforehand is what is booked; less only where values are counted of which the text has no more than one.
                let constant = now.iter().any(|p| plan.releases[*p].values().is_some());
                for notion in Notion::ALL {
                    let (booked, told) = (notion.price(proven.charge()), notion.price(&charge));
                    let less = || matches!((&booked, &told), (Ok(b), Ok(t)) if b.loss <= t.loss);
                    assert!(booked == told || constant && less(), "{notion:?} {booked:?} {told:?}");
                }
                let receipt = debit(proven).await?;
                let own = |first| now.iter().position(|p| *p == first).map(Groups::Of);
                let groups = private_groups::selected(plan, &now, own);
                let parts = exact.into_iter().zip(&now).zip(groups).map(|(((exact, _), p), groups)| {
                    let r = &plan.releases[*p];
                    (exact.within(groups.and_then(|g| private_groups::within(r, g))), &r.spec)
                });
                let parts = parts.collect();
                let noisy = perturb(parts, receipt, &mut rng).map_err(|e| e.client())?;
                now.iter().zip(noisy).for_each(|(p, n)| all[*p] = n);
                rounds::ended(plan, &now, &mut all);
            }
            if let Some(stage) = stage {
                given.extend(self.values(plan, stage, &all).await?);
            }
        }
        Ok((all, None))
    }

    /// The parameters that follow from a stage.
    async fn values(&self, plan: &Plan, stage: &Stage, noisy: &[Noisy]) -> Result<Vec<Param>, ClientError> {
        let (finish, arrays) = print::finish_stage(plan, stage, &self.policy, &constants());
        let params = gateway::columns::params(plan, noisy, &arrays)?;
        let rows = self.backend.query(&self.settings, &finish.sql, &params, &[1]).await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        let oids: Vec<u32> = rows.fields.iter().map(|f| f.type_oid).collect();
        assert_eq!(oids, stage.types.iter().map(SqlType::oid).collect::<Vec<_>>(), "{}", finish.sql);
        let cells = rows.into_cells().await.map_err(RelayError::into_finish_error)?;
        gateway::stages::parameters(stage, &cells)
    }

    async fn exact_parts(
        &self,
        plan: &Plan,
        places: &[usize],
        given: &[Param],
        before: &[Noisy],
    ) -> Result<Vec<(Exact, Arc<Certified>)>, ClientError> {
        let text = |p: &usize| {
            let r = &plan.releases[*p];
            let f = fetch::fetch(r, &self.policy);
            let certified =
                kernel::certify(&f.sql, &self.policy).unwrap_or_else(|e| panic!("{e}\n{}", f.sql));
            assert_eq!(certified.seeded, f.seeded);
            assert!(certified.tables.iter().all(|t| plan.tables.contains(t)), "{}", f.sql);
            let mut params = Vec::new();
            if f.seeded || !r.given.is_empty() {
                params.push(Param::int8(GROUP_SEED));
            }
            params.extend(given.iter().take(r.given_width()).cloned());
            let left_out = rounds::parameters(r, &rounds::before(plan, *p, before));
            params.extend(left_out.unwrap());
            let hints = Hints { hashed: r.joins_without_index(), joined: r.joins_tables() };
            FetchText { certified: Arc::new(certified), params, hints }
        };
        let statements: Vec<FetchText> = places.iter().map(text).collect();
        let request = FetchRequest {
            statements: statements.clone(),
            fingerprint: Some(self.fingerprint.clone()),
            max_rows: self.policy.limits.max_result_groups,
        };
        let answers = match self.backend.fetch(request).await {
            // What Citus does not run, which is its answer.
            Err(e @ FetchError::Spread(_)) => return Err(e.into_client_error()),
            answers => answers.unwrap_or_else(|e| panic!("{e:?}: {statements:#?}")),
        };
        let answers = places.iter().zip(&answers).zip(&statements);
        Ok(answers
            .map(|((p, rows), text)| {
                let spec = &plan.releases[*p].spec;
                let exact = Exact::decode(rows, &text.certified, spec, plan.question.is_none()).unwrap();
                (exact, text.certified.clone())
            })
            .collect())
    }

    /// What PostgreSQL answers to the analyst's own text: columns and rows.
    pub async fn exact(&self, text: &str) -> (Vec<u32>, Vec<Vec<Option<String>>>) {
        let client = self.db.superuser().await;
        client.batch_execute("SET TimeZone = 'UTC'").await.unwrap();
        let types = client.prepare(text).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let oids = types.columns().iter().map(|c| c.type_().oid()).collect();
        let messages = client.simple_query(text).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let rows = messages.iter().filter_map(|m| match m {
            tokio_postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect())
            }
            _ => None,
        });
        (oids, rows.collect())
    }
}

/// Who asks.
fn identity() -> Identity {
    Identity { user: "ada".into(), role: None }
}

/// The session's values, the same in every run.
pub fn constants() -> print::Constants {
    print::Constants {
        now: "2024-02-29 12:00:00+00".into(),
        user: "ada".into(),
        database: "bikes".into(),
        schema: Some("public".into()),
        own: Vec::new(),
    }
}
