//! noisegate: a PostgreSQL-wire proxy that enforces differential privacy.
//!
//! The way of a query is the way of the modules: `frontend` (wire, auth, session) hands a statement to
//! [`gateway`], which asks [`sql`] to parse and resolve it, [`plan`] what is private and what it costs,
//! [`store`] whether it was answered before, [`ledger`] to debit, [`backend`] for exact integers, [`release`] to perturb them, and PostgreSQL again for
//! the rest of the statement. `ARCHITECTURE.md` tells it in order, with the invariants.

pub mod answer;
pub mod backend;
pub mod cli;
pub mod demo;
pub mod dp;
pub mod emit;
pub mod error;
pub mod frontend;
pub mod gateway;
pub mod init;
pub mod ledger;
pub mod plan;
pub mod policy;
pub mod release;
pub mod schema;
pub mod sql;
pub mod store;
