//! The command line: one file per command, dispatch here. Commands print and return an exit code; what they do
//! lives in the modules below them.

pub mod account;
pub mod advise;
pub mod budget;
pub mod check;
mod collected;
pub mod completions;
mod database;
pub mod demo;
pub mod describe;
pub mod encode;
pub mod explain;
mod file;
pub mod fit;
pub mod init;
pub mod key;
pub mod man;
mod memory;
pub mod open;
pub mod passwd;
pub mod postgres_copy;
pub mod prepare;
mod proxy;
pub mod refresh;
pub mod reload;
pub mod report;
pub mod risk;
pub mod serve;
pub mod shuffle;
mod snapshot;
pub mod watchdog;

use crate::STACK;
use clap::{Parser, Subcommand};
use std::error::Error;
use std::io::Write;
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
    /// Shows the main job on a private PostgreSQL with generated data; ends with Ctrl-C.
    Demo(demo::Args),
    /// Serves a policy.
    Serve(serve::Args),
    /// Has the proxy that serves a policy read it again. Who is connected stays connected.
    Reload(reload::Args),
    /// Says that the data is new: kept answers end, and questions are asked of the data again.
    Refresh(refresh::Args),
    /// Proves a policy against the database that it names, or lists every mistake.
    Check(check::Args),
    /// Writes a starter policy from the catalogs of a database; reads no row.
    Init(init::Args),
    /// Measures, through a proxy and at its price, which bounds the rows of a table want.
    Fit(fit::Args),
    /// Writes what the console shows of a policy and its ledger to one file, for an auditor.
    Report(report::Args),
    /// Proposes, and makes, what helps fetches in the database: indexes, statistics, keys; for its owner.
    Prepare(prepare::Args),
    /// How identifying a table is, if its rows left as they are: exact figures for its owner, read from the database itself.
    Risk(risk::Args),
    /// Shows what a statement would cost and send, from the schema snapshot: no database is asked.
    Explain(explain::Args),
    /// Says of a file of statements what they cost, how wrong they will be and what would help; by itself it asks no database.
    Advise(advise::Args),
    /// Makes a user's entry from a password: asks for it, and writes its SCRAM verifier.
    Passwd(passwd::Args),
    /// Makes a key of a shuffler or an analyser, for reports that are sealed where they are given.
    Key(key::Args),
    /// Prints the public description of what is collected, for who encodes and who shuffles.
    Describe(describe::Args),
    /// Randomises and seals answers (CSV or JSON lines), where they are given: reports come out, one a line.
    Encode(encode::Args),
    /// Takes sealed reports, drops who wrote them and when, and puts out batches.
    Shuffle(shuffle::Args),
    /// Opens a batch of sealed reports: randomised values come out, as CSV.
    Open(open::Args),
    /// The accountant by itself: checks a file of cases, or says how many answers fit a budget.
    Account(account::Args),
    /// What the owner of the data does with the ledger of a policy.
    #[command(subcommand)]
    Budget(budget::Command),
    /// Prints what a shell reads to complete commands and options.
    Completions(completions::Args),
    /// Writes manual pages.
    Man(man::Args),
    /// Makes a private copy of PostgreSQL's server programs if there is none yet, and prints their folder.
    #[command(hide = true)]
    PostgresCopy(postgres_copy::Args),
    /// Ends a private server and removes its folder when the process that holds its standard input ends.
    #[command(hide = true)]
    Watchdog(watchdog::Args),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // The policy says how a server logs.
    if !matches!(cli.command, Command::Serve(_)) {
        serve::log::start_quietly();
    }
    let done = match &cli.command {
        Command::Watchdog(args) => return watchdog::run(args),
        Command::PostgresCopy(args) => postgres_copy::run(args),
        Command::Demo(args) => block_on(demo::command(args)),
        Command::Serve(args) => block_on(serve::run(args)),
        Command::Reload(args) => block_on(async {
            println!("{}", reload::run(args).await?);
            Ok(())
        }),
        Command::Refresh(args) => block_on(async {
            println!("{}", refresh::run(args).await?);
            Ok(())
        }),
        Command::Check(args) => block_on(async { Ok(say(&check::report(args).await?)?) }),
        Command::Init(args) => block_on(init::run(args)),
        Command::Fit(args) => block_on(fit::run(args)),
        Command::Report(args) => block_on(report::run(args)),
        Command::Prepare(args) => block_on(prepare::run(args)),
        Command::Risk(args) => block_on(risk::run(args)),
        Command::Explain(args) => return explain(args),
        Command::Advise(args) => block_on(advise::run(args)),
        Command::Passwd(args) => passwd::run(args),
        Command::Account(args) => account::run(args),
        Command::Key(args) => key::run(args),
        Command::Describe(args) => describe::run(args),
        Command::Encode(args) => encode::run(args),
        Command::Shuffle(args) => block_on(shuffle::run(args)),
        Command::Open(args) => open::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        Command::Budget(command) => block_on(budget::run(command)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("noisegate: {e}");
            ExitCode::FAILURE
        }
    }
}

fn explain(args: &explain::Args) -> ExitCode {
    match with_stack(|| Ok(explain::run(args))) {
        Ok(explain::Printed::Plan(text)) => {
            return say(&text).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        }
        Ok(explain::Printed::Refusal(text)) if args.format == explain::Format::Json => println!("{text}"),
        Ok(explain::Printed::Refusal(text)) => eprintln!("{text}"),
        Err(e) => eprintln!("noisegate: {e}"),
    }
    ExitCode::FAILURE
}

/// Prints. Whoever has read enough, as `head` has, is no error.
fn say(text: &str) -> std::io::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// In a thread with the stack that planning needs.
fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|e| format!("no thread can be started: {e}"))?;
        // A panic has printed what it is.
        thread.join().unwrap_or_else(|_| Err("the command failed".into()))
    })
}

fn block_on(work: impl Future<Output = Result<(), Box<dyn Error>>>) -> Result<(), Box<dyn Error>> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + SPARE;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(workers).enable_all().thread_stack_size(STACK).build()?.block_on(work)
}
