//! A budget of the policy as an account: how it counts, and who shares it.

use super::error::{Lacking, LedgerError};
use bigdecimal::{BigDecimal, ToPrimitive};
use dp::{self, Charge, Cost, Envelope, Filter, Tokens, Unpriced};
use policy::{Budget, Scope};
use std::sync::Arc;

/// A price, or a sum of prices, as a budget counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Of a privacy filter.
    Cost(Box<Cost>),
    /// Of an envelope.
    Uses(Tokens),
}

impl Amount {
    /// Two texts: of what is lost, and of δ.
    pub(super) fn text(&self) -> (String, String) {
        match self {
            Self::Cost(cost) => (cost.loss_text(), cost.delta.to_string()),
            Self::Uses(tokens) => {
                let counts: Vec<String> = tokens.counts().iter().map(ToString::to_string).collect();
                (counts.join(" "), "0".into())
            }
        }
    }

    /// Whether nothing of it is less than of the other.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cost(a), Self::Cost(b)) => {
                a.loss >= b.loss && a.delta >= b.delta && a.orders.iter().zip(b.orders).all(|(a, b)| *a >= b)
            }
            (Self::Uses(a), Self::Uses(b)) => {
                let counts = a.counts().iter().copied().chain(std::iter::repeat(0));
                b.counts().iter().zip(counts).all(|(b, a)| a >= *b)
            }
            _ => false,
        }
    }

    /// The larger of both, in each number.
    pub(super) fn most(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Cost(a), Self::Cost(b)) => {
                let mut most =
                    Cost { loss: a.loss.max(b.loss), delta: a.delta.max(b.delta), orders: a.orders };
                most.orders.iter_mut().zip(b.orders).for_each(|(a, b)| *a = (*a).max(b));
                Self::Cost(Box::new(most))
            }
            (Self::Uses(a), Self::Uses(b)) => {
                let other = b.counts().iter().copied().chain(std::iter::repeat(0));
                Self::Uses(Tokens::new(a.counts().iter().zip(other).map(|(a, b)| (*a).max(b)).collect()))
            }
            // An account counts in one way.
            (a, _) => a.clone(),
        }
    }

    /// The sum of `n` of these and another.
    pub(super) fn plus(&self, other: &Self, n: u64) -> Self {
        match (self, other) {
            (Self::Cost(a), Self::Cost(b)) => {
                let times = |x: u128| x.saturating_mul(n.into());
                let b = Cost { loss: times(b.loss), delta: times(b.delta), orders: b.orders.map(times) };
                Self::Cost(Box::new(a.saturating_add(b)))
            }
            (Self::Uses(a), Self::Uses(b)) => {
                let n = u32::try_from(n).unwrap_or(u32::MAX);
                let own = a.counts().iter().copied().chain(std::iter::repeat(0));
                let sums = b.counts().iter().zip(own).map(|(b, a)| a.saturating_add(b.saturating_mul(n)));
                Self::Uses(Tokens::new(sums.collect()))
            }
            // An account counts in one way.
            (a, _) => a.clone(),
        }
    }
}

/// A counter: the notion of a budget, and how much it admits.
#[derive(Clone, Debug)]
pub enum Counter {
    /// Additive prices up to a limit.
    Filter(Box<Filter>),
    /// Declared uses, counted down.
    Envelope(Arc<Envelope>),
}

impl Counter {
    /// The counter of `budget`, with an ε and δ granted beyond what it says.
    ///
    /// Of an envelope this computes the guarantee of all its uses together: it may take seconds.
    pub fn of(budget: &Budget, granted: &[Granted]) -> Result<Self, LedgerError> {
        let invalid = |why: String| LedgerError::Budget { name: budget.name.clone(), why };
        let Budget { epsilon, delta, selection_delta, .. } = Granted::sum(granted).beyond(budget);
        let Some(notion) = budget.accounting.notion() else {
            if !granted.is_empty() {
                return Err(invalid("an envelope takes no grant: declare more uses in the policy".into()));
            }
            let classes = budget.mechanisms.iter().map(|d| (d.mechanism.clone(), d.uses)).collect();
            let float = |x: &BigDecimal| x.to_f64().unwrap_or(f64::NAN);
            let envelope =
                Envelope::new(classes, float(&delta).next_down()).map_err(|e| invalid(e.to_string()))?;
            let (reached, _) = envelope.guarantee();
            if reached > float(&epsilon).next_down() {
                return Err(invalid(format!(
                    "all declared uses together have epsilon = {reached:.6} at delta = {delta}, which is over \
                     epsilon = {epsilon}; declare fewer uses or more noise"
                )));
            }
            return Ok(Self::Envelope(Arc::new(envelope)));
        };
        let ratio = |name: &str, value: &BigDecimal| {
            dp::ratio(value).ok_or_else(|| invalid(format!("{name} = {value} is out of range")))
        };
        let filter = Filter::new(
            notion,
            &ratio("epsilon", &epsilon)?,
            &ratio("delta", &delta)?,
            &ratio("selection_delta", &selection_delta)?,
        );
        filter.map(|f| Self::Filter(Box::new(f))).map_err(|e| invalid(e.to_string()))
    }

    /// Nothing spent.
    pub fn nothing(&self) -> Amount {
        match self {
            Self::Filter(_) => Amount::Cost(Box::default()),
            Self::Envelope(e) => Amount::Uses(Tokens::new(vec![0; e.granted().count()])),
        }
    }

    /// All that it admits.
    pub fn limit(&self) -> Amount {
        match self {
            Self::Filter(f) => Amount::Cost(Box::new(f.limit)),
            Self::Envelope(e) => Amount::Uses(Tokens::new(e.granted().collect())),
        }
    }

    /// Price of a charge.
    pub fn price(&self, charge: &Charge) -> Result<Amount, Unpriced> {
        match self {
            Self::Filter(f) => f.notion.price(charge).map(|cost| Amount::Cost(Box::new(cost))),
            Self::Envelope(e) => e.price(charge).map(Amount::Uses),
        }
    }

    /// The sum after `price` is added to `spent`, if there is room for it.
    pub fn admit(&self, spent: &Amount, price: &Amount) -> Result<Amount, Lacking> {
        match (self, spent, price) {
            (Self::Filter(f), Amount::Cost(spent), Amount::Cost(price)) => {
                f.admit(**spent, **price).map(|cost| Amount::Cost(Box::new(cost))).map_err(Lacking::Sum)
            }
            (Self::Envelope(e), Amount::Uses(spent), Amount::Uses(price)) => {
                e.admit(spent, price).map(Amount::Uses).ok_or(Lacking::Uses)
            }
            _ => Err(Lacking::Uses),
        }
    }

    /// Number of charges of this price that still fit, one after the other.
    pub fn fits(&self, spent: &Amount, price: &Amount) -> u128 {
        match (self, spent, price) {
            (Self::Filter(f), Amount::Cost(spent), Amount::Cost(price)) => f.fits(**spent, **price),
            (Self::Envelope(e), Amount::Uses(spent), Amount::Uses(price)) => e.fits(spent, price),
            _ => 0,
        }
    }

    /// The part that is left, from 0 to 1: of the sum, or of the class that has least. For display.
    pub fn fraction_left(&self, spent: &Amount) -> f64 {
        match (self, spent) {
            (Self::Filter(f), Amount::Cost(spent)) => {
                let (spent, limit) = f.reading(**spent);
                fraction_left(limit, spent)
            }
            (Self::Envelope(e), Amount::Uses(spent)) => {
                let spent = spent.counts().iter().copied().chain(std::iter::repeat(0));
                let parts =
                    e.granted().zip(spent).map(|(limit, spent)| fraction_left(limit.into(), spent.into()));
                parts.fold(1.0, f64::min)
            }
            _ => 0.0,
        }
    }

    /// The part of all that it admits that a price takes, beside what is spent: in an envelope, of the class that it takes most
    /// of. For display.
    pub fn share(&self, spent: &Amount, price: &Amount) -> f64 {
        match (self, spent, price) {
            (Self::Filter(f), Amount::Cost(spent), Amount::Cost(price)) => f.share(**spent, **price),
            _ => 1.0 - self.fraction_left(price),
        }
    }

    /// From what [`Amount::text`] writes.
    pub(super) fn read(&self, loss: &str, delta: &str) -> Option<Amount> {
        match self {
            Self::Filter(_) => Cost::from_text(loss, delta).map(|cost| Amount::Cost(Box::new(cost))),
            Self::Envelope(e) => {
                let counts: Vec<u32> = loss.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
                (counts.len() == e.granted().count() && delta == "0")
                    .then(|| Amount::Uses(Tokens::new(counts)))
            }
        }
    }
}

/// A grant of the owner's beyond a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// More ε.
    pub epsilon: BigDecimal,
    /// More δ in all.
    pub delta: BigDecimal,
    /// The part of it that pays for private groups.
    pub selection_delta: BigDecimal,
}

impl Granted {
    /// Several grants as one.
    pub(super) fn sum(granted: &[Self]) -> Self {
        granted.iter().fold(Self::default(), |sum, g| Self {
            epsilon: sum.epsilon + &g.epsilon,
            delta: sum.delta + &g.delta,
            selection_delta: sum.selection_delta + &g.selection_delta,
        })
    }

    /// The budget with limits as they are with it.
    pub(super) fn beyond(&self, budget: &Budget) -> Budget {
        Budget {
            epsilon: &budget.epsilon + &self.epsilon,
            delta: &budget.delta + &self.delta,
            selection_delta: &budget.selection_delta + &self.selection_delta,
            ..budget.clone()
        }
    }
}

/// A budget, and how it counts without grants.
#[derive(Clone, Debug)]
pub struct Account {
    pub(super) budget: Arc<Budget>,
    pub(super) counter: Counter,
}

impl Account {
    pub(super) fn new(budget: &Budget) -> Result<Self, LedgerError> {
        Ok(Self { budget: Arc::new(budget.clone()), counter: Counter::of(budget, &[])? })
    }

    /// The key of the sum that a user draws on; None where the budget is not theirs.
    pub(super) fn owner<'a>(&self, user: &'a str, role: Option<&'a str>) -> Option<&'a str> {
        owner(self.budget.scope, user, role)
    }

    /// Whether it counts a statement that reads these private tables; None where nobody knows which.
    pub(super) fn counts(&self, tables: Option<&[String]>) -> bool {
        counts(&self.budget, tables)
    }

    /// When the window began that `at` lies in; None for all time.
    pub(super) fn window(&self, at: i64) -> Option<i64> {
        self.budget.window.map(|w| w.start(at))
    }
}

/// Whether a budget counts a statement that reads these private tables; None where nobody knows which.
pub(super) fn counts(budget: &Budget, tables: Option<&[String]>) -> bool {
    let Some(tables) = tables else { return true };
    budget.tables.is_empty() || budget.tables.iter().any(|t| tables.contains(t))
}

/// The key of the sum of a budget that a user draws on; None where the budget is not theirs.
pub(super) fn owner<'a>(scope: Scope, user: &'a str, role: Option<&'a str>) -> Option<&'a str> {
    match scope {
        Scope::Dataset => Some(""),
        // What the owner has measured is nobody's own: it is paid from budgets of everybody alone.
        Scope::User => Some(user).filter(|user| !user.is_empty()),
        Scope::Role => role,
    }
}

/// A budget as one user sees it.
#[derive(Clone, Debug)]
pub struct BudgetState {
    /// Name, scope and limits, as the policy states them.
    pub budget: Arc<Budget>,
    /// Grants beyond them, in the present window.
    pub granted: Granted,
    /// The counter, with what was granted.
    pub counter: Counter,
    /// Spending in the present window.
    pub spent: Amount,
    /// When the next window begins, in microseconds since 1970; None for a budget for all time.
    pub next: Option<i64>,
    /// The owner closed it: it pays for nothing any more.
    pub closed: bool,
}

impl BudgetState {
    /// The budget as it is admitted: with what was granted.
    pub fn admitted(&self) -> Budget {
        self.granted.beyond(&self.budget)
    }

    /// The part of ε (or ρ) that is left, from 0 to 1. For display.
    pub fn fraction_left(&self) -> f64 {
        if self.closed { 0.0 } else { self.counter.fraction_left(&self.spent) }
    }

    /// The part of selection's δ that is left; None where the budget has none.
    pub fn selection_fraction_left(&self) -> Option<f64> {
        match (&self.counter, &self.spent) {
            (Counter::Filter(f), Amount::Cost(spent)) if f.limit.delta > 0 => {
                Some(fraction_left(f.limit.delta, spent.delta))
            }
            _ => None,
        }
    }

    /// Number of charges like this one that still fit, if nobody else draws on the budget.
    pub fn fits(&self, charge: &Charge) -> Result<u128, Unpriced> {
        let price = self.counter.price(charge)?;
        Ok(if self.closed { 0 } else { self.counter.fits(&self.spent, &price) })
    }

    /// Spending and limit, in units of the notion. None for an envelope.
    pub fn reading(&self) -> Option<(u128, u128)> {
        match (&self.counter, &self.spent) {
            (Counter::Filter(f), Amount::Cost(spent)) => Some(f.reading(**spent)),
            _ => None,
        }
    }
}

fn fraction_left(limit: u128, spent: u128) -> f64 {
    if limit == 0 { 0.0 } else { limit.saturating_sub(spent) as f64 / limit as f64 }
}
