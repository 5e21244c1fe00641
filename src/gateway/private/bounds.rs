//! `SET noisegate.bounds = auto`: a statement's bound on the rows of a unit is released first, for a share of its price.
//!
//! The choice is a release like any other: planned from text, policy and settings, certified, debited before it is read, kept,
//! and given again for nothing. What comes of it is one of the bounds that `plan::price::row_choice::bounds` lists, and public; the
//! statement is then planned with that constant, at what is left of its price. That is adaptive composition
//! (docs/guarantees.md).

use super::step::{Asked, nothing};
use super::step::{Step, paying};
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::Planned;
use crate::gateway::tell::price::no_bounds;
use answer::{ClientError, Notice, SqlState};
use dp::{Distribution, Ratio};
use plan::price::row_choice::{self, RowChoice};
use plan::reach::columns::Beside;
use plan::words::{decimal, short};
use plan::{Missing, Plan, PlanError};
use policy::Mode;
use release::Noisy;

/// The statement as it was planned, to be planned with another bound.
pub struct Auto {
    pub statement: sql::ast::Statement,
    pub beside: Beside,
}

/// A choice with its price, and what is left for the statement.
struct Choice {
    choice: RowChoice,
    most: u32,
    share: Ratio,
    squares: bool,
}

impl Ask<'_> {
    /// Whether bounds are to be chosen.
    ///
    /// # Errors
    /// The policy has no bound up to which they may be: SET was judged by the policy that was in force then.
    pub fn chooses_bounds(&self) -> Result<bool, ClientError> {
        let gateway = self.gateway;
        let asked = self.settings.auto_bounds() && self.mode() == Mode::Private;
        match asked && gateway.policy.statement.auto_max_rows.is_none() {
            true => Err(no_bounds()),
            false => Ok(asked),
        }
    }

    /// The plan and its settings with the bound that is chosen; None where none is to choose. The choice is paid for here, where
    /// it is not kept.
    pub async fn with_chosen_bound(
        &self,
        of: &Asked<'_>,
        plan: &Plan,
        auto: &Auto,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<(Plan, plan::Settings)>, ClientError> {
        let mut tell = |text: String| {
            if self.settings.notices() {
                notices.push(Notice::new(text));
            }
        };
        let mut choice = match self.choice(of, plan).await? {
            Ok(choice) => choice,
            Err(why) => {
                tell(format!(
                    "noisegate.bounds = auto leaves the bounds of this statement as they are: {why}"
                ));
                return Ok(None);
            }
        };
        let bound = match self.kept_bound(of, &mut choice.choice).await? {
            Some(bound) => bound,
            None => {
                self.admits(plan, of.charge).await?;
                let (noisy, _) = self.at_its_price(of, &mut choice.choice.plan, notices).await?;
                let point = chosen(&noisy).ok_or_else(|| {
                    let cause = "the choice of a bound released no point";
                    ClientError::incident(SqlState::INTERNAL, "the bound could not be chosen", &cause)
                })?;
                choice.choice.bound(point)
            }
        };
        let replanned = self.at_bound(of, auto, &choice, bound).await?;
        if self.settings.notices() {
            notices.push(Notice::new(said(&choice, bound, self.gateway.policy.unit_column())));
        }
        Ok(Some(replanned))
    }

    /// For EXPLAIN: the plan with the bound that an earlier release chose, or as it is; and a sentence of it. Nothing is paid.
    pub async fn explained_bound(
        &self,
        of: &Asked<'_>,
        planned: &Planned,
    ) -> Result<(Option<(Plan, plan::Settings)>, Option<String>), ClientError> {
        let Some(auto) = &planned.auto else { return Ok((None, None)) };
        let unit = self.gateway.policy.unit_column();
        let mut choice = match self.choice(of, &planned.plan).await? {
            Ok(choice) => choice,
            Err(why) => {
                return Ok((None, Some(format!("Its bounds are as they are, and not chosen: {why}."))));
            }
        };
        Ok(match self.kept_bound(of, &mut choice.choice).await? {
            Some(bound) => {
                let replanned = self.at_bound(of, auto, &choice, bound).await?;
                (
                    Some(replanned),
                    Some(format!("An earlier release chose its bound: {}.", said(&choice, bound, unit))),
                )
            }
            None => {
                let text = format!(
                    "Of its epsilon, {} % first choose how many rows of a {unit} count, up to {}; what follows is for the policy's bound.",
                    percent(&choice.share),
                    choice.most
                );
                (None, Some(text))
            }
        })
    }

    /// The bound that is chosen for a plan, at its price; or why none is chosen.
    async fn choice(&self, of: &Asked<'_>, plan: &Plan) -> Result<Result<Choice, &'static str>, ClientError> {
        let (gateway, settings) = (self.gateway, of.settings);
        let statement = &gateway.policy.statement;
        let most = statement.auto_max_rows.ok_or_else(no_bounds)?;
        if self.settings.relative_accuracy().is_some() {
            return Ok(Err("noisegate.accuracy releases it several times"));
        }
        if plan.question.is_some() {
            return Ok(Err("it is a question to a stream"));
        }
        let choice = loop {
            match row_choice::of(plan, &gateway.policy, settings, &gateway.known.sizes.known(), most) {
                Ok(choice) => break choice,
                Err(PlanError::Missing(Missing { sizes, .. })) => {
                    gateway.known.sizes.measure(&gateway.backend, &gateway.policy, sizes).await?;
                }
                Err(e) => return Err(unplanned(e)),
            }
        };
        let mut choice = match choice {
            Ok(choice) => choice,
            Err(why) => return Ok(Err(why)),
        };
        let (Some(share), Some(floor)) =
            (dp::ratio(&statement.auto_share), dp::ratio(&statement.min_epsilon))
        else {
            return Err(no_bounds());
        };
        let squares = has_gaussian_noise(plan);
        let (price, _) = row_choice::shares(&settings.epsilon, &share, squares);
        if price < floor {
            let message = "noisegate.epsilon is too small to choose bounds from";
            return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .detail(format!(
                    "{} % of it, which chooses them, is below the policy's least price.",
                    percent(&share)
                ))
                .hint(format!(
                    "SET noisegate.epsilon = {}, or more; or SET noisegate.bounds = policy.",
                    decimal(&(floor / share))
                )));
        }
        choice.plan.at(settings, price)?;
        Ok(Ok(Choice { choice, most, share, squares }))
    }

    /// The bound that an earlier release chose, where that is kept.
    async fn kept_bound(&self, of: &Asked<'_>, choice: &mut RowChoice) -> Result<Option<u32>, ClientError> {
        if !self.gateway.store.enabled() || !self.settings.cached() {
            return Ok(None);
        }
        let step = Step::new(&choice.plan, paying(&choice.plan), Vec::new(), &[], &[]);
        let mut noisy = nothing(&choice.plan);
        let mut plan = choice.plan.clone();
        let (found, _) = self.kept(of, &mut plan, &step, &mut noisy).await?;
        let point = chosen(&noisy).filter(|_| found == step.places.len());
        Ok(point.map(|point| choice.bound(point)))
    }

    /// The statement planned with a bound, at what is left of its price.
    async fn at_bound(
        &self,
        of: &Asked<'_>,
        auto: &Auto,
        choice: &Choice,
        bound: u32,
    ) -> Result<(Plan, plan::Settings), ClientError> {
        let epsilon = |squares| row_choice::shares(&of.settings.epsilon, &choice.share, squares).1;
        let mut settings = of.settings.clone();
        (settings.total_rows, settings.epsilon) = (Some(bound), epsilon(choice.squares));
        let mut statement = auto.statement.clone();
        let (mut plan, _) = self.until_planned(&mut statement, of.constants, &settings).await?;
        if choice.squares && !has_gaussian_noise(&plan) {
            // With this bound it has noise of another kind, whose price is no square.
            settings.epsilon = epsilon(false);
            plan.at(&settings, settings.epsilon)?;
        }
        plan::reach::columns::prepare(&mut plan, &auto.beside, self.settings.confidence(), &settings)?;
        Ok((plan, settings))
    }
}

/// The point that a choice released.
fn chosen(noisy: &[Noisy]) -> Option<i128> {
    noisy.first()?.values.first()?.first().copied()
}

/// All noise of the plan is Gaussian.
fn has_gaussian_noise(plan: &Plan) -> bool {
    let mut noises = plan.releases.iter().flat_map(|r| r.spec.noisy()).peekable();
    noises.peek().is_some() && noises.all(|n| matches!(n.distribution, Distribution::Gaussian { .. }))
}

/// The notice of a bound that was chosen.
fn said(choice: &Choice, bound: u32, unit: &str) -> String {
    let rows = if bound == 1 {
        "1 row of a unit counts".to_owned()
    } else {
        format!("{bound} rows of a unit count")
    };
    let rows = rows.replace("a unit", &format!("a {unit}"));
    format!(
        "at most {rows}, chosen from 1 to {} for {} % of epsilon (noisegate.bounds = auto)",
        choice.most,
        percent(&choice.share)
    )
}

fn percent(share: &Ratio) -> String {
    short(100.0 * *share.numer() as f64 / *share.denom() as f64)
}

/// A choice that cannot be planned: its rows are those of a statement that can.
fn unplanned(e: PlanError) -> ClientError {
    match e {
        PlanError::Refused(e) => *e,
        other => {
            ClientError::incident(SqlState::INTERNAL, "the bound could not be chosen", &format!("{other:?}"))
        }
    }
}
