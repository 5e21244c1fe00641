//! What the program prints and decides, against texts that somebody has read: golden scripts, prices, plans,
//! policies and the tables of docs/. Most of it plans only; scripts ask one small database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod accounting;
mod advise;
mod attacks_document;
#[path = "../bikes/mod.rs"]
mod bikes;
mod cache_key;
mod errors_document;
mod explain;
#[path = "../plans/mod.rs"]
mod plans;
#[path = "../policy/mod.rs"]
mod policies;
mod policy;
mod policy_reference;
mod rewrites;
mod rounds;
mod script;
mod scripts;
#[path = "../support/mod.rs"]
mod support;
mod weights;
mod written_down;
