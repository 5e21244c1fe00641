//! Prices in words, for the first sentence of EXPLAIN and for openings of streams: shares of the
//! budget that ends first.

use crate::gateway::session::ask::Ask;
use answer::ClientError;
use dp::Charge;
use ledger::BudgetState;
use ledger::words::binding;
use plan::Plan;

/// Releases of a statement that are kept from earlier.
pub enum Kept {
    /// All; `wider` as in `free_notice`.
    All {
        /// Difference of its noise, in words.
        noise: Option<String>,
    },
    /// Some of them.
    Some {
        /// Number of those that are kept.
        kept: usize,
        /// Of how many.
        all: usize,
        /// Difference of their noise, in words.
        noise: Option<String>,
    },
    /// The role is answered with made-up rows.
    MadeUp,
}

impl Ask<'_> {
    /// The question in which it is counted what is left, at the session's price.
    pub fn usual(&self) -> Option<Charge> {
        let terms = self.terms();
        let notions: Vec<dp::Notion> = terms.budgets.iter().map(|(_, notion)| *notion).collect();
        ledger::usual(&terms.epsilon, terms.mechanism, &notions)
    }

    /// The first sentence.
    pub async fn cost(&self, plan: &Plan, kept: Option<&Kept>) -> Result<String, ClientError> {
        let gateway = self.gateway;
        let noise = |noise: &Option<String>| noise.as_ref().map(|n| format!("; {n}")).unwrap_or_default();
        let Some(charge) = &plan.charge else {
            return Ok("This costs nothing: no private rows are read.".into());
        };
        let costs = match kept {
            Some(Kept::MadeUp) => {
                return Ok(
                    "This costs nothing: your role is answered from synthetic rows, which are made up."
                        .into(),
                );
            }
            Some(Kept::All { noise: n }) => {
                return Ok(format!(
                    "This costs nothing: it is answered from an earlier release{}.",
                    noise(n)
                ));
            }
            Some(Kept::Some { .. }) => "costs less than",
            None => "costs",
        };
        let states = gateway.ledger.paying(self.identity, &plan.tables).await.map_err(|r| r.client())?;
        let priced = priced(&states, charge, self.usual().as_ref())
            .map_err(|why| format!("This would be refused: {why}."));
        let mut sentence = match priced {
            Err(refused) => return Ok(refused),
            Ok((share, left)) => format!("This {costs} {share}; {left}"),
        };
        if let Some(Kept::Some { kept, all, noise: n }) = kept {
            sentence.push_str(&format!(
                "; {kept} of its {all} parts are answered from earlier releases, for nothing{}",
                noise(n)
            ));
        }
        Ok(format!("{sentence}."))
    }
}

/// A charge's share of the budget that ends first, and what is left of that; or why nothing pays for it.
pub fn priced(
    states: &[BudgetState],
    charge: &Charge,
    usual: Option<&Charge>,
) -> Result<(String, String), String> {
    match binding(states, charge) {
        None => Err("no budget of yours pays for it".into()),
        Some(state) => state
            .told(charge, usual, false)
            .map_err(|why| format!("{} does not pay for it: {why}", ledger::words::whose(&state.budget))),
    }
}
