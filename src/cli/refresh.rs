//! `noisegate refresh`: says that the data is new, so that kept answers end.

use super::serve::control::{self, Answer, Request};
use crate::policy::{self, LedgerLocation, PolicyErrors};
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate refresh`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

/// What was done, for standard output.
pub async fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let raw = policy::load(&args.policy)?;
    let Some((LedgerLocation::Sqlite(ledger), _)) = raw.books() else {
        return Err(PolicyErrors(raw.mistakes()).into());
    };
    let ledger = ledger.canonicalize().unwrap_or_else(|_| ledger.clone());
    let request = Request::Refresh { policy: args.policy.canonicalize()? };
    match control::ask(&ledger, &request).await.map_err(|e| control::unanswered(&ledger, &e))? {
        Answer::Refreshed => {
            Ok("refreshed: from now on every question is asked of the data again, and paid for".to_owned())
        }
        Answer::Refused(why) => Err(why.into()),
        Answer::Reloaded { .. } => Err("the proxy is of another version: it answered something else".into()),
    }
}
