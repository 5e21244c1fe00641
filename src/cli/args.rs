//! Arguments that several commands have, and commands that have others in them.

use clap::Subcommand;
use std::path::PathBuf;

/// `--policy`
#[derive(Clone, Debug, clap::Args)]
pub struct PolicyFile {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
}

/// `--policy`, of one or of many.
#[derive(Clone, Debug, clap::Args)]
pub struct Policies {
    /// The policy, or a folder of policies
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
}

/// `--format`
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines.
    Text,
    /// One object.
    Json,
    /// One page.
    Html,
}

/// Arguments of a command that does something by itself, or the command in it that stands in their place.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Either<A: clap::Args, C: Subcommand> {
    #[command(flatten)]
    own: Option<A>,
    #[command(subcommand)]
    command: Option<C>,
}

/// What was asked for.
pub enum Asked<'a, A, C> {
    /// The command itself.
    Own(&'a A),
    /// One of those in it.
    Other(&'a C),
}

impl<A: clap::Args, C: Subcommand> Either<A, C> {
    /// Which of both.
    ///
    /// # Errors
    /// Neither is there: arguments that are required see to it that clap says so before.
    pub fn asked(&self) -> Result<Asked<'_, A, C>, String> {
        match (&self.own, &self.command) {
            (_, Some(command)) => Ok(Asked::Other(command)),
            (Some(own), None) => Ok(Asked::Own(own)),
            (None, None) => Err("say what to do: --help lists it".into()),
        }
    }
}
