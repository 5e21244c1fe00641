//! The entry of a notion, all that is known of it in one place: `notions` has a file for each.

use super::cost::{Cost, Unpriced};
use super::kinds::{Kind, Rule};
use crate::{Event, Guarantee, Ratio};

/// A cost, or why there is none.
type Priced = Result<Cost, Unpriced>;

/// A notion's entry.
pub(super) struct Entry {
    /// The word of policies and ledgers.
    pub word: &'static str,
    /// The letter of its loss: ε, ρ, or what is summed.
    pub symbol: &'static str,
    /// The name of its loss in JSON; None where no single number says it.
    pub key: Option<&'static str>,
    /// Whether δ may be above 0, so that it has a price for private groups.
    pub has_delta: bool,
    /// Whether its loss is ε itself, of which a unit's changes cost their sum.
    pub adds_epsilon: bool,
    /// Whether it counts ρ, or Rényi divergences no larger than ρ implies.
    pub counts_rho: bool,
    /// Whether it counts at each order, of which one has to stay within its limit.
    pub counts_orders: bool,
    /// Whether rounded Gaussian noise has a price only together with a δ of its own.
    pub analytic: bool,
    /// The ε that a sum of losses implies.
    pub conversion: Conversion,
    /// The column of the table of mechanisms (soundness rule 21).
    pub rule: fn(Kind) -> Rule,
    /// The cost of noise.
    pub drawn: fn(&[Event]) -> Priced,
    /// The cost of n uses of an ε-DP mechanism.
    pub pure: fn(&Ratio, u32) -> Priced,
    /// The cost of n uses of a mechanism of bounded range, where that is less.
    pub bounded_range: fn(&Ratio, u32) -> Priced,
    /// The cost of n uses of a concentrated or Gaussian mechanism, the latter with a δ of its own.
    pub gaussian: fn(&Guarantee, u32, Option<&Ratio>) -> Option<Priced>,
    /// The largest loss that implies ε, given δ and the part of it for private groups. None where none does.
    pub limit: fn(&Ratio, &Ratio, &Ratio) -> Option<Cost>,
    /// The words for what is missing where there is no limit.
    pub unlimited: &'static str,
    /// The sum that is kept and its limit, in the words of the guarantees document.
    pub sums: (&'static str, &'static str),
}

/// The ε that a sum of losses implies.
#[derive(Clone, Copy, Debug)]
pub enum Conversion {
    /// The loss is ε itself.
    Itself,
    /// The ε that a loss implies at a δ.
    At(fn(f64, f64) -> f64),
    /// Nothing: how δ is shared belongs to the limit.
    OfTheLimit,
}
