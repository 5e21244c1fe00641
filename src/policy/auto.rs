//! `accounting = "auto"`: the notion that buys most of a stated mix.
//!
//! The mix is counts without groups, all at the price `statement.epsilon`, with the noise that they have where the budget
//! counts in that notion. The choice is made from the
//! policy's text alone, and a ledger keeps the one that it was created with: which way to count is better must never be
//! chosen from answers.

use super::model::{Accounting, Budget};
use bigdecimal::BigDecimal;
use dp::{Cost, Filter, Notion, Outline, Preference};

/// Notions with a δ for private groups and a price for whatever a statement releases; of those that buy as much, the first is
/// taken. Gaussian noise has a price in the first two.
const CANDIDATES: [Notion; 3] = [Notion::Zcdp, Notion::Rdp, Notion::Approx];

/// Sets the budget's notion, and notes what each would buy.
pub(super) fn choose(budget: &mut Budget, epsilon: &BigDecimal) {
    budget.choices = CANDIDATES
        .map(Accounting::Notion)
        .iter()
        .filter_map(|a| Some((*a, answers(budget, *a, epsilon)?)))
        .collect();
    let mut best: Option<(Accounting, u128)> = None;
    for choice in &budget.choices {
        if best.is_none_or(|b| choice.1 > b.1) {
            best = Some(*choice);
        }
    }
    budget.accounting = best.map_or(Accounting::USUAL, |b| b.0);
}

/// How many answers of the mix the budget buys in a notion.
fn answers(budget: &Budget, accounting: Accounting, epsilon: &BigDecimal) -> Option<u128> {
    let price = dp::ratio(epsilon)?;
    let notion = accounting.notion()?;
    let count = Outline::even(1, &[1], None);
    let charge = dp::choose(&price, &[count], Preference::Auto, &[notion]).ok()?.charge;
    let [total, delta, selection] = [&budget.epsilon, &budget.delta, &budget.selection_delta].map(dp::ratio);
    let filter = Filter::new(notion, &total?, &delta?, &selection?).ok()?;
    Some(filter.fits(Cost::default(), notion.price(&charge).ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Scope;

    fn chosen(epsilon: &str, price: &str) -> (Accounting, Vec<(Accounting, u128)>) {
        let (epsilon, delta) = (epsilon.parse().unwrap(), "1e-7".parse().unwrap());
        let mut budget = Budget::new("b", Scope::User, Accounting::Notion(dp::Notion::Zcdp), epsilon, delta);
        choose(&mut budget, &price.parse().unwrap());
        (budget.accounting, budget.choices)
    }

    /// Never less than adding up ε.
    #[test]
    fn what_buys_most_is_taken() {
        // The quota of a starter.
        let (taken, each) = chosen("2", "0.1");
        let buys = |a| each.iter().find(|(b, _)| *b == a).unwrap().1;
        assert_eq!(
            (buys(Accounting::Notion(dp::Notion::Approx)), buys(Accounting::Notion(dp::Notion::Zcdp))),
            (20, 14)
        );
        assert!(buys(taken) >= 20, "{taken:?} of {each:?}");
        // Many small statements.
        assert_eq!(chosen("8", "0.01").0, Accounting::Notion(dp::Notion::Zcdp));
        // Few large ones.
        let (taken, each) = chosen("2", "0.5");
        assert!(each.iter().all(|c| c.1 <= 4) && taken != Accounting::Notion(dp::Notion::Zcdp), "{each:?}");
    }
}
