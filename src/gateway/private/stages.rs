//! The order in which a statement's releases are paid for and read: what others are compared with comes first, and is
//! finished before they are read.
//!
//! Plan and price are those of the whole statement, and were fixed before the first of it was read. Each step is debited
//! before it is read, as a statement of its own would be: who cancels between two steps has paid for the first, which is
//! kept; and the books know after each step what was paid (sequential composition).

use super::columns::params;
use super::step::{Asked, Got, Step, nothing, part, paying};
use super::{rounds, synthetic};
use crate::gateway::session::ask::Ask;
use crate::gateway::tell::price::{free_notice, price_notice, wider_text};
use crate::gateway::tell::reading;
use crate::gateway::tell::words::Kept;
use answer::{ClientError, Field, Notice, SqlState};
use backend::{Param, RelayError};
use bytes::Bytes;
use emit::print::{self, Constants};
use ledger::BudgetState;
use plan::{Plan, Stage};
use policy::Mode;
use release::Noisy;
use schema::SqlType;
use sql::ast::{Query, Statement};
use std::collections::BTreeSet;

/// Bytes that a released value may have among private rows: each of them looks at it.
const LONGEST: usize = 65_536;

/// Payments for one statement.
#[derive(Default)]
struct Bill {
    places: Vec<usize>,
    budgets: Vec<BudgetState>,
    /// The factor by which noise of a kept answer is wider than fresh noise.
    wider: Option<f64>,
}

impl<'s> Ask<'s> {
    /// Every release's answer, in the plan's order, and what is to be said of them.
    pub(in crate::gateway) async fn answers(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        notices: &mut Vec<Notice>,
    ) -> Result<(Vec<Noisy>, Vec<Notice>), ClientError> {
        let mut bill = Bill::default();
        let answers = self.steps(of, plan, &mut bill).await;
        if self.mode() == Mode::Synthetic {
            // Whoever has switched notices off must not take them for real numbers either.
            notices.push(synthetic::notice());
            return answers;
        }
        // What was paid is told, whatever came after it.
        if self.settings.notices() {
            if !bill.places.is_empty() {
                let paid = part(plan, &bill.places, of.charge)?;
                notices.push(price_notice(
                    &paid,
                    self.usual().as_ref(),
                    &bill.budgets,
                    plan.accuracy.as_ref(),
                ));
            } else if answers.is_ok() {
                notices.push(free_notice(bill.wider));
            }
        }
        answers
    }

    async fn steps(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        bill: &mut Bill,
    ) -> Result<(Vec<Noisy>, Vec<Notice>), ClientError> {
        let mut noisy = nothing(plan);
        let (mut told, mut given) = (Vec::new(), Vec::new());
        for (stage, places, later) in order(plan) {
            if !places.is_empty() {
                let step = Step::new(plan, places, later, &given, &noisy);
                let got = match self.mode() {
                    Mode::Synthetic => {
                        record::answered(record::Outcome::Synthetic);
                        self.made_up(plan, &step, &mut noisy).await?;
                        Got::Kept(None)
                    }
                    // A passthrough session is answered before it plans; if it were not, it would pay.
                    Mode::Private | Mode::Passthrough => self.released(of, plan, &step, &mut noisy).await?,
                };
                match got {
                    Got::Kept(wider) => {
                        if self.mode() == Mode::Private {
                            record::answered(record::Outcome::Repeated);
                        }
                        bill.wider = bill.wider.into_iter().chain(wider).reduce(f64::max);
                    }
                    Got::Paid(paid, budgets) => {
                        bill.places.extend(paid);
                        bill.budgets = budgets;
                    }
                }
                let ended = rounds::ended(plan, &step.places, &mut noisy);
                told.extend(reading::told(plan, &ended, &mut noisy, self.settings.empty_groups()));
            }
            if let Some(stage) = stage {
                given.extend(self.values(of, plan, &stage, &noisy).await?);
            }
        }
        Ok((noisy, told))
    }

    /// For EXPLAIN: which releases would be answered for nothing; they become what was stored. None where none would be.
    pub(in crate::gateway) async fn free_parts(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
    ) -> Result<Option<Kept>, ClientError> {
        if self.mode() == Mode::Synthetic {
            return Ok(Some(Kept::MadeUp));
        }
        if !self.gateway.store.enabled() || !self.settings.cached() {
            return Ok(None);
        }
        let (all, mut noisy) = (paying(plan).len(), nothing(plan));
        let (mut kept, mut widest, mut given) = (0, None, Vec::new());
        for (stage, places, later) in order(plan) {
            let step = Step::new(plan, places, later, &given, &noisy);
            let (found, wider) = self.kept(of, plan, &step, &mut noisy).await?;
            kept += found;
            widest = widest.into_iter().chain(wider).reduce(f64::max);
            if found < step.places.len() {
                // What comes after it is compared with a value, or leaves out groups, that nobody knows yet.
                break;
            }
            rounds::ended(plan, &step.places, &mut noisy);
            if let Some(stage) = stage {
                given.extend(self.values(of, plan, &stage, &noisy).await?);
            }
        }
        let noise = widest.map(wider_text);
        Ok(match kept {
            0 => None,
            n if n == all => Some(Kept::All { noise }),
            kept => Some(Kept::Some { kept, all, noise }),
        })
    }

    /// Rows of a stage, as PostgreSQL finishes them.
    async fn values(
        &self,
        of: &Asked<'_>,
        plan: &Plan,
        stage: &Stage,
        noisy: &[Noisy],
    ) -> Result<Vec<Param>, ClientError> {
        let Asked { constants, .. } = of;
        let gateway = self.gateway;
        let mut constants = (*constants).clone();
        constants.own = self.own_rows(&plan.statement).await?;
        let (text, arrays) = print::finish_stage(plan, stage, &gateway.policy, &constants);
        let params = params(plan, noisy, &arrays)?;
        let rows = gateway
            .backend
            .serve(self.behalf(false), &self.settings.backend(), &text.sql, &params, &[1])
            .await;
        let rows = rows.map_err(RelayError::into_finish_error)?;
        super::finish::same_types(&promised(stage), &rows.fields)?;
        parameters(stage, &rows.into_cells().await.map_err(RelayError::into_finish_error)?)
    }

    /// Checks that each stage gives the types that the rest was planned with: nobody pays for one
    /// with others.
    pub(in crate::gateway) async fn prove_stages(
        &self,
        plan: &Plan,
        constants: &Constants,
    ) -> Result<(), ClientError> {
        let gateway = self.gateway;
        for stage in &plan.stages {
            let finish = print::finish_stage(plan, stage, &gateway.policy, constants);
            self.prove_finish(plan, finish, &promised(stage)).await?;
        }
        Ok(())
    }

    /// The types that PostgreSQL gives the columns of a query of this statement.
    pub(in crate::gateway) async fn types_of(
        &self,
        of: &Statement,
        query: Query,
        constants: &Constants,
    ) -> Result<Vec<SqlType>, ClientError> {
        let gateway = self.gateway;
        let statement = Statement { query, ..of.clone() };
        let described = self.type_check(&statement, true, &[], constants).await?;
        let ty = |f: &Field| {
            let oid = f.type_oid;
            let known = super::parameters::scalar(oid, &gateway.policy).filter(|ty| ty.oid() == oid);
            known.unwrap_or(SqlType::Other { oid, name: "another type".into() })
        };
        Ok(described.fields.iter().map(ty).collect())
    }
}

/// Parameters that follow from a stage's rows: a value itself; of rows the cells of each and
/// whether the row is there, and the cells of the first row where it is not.
///
/// # Errors
/// There are more rows, or longer values, than may meet private rows.
pub fn parameters(stage: &Stage, rows: &[Vec<Option<Bytes>>]) -> Result<Vec<Param>, ClientError> {
    if rows.iter().flatten().flatten().any(|cell| cell.len() > LONGEST) {
        let m = format!("a released value of more than {LONGEST} bytes stands among private rows");
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m)
            .hint("Compare with a shorter text: left(x, 100)."));
    }
    let most = stage.rows.unwrap_or(1);
    if rows.len() > most {
        return Err(plan::cut::stages::too_many(None)
            .hint("Take fewer of them: ORDER BY … LIMIT 100. What was released is kept, and asking again does not pay for it."));
    }
    let mut out = Vec::with_capacity(stage.width());
    for n in 0..most {
        let row = rows.get(n).or(rows.first());
        let cell = |i: usize| row.and_then(|cells| cells.get(i).cloned().flatten());
        out.extend(stage.types.iter().enumerate().map(|(i, ty)| Param::new(ty.oid(), cell(i))));
        if stage.rows.is_some() {
            let there = Bytes::from(vec![u8::from(n < rows.len())]);
            out.push(Param::new(SqlType::Bool.oid(), Some(there)));
        }
    }
    Ok(out)
}

/// The releases that have a price, step after step, and for each step those that come later; with the stage that is whole then, where
/// one is.
fn order(plan: &Plan) -> Vec<(Option<Stage>, Vec<usize>, Vec<usize>)> {
    let mut left: BTreeSet<usize> = paying(plan).into_iter().collect();
    let mut out = Vec::with_capacity(plan.stages.len() + 1);
    for stage in plan.stages.iter().map(Some).chain([None]) {
        let own = |place: &usize| stage.is_none_or(|stage| stage.releases.contains(place));
        let places: Vec<usize> = left.iter().copied().filter(own).collect();
        let rounds = rounds::apart(plan, &places);
        let last = rounds.len().saturating_sub(1);
        for (i, places) in rounds.into_iter().enumerate() {
            places.iter().for_each(|place| {
                left.remove(place);
            });
            out.push((stage.filter(|_| i == last).cloned(), places, left.iter().copied().collect()));
        }
    }
    out
}

fn promised(stage: &Stage) -> Vec<Field> {
    let field = |ty: &SqlType| Field {
        name: String::new(),
        type_oid: ty.oid(),
        type_size: -1,
        type_modifier: -1,
        format: 1,
    };
    stage.types.iter().map(field).collect()
}
