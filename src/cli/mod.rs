//! The command line: one file per command, dispatch here. Commands print and return an exit code; what they do
//! lives in the modules below them.

mod args;
pub mod budget;
mod budgets;
pub mod check;
pub mod collect;
pub mod ctl;
mod database;
pub mod demo;
pub mod explain;
mod file;
mod help;
pub mod init;
mod memory;
mod offline;
pub mod passwd;
pub mod postgres_copy;
mod print;
pub mod profile;
pub mod report;
pub mod serve;
mod snapshot;
mod stack;
pub mod watchdog;

use crate::STACK;
use clap::{FromArgMatches, Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;

/// Worker threads beyond one for each processor: those that work on a large statement for a while leave the others to the rest,
/// and the system's scheduler divides the processors.
const SPARE: usize = 2;

/// A PostgreSQL-wire proxy that enforces differential privacy.
#[derive(Debug, Parser)]
#[command(name = "noisegate", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows the main job on a private PostgreSQL with generated data, until Ctrl-C.
    Demo(demo::Args),
    /// Writes a starter policy from the catalogs of a database; reads no row.
    Init(init::Args),
    /// Proves a policy against its database, or lists every mistake; prepares its tables.
    Check(check::Command),
    /// Measures, once and for everybody, how many rows units have: by that bounds are chosen.
    Profile(profile::Args),
    /// Serves a policy, or a folder of policies.
    Serve(serve::Args),
    /// Tells the proxy that serves a policy to read it again, or that the data is new.
    #[command(subcommand)]
    Ctl(ctl::Command),
    /// Makes a user's entry from a password: asks for it, and writes its SCRAM verifier.
    Passwd(passwd::Args),
    /// Says what statements would cost and send, how wrong they will be, what would help.
    Explain(explain::Command),
    /// What the owner of the data does with the ledger of a policy.
    #[command(subcommand)]
    Budget(budget::Command),
    /// Writes a policy and its ledger to one page for an auditor; how identifying a table is.
    Report(report::Command),
    /// Randomises and seals answers where they are given; shuffles and opens them.
    #[command(subcommand)]
    Collect(collect::Command),
    /// Makes a private copy of PostgreSQL's server programs if there is none yet, and prints their folder.
    #[command(hide = true)]
    PostgresCopy(postgres_copy::Args),
    /// Ends a private server and removes its folder when the process that holds its standard input ends.
    #[command(hide = true)]
    Watchdog(watchdog::Args),
}

/// The command line as clap has it: manual pages and completions are made from it.
pub fn command() -> clap::Command {
    help::grouped(<Cli as clap::CommandFactory>::command())
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let mut command = command();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    let cli = parsed.unwrap_or_else(|e| help::placed(e, &mut command).exit());
    // The policy says how a server logs.
    if !matches!(cli.command, Command::Serve(_)) {
        serve::log::start_quietly();
    }
    let done = match &cli.command {
        Command::Watchdog(args) => return watchdog::run(args),
        Command::PostgresCopy(args) => postgres_copy::run(args),
        Command::Demo(args) => block_on(demo::run(args)),
        Command::Init(args) => block_on(init::run(args)),
        Command::Check(command) => block_on(check::run(command)),
        Command::Profile(args) => block_on(profile::run(args)),
        Command::Serve(args) => block_on(serve::run(args)),
        Command::Ctl(command) => block_on(ctl::run(command)),
        Command::Passwd(args) => passwd::run(args),
        Command::Explain(command) => block_on(explain::run(command)),
        Command::Budget(command) => block_on(budget::run(command)),
        Command::Report(command) => block_on(report::run(command)),
        Command::Collect(command) => block_on(collect::run(command)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            if !e.is::<explain::Refused>() {
                eprintln!("noisegate: {e}");
            }
            ExitCode::FAILURE
        }
    }
}

fn block_on(work: impl Future<Output = Result<(), Box<dyn Error>>>) -> Result<(), Box<dyn Error>> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + SPARE;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(workers).enable_all().thread_stack_size(STACK).build()?.block_on(work)
}
