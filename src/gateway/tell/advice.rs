//! Advice on a statement that its budgets refuse: the price at which they would not. It depends on
//! the statement's text, the policy and earlier charges, as the refusal does: nothing private is
//! read for it.

use crate::gateway::session::ask::Ask;
use answer::ClientError;
use dp::{Charge, Ratio};
use ledger::words::whose;
use ledger::{BudgetState, Refusal};
use plan::Plan;
use plan::price::proposals::{first_from, proposal};
use plan::words::decimal;

impl Ask<'_> {
    /// The refusal of a statement in the client's words, with the largest ε at which it would be paid for.
    pub async fn exhausted(&self, plan: &Plan, refusal: &Refusal) -> ClientError {
        let gateway = self.gateway;
        let mut error = refusal.client();
        let Some(charge) = &plan.charge else { return error };
        // The books may be away by now: then what is known is said.
        let Ok(states) = gateway.ledger.paying(self.identity, &plan.tables).await else { return error };
        let counts: Vec<String> =
            states.iter().map(|s| format!("{} into {}", fits(s, charge), whose(&s.budget))).collect();
        let mut detail = format!("Of statements like this there still fit {}.", counts.join(", "));
        if let Some(more) = error.detail.take() {
            detail = format!("{more} {detail}");
        }
        error.detail = Some(detail);
        let Some(found) = self.largest_that_fits(plan, &states, &charge.epsilon).await else {
            return error;
        };
        let otherwise = "ask for fewer releases in one statement, or ask the owner of the data to raise the budget. \
                         Nothing was charged.";
        error.hint = Some(match found {
            Some(Fitting { often, within: Some(within), .. }) => {
                format!(
                    "It fits {} with larger errors: SET noisegate.accuracy = {within}. Or {otherwise}",
                    times(often)
                )
            }
            Some(Fitting { epsilon, often, .. }) => format!(
                "It fits {} at a smaller epsilon: SET noisegate.epsilon = {}. Or {otherwise}",
                times(often),
                decimal(&epsilon)
            ),
            None => {
                let least = gateway.policy.statement.min_epsilon.normalized().to_plain_string();
                format!("No epsilon fits, down to {least}, the policy's statement.min_epsilon: {otherwise}")
            }
        });
        error
    }

    /// The largest ε of three digits below `asked` at which every budget pays for the statement. The inner None: there is
    /// none. The outer: nobody knows.
    async fn largest_that_fits(
        &self,
        plan: &Plan,
        states: &[BudgetState],
        asked: &Ratio,
    ) -> Option<Option<Fitting>> {
        let gateway = self.gateway;
        let mut settings = self.settings.plan(&gateway.settings);
        settings.budgets = gateway.ledger.notions(self.identity);
        let wanted = settings.accuracy.take();
        let sizes = gateway.known.sizes.known();
        // The price of the whole statement as it would be planned then: its noise may be of another kind.
        let mut at = |epsilon: Ratio| -> Option<Fitting> {
            settings.epsilon = epsilon;
            let plan = self.planned(&mut plan.statement.clone(), &settings, &sizes).ok()?;
            let often = {
                let charge = plan.charge.as_ref()?;
                states.iter().map(|s| fits(s, charge)).min()?
            };
            let half_width = wanted.and_then(|w| plan::price::accuracy::half_width(&plan, w.confidence).ok());
            Some(Fitting { epsilon, often, within: half_width.map(plan::price::accuracy::rounded_up) })
        };
        let least = dp::ratio(&gateway.policy.statement.min_epsilon)?;
        let mut low = first_from(&least);
        let mut high = first_from(asked);
        let mut best = match at(least)? {
            Fitting { often: 0, .. } => return Some(None),
            fitting => fitting,
        };
        // Below `low` everything fits that is not below the least; at `high` and above nothing does.
        while low < high {
            let middle = low + (high - low) / 2;
            match at(proposal(middle)) {
                Some(fitting) if fitting.often > 0 => {
                    best = fitting;
                    low = middle + 1;
                }
                _ => high = middle,
            }
            // Planning may take a while, and others use this thread, too.
            tokio::task::yield_now().await;
        }
        Some(Some(best))
    }
}

/// A price that every budget pays.
struct Fitting {
    epsilon: Ratio,
    /// Number of times that the budgets admit it.
    often: u128,
    /// The accuracy of its numbers at that price, when one was asked for.
    within: Option<String>,
}

fn fits(state: &BudgetState, charge: &Charge) -> u128 {
    state.fits(charge).unwrap_or(0)
}

fn times(n: u128) -> String {
    match n {
        1 => "once".into(),
        n => format!("{n} times"),
    }
}
