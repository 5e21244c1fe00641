//! Asking again is free: the same numbers, and no debit.

mod epochs;
mod payers;
mod questions;
mod rest;
mod rounds;
mod shared;
mod stages;
mod tiles;
mod world;
