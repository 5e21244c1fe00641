//! The functions themselves, of bytes: whether these had a meaning, or what was wrong. A panic is wrong, too.

mod policies;
mod pulled_up;
mod statements;
mod wire;

pub use policies::policies;
pub use statements::{far, statements};
pub use wire::{messages, opening};
