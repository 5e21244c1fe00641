//! Randomised response: each unit's answer is changed at random before anybody counts it.
//!
//! Local differential privacy (Kasiviswanathan et al. 2011): the guarantee holds for *replacing* what one unit says by anything
//! else that it could say, and needs nobody to be trusted. [`Oracle`] counts values of a domain, [`Mean`] averages a bounded
//! number, [`Sets`] counts values of which a unit may have several.
//!
//! Everything is drawn before the value is looked at, and applied to it without a branch or a table: the time of a report
//! depends on what was drawn, never on the value.

mod digits;
mod epsilon;
mod layer;
mod mean;
mod oracle;
mod response;
mod sets;

pub use layer::Layer;
pub use mean::{Mean, MeanKind};
pub use oracle::{Oracle, OracleKind, RandomiseError, Report};
pub use response::{Change, RandomisedResponse, deviation};
pub use sets::Sets;

#[cfg(test)]
mod audit;
#[cfg(test)]
mod tests;
