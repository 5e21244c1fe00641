//! The ledger's log, in a file and in a database: one suite for both, then what only one of them can suffer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod contract;
mod crash;
mod file;
mod network;
mod relay;
mod several;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod tamper;
