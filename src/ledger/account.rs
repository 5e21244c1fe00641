//! A budget of the policy as an account: who shares it, and its filter.

use super::LedgerError;
use crate::answer::Identity;
use crate::dp::{self, Charge, Cost, Filter, Unpriced};
use crate::policy::{Budget, Scope};

/// A budget and its filter.
pub(super) struct Account {
    pub(super) budget: Budget,
    pub(super) filter: Filter,
}

impl Account {
    pub(super) fn new(budget: &Budget) -> Result<Self, LedgerError> {
        let invalid = |why: String| LedgerError::Budget { name: budget.name.clone(), why };
        let ratio = |name: &str, value: &bigdecimal::BigDecimal| {
            dp::ratio(value).ok_or_else(|| invalid(format!("{name} = {value} is out of range")))
        };
        let filter = Filter::new(
            budget.accounting.notion(),
            &ratio("epsilon", &budget.epsilon)?,
            &ratio("delta", &budget.delta)?,
            &ratio("selection_delta", &budget.selection_delta)?,
        );
        Ok(Self { budget: budget.clone(), filter: filter.map_err(|e| invalid(e.to_string()))? })
    }

    /// The key of the sum that `who` draws on; None where the budget does not apply.
    pub(super) fn owner(&self, who: &Identity) -> Option<String> {
        match self.budget.scope {
            Scope::Dataset => Some(String::new()),
            Scope::User => Some(who.user.clone()),
            Scope::Role => who.role.clone(),
        }
    }

    pub(super) fn state(&self, spent: Cost) -> BudgetState {
        BudgetState { budget: self.budget.clone(), filter: self.filter, spent }
    }
}

/// A budget as one user sees it.
#[derive(Clone, Debug)]
pub struct BudgetState {
    /// Name, scope and limits, as the policy states them.
    pub budget: Budget,
    /// The notion, and the limits in units.
    pub filter: Filter,
    /// What is spent, in units.
    pub spent: Cost,
}

impl BudgetState {
    /// The part of ε (or ρ) that is left, from 0 to 1. For display.
    pub fn fraction_left(&self) -> f64 {
        let (spent, limit) = self.filter.reading(self.spent);
        fraction_left(limit, spent)
    }

    /// The part of selection's δ that is left; None where the budget has none.
    pub fn selection_fraction_left(&self) -> Option<f64> {
        let limit = self.filter.limit.delta;
        (limit > 0).then(|| fraction_left(limit, self.spent.delta))
    }

    /// How many charges like this one still fit, if nobody else draws on the budget.
    pub fn fits(&self, charge: &Charge) -> Result<u128, Unpriced> {
        Ok(self.filter.fits(self.spent, self.filter.notion.price(charge)?))
    }
}

fn fraction_left(limit: u128, spent: u128) -> f64 {
    if limit == 0 { 0.0 } else { limit.saturating_sub(spent) as f64 / limit as f64 }
}
