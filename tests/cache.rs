//! Asking again is free: the same numbers, and no debit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod city;
#[path = "cache/epochs.rs"]
mod epochs;
#[path = "cache/payers.rs"]
mod payers;
#[path = "cache/questions.rs"]
mod questions;
#[path = "cache/rest.rs"]
mod rest;
#[path = "cache/shared.rs"]
mod shared;
mod support;
#[path = "cache/tiles.rs"]
mod tiles;
#[path = "cache/world.rs"]
mod world;
