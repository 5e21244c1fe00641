//! `noisegate report`: the console's pages as one file, for an auditor.

pub mod risk;

use super::args::{Either, PolicyFile};
use super::print::{hex, say};
use super::{check, file};
use console::{InForce, Report};
use ledger::verify;
use policy::LedgerLocation;
use std::error::Error;
use std::path::PathBuf;

/// `noisegate report`, and what else is told to who has to judge.
pub type Command = Either<Args, Other>;

/// Reports beside that of the policy and its ledger.
#[derive(Debug, clap::Subcommand)]
pub enum Other {
    /// How identifying a table is, if its rows left as they are: exact figures for its owner, read from the database itself.
    Risk(risk::Args),
}

/// Arguments of `noisegate report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate report --policy shop.toml --output report.html
  noisegate report risk --backend postgres://owner@host/shop --table people --quasi birth_year,city")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// The ledger, where it is another file than the policy says: a copy, say
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Asks the schema's snapshot and not the database
    #[arg(long)]
    offline: bool,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Reports.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Own(args) => write(args).await,
        Command::Other(Other::Risk(args)) => risk::run(args).await,
    }
}

/// Proves the ledger, and writes the report. A ledger that its mark does not fit is reported on, and is an error all the same.
async fn write(args: &Args) -> Result<(), Box<dyn Error>> {
    let (policy, warnings) = check::judged(&args.policy.policy, args.offline).await?;
    let location =
        args.ledger.clone().map_or_else(|| policy.ledger.clone(), |path| LedgerLocation::Sqlite(path.into()));
    let about = policy.database_name(&args.policy.policy);
    let mut in_force = InForce { policy, since: None, warnings, before: None };
    // The page says where the ledger is that was read.
    in_force.policy.ledger = location.clone();
    let shown = args.output.display();
    let made = tokio::task::spawn_blocking(move || {
        let report = Report::of(&about, &in_force, &location)?;
        Ok::<_, ledger::LedgerError>((report, verify(&location)))
    });
    let (report, verified) = made.await??;
    file::write_private(&args.output, &report.html)?;
    let tip = hex(&report.head.hash);
    say(&format!("wrote {shown}: {} entries, proven; the hash of the last one is {tip}", report.head.id))?;
    if let Some(why) = report.mismatch.as_ref().filter(|_| verified.is_ok()) {
        say(&format!("note: {why}"))?;
    }
    verified.map(drop).map_err(Into::into)
}
