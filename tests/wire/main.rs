//! The wire, spoken to a frontend with a made-up service behind it: no database is needed.
//!
//! `fake` is that service and `session` its session, `raw` a client that sends bytes as they are, `batch` the
//! extended protocol's messages. `oracle` alone starts a PostgreSQL, to compare with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod batch;
mod cancel;
mod clients;
mod defects;
mod drivers;
mod extended;
mod fake;
mod fuzz;
mod limits;
mod login;
mod namespace;
mod oracle;
#[path = "../pg/mod.rs"]
mod pg;
mod pipeline;
mod portals;
mod raw;
mod session;
mod shutdown;
mod simple;
mod tls;
