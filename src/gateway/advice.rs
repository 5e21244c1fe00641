//! What a statement that its budgets refuse could be asked at. It depends on the statement's text, the policy and what was
//! charged before, as the refusal does: nothing private is read for it.

use super::{Gateway, Session};
use answer::ClientError;
use dp::{Charge, Ratio};
use ledger::words::whose;
use ledger::{BudgetState, Refusal};
use plan::Plan;
use plan::explain::decimal;

/// Digits of a proposed ε: three.
const MANTISSAS: u32 = 900;
const LEAST_MANTISSA: u32 = 100;

/// Proposals begin at 10⁻⁹, the least price that a policy may set, and end at 1000.
const LEAST_EXPONENT: u32 = 9;
const DECADES: u32 = 12;

impl Session {
    /// The refusal of a statement in the client's words, with the largest ε at which it would be paid for.
    pub(super) async fn exhausted(&self, gateway: &Gateway, plan: &Plan, refusal: &Refusal) -> ClientError {
        let mut error = refusal.client();
        let Some(charge) = &plan.charge else { return error };
        // The books may be away by now: then what is known is said.
        let Ok(states) = gateway.ledger.paying(&self.identity, &plan.tables).await else { return error };
        let counts: Vec<String> =
            states.iter().map(|s| format!("{} into {}", fits(s, charge), whose(&s.budget))).collect();
        let mut detail = format!("Of statements like this there still fit {}.", counts.join(", "));
        if let Some(more) = error.detail.take() {
            detail = format!("{more} {detail}");
        }
        error.detail = Some(detail);
        let Some(found) = self.largest_that_fits(gateway, plan, &states, &charge.epsilon).await else {
            return error;
        };
        let otherwise = "ask for fewer releases in one statement, or ask the owner of the data to raise the budget. \
                         Nothing was charged.";
        error.hint = Some(match found {
            Some((epsilon, n)) => format!(
                "It fits {} at a smaller epsilon: SET noisegate.epsilon = {}. Or {otherwise}",
                times(n),
                decimal(&epsilon)
            ),
            None => {
                let least = gateway.policy.statement.min_epsilon.normalized().to_plain_string();
                format!("No epsilon fits, down to {least}, the policy's statement.min_epsilon: {otherwise}")
            }
        });
        error
    }

    /// The largest ε of three digits below `asked` at which every budget pays for the statement, and how often. The inner
    /// None: there is none. The outer: nobody knows.
    async fn largest_that_fits(
        &self,
        gateway: &Gateway,
        plan: &Plan,
        states: &[BudgetState],
        asked: &Ratio,
    ) -> Option<Option<(Ratio, u128)>> {
        let mut settings = self.settings.plan(&gateway.settings);
        settings.budgets = gateway.ledger.notions(&self.identity);
        let sizes = gateway.sizes.known();
        // The price of the whole statement as it would be planned then: its noise may be of another kind.
        let mut often = |epsilon: Ratio| -> Option<u128> {
            settings.epsilon = epsilon;
            let plan = self.planned(gateway, plan.statement.clone(), &settings, &sizes).ok()?;
            let charge = plan.charge?;
            states.iter().map(|s| fits(s, &charge)).min()
        };
        let least = dp::ratio(&gateway.policy.statement.min_epsilon)?;
        let mut low = first_from(&least);
        let mut high = first_from(asked);
        let mut best = match often(least)? {
            0 => return Some(None),
            n => (least, n),
        };
        // Below `low` everything fits that is not below the least; at `high` and above nothing does.
        while low < high {
            let middle = low + (high - low) / 2;
            let epsilon = proposal(middle);
            match often(epsilon) {
                Some(n) if n > 0 => {
                    best = (epsilon, n);
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

fn fits(state: &BudgetState, charge: &Charge) -> u128 {
    state.fits(charge).unwrap_or(0)
}

fn times(n: u128) -> String {
    match n {
        1 => "once".into(),
        n => format!("{n} times"),
    }
}

/// Numbers of three digits, in ascending order.
fn proposal(index: u32) -> Ratio {
    let (mantissa, decade) = (LEAST_MANTISSA + index % MANTISSAS, index / MANTISSAS);
    // Two of the mantissa's digits stand behind its point.
    let mantissa = u128::from(mantissa);
    match decade.checked_sub(LEAST_EXPONENT + 2) {
        Some(up) => Ratio::from_integer(mantissa * 10u128.pow(up)),
        None => Ratio::new(mantissa, 10u128.pow(LEAST_EXPONENT + 2 - decade)),
    }
}

/// The first proposal that is not below this.
fn first_from(epsilon: &Ratio) -> u32 {
    let (mut low, mut high) = (0, DECADES * MANTISSAS);
    while low < high {
        let middle = low + (high - low) / 2;
        if proposal(middle) < *epsilon { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_all_numbers_of_three_digits() {
        assert_eq!(proposal(0), Ratio::new(1, 1_000_000_000));
        assert_eq!(proposal(1), Ratio::new(101, 100_000_000_000));
        assert_eq!(proposal(899), Ratio::new(999, 100_000_000_000));
        assert_eq!(proposal(900), Ratio::new(1, 100_000_000));
        assert_eq!(proposal(DECADES * MANTISSAS - 1), Ratio::from_integer(999));
        assert!((1..DECADES * MANTISSAS).all(|i| proposal(i - 1) < proposal(i)));
        for (epsilon, next) in
            [(Ratio::new(1, 10), Ratio::new(1, 10)), (Ratio::new(1, 3), Ratio::new(334, 1000))]
        {
            assert_eq!(proposal(first_from(&epsilon)), next);
        }
    }
}
