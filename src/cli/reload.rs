//! `noisegate reload`: has the process that serves a policy read it again.

use super::serve::control::{self, Answer, Request};
use policy::{self, LedgerLocation, PolicyErrors};
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate reload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

/// What was reloaded, for standard output, or every reason why nothing was.
pub async fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    // Mistakes that the text alone shows need nobody to be asked, and nobody could be: the policy says where.
    let raw = policy::load(&args.policy)?;
    let Some((ledger, _)) = raw.books() else {
        return Err(PolicyErrors(raw.mistakes()).into());
    };
    let ledger = match ledger {
        LedgerLocation::Sqlite(file) => file,
        LedgerLocation::Postgres(_) => &args.policy,
    };
    let ledger = ledger.canonicalize().unwrap_or_else(|_| ledger.clone());
    let request = Request::Reload { policy: args.policy.canonicalize()? };
    let answer = control::ask(&ledger, &request).await.map_err(|e| control::unanswered(&ledger, &e))?;
    match answer {
        Answer::Reloaded { changed, restart, warnings } => {
            let mut lines: Vec<String> = warnings.iter().map(|w| format!("warning: {w}")).collect();
            lines.push(match changed.as_slice() {
                [] => "reloaded: nothing has changed".to_owned(),
                changed => format!("reloaded: {}", changed.join(", ")),
            });
            if !restart.is_empty() {
                lines.push(format!("needs a restart, and is as it was: {}", restart.join(", ")));
            }
            Ok(lines.join("\n"))
        }
        Answer::Refreshed => Err("the proxy is of another version: it answered something else".into()),
        Answer::Refused(why) => Err(format!("not reloaded, the old policy stays in force:\n{why}").into()),
    }
}
