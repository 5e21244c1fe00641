//! Worth of budgets, for people who choose one: answers, beside those of basic composition; and
//! what remains of the guarantee where a budget starts anew.

use super::account::{Amount, BudgetState, Counter, Granted};
use super::error::LedgerError;
use bigdecimal::{BigDecimal, ToPrimitive};
use dp::interval::Interval;
use dp::{Charge, Conversion, Notion, Outline, Preference, Ratio, UNITS_PER_ONE, Unpriced};
use policy::{Budget, Policy};

/// Worth of a budget.
#[derive(Clone, Debug)]
pub struct Worth {
    /// Answers like the one that was asked about, if nothing else is asked; why there are none.
    pub answers: Result<u128, Unpriced>,
    /// Answers whose ε add up to the budget's.
    pub basic: u128,
    /// Guarantee over a year; None where it is the same for all time.
    pub year: Option<Year>,
}

/// Guarantee of a year of windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Year {
    /// The most windows that 365 days can touch.
    pub windows: u32,
    /// ε of all of them together; infinite where nothing is guaranteed.
    pub epsilon: f64,
    /// δ of all of them together.
    pub delta: f64,
}

/// Worth of `budget` in answers like `charge`.
pub fn worth(budget: &Budget, charge: &Charge) -> Result<Worth, LedgerError> {
    let counter = Counter::of(budget, &[])?;
    let answers = counter.price(charge).map(|price| counter.fits(&counter.nothing(), &price));
    let basic = dp::ratio(&budget.epsilon)
        .and_then(|total| num_traits::CheckedDiv::checked_div(&total, &charge.epsilon))
        .map_or(0, |n| n.to_integer());
    Ok(Worth { answers, basic, year: year(budget, &counter) })
}

/// Guarantee over a year of a budget with a window: the guarantees of k windows composed.
///
/// k limits of one notion add up in it, and are converted to ε once, at k·δ; where the notion gives
/// no sum (a portfolio of orders, an envelope), and never more than, by basic composition: k·ε at
/// k·δ.
pub fn year(budget: &Budget, counter: &Counter) -> Option<Year> {
    windows(budget, counter, budget, counter)
}

/// As [`year`], where one of the windows has what was granted in the present one.
pub fn year_of(state: &BudgetState) -> Option<Year> {
    if state.granted == Granted::default() {
        return year(&state.budget, &state.counter);
    }
    // It was made when the books were opened: it can be made again.
    let usual = Counter::of(&state.budget, &[]).ok()?;
    windows(&state.budget, &usual, &state.admitted(), &state.counter)
}

/// (ε, δ) of all that has been released from a budget so far, in its present window where it has one: what is spent, converted
/// at the budget's whole δ, and never more than the budget itself. None for an envelope, whose uses have no sum, and for a
/// portfolio of orders, whose conversion belongs to its limit.
pub fn released(state: &BudgetState) -> Option<(f64, f64)> {
    let (Counter::Filter(f), Amount::Cost(spent)) = (&state.counter, &state.spent) else { return None };
    let budget = state.admitted();
    let above = |d: &BigDecimal| d.to_f64().unwrap_or(f64::INFINITY).next_up();
    let (whole, delta) = (above(&budget.epsilon), above(&budget.delta));
    if spent.loss == 0 && spent.delta == 0 {
        return spent.orders.iter().all(|o| *o == 0).then_some((0.0, 0.0));
    }
    let (units, rest) = (loss(spent.loss), conversion_delta(&budget));
    let epsilon = match f.notion.conversion() {
        Conversion::Itself => units,
        Conversion::At(epsilon) => epsilon(units, rest),
        Conversion::OfTheLimit => return None,
    };
    Some((epsilon.min(whole), if f.notion.has_delta() { delta } else { 0.0 }))
}

/// A loss in units as a number, from above.
fn loss(units: u128) -> f64 {
    (Interval::from(units as f64) / UNITS_PER_ONE as f64).hi().next_up()
}

/// δ that is left for the conversion, from below.
fn conversion_delta(budget: &Budget) -> f64 {
    (&budget.delta - &budget.selection_delta).to_f64().unwrap_or(0.0).next_down().max(0.0)
}

/// All windows of a year but one are of the first budget, and one is of the second, which differs in its limits.
fn windows(usual: &Budget, counter: &Counter, now: &Budget, counter_now: &Counter) -> Option<Year> {
    let windows = usual.window?.in_a_year();
    let others = f64::from(windows.saturating_sub(1));
    let above = |d: &BigDecimal| Interval::from(d.to_f64().unwrap_or(f64::INFINITY).next_up());
    let sum = |usual: Interval, now: Interval| Interval::from(others) * usual + now;
    let basic = sum(above(&usual.epsilon), above(&now.epsilon)).hi();
    let delta = sum(above(&usual.delta), above(&now.delta)).hi();
    if delta >= 1.0 {
        return Some(Year { windows, epsilon: f64::INFINITY, delta: 1.0 });
    }
    let below = sum(conversion_delta(usual).into(), conversion_delta(now).into()).lo();
    let converted = match (counter, counter.limit(), counter_now.limit()) {
        (Counter::Filter(f), Amount::Cost(limit), Amount::Cost(limit_now)) => {
            let sum = sum(loss(limit.loss).into(), loss(limit_now.loss).into()).hi();
            match f.notion.conversion() {
                Conversion::At(epsilon) => epsilon(sum, below),
                Conversion::Itself | Conversion::OfTheLimit => basic,
            }
        }
        _ => basic,
    };
    let delta = if now.delta == BigDecimal::default() { 0.0 } else { delta };
    Some(Year { windows, epsilon: converted.min(basic), delta })
}

/// A count without groups, at this ε, with the noise that it has where budgets of these notions pay for it: the unit in which
/// `check`, the console, `noisegate.budget` and notices count what is left.
pub fn usual(epsilon: &Ratio, preference: Preference, notions: &[Notion]) -> Option<Charge> {
    let count = Outline::even(1, &[1], None);
    dp::choose(epsilon, &[count], preference, notions).ok().map(|choice| choice.charge)
}

/// The usual answer at the price that a policy gives it.
pub fn usual_of(policy: &Policy) -> Option<Charge> {
    let notions: Vec<Notion> = policy.budgets.iter().map(Budget::notion).collect();
    usual(&dp::ratio(&policy.statement.epsilon)?, Preference::Auto, &notions)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use policy::{Accounting, Scope, Window};

    fn budget(accounting: Accounting, window: Option<Window>) -> Budget {
        let delta = if accounting == Accounting::Notion(dp::Notion::Pure) { "0" } else { "1e-6" };
        let (epsilon, delta) = (8.into(), delta.parse().unwrap());
        Budget { window, ..Budget::new("b", Scope::Dataset, accounting, epsilon, delta) }
    }

    /// Each of these is the accountant's own answer; basic composition has 80.
    #[test]
    fn what_eight_buys_at_a_tenth() {
        let charge = usual(&Ratio::new(1, 10), Preference::Laplace, &[]).unwrap();
        let answers = |accounting| {
            let worth = worth(&budget(accounting, None), &charge).unwrap();
            assert_eq!((worth.basic, worth.year), (80, None));
            worth.answers.unwrap()
        };
        assert_eq!(answers(Accounting::Notion(dp::Notion::Pure)), 80);
        assert_eq!(answers(Accounting::Notion(dp::Notion::Approx)), 80);
        // ρ = 1.0084 at 0.1·tanh(0.05) each.
        assert_eq!(answers(Accounting::Notion(dp::Notion::Zcdp)), 201);
        // √(2 ln(2·10⁶)·n/100) + n/200 <= 8.
        assert_eq!(answers(Accounting::Notion(dp::Notion::Advanced)), 174);
        let (rdp, gdp) =
            (answers(Accounting::Notion(dp::Notion::Rdp)), answers(Accounting::Notion(dp::Notion::Gdp)));
        assert!((180..=215).contains(&rdp), "{rdp}");
        assert!((100..=201).contains(&gdp), "{gdp}");
    }

    #[test]
    fn what_was_released_is_less_than_the_budget_until_it_is_spent() {
        let charge = usual(&Ratio::new(1, 10), Preference::Laplace, &[]).unwrap();
        for accounting in [
            Accounting::Notion(dp::Notion::Pure),
            Accounting::Notion(dp::Notion::Approx),
            Accounting::Notion(dp::Notion::Advanced),
            Accounting::Notion(dp::Notion::Zcdp),
            Accounting::Notion(dp::Notion::Gdp),
        ] {
            let budget = std::sync::Arc::new(budget(accounting, None));
            let counter = Counter::of(&budget, &[]).unwrap();
            let price = counter.price(&charge).unwrap();
            let after = |n: u64| {
                let spent = counter.nothing().plus(&price, n);
                let granted = Granted::default();
                let (budget, counter) = (budget.clone(), counter.clone());
                released(&BudgetState { budget, granted, counter, spent, next: None, closed: false }).unwrap()
            };
            let fits = u64::try_from(counter.fits(&counter.nothing(), &price)).unwrap();
            let (first, half, all) = (after(1).0, after(fits / 2).0, after(fits).0);
            assert_eq!(after(0), (0.0, 0.0));
            assert!(0.1 <= first && first < half && half < all && all <= 8.000_001, "{accounting:?} {all}");
            assert!(all > 7.8, "{accounting:?}: {all}");
        }
    }

    #[test]
    fn a_year_of_windows_is_their_sum() {
        let of = |b: &Budget| super::year(b, &Counter::of(b, &[]).unwrap()).unwrap();
        let year = |accounting, window| of(&budget(accounting, Some(window)));
        let pure = year(Accounting::Notion(dp::Notion::Pure), Window::Month);
        assert_eq!((pure.windows, pure.delta), (13, 0.0));
        assert!((pure.epsilon - 104.0).abs() < 1e-9);
        let approx = year(Accounting::Notion(dp::Notion::Approx), Window::Days(30));
        assert!((approx.epsilon - 112.0).abs() < 1e-9 && (approx.delta - 1.4e-5).abs() < 1e-15);
        // 13 times ρ is less than 13 times ε.
        let zcdp = year(Accounting::Notion(dp::Notion::Zcdp), Window::Month);
        assert!(zcdp.epsilon > 30.0 && zcdp.epsilon < 40.0, "{zcdp:?}");
        let gdp = year(Accounting::Notion(dp::Notion::Gdp), Window::Month);
        assert!(gdp.epsilon > 25.0 && gdp.epsilon < 40.0, "{gdp:?}");
        for accounting in [Accounting::Notion(dp::Notion::Advanced), Accounting::Notion(dp::Notion::Rdp)] {
            assert!(year(accounting, Window::Month).epsilon <= 104.0 + 1e-9, "{accounting:?}");
        }
        // Enough windows guarantee nothing.
        let mut loose = budget(Accounting::Notion(dp::Notion::Zcdp), Some(Window::Days(1)));
        (loose.delta, loose.selection_delta) = ("0.01".parse().unwrap(), 0.into());
        assert_eq!(of(&loose).epsilon, f64::INFINITY);
    }
}
