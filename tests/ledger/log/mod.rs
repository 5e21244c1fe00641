//! The ledger's log, in a file and in a database: one suite for both, then what only one of them can suffer.

mod contract;
mod crash;
mod file;
mod network;
mod several;
pub mod store;
mod tamper;
