//! The budgets of a starter, from the other end: what all answers together may tell of anybody says what may be asked.

use bigdecimal::BigDecimal;
use dp::suspicion::{Meaning, update};
use dp::{Notion, Preference, Ratio};
use policy::{Accounting, Budget, Scope};

/// The suspicion before any answer, in percent.
pub const BEFORE: u8 = 10;
/// Notions that have a price for whatever a statement releases; of two that buy as much, the first is taken.
const NOTIONS: [Notion; 3] = [Notion::Zcdp, Notion::Rdp, Notion::Approx];
/// The part of all questions that a user may ask in a month: one in so many.
const A_MONTH: u128 = 4;

/// Budgets that keep a promise. Totals are tenths.
#[derive(Debug, PartialEq)]
pub(super) struct Budgets {
    /// How prices add up, so that most questions fit.
    pub notion: Notion,
    /// ε of all answers.
    pub all: u16,
    /// ε of a user's month.
    pub each: u16,
}

impl Budgets {
    /// The most that may be asked where a suspicion of [`BEFORE`] percent becomes `at_most` percent at most; None where
    /// that is nothing.
    pub(super) fn keeping(at_most: u8) -> Option<Self> {
        let keeps = |tenths: &u16| most(*tenths).is_some_and(|most| most <= f64::from(at_most) / 100.0);
        let all = (1..1000).take_while(keeps).last()?;
        let mut notion = None;
        for candidate in NOTIONS {
            let buys = questions(candidate, all, 10);
            if notion.is_none_or(|(_, most)| buys > most) {
                notion = Some((candidate, buys));
            }
        }
        let (notion, buys) = notion?;
        let each = (1..all).find(|tenths| questions(notion, *tenths, 10) >= buys.div_ceil(A_MONTH));
        Some(Self { notion, all, each: each.unwrap_or(all) })
    }

    /// Plain counts that a total pays for at the price of one in so many.
    pub(super) fn questions(&self, tenths: u16, one_in: u128) -> u128 {
        questions(self.notion, tenths, one_in)
    }
}

/// The end of the suspicion where this is the total.
fn most(tenths: u16) -> Option<f64> {
    let meaning = Meaning::of(f64::from(tenths) / 10.0, 1e-6);
    update(f64::from(BEFORE) / 100.0, meaning.usual_loss()).map(|(_, most)| most)
}

fn questions(notion: Notion, tenths: u16, one_in: u128) -> u128 {
    let [epsilon, delta] = [(tenths.into(), 1), (1.into(), 6)].map(|(n, scale)| BigDecimal::new(n, scale));
    let budget = Budget::new("all", Scope::Dataset, Accounting::Notion(notion), epsilon, delta);
    let count = ledger::usual(&Ratio::new(1, one_in), Preference::Auto, &[notion]);
    let worth = count.and_then(|count| ledger::worth(&budget, &count).ok());
    worth.and_then(|worth| worth.answers.ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_promise_buys_all_that_keeps_it() {
        let mut before = 0;
        for at_most in [20, 50, 75, 90, 99] {
            let budgets = Budgets::keeping(at_most).unwrap();
            let limit = f64::from(at_most) / 100.0;
            assert!(most(budgets.all).unwrap() <= limit && most(budgets.all + 1).unwrap() > limit);
            let buys = budgets.questions(budgets.all, 10);
            assert!(NOTIONS.iter().all(|n| questions(*n, budgets.all, 10) <= buys), "{budgets:?}");
            assert!(buys > before && budgets.each <= budgets.all, "{budgets:?}");
            assert!(budgets.questions(budgets.each, 10) >= buys / A_MONTH, "{budgets:?}");
            before = buys;
        }
        assert_eq!(Budgets::keeping(BEFORE), None);
    }
}
