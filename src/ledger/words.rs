//! Budgets and prices in words that people have: shares of a budget, and how many questions are left.
//!
//! For display: floats are rounded for a reader, and decide nothing.

use super::account::BudgetState;
pub use super::percent::percent;
use dp::Charge;
use policy::{Budget, Scope, Window};

/// A price that a budget hardly notices: how often it fits tells nobody anything.
const COUNTLESS: u128 = 1_000_000_000;

/// Whose a budget is, by its name, to somebody who draws on it: `your budget "analyst" (this month)`.
pub fn whose(budget: &Budget) -> String {
    let owner = match budget.scope {
        Scope::User => "your",
        Scope::Role => "your role's",
        Scope::Dataset => "everybody's",
    };
    let window = match budget.window {
        None => String::new(),
        Some(Window::Month) => " (this month)".to_owned(),
        Some(Window::Days(1)) => " (today)".to_owned(),
        Some(Window::Days(n)) => format!(" (these {n} days)"),
    };
    format!("{owner} budget \"{}\"{window}", budget.name)
}

/// How many questions, in words that follow "left,"; `paid`: one of them was.
fn more(n: u128, paid: bool) -> String {
    match n {
        0 if paid => "too little for another question like this".to_owned(),
        0 => "too little for it".to_owned(),
        1 => "about 1 question like this".to_owned(),
        // Of so many nobody needs to know the number.
        100_000.. => "over 100,000 questions like this".to_owned(),
        n => format!("about {n} questions like this"),
    }
}

impl BudgetState {
    /// Price of a charge and the rest of the budget, in words: `0.4 % of your budget "analyst"
    /// (this month)`, and `96.1 % left, about 240 questions like this`; `paid`: it is taken
    /// already. Of `usual` questions it says how many are left where that is another number. The error is why it cannot be
    /// paid from this budget.
    pub fn told(
        &self,
        charge: &Charge,
        usual: Option<&Charge>,
        paid: bool,
    ) -> Result<(String, String), String> {
        let price = self.counter.price(charge).map_err(|why| why.to_string())?;
        let share = self.counter.share(&self.spent, &price);
        let fits = self.fits(charge).unwrap_or(0);
        let mut left = format!("{} left", percent(self.fraction_left()));
        // Private groups have a part of their own, which may end first.
        let without = Charge { selection_delta: dp::Ratio::from_integer(0), ..charge.clone() };
        if let Some(part) =
            self.selection_fraction_left().filter(|_| self.fits(&without).is_ok_and(|n| n > fits))
        {
            left.push_str(&format!(", {} of its part for private groups", percent(part)));
        }
        if fits < COUNTLESS {
            left.push_str(&format!(", {}", more(fits, paid)));
            let counts = usual.and_then(|usual| self.fits(usual).ok()).filter(|n| *n != fits);
            match counts {
                Some(n @ ..100_000) => {
                    left.push_str(&format!(" ({n} plain {})", if n == 1 { "count" } else { "counts" }))
                }
                Some(_) if fits < 100_000 => left.push_str(" (over 100,000 plain counts)"),
                _ => {}
            }
        }
        Ok((format!("{} of {}", percent(share), whose(&self.budget)), left))
    }
}

/// Of the budgets that pay for a charge the one that ends first: it has room for the fewest more, or the least part left.
pub fn binding<'s>(states: &'s [BudgetState], charge: &Charge) -> Option<&'s BudgetState> {
    let first = |a: &&BudgetState, b: &&BudgetState| {
        let fits = |s: &BudgetState| s.fits(charge).unwrap_or(0);
        fits(a).cmp(&fits(b)).then(a.fraction_left().total_cmp(&b.fraction_left()))
    };
    states.iter().min_by(first)
}
