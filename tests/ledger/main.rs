//! Budgets: the ledger's log, crashes, ledgers that proxies share, what an owner types, and what fails around it all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod blame;
mod budget;
#[path = "../city/mod.rs"]
mod city;
mod crash;
mod faults;
mod log;
mod lost;
mod profile;
mod reads;
mod relay;
mod rolling;
mod secure;
mod shared;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/usual.rs"]
mod usual;
