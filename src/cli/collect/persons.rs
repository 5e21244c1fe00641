//! `noisegate collect create` and `accept`: the files in which it is kept how much each person has said. What the owner of the data
//! signs in them is signed as in the ledger: with an author and a reason.

use crate::cli::args::{PolicyFile, Signed};
use crate::cli::print::lines;
use crate::gateway;
use ::persons::Signature;
use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of `noisegate collect accept`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate collect accept --policy shop.toml --reason \"the second wave asks every week\"")]
pub struct Accept {
    #[command(flatten)]
    policy: PolicyFile,
    #[command(flatten)]
    signed: Signed,
}

/// `collect create`.
pub fn create(file: &PolicyFile) -> Result<(), Box<dyn Error>> {
    Ok(lines(&made(file)?)?)
}

/// Makes what was never there; says what.
pub fn made(file: &PolicyFile) -> Result<Vec<String>, Box<dyn Error>> {
    sign(file, false, &ledger::user(), "made")
}

/// `collect accept`.
pub fn accept(args: &Accept) -> Result<(), Box<dyn Error>> {
    let said = sign(&args.policy, true, &args.signed.author(), args.signed.reason()?)?;
    Ok(lines(&if said.is_empty() { vec!["there is nothing to accept".to_owned()] } else { said })?)
}

fn sign(file: &PolicyFile, accept: bool, author: &str, reason: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let raw = policy::load(&file.policy)?;
    let collects: Vec<_> = raw.collects().collect();
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    gateway::signed(&collects, accept, Signature { author, reason, at })
}
