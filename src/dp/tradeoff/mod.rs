//! Trade-off functions: f-differential privacy (Dong, Roth and Su, "Gaussian Differential Privacy", 2019).
//!
//! Who tests "this unit is not in the data" against "it is" from an f-DP answer, and errs on the first kind with probability
//! α, errs on the second kind with probability at least f(α). f is convex, falls, and f(α) <= 1 - α. Larger is more private.
//! Curves are for people and for planning; nothing is admitted by them. No filter, no ledger here.

mod clt;
mod function;
mod functionals;
mod lines;
mod tensor;

pub use clt::{Approximation, Clt};
pub use function::{Order, TradeOff};
pub use functionals::Functionals;
pub use lines::Lines;
pub use tensor::Bounds;

#[cfg(test)]
mod tests;
