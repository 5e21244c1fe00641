//! `noisegate collect describe --policy F NAME`: the public description of what is collected, for who encodes and who shuffles.

use crate::cli::args::PolicyFile;
use crate::gateway::Analyser;
use std::error::Error;

/// Arguments of `noisegate collect describe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate collect describe --policy shop.toml survey >survey.json

The key of the analyser, which the policy names, must be at hand.")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// The collected relation, which has encoder = "client"
    #[arg(value_name = "NAME")]
    name: String,
}

/// Prints the description: its keys are public ones, and nothing in it is secret.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let raw = policy::load_elsewhere(&args.policy.policy)?;
    let mistakes = raw.mistakes();
    if !mistakes.is_empty() {
        return Err(policy::PolicyErrors(mistakes).into());
    }
    let Some(collect) = raw.collects().find(|c| c.name == args.name) else {
        let names: Vec<&str> = raw.collects().map(|c| c.name.as_str()).collect();
        let known = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        return Err(format!("the policy collects no {:?}, but {known}", args.name).into());
    };
    let Some(analyser) = Analyser::read(collect)? else {
        let what = format!(
            "rows of {:?} are randomised by noisegate and need no description: it has encoder = \"proxy\"",
            args.name
        );
        return Err(what.into());
    };
    println!("{}", analyser.collection().json());
    Ok(())
}
