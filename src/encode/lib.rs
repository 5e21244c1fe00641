//! Answers to reports, where they are given: each is randomised by local differential privacy and sealed twice before anything
//! leaves the device. No I/O, no async, no clocks; of ours it imports `dp` alone, and it builds for `wasm32-unknown-unknown`.
//!
//! A [`Collection`] is the public description of what is asked. [`Collection::encode`] makes a [`Message`]: the outer layer is for
//! the shuffler, who learns a random id, a group and how long it is, which is the same for all; the inner one is for the
//! analyser, who learns the randomised values and nothing of the rest. Who holds a [`ShufflerKey`] cannot read a value: what it
//! opens is [`Sealed`], which only an [`AnalyserKey`] opens, and there is no way from one key to the other.
//!
//! What the guarantee is: each column of a report is ε-DP in the local sense with the ε of its description, for replacing its
//! value by any other, and columns of one report add up. It holds against everybody, holders of both keys included. Sealing
//! adds that nobody but the analyser sees even the randomised values, and nobody but the shuffler from where they came.

mod collection;
mod column;
mod error;
mod keys;
mod message;
mod randomiser;
mod seal;
mod suite;

pub use collection::{Collection, Shuffle};
pub use column::{Answer, Column, Kind};
pub use error::{DescriptionError, EncodeError, OpenError};
pub use keys::{AnalyserKey, ShufflerKey};
pub use message::{Message, Opened, Sealed};
pub use randomiser::Randomiser;

#[cfg(test)]
mod tests;
