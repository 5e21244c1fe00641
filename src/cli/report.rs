//! `noisegate report`: the console's pages as one file, for an auditor.

use super::{check, file};
use console::{InForce, Report};
use ledger::verify;
use policy::LedgerLocation;
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
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

/// Proves the ledger, and writes the report. A ledger that its mark does not fit is reported on, and is an error all the same.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let (policy, warnings) = check::judged(&args.policy, args.offline).await?;
    let location =
        args.ledger.clone().map_or_else(|| policy.ledger.clone(), |path| LedgerLocation::Sqlite(path.into()));
    let about = policy.database_name(&args.policy);
    let mut in_force = InForce { policy, since: None, warnings, before: None };
    // The page says where the ledger is that was read.
    in_force.policy.ledger = location.clone();
    let shown = args.output.display();
    let made = tokio::task::spawn_blocking(move || {
        let report = Report::of(&about, &in_force, &location)?;
        Ok::<_, ledger::LedgerError>((report, verify(&location)))
    });
    let (report, verified) = made.await??;
    file::replace(&args.output, &report.html, true).map_err(|e| format!("{shown} cannot be written: {e}"))?;
    let tip: String = report.head.hash.iter().map(|b| format!("{b:02x}")).collect();
    println!("wrote {shown}: {} entries, proven; the hash of the last one is {tip}", report.head.id);
    if let Some(why) = report.mismatch.as_ref().filter(|_| verified.is_ok()) {
        println!("note: {why}");
    }
    verified.map(drop).map_err(Into::into)
}
