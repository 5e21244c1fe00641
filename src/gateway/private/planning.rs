//! Resolve and plan: names by the policy, constants by PostgreSQL, sizes of public domains as they are needed.

use super::bounds::Auto;
use super::lasting::is_lasting;
use super::{parameters, snapping};
use crate::gateway::known::remembered::Key;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::custom::NoisegateSetting;
use crate::gateway::session::settings::time_zone;
use crate::gateway::session::statement::Planned;
use answer::{ClientError, Field, Values};
use backend::Setting;
use emit::print::Constants;
use plan::noise::quantile::Quantile;
use plan::reach::columns::Beside;
use plan::{Missing, Plan, PlanError};
use sql::catalog::InPath;
use std::sync::Arc;

/// The begin of the day, in microseconds since 1970.
fn today() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let days = i64::try_from(since.as_secs() / 86_400).unwrap_or_default();
    days.saturating_mul(86_400 * schema::time::MICROS_PER_SECOND)
}

impl Ask<'_> {
    pub fn resolve(
        &self,
        query: &sqlparser::ast::Query,
        lines: &sql::parse::Lines,
    ) -> Result<sql::ast::Statement, ClientError> {
        let gateway = self.gateway;
        let policy = &gateway.policy;
        let (path, database) = (self.search_path(), self.database);
        let names = InPath { policy, path, database, estimates: self.estimates() };
        let resolved = sql::resolve::resolve(query, lines, &names, &policy.limits)?;
        if !resolved.bindings.is_empty() {
            self.reads_something()?;
        }
        Ok(resolved)
    }

    /// The form in which estimates over collected relations are asked for.
    fn estimates(&self) -> sql::resolve::Estimates {
        let quantile = Quantile::of(self.settings.confidence()).at(0.0);
        sql::resolve::Estimates {
            intervals: self.settings.intervals(),
            quantile,
            consistent: self.settings.consistent(),
        }
    }

    /// Settings of the planner: the session's choices about prices and bounds, and the budgets that
    /// it pays from.
    pub fn terms(&self) -> plan::Settings {
        let gateway = self.gateway;
        let mut settings = self.settings.plan(&gateway.settings);
        settings.zone = time_zone::as_argument(self.settings.backend().get(Setting::TimeZone));
        settings.iso = self.settings.backend().get(Setting::DateStyle).starts_with("ISO");
        settings.budgets = gateway.ledger.notions(self.identity);
        settings.day = today();
        settings
    }

    /// The plan that was kept of a statement, and its columns then.
    pub fn planned_before(&self, key: &Key) -> Option<(Planned, Vec<Field>)> {
        let gateway = self.gateway;
        if self.selected().is_some() {
            return None;
        }
        let (settings, chooses) = (self.terms(), self.chooses_bounds().ok()?);
        let kept = gateway.known.plans.get(key, &settings, &gateway.known.sizes.known())?;
        let kept = Some(kept).filter(|kept| kept.auto.is_some() == chooses)?;
        let (plan, constants) = (kept.plan.clone(), self.constants());
        let planned = Planned {
            plan,
            constants,
            settings,
            snapped: None,
            lasting: true,
            key: None,
            intervals: Default::default(),
            auto: kept.auto.clone(),
        };
        Some((planned, kept.fields.clone()))
    }

    pub async fn plan(
        &self,
        statement: sql::ast::Statement,
        constants: Constants,
        types: &[u32],
        values: &Values,
    ) -> Result<Planned, ClientError> {
        let beside = self.beside(&statement, &constants, types).await;
        self.plan_with(statement, constants, types, values, &beside).await
    }

    /// Beside which columns of the statement intervals stand. It follows from text, settings and types of parameters alone: columns
    /// are told before parameters have values, and of probes.
    pub async fn beside(
        &self,
        statement: &sql::ast::Statement,
        constants: &Constants,
        types: &[u32],
    ) -> Beside {
        let gateway = self.gateway;
        if !self.settings.intervals() {
            return Beside::Nothing;
        }
        let probed = plan::with_rows(&statement.query);
        if types.is_empty() && probed.is_none() {
            return Beside::Numbers;
        }
        // Which columns have noise is seen from a plan with some values of the parameters. Where there is none, nobody knows.
        let Some(values) = parameters::some(types, &gateway.policy) else { return Beside::Nothing };
        let mut asked = statement.clone();
        if let Some(query) = probed {
            asked.query = query;
        }
        let planned = self.plan_with(asked, constants.clone(), types, &values, &Beside::Numbers).await;
        planned.map_or(Beside::Nothing, |planned| Beside::Told(planned.intervals.places().to_vec()))
    }

    async fn plan_with(
        &self,
        mut statement: sql::ast::Statement,
        constants: Constants,
        types: &[u32],
        values: &Values,
        beside: &Beside,
    ) -> Result<Planned, ClientError> {
        let gateway = self.gateway;
        let mut lasting = self.selected().is_none() && is_lasting(&statement);
        let every = gateway.policy.cache.snap;
        let snapped =
            every.and_then(|every| snapping::snap(&mut statement, &gateway.policy, &constants.now, every));
        self.fold(&mut statement, &gateway.policy, &constants, types, values).await?;
        let mut settings = self.terms();
        if *beside == Beside::Nothing {
            settings.ends = plan::Ends::new(self.settings.confidence(), false);
        }
        let (mut plan, read) = self.until_planned(&mut statement, &constants, &settings).await?;
        // SET was judged by the policy that was in force then.
        let chosen = self.settings.get(NoisegateSetting::Epsilon.name());
        if let Some(epsilon) = chosen.filter(|_| plan.charge.is_some()) {
            NoisegateSetting::Epsilon.at_least(epsilon, &gateway.policy.statement.min_epsilon)?;
        }
        let intervals =
            plan::reach::columns::prepare(&mut plan, beside, self.settings.confidence(), &settings)?;
        let chooses = plan.charge.is_some() && self.chooses_bounds()?;
        let auto = chooses.then(|| Arc::new(Auto { statement, beside: beside.clone() }));
        lasting &= !read;
        Ok(Planned { plan, constants, settings, snapped, lasting, key: None, intervals, auto })
    }

    /// A statement's plan, with what it asks for on the way put into the statement; and whether public rows were.
    pub async fn until_planned(
        &self,
        statement: &mut sql::ast::Statement,
        constants: &Constants,
        settings: &plan::Settings,
    ) -> Result<(Plan, bool), ClientError> {
        let gateway = self.gateway;
        let mut read = false;
        loop {
            let sizes = gateway.known.sizes.known();
            match self.planned(statement, settings, &sizes) {
                Ok(plan) => return Ok((plan, read)),
                Err(PlanError::Refused(e)) => return Err(*e),
                Err(PlanError::Missing(missing)) => {
                    read |= !missing.rows.is_empty();
                    self.learn(statement, constants, missing).await?;
                }
            }
        }
    }

    /// Asks PostgreSQL for facts, and puts them where a plan looks for them.
    async fn learn(
        &self,
        statement: &mut sql::ast::Statement,
        constants: &Constants,
        Missing { types, rows, sizes }: Missing,
    ) -> Result<(), ClientError> {
        let gateway = self.gateway;
        for (of, query) in types {
            let types = self.types_of(statement, query, constants).await?;
            statement.types.insert(of, types);
        }
        for wanted in rows {
            self.read_public(statement, &wanted, &gateway.policy, constants).await?;
        }
        gateway.known.sizes.measure(&gateway.backend, &gateway.policy, sizes).await
    }
}
