//! Budgets as privacy filters: a charge becomes an additive vector of integers in the budget's notion, and is admitted
//! only while the sum stays within the limit.
//!
//! A filter is valid however adaptively charges are chosen (each file of `notions` says why) and however many sessions interleave
//! (Vadhan and Zhang 2023, Haney et al. 2023). δ of group selection is a sum of its own and never mixed into ρ, because no
//! filter for concurrent approximate zCDP is known. Numerical composition is no filter: see [`super::pld`] for why, and
//! [`Envelope`] for what can be had of it.
//!
//! Sums are integers, so they are exact, associative and can be replayed: each charge is rounded up once, each limit
//! down once.

mod cost;
mod entry;
mod envelope;
mod filter;
mod kinds;
mod limits;
mod notions;
mod price;
mod stated;

pub use cost::{Cost, ORDERS, UNITS_PER_ONE, Unpriced};
pub use entry::Conversion;
pub use envelope::{Envelope, Tokens};
pub use filter::{Filter, Shortfall};
pub use kinds::{Kind, Rule};
pub use notions::{Notion, mechanisms, rule, sums};

/// The version of pricing: the same charge has the same price, to the last unit, wherever and
/// whenever it is computed by one version.
///
/// Ledgers store prices, and check them by computing them anew. So prices come from integers or
/// from one pinned libm, which is the same on every machine, and never from the platform's
/// functions (clippy.toml refuses these by name). A price that changes by a single unit, be it
/// because a bound became tighter or because libm was updated, is another version: the test
/// `rule_43_prices_of_this_version` fails until this number is raised.
///
/// 1: Laplace noise was priced as a number of uses of the change in one group, where the change of
/// a unit over all groups was bounded. 2: by the worst vector of changes ([`crate::Sensitivity`]).
pub const PRICING: u32 = 2;

#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod pinned_tests;
#[cfg(test)]
mod tests;
