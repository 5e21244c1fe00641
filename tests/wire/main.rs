//! The wire. To clients: the protocol, spoken to a frontend with a made-up service behind it; logins and bad input, against
//! the program. To the database: the relay, reading schemas.
//!
//! `fake` is the made-up service and `session` its session, `raw` a client that sends bytes as they are, `batch` the
//! extended protocol's messages. `oracle` compares with PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bad_input;
mod batch;
mod cancel;
#[path = "../city/mod.rs"]
mod city;
mod clients;
mod copy;
mod cursors;
mod defects;
mod drivers;
mod extended;
mod fake;
mod fuzz;
mod introspect;
mod limits;
mod login;
mod logins;
mod namespace;
mod needs;
mod oracle;
mod pipeline;
mod portals;
mod raw;
mod relay;
mod scram;
mod session;
mod shutdown;
mod simple;
#[path = "../support/mod.rs"]
mod support;
mod tls;
