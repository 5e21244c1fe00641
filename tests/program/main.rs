//! The program from the outside, as its owner and its operator use it: each command, the demo, the private server, and
//! what systemd and a shell see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod advise;
mod analysing;
mod budgets;
mod check;
#[path = "../city/mod.rs"]
mod city;
mod collecting;
mod demo;
mod fit;
mod help;
mod init;
mod launcher;
mod memory;
mod ops;
mod passwd;
mod prepare;
mod profile;
mod risk;
mod secrets;
mod serve;
#[path = "../support/mod.rs"]
mod support;
mod ten_minutes;
mod tutorials;
#[path = "../support/usual.rs"]
mod usual;
