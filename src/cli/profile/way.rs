//! The process that measures: the one that serves the policy, or this one where none does.

use crate::cli::args::PolicyFile;
use crate::cli::serve::control::{self, Answer, Profiled, Profiling, Request};
use crate::cli::serve::measuring::answer;
use crate::gateway::{Checked, Gateway, OpenError};
use ledger::LedgerError;
use policy::{GivenFile, LedgerLocation};
use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// The way to the ledger.
pub enum Way {
    /// A process that serves the policy, by its control socket.
    There {
        /// The file beside which the socket is.
        beside: GivenFile,
        /// The policy.
        policy: PathBuf,
    },
    /// This process.
    Here(Arc<Gateway>),
}

impl Way {
    /// Asks whether the policy is served, and opens it here where it is not.
    pub async fn find(file: &PolicyFile) -> Result<Self, Box<dyn Error>> {
        let raw = policy::load(&file.policy)?;
        let beside = match raw.books()?.0 {
            LedgerLocation::Sqlite(ledger) => ledger.clone(),
            LedgerLocation::Postgres(_) => file.policy.clone().into(),
        };
        let policy = file.policy.canonicalize()?;
        match control::ask(&beside, &Request::Profile { policy: policy.clone(), step: Profiling::Tables })
            .await
        {
            Ok(_) => Ok(Self::There { beside, policy }),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                let checked = Checked::new(&raw).await?;
                Ok(Self::Here(Gateway::open(checked, None).map_err(in_use)?))
            }
            Err(e) => Err(control::unanswered(&beside, &e).into()),
        }
    }

    /// Has a step done.
    pub async fn ask(&self, step: Profiling) -> Result<Profiled, Box<dyn Error>> {
        match self {
            Self::Here(gateway) => Ok(answer(gateway, &step).await?),
            Self::There { beside, policy } => {
                let request = Request::Profile { policy: policy.clone(), step };
                match control::ask(beside, &request).await.map_err(|e| control::unanswered(beside, &e))? {
                    Answer::Profiled(done) => Ok(done),
                    Answer::Refused(why) => Err(why.into()),
                    Answer::Reloaded { .. } | Answer::Refreshed => Err(other()),
                }
            }
        }
    }

    /// Has who serves the policy plan by what was measured.
    pub async fn take_over(&self) -> Result<String, Box<dyn Error>> {
        let Self::There { beside, policy } = self else {
            return Ok("noisegate serve plans by it from its next start or reload on".into());
        };
        let request = Request::Reload { policy: policy.clone(), check: false };
        match control::ask(beside, &request).await.map_err(|e| control::unanswered(beside, &e))? {
            Answer::Reloaded { .. } => Ok("the proxy that serves the policy plans by it from now on".into()),
            Answer::Refused(why) => Err(format!(
                "it is kept, and the proxy does not plan by it yet, since the policy cannot be reloaded:\n{why}\n\
                 mend that, and run noisegate ctl reload"
            )
            .into()),
            Answer::Refreshed | Answer::Profiled(_) => Err(other()),
        }
    }
}

/// A process that has the ledger, and serves no commands.
fn in_use(error: OpenError) -> Box<dyn Error> {
    match error {
        OpenError::Ledger(LedgerError::InUse(path)) => format!(
            "the ledger {path} is in use by a noisegate that is not asked by commands (a demo, or another version): stop it, or \
             have noisegate serve run with this policy, and run this again. Nothing was spent"
        )
        .into(),
        e => e.into(),
    }
}

/// An answer to something else.
pub fn other() -> Box<dyn Error> {
    control::OTHER_VERSION.into()
}
