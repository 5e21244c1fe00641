//! A private PostgreSQL server with generated data: what `noisegate demo` serves and what the tests run against.
//!
//! Here live the launcher ([`Binaries`], its private [`copy`], [`Cluster`]), the process that cleans up after it ([`watchdog`]), the
//! [`data`], and what puts them together ([`Demo`]). Nothing here knows of privacy, the wire or the gateway: the
//! demo's policy is text like any owner's.

mod binaries;
mod cluster;
pub mod copy;
pub mod data;
mod error;
mod find;
mod folder;
mod load;
mod logins;
mod policy;
mod port;
mod postmaster;
mod prepare;
mod survey;
mod user;
pub mod watchdog;

pub use binaries::{Binaries, OLDEST};
pub use cluster::{Cluster, Options};
pub use error::{Error, Remedy};
pub use find::{OVERRIDE, PRIVATE};
pub use logins::{GRANTS, ROLES, prove_finish_login};
pub use policy::{DEMO_DATABASE, DEMO_USER, QUERIES, banner};
pub use port::{PORT, listen, listen_console};
pub use prepare::{Demo, DemoOptions, SCALES};
pub use survey::{ASKS, RELATION};
