//! `noisegate refresh`: says that the data is new, so that kept answers end.

use super::serve::control::{self, Answer, Request};
use ledger::{self, Owner};
use policy::{self, LedgerLocation, PolicyErrors};
use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Arguments of `noisegate refresh`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Why, for the books.
    #[arg(long, value_name = "TEXT", default_value = "noisegate refresh")]
    reason: String,
}

/// What was done, for standard output.
pub async fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let raw = policy::load(&args.policy)?;
    let Some((location, _)) = raw.books() else {
        return Err(PolicyErrors(raw.mistakes()).into());
    };
    let done = "refreshed: from now on every question is asked of the data again, and paid for".to_owned();
    if let LedgerLocation::Sqlite(file) = location {
        // Who serves from the file has it alone.
        let found = std::fs::canonicalize(file).unwrap_or_else(|_| file.reveal().clone());
        let request = Request::Refresh {
            policy: args.policy.canonicalize()?,
            author: ledger::user(),
            reason: args.reason.clone(),
        };
        match control::ask(&found, &request).await {
            Ok(Answer::Refreshed) => return Ok(done),
            Ok(Answer::Refused(why)) => return Err(why.into()),
            Ok(Answer::Reloaded { .. }) => {
                return Err("the proxy is of another version: it answered something else".into());
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(e) => return Err(control::unanswered(file, &e).into()),
        }
    }
    let (location, reason) = (location.clone(), args.reason.clone());
    let written = move || Owner::open(&location)?.refresh(&ledger::user(), &reason);
    tokio::task::spawn_blocking(written).await??;
    Ok(done)
}
