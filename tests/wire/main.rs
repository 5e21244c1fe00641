//! The wire, spoken to a frontend with a made-up service behind it: no database is needed.
//!
//! `fake` is that service, `raw` a client that sends bytes as they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cancel;
mod clients;
mod defects;
mod fake;
mod fuzz;
mod limits;
mod login;
mod raw;
mod shutdown;
mod simple;
mod tls;
