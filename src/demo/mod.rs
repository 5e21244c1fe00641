//! A private PostgreSQL server with generated data: what `noisegate demo` serves and what the tests run against.
//!
//! Here live the launcher ([`Binaries`], [`Cluster`]), the process that cleans up after it ([`watchdog`]), and the
//! data. Nothing here knows of privacy, the wire or the gateway: the demo's policy is text like any owner's.

mod binaries;
mod cluster;
mod error;
mod postmaster;
pub mod watchdog;

pub use binaries::{Binaries, OLDEST, OVERRIDE};
pub use cluster::{Cluster, Options};
pub use error::Error;
