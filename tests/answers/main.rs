//! Right answers, and the rules that keep them private, through planning, database and release, and most of it through
//! a proxy that listens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod agreement;
mod bi;
#[path = "../bikes/mod.rs"]
mod bikes;
mod buckets;
mod cache;
mod catalogs;
mod chosen_bounds;
#[path = "../city/mod.rs"]
mod city;
mod collected;
mod cookbook;
mod dashboards;
mod explain;
mod extended;
mod hints;
mod honest;
mod intervals;
mod joins;
mod leaks;
mod nan;
mod padded;
mod per_unit;
mod plans;
mod probes;
mod public_rows;
mod reading;
mod refined;
mod roles;
mod rounded;
mod rules;
mod search_path;
mod sessions;
mod shares;
mod straight;
mod stream_neighbours;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod time_filters;
mod tpch;
mod types;
mod unsure;
#[path = "../support/usual.rs"]
mod usual;
mod views;
