//! From a statement to its fetch, the fetch's exact rows, and the difference that one unit makes.

use crate::data::{self, Variant};
use crate::support::{self, TestDb};
use crate::ways::{Ways, shows_texts};
use bigdecimal::BigDecimal;
use futures::future::join_all;
use noisegate::dp::sparse::Test;
use noisegate::dp::{self, Charge, Distribution, Ratio, Weights};
use noisegate::emit::fetch;
use noisegate::emit::print::{self, Constants};
use noisegate::error::ClientError;
use noisegate::gateway::public_rows;
use noisegate::kernel;
use noisegate::plan::bound::bounding::{Groups, Norm};
use noisegate::plan::stream;
use noisegate::plan::{self, Missing, Part, Plan, PlanError, Release, Settings};
use noisegate::policy::{Limits, Policy};
use noisegate::price::{Proof, Proven, covers};
use noisegate::schema::SqlType;
use noisegate::sql::{self, Kind, ast};
use postgres_types::{FromSql, Type};
use std::collections::HashMap;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

/// Rounds of questions to PostgreSQL that any statement of the tests takes, before it has a plan.
const QUESTIONS: usize = 3;

/// A database of the family, its policy, and one connection in one transaction.
pub struct Lab {
    /// The connection.
    pub client: Client,
    /// The policy.
    pub policy: Policy,
    /// The server's version.
    pub version: i64,
    sizes: plan::Sizes,
    _db: TestDb,
}

/// A statement that was planned.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The text that is typed.
    pub typed: String,
    /// The fetches, one for each release that reads private rows.
    pub fetches: Vec<String>,
}

/// Why there is nothing to record.
#[derive(Debug)]
pub enum Refusal {
    /// The planner says no.
    Plan(String),
    /// PostgreSQL finds no types for it.
    Type(String),
    /// Charged for, it would end in an error of ours.
    Defect(String),
}

/// What a unit may change: the claim that is put to the test.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Groups, or as many as have the norm of all that may change.
    pub l0: u32,
    /// No more groups than that change.
    pub few: bool,
    /// Each part within one group.
    pub linf: Vec<u128>,
    /// Each part over all groups: what its changes add up to, or their squares.
    pub all: Vec<u128>,
    /// Its noise is Gaussian, which covers the squares of changes, and not their sum.
    pub gaussian: bool,
    /// Keys, order and number of groups are the same in all databases.
    pub public: bool,
    /// Number of keys.
    pub keys: usize,
    /// The first integer counts units, or adds up what they weigh.
    pub selects: bool,
    /// What a unit weighs in each of its groups.
    pub weights: Weights,
    /// A unit's rows lower no integer: choices among counts, and questions of some streams, are weighed by that.
    pub rises: bool,
}

impl Claim {
    /// What a stream has noise for: each group is asked by itself, and of a plan for questions that one unit moves one way
    /// none moves otherwise.
    pub fn of_question(planned: &Planned) -> Self {
        let (question, release) = (planned.plan.question.as_ref().unwrap(), &planned.plan.releases[0]);
        let sensitivity = question.comparison.sensitivity();
        Self {
            l0: u32::MAX,
            few: false,
            linf: vec![sensitivity],
            all: vec![u128::MAX],
            rises: question.stream.variant.is_monotone(),
            ..Self::of(release)
        }
    }

    /// What the plan declares.
    pub fn of(release: &Release) -> Self {
        Self {
            // Of groups that are chosen no more come back, however many change.
            l0: if release.spec.top.is_some() { u32::MAX } else { release.spec.l0 },
            few: release.bounding.spread().is_none()
                && !matches!(release.bounding.of_groups(), Groups::InAll(_) | Groups::Values),
            gaussian: release
                .spec
                .aggregates
                .iter()
                .any(|a| matches!(a.distribution, Distribution::Gaussian { .. })),
            // Of cells there is one count, however many points are chosen.
            linf: match &release.spec.points {
                Some(points) => vec![points.weight().into()],
                None => release.spec.aggregates.iter().map(|a| a.sensitivity.linf).collect(),
            },
            all: match &release.spec.points {
                Some(points) => vec![points.weight().into()],
                // Of groups that are chosen no more come back, however many change.
                None if release.spec.top.is_some() => vec![u128::MAX; release.spec.aggregates.len()],
                None => release
                    .spec
                    .aggregates
                    .iter()
                    .map(|a| match a.distribution {
                        Distribution::Gaussian { .. } => a.sensitivity.l2_squared,
                        _ => a.sensitivity.l1,
                    })
                    .collect(),
            },
            public: release.public_groups,
            keys: release.keys.len(),
            selects: release.spec.selection.is_some(),
            weights: release.spec.selection.as_ref().map_or(Weights::Units, |s| s.weights),
            rises: release.spec.top.is_some(),
        }
    }
}

type Key = Vec<Option<Vec<u8>>>;

/// The exact rows of a fetch, in order: keys as raw bytes, then integers (units first, where groups are selected).
#[derive(Clone, Debug, PartialEq)]
pub struct Rows(pub Vec<(Key, Vec<i128>)>);

/// The largest shares of what is allowed that a unit was seen to use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// Of l∞, in any part.
    pub linf: f64,
    /// Of l0.
    pub l0: f64,
}

impl Lab {
    /// Makes the database and opens the transaction.
    pub async fn new(v: Variant) -> Self {
        let db = support::database(&data::setup(v)).await;
        let policy = data::policy(&db).await;
        let client = db.superuser().await;
        client.batch_execute(&data::orders()).await.unwrap();
        let version: String = client.query_one("SHOW server_version_num", &[]).await.unwrap().get(0);
        // As fetch connections are set up.
        client
            .batch_execute(
                "SET search_path = pg_catalog; SET jit = off; SET statement_timeout = '20s';
                 SET plan_cache_mode = force_generic_plan; SET session_replication_role = replica;
                 BEGIN ISOLATION LEVEL REPEATABLE READ",
            )
            .await
            .unwrap();
        let version = version.parse().unwrap();
        Self { client, policy, version, sizes: plan::Sizes::new(), _db: db }
    }

    /// Plans a statement as the gateway does, and prints its fetches.
    pub async fn draft(&mut self, text: &str, settings: &Settings) -> Result<Planned, Refusal> {
        self.draft_for(text, settings, None).await
    }

    /// The same, as a question to a stream where one is named.
    pub async fn draft_for(
        &mut self,
        text: &str,
        settings: &Settings,
        stream: Option<&str>,
    ) -> Result<Planned, Refusal> {
        let written = resolved(text, &self.policy).map_err(|e| Refusal::Plan(e.to_string()))?;
        let mut statement = written.clone();
        for _ in 0..=QUESTIONS {
            match plan_with(&mut statement, &self.policy, settings, &self.sizes, stream) {
                Ok(mut p) => {
                    // The plan is a function of statement, policy and settings, and planning it again costs its account nothing.
                    let taken = statement.spend.taken();
                    let again = plan_with(&mut statement, &self.policy, settings, &self.sizes, stream)
                        .unwrap_or_else(|e| panic!("{e:?}"));
                    assert_eq!(statement.spend.taken(), taken, "{text}");
                    assert_eq!(p.fetches, again.fetches, "{text}");
                    assert_eq!(p.typed, again.typed, "{text}");
                    assert_eq!(p.plan.charge, again.plan.charge, "{text}");
                    assert_eq!(p.plan.releases, again.plan.releases, "{text}");
                    // What the analyst is promised is what was written, whatever it was planned as.
                    if p.plan.free.is_none() {
                        p.typed = print::typed(&written, &self.policy, &constants()).sql;
                    }
                    return Ok(p);
                }
                Err(PlanError::Refused(e)) => return Err(Refusal::Plan(e.to_string())),
                Err(PlanError::Missing(missing)) => self.learn(&mut statement, missing).await?,
            }
        }
        panic!("more than {QUESTIONS} rounds of questions: {text}");
    }

    /// Asks PostgreSQL for facts, and puts them where a plan looks for them.
    async fn learn(
        &mut self,
        statement: &mut ast::Statement,
        Missing { types, rows, sizes }: Missing,
    ) -> Result<(), Refusal> {
        for (of, query) in types {
            let alone = ast::Statement { query, ..statement.clone() };
            let typed = print::typed(&alone, &self.policy, &constants()).sql;
            self.client.batch_execute("SAVEPOINT typing").await.unwrap();
            let typed = self.client.prepare(&typed).await;
            self.client.batch_execute("ROLLBACK TO typing").await.unwrap();
            let typed = typed.map_err(|e| Refusal::Type(message(&e)))?;
            let types = typed.columns().iter();
            let types = types.map(|c| SqlType::from_oid(c.type_().oid(), -1, "other"));
            statement.types.insert(of, types.collect());
        }
        for wanted in rows {
            let sql = print::public_rows(statement, &wanted, &self.policy, &constants()).sql;
            self.client.batch_execute("SAVEPOINT rows").await.unwrap();
            let read = self.client.simple_query(&sql).await;
            self.client.batch_execute("ROLLBACK TO rows").await.unwrap();
            let read = read.map_err(|e| Refusal::Type(message(&e)))?;
            let rows = read.iter().filter_map(|m| match m {
                SimpleQueryMessage::Row(r) => {
                    Some((0..r.len()).map(|i| r.get(i).map(str::to_owned)).collect())
                }
                _ => None,
            });
            public_rows::put(statement, &wanted, &self.policy, &rows.collect::<Vec<_>>())
                .map_err(|e| Refusal::Plan(e.to_string()))?;
        }
        for size in sizes {
            let sql = print::size(&self.policy, &size);
            let n: i64 = self.client.query_one(&sql, &[]).await.unwrap().get(0);
            self.sizes.insert(size, n as usize);
        }
        Ok(())
    }

    /// Plans a statement, has it typed, and has its fetches certified.
    pub async fn plan(&mut self, text: &str, settings: &Settings) -> Result<Planned, Refusal> {
        let planned = self.draft(text, settings).await?;
        self.client.batch_execute("SAVEPOINT typing").await.unwrap();
        let typed = self.client.prepare(&planned.typed).await;
        let (finish, _) = print::finish(&planned.plan, &self.policy, &constants(), &[]);
        let finished = self.client.prepare(&finish.sql).await;
        self.client.batch_execute("ROLLBACK TO typing").await.unwrap();
        let typed = typed.map_err(|e| {
            Refusal::Type(e.as_db_error().map_or_else(|| e.to_string(), |d| d.message().into()))
        })?;
        // The finish gives the types that the statement was promised.
        let types = |s: &Statement| s.columns().iter().map(|c| c.type_().clone()).collect::<Vec<_>>();
        let defect = |what: String| Refusal::Defect(format!("{what}\n  finish: {}", finish.sql));
        let finished =
            finished.map_err(|e| defect(format!("the finish cannot be prepared: {}", message(&e))))?;
        let (promised, given) = (types(&typed), types(&finished));
        if promised != given {
            return Err(defect(format!(
                "the finish gives other types than promised: {given:?}, not {promised:?}"
            )));
        }
        self.price(&planned.plan);
        if std::env::var("NOISEGATE_RECORDER_KERNEL").is_ok_and(|v| v == "off") {
            return Ok(planned);
        }
        self.certify(&planned)?;
        Ok(planned)
    }

    /// The kernel proves of every fetch no more than its release has noise for. `NOISEGATE_RECORDER_KERNEL=off` leaves it
    /// out of what is recorded: what it would refuse is then run.
    pub fn certify(&self, planned: &Planned) -> Result<(), Refusal> {
        let paying = self.paying(planned);
        let mut all = Vec::with_capacity(paying.len());
        for (release, sql) in &paying {
            let certified = kernel::certify(sql, &self.policy)
                .map_err(|e| Refusal::Defect(format!("the kernel refuses: {e}\n  fetch: {sql}")))?;
            // Payments compare them, too: budgets and checks of the schema are of these tables.
            if let Some(table) = certified.tables.iter().find(|t| !planned.plan.tables.contains(t)) {
                let name = &self.policy.tables[*table].name;
                return Err(Refusal::Defect(format!(
                    "the kernel finds table {name:?}, which the plan leaves out\n  fetch: {sql}"
                )));
            }
            if let Some(question) = &planned.plan.question {
                let claim = Claim::of_question(planned);
                let upward = matches!(question.comparison.test(), Test::Above | Test::AtLeast);
                let proven =
                    |p: &kernel::Part| p.linf <= claim.linf[0] && (!claim.rises || p.rises && upward);
                if !matches!(certified.parts.as_slice(), [part] if proven(part)) || !certified.public {
                    return Err(Refusal::Defect(format!(
                        "the kernel proves {:?} of a question, not {claim:?}\n  fetch: {sql}",
                        certified.parts
                    )));
                }
                continue;
            }
            if certified.keys != release.keys.len() || !covers(&Proof::from(&certified), &release.spec, true)
            {
                let proven = format!("l0 = {}, {:?}", certified.l0, certified.parts);
                let what = format!("the kernel proves {proven}, not {:?}\n  fetch: {sql}", release.spec);
                return Err(Refusal::Defect(what));
            }
            all.push((certified, &release.spec));
        }
        let told = planned.plan.charge.as_ref().filter(|_| planned.plan.question.is_none());
        let Some(told) = told else { return Ok(()) };
        let proofs: Vec<_> = all.iter().map(|(certified, spec)| (Proof::from(certified), *spec)).collect();
        let booked = Proven::of(&told.epsilon, &proofs)
            .map_err(|e| Refusal::Defect(format!("no charge follows from the proof: {e}")))?;
        crate::worst::is_covered(booked.charge(), &all.iter().map(|(c, s)| (c, *s)).collect::<Vec<_>>());
        Ok(())
    }

    /// The charge covers exactly these specifications.
    fn price(&self, plan: &Plan) {
        let specs: Vec<_> =
            plan.releases.iter().filter(|r| !r.is_domain_only()).map(|r| r.spec.clone()).collect();
        match &plan.charge {
            None => assert!(specs.is_empty()),
            Some(c) => assert_eq!(*c, Charge::of(&c.epsilon, &specs).unwrap()),
        }
        for r in plan.releases.iter().filter(|r| !r.is_domain_only()) {
            assert_eq!(r.spec.l0, r.top().unwrap_or_else(|| r.bounding.l0()));
            let in_steps = |p: &Part| p.linf * u128::from(r.bounding.steps(&p.kind));
            if let Some(Norm::Squares(_)) = r.norm() {
                let rows = r.parts.iter().zip(&r.spec.aggregates).filter(|(p, _)| p.kind.adds_rows());
                for (part, noise) in rows {
                    assert_eq!(noise.sensitivity.l2_squared, in_steps(part) * in_steps(part));
                }
            }
            assert_eq!(r.spec.selection.is_some(), r.selects());
            let mut linf: Vec<u128> = r.parts.iter().map(in_steps).collect();
            if r.cells.is_some() {
                linf.dedup();
            }
            assert!(
                linf.iter().all(|n| *n > 0),
                "a part that nobody can change is read, and nothing is paid: {r:?}"
            );
            assert_eq!(linf, Claim::of(r).linf);
        }
    }

    /// Runs a fetch. An error is the server's message.
    pub async fn fetch(&self, sql: &str, claim: &Claim) -> Result<Rows, String> {
        let statement = self.client.prepare(&with_given(sql, 0)).await.map_err(|e| message(&e))?;
        self.run(&statement, claim).await
    }

    /// The keys of the groups of a fetch, as constants, separated by unit separators; NULL without quotes.
    pub async fn keys(&self, sql: &str, keys: usize) -> Vec<String> {
        let key = |i: usize| format!("COALESCE(pg_catalog.quote_literal(q.k{i}::pg_catalog.text), 'NULL')");
        let list: Vec<String> = (0..keys).map(key).collect();
        let sql = with_given(sql, 0).replace("$1::pg_catalog.int8", "(7)::pg_catalog.int8");
        let sql = format!("SELECT pg_catalog.concat_ws(E'\\x1f', {}) FROM ({sql}) AS q", list.join(", "));
        let rows = self.client.query(&sql, &[]).await.unwrap_or_else(|e| panic!("{}\n{sql}", message(&e)));
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Runs a fetch on this database and on those without one of `units`, whose rows lie in another order on disk, and judges
    /// each difference.
    ///
    /// # Errors
    /// What is wrong: a failure of the database, or a difference that is larger than claimed.
    pub async fn record(&self, sql: &str, claim: &Claim, units: &[i64]) -> Result<Use, String> {
        self.record_by(sql, claim, units, &Ways::default()).await
    }

    /// The same, run in these ways.
    ///
    /// # Errors
    /// The same.
    pub async fn record_by(
        &self,
        sql: &str,
        claim: &Claim,
        units: &[i64],
        ways: &Ways,
    ) -> Result<Use, String> {
        let mut most = Use::default();
        // Whatever was released before, the same holds.
        let rounds = if with_given(sql, 0) == sql { 1 } else { ROUNDS };
        for round in 0..rounds {
            self.client.batch_execute(&format!("SAVEPOINT whole; {}", ways.whole)).await.unwrap();
            let outcome = self.neighbours(&with_given(sql, round), claim, units, ways).await;
            self.client.batch_execute("ROLLBACK TO whole").await.unwrap();
            let used = outcome?;
            (most.linf, most.l0) = (most.linf.max(used.linf), most.l0.max(used.l0));
        }
        Ok(most)
    }

    async fn neighbours(&self, sql: &str, claim: &Claim, units: &[i64], ways: &Ways) -> Result<Use, String> {
        let whole = self.fetch(sql, claim).await.map_err(|e| format!("the fetch failed: {e}"))?;
        self.client.batch_execute(&ways.between(!shows_texts(sql))).await.unwrap();
        let again =
            self.fetch(sql, claim).await.map_err(|e| format!("the fetch failed in another way: {e}"))?;
        same(claim, &whole, &again)?;
        let mut most = Use::default();
        for unit in units {
            self.client.batch_execute("SAVEPOINT unit").await.unwrap();
            self.client.batch_execute(&data::forget(*unit)).await.unwrap();
            let without = self
                .fetch(sql, claim)
                .await
                .map_err(|e| format!("the fetch failed without unit {unit}, and not with it: {e}"))?;
            self.client.batch_execute("ROLLBACK TO unit").await.unwrap();
            let used = judge(claim, &whole, &without).map_err(|e| format!("unit {unit}: {e}"))?;
            most = Use { linf: most.linf.max(used.linf), l0: most.l0.max(used.l0) };
        }
        Ok(most)
    }

    /// Records several fetches at once, in the zone that is set: for each unit the rows are deleted once, and all fetches
    /// go to the server without waiting for each other. The result has one entry for each of them. Fetches that show texts
    /// ([`shows_texts`]) are best by themselves.
    pub async fn record_all(
        &self,
        jobs: &[(String, Claim)],
        units: &[i64],
        ways: &Ways,
    ) -> Vec<Result<Use, String>> {
        self.client.batch_execute(&format!("SAVEPOINT whole; {}", ways.whole)).await.unwrap();
        let fast = self.together(jobs, units, ways).await;
        self.client.batch_execute("ROLLBACK TO whole").await.unwrap();
        match fast {
            Some(each) => each,
            // One failed, and with it those behind it: which, is seen one by one.
            None => {
                let mut each = Vec::with_capacity(jobs.len());
                for (sql, claim) in jobs {
                    each.push(self.record_by(sql, claim, units, ways).await);
                }
                each
            }
        }
    }

    async fn together(
        &self,
        jobs: &[(String, Claim)],
        units: &[i64],
        ways: &Ways,
    ) -> Option<Vec<Result<Use, String>>> {
        let prepared = join_all(jobs.iter().map(|(sql, _)| self.client.prepare(sql))).await;
        let prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        let each = || join_all(prepared.iter().zip(jobs).map(|(s, (_, claim))| self.run(s, claim)));
        let between = ways.between(!jobs.iter().any(|(sql, _)| shows_texts(sql)));
        // Tables that are others have all texts read and planned anew.
        let (whole, changed, again) = futures::join!(each(), self.client.batch_execute(&between), each());
        let whole = whole.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        changed.unwrap();
        let again = again.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        let mut out: Vec<_> = jobs
            .iter()
            .zip(whole.iter().zip(&again))
            .map(|((_, claim), (a, b))| same(claim, a, b).map(|()| Use::default()))
            .collect();
        for unit in units {
            let without = format!("SAVEPOINT unit; {}", data::forget(*unit));
            let (gone, rows, back) = futures::join!(
                self.client.batch_execute(&without),
                each(),
                self.client.batch_execute("ROLLBACK TO unit")
            );
            gone.unwrap();
            back.unwrap();
            let rows = rows.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
            for (((used, a), b), (_, claim)) in out.iter_mut().zip(&whole).zip(&rows).zip(jobs) {
                let Ok(most) = used else { continue };
                *used = judge(claim, a, b)
                    .map_err(|e| format!("unit {unit}: {e}"))
                    .map(|now| Use { linf: most.linf.max(now.linf), l0: most.l0.max(now.l0) });
            }
        }
        Some(out)
    }

    async fn run(&self, statement: &Statement, claim: &Claim) -> Result<Rows, String> {
        let rows = if statement.params().is_empty() {
            self.client.query(statement, &[]).await
        } else {
            self.client.query(statement, &[&0x5eed_i64]).await
        };
        decode(&rows.map_err(|e| message(&e))?, claim)
    }

    /// The sizes of public columns that plans have asked for.
    pub fn sizes(&self) -> &plan::Sizes {
        &self.sizes
    }

    /// Which releases read private rows, with their fetches.
    pub fn paying<'p>(&self, planned: &'p Planned) -> Vec<(&'p Release, &'p str)> {
        let paying = planned.plan.releases.iter().filter(|r| !r.is_domain_only());
        paying.zip(planned.fetches.iter().map(String::as_str)).collect()
    }
}

fn message(e: &tokio_postgres::Error) -> String {
    e.as_db_error().map_or_else(|| e.to_string(), |d| format!("{} ({})", d.message(), d.code().code()))
}

/// Settings of a statement with these bounds.
pub fn settings(max_groups: u32, max_rows: u32) -> Settings {
    let delta = dp::ratio(&"1e-6".parse::<BigDecimal>().unwrap()).unwrap();
    Settings {
        budgets: vec![("everyone".into(), dp::Notion::Zcdp)],
        ..Settings::new(Ratio::from_integer(1), delta, max_groups, max_rows)
    }
}

pub fn constants() -> Constants {
    let text = |s: &str| s.to_owned();
    Constants {
        now: text("2025-01-01 00:00:00+00"),
        user: text("ada"),
        database: text("d"),
        schema: Some(text("public")),
        own: Vec::new(),
    }
}

/// The plan alone; None where it is refused, or needs to know more.
pub fn plan_only(text: &str, policy: &Policy) -> Option<Plan> {
    plan_with(&mut resolved(text, policy).ok()?, policy, &settings(1, 1), &HashMap::new(), None)
        .ok()
        .map(|p| p.plan)
}

fn resolved(text: &str, policy: &Policy) -> Result<sql::ast::Statement, ClientError> {
    let limits = Limits::default();
    let parsed = sql::parse::parse(text, &limits)?.pop().unwrap();
    let Kind::Query(query, lines) = sql::classify(parsed)?.kind else { panic!("not a query: {text}") };
    sql::resolve::resolve(&query, &lines, policy, &limits)
}

/// Statement, policy, settings, the sizes of public columns and a stream: nothing else reaches a plan.
fn plan_with(
    statement: &mut sql::ast::Statement,
    policy: &Policy,
    settings: &Settings,
    sizes: &plan::Sizes,
    stream: Option<&str>,
) -> Result<Planned, PlanError> {
    let plan = match stream {
        None => plan::plan(statement, policy, settings, sizes)?,
        Some(name) => {
            let stream = policy.streams.iter().find(|s| s.name == name).unwrap();
            let terms = stream::Terms { stream, questions: 1, beta: 0.05 };
            stream::plan(statement, policy, settings, sizes, terms)?
        }
    };
    let typed = print::typed(&plan.statement, policy, &constants()).sql;
    let paying = plan.releases.iter().filter(|r| !r.is_domain_only());
    let fetches = paying.map(|r| fetch::fetch(r, policy).sql).collect();
    Ok(Planned { plan, typed, fetches })
}

/// How many values are tried for those that are released first.
const ROUNDS: usize = 4;

/// A fetch with awkward constants for the values that were released before; which, depends on the round.
fn with_given(sql: &str, round: usize) -> String {
    let mut out = String::new();
    let mut pieces = sql.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(digits);
        let (Ok(number @ 2..), Some(of)) = (number.parse::<usize>(), rest.strip_prefix("::")) else {
            out.push('$');
            out.push_str(piece);
            continue;
        };
        let end = of.find(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c)).unwrap_or(of.len());
        let (ty, rest) = of.split_at(end);
        let several = rest.starts_with("[]");
        let awkward: &[&str] = match ty.trim_start_matches("pg_catalog.") {
            "int2" => &["'0'", "'-32768'", "'32767'", "NULL", "'7'"],
            "int4" => &["'0'", "'-2147483648'", "'2147483647'", "NULL", "'30'"],
            "int8" => &["'0'", "'-9223372036854775808'", "'9223372036854775807'", "NULL", "'30'"],
            "numeric" => &["'0'", "'NaN'", "'1e5000'", "'-1e-5000'", "NULL", "'30.5'", "'-Infinity'"],
            "float4" => &["'0'", "'NaN'", "'Infinity'", "'1e-40'", "'-3e38'", "NULL", "'2.5'"],
            "float8" => &["'0'", "'NaN'", "'-Infinity'", "'5e-324'", "'-1.7e308'", "NULL", "'-0'", "'2.5'"],
            "bool" => &["'t'", "'f'", "NULL"],
            "date" => &["'infinity'", "'4713-01-01 BC'", "'5874897-12-31'", "NULL", "'2024-02-29'"],
            "timestamp" | "timestamptz" => {
                &["'infinity'", "'4713-01-01 BC'", "'294276-12-31'", "NULL", "'2024-02-29'", "'-infinity'"]
            }
            "text" | "varchar" => &["''", "'day'", "NULL", "'it''s'"],
            other => panic!("no awkward constants of {other}"),
        };
        let nth = |n: usize| awkward[(number + round + n) % awkward.len()];
        // Groups that are left out: none, one, or several with values that rows have.
        let given = match round % 3 {
            _ if !several => nth(0).to_owned(),
            0 => "'{}'".into(),
            n => format!("ARRAY[{}]", (0..n * 2 - 1).map(nth).collect::<Vec<_>>().join(", ")),
        };
        out.push_str(&format!("{given}::{ty}{rest}"));
    }
    out
}

/// A cell as it came.
pub struct Raw(pub Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(rows: &[Row], claim: &Claim) -> Result<Rows, String> {
    let width = claim.keys + usize::from(claim.selects) + claim.linf.len();
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != width {
            return Err(format!("{} columns instead of {width}", row.len()));
        }
        let raw = |i: usize| row.get::<_, Option<Raw>>(i).map(|r| r.0);
        let keys: Key = (0..claim.keys).map(raw).collect();
        let integers = (claim.keys..width)
            .map(|i| {
                let bytes = raw(i).ok_or("NULL in place of an integer")?;
                integer(row.columns()[i].type_(), &bytes)
            })
            .collect::<Result<Vec<_>, String>>()?;
        out.push((keys, integers));
    }
    Ok(Rows(out))
}

fn integer(ty: &Type, raw: &[u8]) -> Result<i128, String> {
    match *ty {
        Type::INT4 => Ok(i32::from_be_bytes(raw.try_into().unwrap()).into()),
        Type::INT8 => Ok(i64::from_be_bytes(raw.try_into().unwrap()).into()),
        Type::NUMERIC => {
            let n = numeric(raw).ok_or("NaN or infinity in place of an integer")?;
            let text = n.normalized().to_plain_string();
            text.parse().map_err(|_| format!("{text} in place of an integer"))
        }
        _ => Err(format!("type {ty} in place of an integer")),
    }
}

/// PostgreSQL's binary numeric; None for what is not finite.
pub fn numeric(raw: &[u8]) -> Option<BigDecimal> {
    let words: Vec<i16> = raw.chunks(2).map(|w| i16::from_be_bytes(w.try_into().unwrap())).collect();
    let (weight, sign) = (i64::from(words[1]), words[2]);
    if sign != 0 && sign != 0x4000 {
        return None;
    }
    let mut sum = num_bigint::BigInt::from(0);
    for d in &words[4..] {
        sum = sum * 10_000 + i64::from(*d);
    }
    let digits = words[4..].len() as i64;
    let value = BigDecimal::new(if sign == 0 { sum } else { -sum }, 4 * (digits - weight - 1));
    Some(value)
}

/// A group in one of two results, if it is there.
type Side<'a> = Option<&'a [i128]>;

/// Judges the difference between neighbours against a claim.
pub fn judge(claim: &Claim, a: &Rows, b: &Rows) -> Result<Use, String> {
    let pairs: Vec<(Side<'_>, Side<'_>)> = if claim.public {
        let keys = |r: &Rows| r.0.iter().map(|(k, _)| k.clone()).collect::<Vec<_>>();
        if keys(a) != keys(b) {
            return Err("public groups differ".into());
        }
        unique(a)?;
        a.0.iter().zip(&b.0).map(|((_, x), (_, y))| (Some(x.as_slice()), Some(y.as_slice()))).collect()
    } else {
        let (x, y) = (unique(a)?, unique(b)?);
        let mut pairs: Vec<_> = x.iter().map(|(k, v)| (Some(*v), y.get(k).copied())).collect();
        pairs.extend(y.iter().filter(|(k, _)| !x.contains_key(*k)).map(|(_, v)| (None, Some(*v))));
        pairs
    };
    let width = claim.linf.len() + usize::from(claim.selects);
    let zeros = vec![0; width];
    let mut changed = 0u32;
    let mut most = Use::default();
    let mut norms = vec![0u128; width];
    let is_selection = |i: usize| claim.selects && i == 0;
    let squared = |i: usize| match claim.weights {
        Weights::Squares(_) if is_selection(i) => true,
        _ => claim.gaussian && !is_selection(i),
    };
    let selection = claim.selects.then_some(claim.weights.whole());
    let mut alone = Vec::new();
    for (x, y) in pairs {
        let (there, here) = (x.is_some(), y.is_some());
        let (x, y) = (x.unwrap_or(&zeros), y.unwrap_or(&zeros));
        // A group in one result alone counts, whatever its values.
        changed += u32::from(x != y || there != here);
        if claim.selects && there != here {
            alone.push(x[0].abs_diff(y[0]));
        }
        let limits = selection.into_iter().chain(claim.linf.iter().copied());
        for (i, ((x, y), limit)) in x.iter().zip(y).zip(limits).enumerate() {
            let difference = x.abs_diff(*y);
            let selects = is_selection(i);
            norms[i] =
                norms[i].saturating_add(difference.saturating_mul(if squared(i) { difference } else { 1 }));
            if claim.rises && x < y {
                return Err(format!("integer {i} falls from {y} to {x} by a unit's rows, and may only rise"));
            }
            if difference > limit {
                return Err(format!(
                    "integer {i} changes by {difference}, from {x} to {y}, and may by {limit}"
                ));
            }
            if limit > 0 && !selects {
                most.linf = most.linf.max(difference as f64 / limit as f64);
            }
        }
    }
    if claim.few && changed > claim.l0 {
        return Err(format!("{changed} groups change, and {} may", claim.l0));
    }
    // The threshold holds for a unit that is alone in so many groups.
    let heaviest = claim.weights.in_each(u32::try_from(alone.len()).unwrap());
    if let Some(weight) = alone.into_iter().find(|weight| *weight > heaviest) {
        return Err(format!("a unit alone weighs {weight} in a group, and may {heaviest}"));
    }
    let selection = claim.selects.then(|| {
        let by = claim.weights.sensitivity(claim.l0);
        if matches!(claim.weights, Weights::Squares(_)) { by.l2_squared } else { by.l1 }
    });
    let limits = selection.into_iter().chain(claim.all.iter().copied());
    for (i, (norm, limit)) in norms.iter().zip(limits).enumerate() {
        let squared = squared(i);
        if *norm > limit {
            let what = if squared { "squares" } else { "changes" };
            return Err(format!("integer {i}: {what} add up to {norm}, and may to {limit}"));
        }
    }
    if claim.few {
        most.l0 = f64::from(changed) / f64::from(claim.l0);
    }
    Ok(most)
}

/// Judges the same rows, read in two ways: they lie in another order on disk, and plans and settings are others.
fn same(claim: &Claim, a: &Rows, b: &Rows) -> Result<(), String> {
    let holds = if claim.public { a == b } else { unique(a)? == unique(b)? };
    if holds {
        return Ok(());
    }
    let only = |x: &Rows, y: &Rows| x.0.iter().find(|row| !y.0.contains(row)).map(|row| format!("{row:?}"));
    Err(format!(
        "the same rows give another answer in another order or way: {:?}, {:?}",
        only(a, b),
        only(b, a)
    ))
}

/// The rows by key, of which no two are the same.
fn unique(rows: &Rows) -> Result<HashMap<&Key, &[i128]>, String> {
    let mut map = HashMap::new();
    for (k, v) in &rows.0 {
        if map.insert(k, v.as_slice()).is_some() {
            return Err(format!("a group comes back twice: {k:?}"));
        }
    }
    Ok(map)
}
