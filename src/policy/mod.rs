//! The owner's policy: TOML text and a schema snapshot in, a checked [`Policy`] out, or every mistake at once.
//!
//! No I/O but reading the file it is told to read; no SQL.

mod model;
pub use model::*;
