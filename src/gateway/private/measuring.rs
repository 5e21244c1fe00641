//! Measuring: the statements of `noisegate profile`, of how many rows units have.
//!
//! They go the way of any statement: planned, typed, certified, debited, read and perturbed.
//! Whoever runs the command is nobody's user: what is measured is paid for by everybody together,
//! from budgets over the whole data set, and from nobody's own.
//!
//! A statement counts units by bins of their rows. A unit is in one bin, so that it changes one
//! number by 1, which is compared with the plan before anything is paid for.

use super::pay::{Order, Purchase};
use crate::gateway::session::ask::Ask;
use crate::gateway::session::settings::SessionSettings;
use crate::gateway::session::settings::custom::NoisegateSetting;
use crate::gateway::session::statement::Planned;
use crate::gateway::{ActiveGateway, Databases, Gateway};
use answer::{ClientError, Identity, SqlState, Values};
use bigdecimal::BigDecimal;
use dp::profile::{BINS, ENDS, Histogram};
use dp::{Distribution, Ratio};
use policy::{Measure, Measured, Policy, Privacy, Table};
use release::Noisy;
use schema::quoted::ident;
use sha2::{Digest, Sha256};
use sql::Kind;
use std::fmt::Write as _;
use std::sync::Arc;

/// Why something cannot be measured. For the owner.
#[derive(Debug, thiserror::Error)]
pub enum MeasuringError {
    /// The policy, or the table.
    #[error("{0}")]
    Table(String),
    /// The statement, or its payment.
    #[error("{}", told(.0))]
    Statement(Box<ClientError>),
    /// The books.
    #[error("what was measured and paid for cannot be written into the ledger: {0}")]
    Books(ledger::Refusal),
}

impl From<ClientError> for MeasuringError {
    fn from(e: ClientError) -> Self {
        Self::Statement(Box::new(e))
    }
}

fn told(e: &ClientError) -> String {
    let more = [&e.detail, &e.hint].into_iter().flatten().map(|text| format!("\n  {text}"));
    std::iter::once(e.message.clone()).chain(more).collect()
}

/// Something to be measured of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The number of its units.
    Units,
    /// The numbers of their rows, in bins.
    Rows,
}

/// Price of a measurement in a budget.
#[derive(Clone, Debug)]
pub struct Share {
    /// The budget.
    pub budget: String,
    /// The part of it that the measurement takes, from 0 to 1.
    pub part: f64,
    /// The part that is left, from 0 to 1.
    pub left: f64,
    /// The number of usual statements at the policy's price that cost as much.
    pub statements: f64,
}

/// Noisy integers that were paid for.
struct Drawn {
    noisy: Noisy,
    noise: Distribution,
    entry: i64,
}

/// Everybody together: a user whom nobody can log in as, since PostgreSQL's protocol has no empty
/// names.
fn everybody() -> Identity {
    Identity { user: String::new(), role: None }
}

/// Tables of a policy whose units can have several rows, or why one has nothing to measure.
pub fn measurable(policy: &Policy) -> Vec<(&Table, Result<(), String>)> {
    let private = policy.tables.iter().filter(|t| t.privacy != Privacy::Public);
    private.map(|t| (t, rows_of_units(policy, t).map(drop))).collect()
}

/// Whether a key proves that a unit has one row.
fn has_one_row_each(table: &Table) -> bool {
    let key = |unit: &str| table.keys.iter().any(|key| key.iter().all(|column| column == unit));
    table.proven_rows == Some(1) || table.unit_column().is_some_and(key)
}

/// FROM and the unit's column, where the rows of a table stand with their unit.
fn rows_of_units(policy: &Policy, table: &Table) -> Result<(String, String), String> {
    if has_one_row_each(table) {
        return Err("a key proves that a unit has one row: there is nothing to measure".into());
    }
    let hidden = |table: &Table, column: &str| {
        format!(
            "the columns by which its rows lead to the unit must be declared in the policy: in [table.{}] write \
             columns.{column} = {{}}",
            table.name
        )
    };
    let relation = |t: &Table| format!("{}.{}", ident(&t.schema), ident(&t.name));
    let (mut from, mut at) = (format!("{} AS t0", relation(table)), table);
    // Paths have no circles; a policy that had one would end here.
    for step in 0..=policy.tables.len() {
        let path = match &at.privacy {
            Privacy::Private { unit, .. } => return Ok((from, format!("t{step}.{}", ident(unit)))),
            Privacy::Public => break,
            Privacy::Path(path) => path,
        };
        let Some(next) = policy.tables.get(path.table) else { break };
        let mut on = Vec::new();
        for (own, key) in path.columns.iter().zip(&path.key) {
            for (table, column) in [(at, own), (next, key)] {
                if table.column(column).is_none() {
                    return Err(hidden(table, column));
                }
            }
            on.push(format!("t{step}.{} = t{}.{}", ident(own), step + 1, ident(key)));
        }
        let _ = write!(from, " JOIN {} AS t{} ON {}", relation(next), step + 1, on.join(" AND "));
        at = next;
    }
    Err("its rows lead to no unit".into())
}

/// The statement that measures something.
fn statement(policy: &Policy, table: &Table, question: Question) -> Result<String, String> {
    let (from, unit) = rows_of_units(policy, table)?;
    Ok(match question {
        Question::Units => {
            format!("SELECT count(*) FROM (SELECT {unit} AS unit FROM {from} GROUP BY {unit}) AS u")
        }
        Question::Rows => {
            let bins = ENDS.iter().enumerate();
            let bins: String = bins.map(|(k, end)| format!(" WHEN count(*) <= {end} THEN {k}")).collect();
            let bin = format!("CASE{bins} ELSE {} END", ENDS.len());
            format!(
                "SELECT b.bin, count(*) FROM (SELECT {unit} AS unit, {bin} AS bin FROM {from} GROUP BY {unit}) AS b \
                 GROUP BY b.bin"
            )
        }
    })
}

/// Measuring at a price.
pub struct Measuring {
    gateway: Arc<Gateway>,
    databases: Arc<Databases>,
    identity: Identity,
    settings: SessionSettings,
}

impl Measuring {
    /// Over a gateway, at this ε for each statement.
    pub fn new(gateway: &Arc<Gateway>, epsilon: &BigDecimal) -> Self {
        let mut settings = SessionSettings::default();
        settings.start_with(NoisegateSetting::Epsilon.name(), epsilon.normalized().to_plain_string());
        let databases = Databases::one(ActiveGateway::new(gateway.clone()));
        Self { gateway: gateway.clone(), databases, identity: everybody(), settings }
    }

    /// The price of a measurement in each budget that pays for it. Nothing is spent.
    pub async fn price(&self, table: &str, question: Question) -> Result<Vec<Share>, MeasuringError> {
        let (_, planned) = self.planned(table, question).await?;
        let charge = planned.plan.charge.as_ref().ok_or_else(unlike)?;
        let states = self.gateway.ledger.paying(&self.identity, &planned.plan.tables).await;
        let states = states.map_err(|r| r.client())?;
        if states.is_empty() {
            let what = "no budget over the whole data set pays for it: add a [[budget]] without per";
            return Err(MeasuringError::Table(what.into()));
        }
        let usual = ledger::usual_of(&self.gateway.policy);
        let share = |state: &ledger::BudgetState| {
            let part =
                |charge| state.counter.price(charge).map(|price| state.counter.share(&state.spent, &price));
            let own = part(charge).map_err(|reason| {
                let name = &state.budget.name;
                MeasuringError::Table(format!("budget \"{name}\" has no price for it: {reason}"))
            })?;
            let one = usual.as_ref().and_then(|usual| part(usual).ok()).unwrap_or(f64::INFINITY);
            let left = state.counter.fraction_left(&state.spent);
            Ok(Share { budget: state.budget.name.clone(), part: own, left, statements: own / one })
        };
        states.iter().map(share).collect()
    }

    /// The number of units of a table, with noise.
    pub async fn units(&self, table: &str) -> Result<i128, MeasuringError> {
        let drawn = self.draw(table, Question::Units).await?;
        let count = drawn.noisy.values.first().and_then(|column| column.first());
        Ok(*count.ok_or_else(unlike)?)
    }

    /// Measures how many rows the units of a table have, and writes that down.
    pub async fn rows(&self, table: &str, author: &str, reason: &str) -> Result<Measured, MeasuringError> {
        let Drawn { noisy, noise, entry } = self.draw(table, Question::Rows).await?;
        let policy = &self.gateway.policy;
        let of = self.table(table)?;
        let owner = policy.owner(of).ok_or_else(unlike)?;
        let histogram = Histogram::new(in_bins(&noisy)?, noise, self.epsilon()?);
        let histogram = histogram.map_err(|_| unlike())?;
        let ledger = &self.gateway.ledger;
        let measured = ledger.epoch().await.map_err(MeasuringError::Books)?.now;
        let valid = i64::try_from(of.profile_valid.as_micros()).unwrap_or(i64::MAX);
        let profile = Measured {
            schema: of.schema.clone(),
            table: of.name.clone(),
            owner,
            id: 0,
            measured,
            valid_until: measured.saturating_add(valid),
            items: vec![(Measure::Rows, histogram)],
        };
        ledger.note_profile(&profile, &[entry], author, reason).await.map_err(MeasuringError::Books)
    }

    fn epsilon(&self) -> Result<Ratio, MeasuringError> {
        let asked =
            self.settings.get(NoisegateSetting::Epsilon.name()).and_then(|e| policy::decimal_text(e, 10));
        asked.and_then(|e| dp::ratio(&e)).ok_or_else(|| unlike().into())
    }

    fn table(&self, name: &str) -> Result<&Table, MeasuringError> {
        let tables = &self.gateway.policy.tables;
        let private = |t: &&Table| t.name == name && t.privacy != Privacy::Public;
        tables.iter().find(private).ok_or_else(|| {
            MeasuringError::Table(format!(
                "the policy has no private table {name:?}: noisegate check lists them"
            ))
        })
    }

    fn ask<'a>(&'a self, reopening: &'a super::stream::Reopening) -> Ask<'a> {
        Ask {
            gateway: &self.gateway,
            identity: &self.identity,
            settings: &self.settings,
            database: "",
            databases: &self.databases,
            transaction_start: None,
            queried: false,
            pid: 0,
            encoders: &[],
            reopening,
        }
    }

    /// The plan of a statement that PostgreSQL has typed, in which a unit changes one number by 1.
    async fn planned(&self, table: &str, question: Question) -> Result<(String, Planned), MeasuringError> {
        let policy = &self.gateway.policy;
        let of = self.table(table)?;
        let why = |why| MeasuringError::Table(format!("{table}: {why}"));
        let text = statement(policy, of, question).map_err(why)?;
        let parsed = sql::parse::parse(&text, &policy.limits)?.pop().ok_or_else(unlike)?;
        let Kind::Query(query, lines) = sql::classify(parsed)?.kind else { return Err(unlike().into()) };
        let reopening = super::stream::Reopening::default();
        let ask = self.ask(&reopening);
        let resolved = ask.resolve(&query, &lines)?;
        let planned = ask.plan(resolved.clone(), ask.constants(), &[], &Values::default()).await?;
        ask.type_check(&resolved, true, &[], &planned.constants).await?;
        let [release] = planned.plan.releases.as_slice() else { return Err(unlike().into()) };
        let [count] = release.spec.aggregates.as_slice() else { return Err(unlike().into()) };
        if release.spec.selection.is_some() {
            return Err(why(format!("limits.max_public_groups must be at least {BINS}, the number of bins")));
        }
        let by = count.sensitivity;
        if (by.linf, by.l1, by.l2_squared) != (1, 1, 1) {
            return Err(unlike().into());
        }
        Ok((text, planned))
    }

    /// Pays for a statement, reads and perturbs. Nothing of it is kept, nor answered from what is.
    async fn draw(&self, table: &str, question: Question) -> Result<Drawn, MeasuringError> {
        let (text, Planned { plan, .. }) = self.planned(table, question).await?;
        let user = &self.identity.user;
        self.gateway.check_failures(user)?;
        let turn = self.gateway.turn_to_read(user).await?;
        let reopening = super::stream::Reopening::default();
        let text: Arc<str> = text.into();
        loop {
            let order = Order {
                places: vec![0],
                charge: plan.charge.clone().ok_or_else(unlike)?,
                groups: vec![None],
                statement: Sha256::digest(text.as_bytes()).into(),
                text: text.clone(),
                keeping: None,
                turn: turn.permit.clone(),
                given: Vec::new(),
                without: vec![Vec::new()],
            };
            match self.ask(&reopening).pay(&plan, order).await? {
                Purchase::Paid(paid) => {
                    let noisy = paid.answers.into_iter().next().ok_or_else(unlike)?.1;
                    let noise = plan.releases.first().and_then(|r| r.spec.aggregates.first());
                    let noise = noise.ok_or_else(unlike)?.distribution;
                    return Ok(Drawn { noisy, noise, entry: paid.entry });
                }
                Purchase::Full => turn.wait().await?,
                Purchase::Kept | Purchase::Wait => return Err(unlike().into()),
            }
        }
    }
}

/// A defect: the planner sees something else in the statement than it was written for.
fn unlike() -> ClientError {
    let cause = "the statement that measures units has another plan than it was written for";
    ClientError::incident(SqlState::INTERNAL, "units could not be measured", &cause)
}

/// Counts by bin, of an int4 key; all bins come back.
fn in_bins(noisy: &Noisy) -> Result<Vec<i64>, ClientError> {
    let mut bins: Vec<Option<i64>> = vec![None; BINS];
    let keys = noisy.keys.first().ok_or_else(unlike)?;
    for (key, count) in keys.iter().zip(noisy.values.first().ok_or_else(unlike)?) {
        let key: [u8; 4] = key.as_deref().and_then(|k| k.try_into().ok()).ok_or_else(unlike)?;
        let bin = usize::try_from(i32::from_be_bytes(key)).ok().and_then(|k| bins.get_mut(k));
        let count = i64::try_from(*count).map_err(|_| unlike())?;
        if bin.ok_or_else(unlike)?.replace(count).is_some() {
            return Err(unlike());
        }
    }
    bins.into_iter().collect::<Option<_>>().ok_or_else(unlike)
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use std::path::Path;

    /// The policy of the bike share.
    pub(crate) fn bikes() -> Policy {
        let schema = serde_json::from_str(include_str!("../../../tests/policy/schema.json")).unwrap();
        let text = include_str!("../../../config/bikes.toml");
        let raw = policy::parse(text, "bikes.toml", Path::new("")).unwrap_or_else(|e| panic!("{e}"));
        raw.check(&schema).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn units_with_one_row_each_are_not_measured() {
        let policy = bikes();
        let said: Vec<_> =
            measurable(&policy).into_iter().map(|(t, r)| (t.name.as_str(), r.is_ok())).collect();
        assert_eq!(said, [("riders", false), ("trips", true), ("payments", true)]);
    }

    #[test]
    fn rows_lead_to_their_unit() {
        let mut policy = bikes();
        let trips = policy.tables.iter().position(|t| t.name == "trips").unwrap();
        let payments = policy.tables.iter().position(|t| t.name == "payments").unwrap();
        let path = policy::UnitPath {
            columns: vec!["amount".into()],
            types: Vec::new(),
            nullable: false,
            table: trips,
            key: vec!["fare".into()],
        };
        policy.tables[payments].privacy = Privacy::Path(path);
        let (from, unit) = rows_of_units(&policy, &policy.tables[payments]).unwrap();
        assert_eq!(
            from,
            "\"public\".\"payments\" AS t0 JOIN \"public\".\"trips\" AS t1 ON t0.\"amount\" = t1.\"fare\""
        );
        assert_eq!(unit, "t1.\"rider_id\"");
        policy.tables[trips].columns.retain(|c| c.name != "fare");
        let why = rows_of_units(&policy, &policy.tables[payments]).unwrap_err();
        assert!(why.ends_with("in [table.trips] write columns.fare = {}"), "{why}");
    }
}
