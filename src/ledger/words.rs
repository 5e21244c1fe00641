//! Budgets and prices in words that people have: shares of a budget, and how many questions are left.
//!
//! For display: floats are rounded for a reader, and decide nothing.

use super::account::BudgetState;
use dp::Charge;
use policy::{Budget, Scope, Window};

/// A price that a budget hardly notices: how often it fits tells nobody anything.
const COUNTLESS: u128 = 1_000_000_000;

/// A part of a whole as a percentage: one decimal, two digits where it is small. Nothing but 0 is 0 %, nothing but all is
/// 100 %.
pub fn percent(part: f64) -> String {
    let x = part * 100.0;
    let number = match x {
        x if x <= 0.0 => "0".to_owned(),
        x if x < 0.001 => return "under 0.001 %".to_owned(),
        x if x < 0.0095 => format!("{x:.4}"),
        x if x < 0.095 => format!("{x:.3}"),
        x if (99.95..100.0).contains(&x) => return "over 99.9 %".to_owned(),
        x => format!("{x:.1}"),
    };
    match number.contains('.') {
        true => format!("{} %", number.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{number} %"),
    }
}

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
    /// already. The error is why it cannot be paid from this budget.
    pub fn told(&self, charge: &Charge, paid: bool) -> Result<(String, String), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_for_readers() {
        for (part, text) in [
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.004, "0.4 %"),
            (0.961, "96.1 %"),
            (0.12, "12 %"),
            (0.000_05, "0.005 %"),
            (0.000_53, "0.053 %"),
            (0.000_953, "0.1 %"),
            (1e-7, "under 0.001 %"),
            (0.999_999, "over 99.9 %"),
            (2.5, "250 %"),
        ] {
            assert_eq!(percent(part), text, "{part}");
        }
    }
}
