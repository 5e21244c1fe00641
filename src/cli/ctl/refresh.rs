//! `noisegate ctl refresh`: says that the data is new, so that kept answers end.

use crate::cli::args::PolicyFile;
use crate::cli::serve::control::{self, Answer, Request};
use ledger::Owner;
use policy::LedgerLocation;
use std::error::Error;
use std::io::ErrorKind;

/// Arguments of `noisegate ctl refresh`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate ctl refresh --policy shop.toml --reason \"orders of May are loaded\"")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// Why, for the books
    #[arg(long, value_name = "TEXT", default_value = "noisegate ctl refresh")]
    reason: String,
}

/// Refreshes, and gives the text for standard output.
pub async fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let file = &args.policy.policy;
    let location = args.policy.books()?.ledger;
    let done = "refreshed: from now on every question is asked of the data again, and paid for".to_owned();
    if let LedgerLocation::Sqlite(ledger) = &location {
        // Who serves from the file has it alone.
        let (author, reason) = (ledger::user(), args.reason.clone());
        match control::ask(ledger, &Request::Refresh { policy: file.canonicalize()?, author, reason }).await {
            Ok(Answer::Refreshed) => return Ok(done),
            Ok(Answer::Refused(why)) => return Err(why.into()),
            Ok(Answer::Reloaded { .. } | Answer::Profiled(_)) => return Err(control::OTHER_VERSION.into()),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(e) => return Err(control::unanswered(ledger, &e).into()),
        }
    }
    let reason = args.reason.clone();
    let written = move || Owner::open(&location)?.refresh(&ledger::user(), &reason);
    tokio::task::spawn_blocking(written).await??;
    Ok(done)
}
