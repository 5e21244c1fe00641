//! Persons: how much each has said of what is collected, without a word of who that is.
//!
//! A [`Person`] is a digest under a [`Secret`]: without the key nobody can tell whose it is, nor
//! that two are of the same name in two relations. [`Spending`] keeps, in a file of its own and
//! sealed, how many reports a person gave in a window; it is on disk before any of them is stored,
//! and nothing of it stands beside reports. [`Secret::coins`] are the random bits of a *permanent*
//! response (Erlingsson, Pihur and Korolova, "RAPPOR", 2014, section 3.1): the same for a person
//! and a value each time, so that a person who is asked again and says the same gives the same
//! report, from which nothing more can be learned than from the first.
//!
//! No clock and no network: the caller gives moments. No value gets here but as a number.

mod error;
mod owner;
mod secret;
mod spending;

pub use error::{ChargeError, SpendingError};
pub use owner::{Owner, Signature};
pub use secret::{Person, Secret};
pub use spending::{Spending, Window};

#[cfg(test)]
mod tests;
