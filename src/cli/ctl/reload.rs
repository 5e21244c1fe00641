//! `noisegate ctl reload`: has the process that serves a policy read it again.

use crate::cli::args::Policies;
use crate::cli::serve::control::{self, Answer, Request};
use policy::LedgerLocation;
use std::error::Error;
use std::path::Path;

/// Arguments of `noisegate ctl reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate ctl reload --policy shop.toml
  noisegate ctl reload --policy shop.toml --check")]
pub struct Args {
    #[command(flatten)]
    policies: Policies,
    /// Says what would change, and changes nothing
    #[arg(long)]
    check: bool,
}

/// Reloads, and gives the text for standard output, or every reason why nothing was reloaded. Of a
/// folder, all its policies in turn, up to the first that is refused.
pub async fn run(args: &Args) -> Result<String, Box<dyn Error>> {
    let (files, folder) = policy::files(&args.policies.policy)?;
    let mut lines = Vec::new();
    for file in files {
        let said = one(&file, args.check).await;
        lines.push(match folder {
            true => format!("{}: {}", file.display(), said.map_err(|e| format!("{}: {e}", file.display()))?),
            false => said?,
        });
    }
    Ok(lines.join("\n"))
}

async fn one(file: &Path, check: bool) -> Result<String, Box<dyn Error>> {
    // Mistakes that the text alone shows need nobody to be asked, and nobody could be: the policy says where.
    let raw = policy::load(file)?;
    let ledger = match raw.books()?.0 {
        LedgerLocation::Sqlite(ledger) => ledger.clone(),
        LedgerLocation::Postgres(_) => file.to_owned().into(),
    };
    let request = Request::Reload { policy: file.canonicalize()?, check };
    let (done, stays) = match check {
        true => ("would be reloaded", "would need a restart"),
        false => ("reloaded", "needs a restart, and is as it was"),
    };
    let answer = control::ask(&ledger, &request).await.map_err(|e| control::unanswered(&ledger, &e))?;
    match answer {
        Answer::Reloaded { changed, restart, warnings } => {
            let mut lines: Vec<String> = warnings.iter().map(|w| format!("warning: {w}")).collect();
            lines.push(match changed.as_slice() {
                [] => format!("{done}: nothing has changed"),
                changed => format!("{done}: {}", changed.join(", ")),
            });
            if !restart.is_empty() {
                lines.push(format!("{stays}: {}", restart.join(", ")));
            }
            Ok(lines.join("\n"))
        }
        Answer::Refreshed | Answer::Profiled(_) => Err(control::OTHER_VERSION.into()),
        Answer::Refused(why) if check => Err(format!("it would not be reloaded:\n{why}").into()),
        Answer::Refused(why) => Err(format!("not reloaded, the old policy stays in force:\n{why}").into()),
    }
}
