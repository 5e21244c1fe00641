//! noisegate: a PostgreSQL-wire proxy that enforces differential privacy.
//!
//! The way of a query is the way of the modules: [`frontend`] (wire, auth, session) hands a statement to
//! [`gateway`], which asks [`sql`] to parse and resolve it, [`plan`] what is private and what it costs,
//! [`store`] whether it was answered before, [`ledger`] to debit, [`backend`] for exact integers, [`release`] to perturb
//! them, and PostgreSQL again for the rest of the statement. `ARCHITECTURE.md` tells it in order, with the invariants.
//!
//! This package joins the others; whatever imports only what stands below it is a package of its own.

pub mod adapter;
mod beside;
pub mod cli;
mod crashes;
pub mod explained;
pub mod gateway;
pub mod init;
pub mod store;

pub use answer::error;
pub use {
    answer, backend, demo, dp, emit, frontend, kernel, ledger, plan, policy, price, release, schema, sql,
};

/// Stack of the threads that parse and plan: both recurse over statements as deep as limits.max_depth allows.
pub const STACK: usize = 64 << 20;
