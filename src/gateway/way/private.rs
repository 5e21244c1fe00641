//! Plans with a charge. Types keep the order: [`Typed`] is proven, and only what is [`Proven`] is released, and only what is
//! [`Released`] is finished; within a release, what is paid for is fetched, and what is fetched is perturbed (`pay`).

use crate::gateway::private::bounds::Auto;
use crate::gateway::private::step::Asked;
use crate::gateway::private::{snapping, synthetic};
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::{Columns, Planned, Typed};
use answer::{ClientError, Notice, Outcome};
use dp::Charge;
use emit::print::{self, Constants};
use plan::Plan;
use policy::Mode;
use release::Noisy;
use std::sync::Arc;

/// A plan whose finish, and that of each of its stages, gives the types that were told: nobody pays for one that has others.
struct Proven {
    plan: Plan,
    charge: Charge,
    constants: Constants,
    settings: plan::Settings,
    columns: Columns,
    text: Arc<str>,
    auto: Option<Arc<Auto>>,
}

/// A plan with an answer for each of its releases, and what is told of them.
pub struct Released {
    pub plan: Plan,
    pub constants: Constants,
    pub columns: Columns,
    pub noisy: Vec<Noisy>,
    told: Vec<Notice>,
}

impl Ask<'_> {
    /// The answer of a statement that is planned and typed.
    pub async fn answer(&self, typed: Typed, notices: &mut Vec<Notice>) -> Result<Outcome, ClientError> {
        let Some(charge) = typed.planned.plan.charge.clone() else {
            return self.answer_public(typed, notices).await;
        };
        if let Some(snapped) = typed.planned.snapped.as_ref().filter(|_| self.settings.notices()) {
            notices.push(snapping::notice(snapped, &self.gateway.policy));
        }
        let proven = self.prove(typed, charge).await?;
        if let Some(question) = proven.plan.question.clone() {
            if self.mode() == Mode::Synthetic {
                return Err(synthetic::no_stream());
            }
            let Proven { plan, constants, columns, .. } = proven;
            return self.ask_stream(plan, &question, constants, columns, notices).await;
        }
        let mut released = self.release(proven, notices).await?;
        self.tell_collected(&released.plan, notices);
        if self.settings.notices() {
            let biased = released.plan.releases.iter().filter_map(plan::explain::bias);
            notices.extend(biased.map(Notice::new));
            notices.append(&mut released.told);
            notices.extend(plan::explain::summary::unsure(&released.plan).map(Notice::new));
        }
        self.finish(released).await
    }

    /// Has PostgreSQL type the finish, and that of each stage.
    async fn prove(&self, typed: Typed, charge: Charge) -> Result<Proven, ClientError> {
        let Typed { planned: Planned { plan, constants, settings, auto, .. }, columns, text } = typed;
        let finish = print::finish(&plan, &self.gateway.policy, &constants, &columns.types());
        self.prove_finish(&plan, finish, columns.once()).await?;
        self.prove_stages(&plan, &constants).await?;
        Ok(Proven { plan, charge, constants, settings, columns, text, auto })
    }

    /// Charges, fetches and releases, in the order of its stages; nothing of it where answers are kept.
    async fn release(&self, proven: Proven, notices: &mut Vec<Notice>) -> Result<Released, ClientError> {
        let Proven { mut plan, mut charge, constants, mut settings, columns, text, auto } = proven;
        let synthetic = self.mode() == Mode::Synthetic;
        if !synthetic {
            self.gateway.check_failures(&self.identity.user)?;
        }
        if let Some(auto) = auto {
            let asked = Asked { charge: &charge, text: &text, settings: &settings, constants: &constants };
            if let Some(chosen) = self.with_chosen_bound(&asked, &plan, &auto, notices).await? {
                (plan, settings) = chosen;
                charge = plan.charge.clone().unwrap_or(charge);
                let finish = print::finish(&plan, &self.gateway.policy, &constants, &columns.types());
                self.prove_finish(&plan, finish, columns.once()).await?;
            }
        }
        let asked = Asked { charge: &charge, text: &text, settings: &settings, constants: &constants };
        let (noisy, told) = match self.settings.relative_accuracy().filter(|_| !synthetic) {
            None => self.answers(&asked, &mut plan, notices).await?,
            Some(part) => self.refined(&asked, &mut plan, part, notices).await?,
        };
        Ok(Released { plan, constants, columns, noisy, told })
    }
}

impl Released {
    /// An answer that a stream gave.
    pub fn of_stream(plan: Plan, constants: Constants, columns: Columns, noisy: Noisy) -> Self {
        Self { plan, constants, columns, noisy: vec![noisy], told: Vec::new() }
    }
}
