//! The command line: one file per command, dispatch here. Commands print and return an exit code; what they do
//! lives in the modules below them.

pub mod demo;
pub mod watchdog;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A PostgreSQL-wire proxy that enforces differential privacy.
#[derive(Debug, Parser)]
#[command(name = "noisegate", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Ends a private server and removes its folder when the process that holds its standard input ends.
    #[command(hide = true)]
    Watchdog(watchdog::Args),
}

pub mod budget;

/// Runs the command line.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Watchdog(args) => watchdog::run(&args),
    }
}
