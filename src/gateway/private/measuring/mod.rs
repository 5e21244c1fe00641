//! Measuring: the statements of `noisegate profile`, of how much single units weigh.
//!
//! They go the way of any statement: planned, typed, certified, debited, read and perturbed.
//! Whoever runs the command is nobody's user: what is measured is paid for by everybody together,
//! from budgets over the whole data set, and from nobody's own.
//!
//! A statement counts units by bins of a number that each has. A unit is in one bin, so that it
//! changes one number by 1, which is compared with the plan before anything is paid for. Medians
//! are ordinary answers, about which sums are measured.

pub(crate) mod statements;

pub use statements::{Question, Wanted, columns, histograms, key, measurable};

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
use plan::aggregates::Axis;
use plan::bound::bounding::MOST_ROWS;
use plan::expr::GridValue;
use policy::{Added, Deviations, Measure, Measured, Privacy, Table};
use release::Noisy;
use sha2::{Digest, Sha256};
use sql::Kind;
use statements::{statement, sum};
use std::sync::Arc;

/// Why something cannot be measured. For the owner.
#[derive(Debug, thiserror::Error)]
pub enum MeasuringError {
    /// The policy, or the table.
    #[error("{0}")]
    Table(String),
    /// A measurement failed, those before it were paid for, and these are the table's profile now.
    #[error(
        "{failed}\n  {items} item(s) were measured and paid for before that, and are the table's profile now: run it again for all of them, \
             at the price of all"
    )]
    Half {
        /// Why it failed.
        failed: Box<MeasuringError>,
        /// The number of items.
        items: usize,
    },
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
    /// The distance of points that were chosen.
    step: Option<BigDecimal>,
    entry: i64,
}

impl Drawn {
    fn first(&self) -> Option<i128> {
        self.noisy.values.first().and_then(|column| column.first()).copied()
    }

    /// The value that was chosen.
    fn median(&self) -> Option<BigDecimal> {
        Some(BigDecimal::from(self.first()?) * self.step.as_ref()?)
    }
}

/// Items that were measured, and the entries that paid for them.
#[derive(Default)]
struct Found {
    items: Vec<(Measure, Histogram)>,
    paid: Vec<i64>,
}

/// Everybody together: a user whom nobody can log in as, since PostgreSQL's protocol has no empty
/// names.
fn everybody() -> Identity {
    Identity { user: String::new(), role: None }
}

/// Measuring at a price.
pub struct Measuring {
    gateway: Arc<Gateway>,
    databases: Arc<Databases>,
    identity: Identity,
    settings: SessionSettings,
    /// Settings of what looks at all rows of a unit: nothing is cut of a number that only decides on a bin.
    whole: SessionSettings,
}

impl Measuring {
    /// Over a gateway, at this ε for each statement.
    pub fn new(gateway: &Arc<Gateway>, epsilon: &BigDecimal) -> Self {
        let mut settings = SessionSettings::default();
        settings.start_with(NoisegateSetting::Epsilon.name(), epsilon.normalized().to_plain_string());
        let mut whole = settings.clone();
        whole.start_with(NoisegateSetting::MaxRows.name(), MOST_ROWS.to_string());
        let databases = Databases::one(ActiveGateway::new(gateway.clone()));
        Self { gateway: gateway.clone(), databases, identity: everybody(), settings, whole }
    }

    /// The price of a table's items in each budget that pays for them. Nothing is spent.
    pub async fn price_of_items(&self, table: &str, wanted: &Wanted) -> Result<Vec<Share>, MeasuringError> {
        let mut all = self.price(table, &Question::Norms(Measure::ROWS)).await?;
        let histograms = histograms(wanted.columns.len(), wanted.keys.len()) as f64;
        for share in &mut all {
            share.part *= histograms;
            share.statements *= histograms;
        }
        for column in &wanted.columns {
            let medians = self.price(table, &Question::Median(column.clone())).await?;
            for (sum, median) in all.iter_mut().zip(medians) {
                sum.part += median.part;
                sum.statements += median.statements;
            }
        }
        Ok(all)
    }

    /// The price of a measurement in each budget that pays for it. Nothing is spent.
    pub async fn price(&self, table: &str, question: &Question) -> Result<Vec<Share>, MeasuringError> {
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
        let drawn = self.draw(table, &Question::Units).await?;
        drawn.first().ok_or_else(|| unlike().into())
    }

    /// Measures the items of a table, and writes them down. They take the place of what was measured before.
    ///
    /// Where one fails, those before it were paid for, and are kept.
    pub async fn items(
        &self,
        table: &str,
        wanted: &Wanted,
        author: &str,
        reason: &str,
    ) -> Result<Measured, MeasuringError> {
        let of = self.table(table)?;
        let mut found = Found::default();
        let failed = self.measure(of, wanted, &mut found).await.err();
        let Found { items, paid } = found;
        let kept = items.len();
        let measured = if items.is_empty() {
            Err(unlike().into())
        } else {
            let ledger = &self.gateway.ledger;
            let measured = ledger.epoch().await.map_err(MeasuringError::Books)?.now;
            let valid = i64::try_from(of.profile_valid.as_micros()).unwrap_or(i64::MAX);
            let profile = Measured {
                schema: of.schema.clone(),
                table: of.name.clone(),
                owner: self.gateway.policy.owner(of).ok_or_else(unlike)?,
                id: 0,
                measured,
                valid_until: measured.saturating_add(valid),
                items,
            };
            ledger.note_profile(&profile, &paid, author, reason).await.map_err(MeasuringError::Books)
        };
        match failed {
            Some(failed) if measured.is_ok() => {
                Err(MeasuringError::Half { failed: Box::new(failed), items: kept })
            }
            Some(failed) => Err(failed),
            None => measured,
        }
    }

    async fn measure(&self, of: &Table, wanted: &Wanted, found: &mut Found) -> Result<(), MeasuringError> {
        let mut rows = None;
        for norm in wanted.norms(Added::Rows) {
            let histogram = self.histogram(of, norm, found).await?;
            rows.get_or_insert(histogram.tail(of.most_rows.map(Into::into)).h());
        }
        let rows = rows.ok_or_else(unlike)?;
        let last = ENDS.last().copied().unwrap_or(1);
        for column in &wanted.columns {
            let value = self.summed(of, column).await?;
            let median = self.draw(&of.name, &Question::Median(column.clone())).await?;
            let centre = value.nearest_step(&median.median().ok_or_else(unlike)?);
            let mut centres = vec![0, centre];
            centres.dedup();
            for centre in centres {
                let (low, high) = value.range();
                let value = value.about(centre);
                // The bins end beyond what the longest of units adds up to.
                let longest = value.bound().saturating_mul(rows.into()).div_ceil(last.into()).max(1);
                let added = Added::Deviations(Deviations {
                    column: column.clone(),
                    about: BigDecimal::from(centre) * value.grid(),
                    low,
                    high,
                    grid: value.grid().clone(),
                    steps: u64::try_from(longest.next_power_of_two()).map_err(|_| unlike())?,
                });
                for norm in wanted.norms(added) {
                    self.histogram(of, norm, found).await?;
                }
            }
        }
        Ok(())
    }

    /// Measures a norm, beside those before it.
    async fn histogram(
        &self,
        of: &Table,
        norm: Measure,
        found: &mut Found,
    ) -> Result<Histogram, MeasuringError> {
        let Drawn { noisy, noise, entry, .. } = self.draw(&of.name, &Question::Norms(norm.clone())).await?;
        let histogram = Histogram::new(in_bins(&noisy)?, noise, self.epsilon()?).map_err(|_| unlike())?;
        found.items.push((norm, histogram.clone()));
        found.paid.push(entry);
        Ok(histogram)
    }

    /// The values of a column, as a sum of them has them.
    async fn summed(&self, of: &Table, column: &str) -> Result<GridValue, MeasuringError> {
        let why = |why| MeasuringError::Table(format!("{}: {why}", of.name));
        let text = sum(&self.gateway.policy, of, column).map_err(why)?;
        let reopening = super::stream::Reopening::default();
        let planned = self.plan(&self.ask(&Question::Units, &reopening), &text).await?;
        let parts = planned.plan.releases.iter().flat_map(|r| &r.parts);
        let value = parts.filter_map(|p| p.kind.on_grid()).next();
        let none = || why(format!("values of {column} cannot be added up"));
        value.map(GridValue::uncentred).ok_or_else(none)
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

    fn ask<'a>(&'a self, question: &Question, reopening: &'a super::stream::Reopening) -> Ask<'a> {
        let whole = matches!(question, Question::Norms(_));
        Ask {
            gateway: &self.gateway,
            identity: &self.identity,
            settings: if whole { &self.whole } else { &self.settings },
            database: "",
            databases: &self.databases,
            transaction_start: None,
            queried: false,
            pid: 0,
            encoders: &[],
            reopening,
        }
    }

    /// The plan of a statement that PostgreSQL has typed.
    async fn plan(&self, ask: &Ask<'_>, text: &str) -> Result<Planned, MeasuringError> {
        let parsed = sql::parse::parse(text, &self.gateway.policy.limits)?.pop().ok_or_else(unlike)?;
        let Kind::Query(query, lines) = sql::classify(parsed)?.kind else { return Err(unlike().into()) };
        let resolved = ask.resolve(&query, &lines)?;
        let planned = ask.plan(resolved.clone(), ask.constants(), &[], &Values::default()).await?;
        ask.type_check(&resolved, true, &[], &planned.constants).await?;
        Ok(planned)
    }

    /// The plan of a question. In a histogram a unit changes one number by 1.
    async fn planned(&self, table: &str, question: &Question) -> Result<(String, Planned), MeasuringError> {
        let of = self.table(table)?;
        let why = |why| MeasuringError::Table(format!("{table}: {why}"));
        let text = statement(&self.gateway.policy, of, question).map_err(why)?;
        let reopening = super::stream::Reopening::default();
        let planned = self.plan(&self.ask(question, &reopening), &text).await?;
        let [release] = planned.plan.releases.as_slice() else { return Err(unlike().into()) };
        if release.spec.selection.is_some() {
            return Err(why(format!("limits.max_public_groups must be at least {BINS}, the number of bins")));
        }
        let changes = |noise: &dp::Noise| {
            let by = noise.sensitivity;
            (by.linf, by.l1, by.l2_squared)
        };
        let like = match (question, release.spec.aggregates.as_slice()) {
            (Question::Median(_), []) => release.spec.points.is_some(),
            (Question::Median(_), _) => false,
            (_, [count]) => changes(count) == (1, 1, 1),
            _ => false,
        };
        if like { Ok((text, planned)) } else { Err(unlike().into()) }
    }

    /// Pays for a statement, reads and perturbs. Nothing of it is kept, nor answered from what is.
    async fn draw(&self, table: &str, question: &Question) -> Result<Drawn, MeasuringError> {
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
            match self.ask(question, &reopening).pay(&plan, order).await? {
                Purchase::Paid(paid) => {
                    let noisy = paid.answers.into_iter().next().ok_or_else(unlike)?.1;
                    let release = plan.releases.first().ok_or_else(unlike)?;
                    let noise =
                        release.spec.aggregates.first().map_or(Distribution::None, |n| n.distribution);
                    let step = release.cells.as_ref().and_then(|c| match &c.axis {
                        Axis::Grid { step, .. } => Some(step.clone()),
                        _ => None,
                    });
                    return Ok(Drawn { noisy, noise, step, entry: paid.entry });
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
