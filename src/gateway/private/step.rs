//! A step: releases of a plan that are answered together.

use super::rounds::{self, Columns};
use answer::{ClientError, SqlState};
use backend::Param;
use dp::Charge;
use emit::print::Constants;
use ledger::BudgetState;
use plan::Plan;
use release::Noisy;
use std::sync::Arc;

/// No answer yet, for each release.
pub(in crate::gateway) fn nothing(plan: &Plan) -> Vec<Noisy> {
    vec![Noisy { keys: Vec::new(), values: Vec::new(), rows: 0 }; plan.releases.len()]
}

/// A statement that is answered.
pub(in crate::gateway) struct Asked<'s> {
    /// For all of it.
    pub charge: &'s Charge,
    pub text: &'s Arc<str>,
    pub settings: &'s plan::Settings,
    pub constants: &'s Constants,
}

/// Releases of a plan that are answered together.
pub struct Step<'s> {
    /// Releases with a price, by their places in the plan.
    pub places: Vec<usize>,
    /// Places of releases in later steps.
    pub later: Vec<usize>,
    /// The values of the stages before.
    pub given: &'s [Param],
    /// For each place, the groups that rounds before it have selected.
    pub without: Vec<Columns>,
}

impl<'s> Step<'s> {
    /// `noisy`: the answers of the steps before.
    pub fn new(
        plan: &Plan,
        places: Vec<usize>,
        later: Vec<usize>,
        given: &'s [Param],
        noisy: &[Noisy],
    ) -> Self {
        let without = places.iter().map(|place| rounds::before(plan, *place, noisy)).collect();
        Self { places, later, given, without }
    }

    /// The groups that rounds before each of these of its releases have selected, as parameters.
    pub fn left_out(&self, plan: &Plan, places: &[usize]) -> Result<Vec<Vec<Param>>, ClientError> {
        let of = |place: &usize| {
            let columns = self.places.iter().position(|p| p == place).and_then(|i| self.without.get(i));
            match plan.releases.get(*place).zip(columns) {
                Some((release, columns)) => rounds::parameters(release, columns),
                None => Ok(Vec::new()),
            }
        };
        places.iter().map(of).collect()
    }
}

/// Payment of a step.
pub enum Got {
    /// Nothing: all of it was kept. How many times as wide as fresh noise its noise is, where it is wider.
    Kept(Option<f64>),
    /// The price of these releases; what the budgets are then.
    Paid(Vec<usize>, Vec<BudgetState>),
}

/// Places of the releases that have a price.
pub fn paying(plan: &Plan) -> Vec<usize> {
    let paying = |i: &usize| plan.releases.get(*i).is_some_and(|r| !r.is_domain_only());
    (0..plan.releases.len()).filter(paying).collect()
}

/// The charge for these releases: all of it, where there are no others.
pub(in crate::gateway) fn part(plan: &Plan, places: &[usize], whole: &Charge) -> Result<Charge, ClientError> {
    if places.len() == paying(plan).len() {
        return Ok(whole.clone());
    }
    plan::price::shares::rest(plan, places, whole)
        .map_err(|e| ClientError::incident(SqlState::INTERNAL, "the statement could not be priced", &e))
}
