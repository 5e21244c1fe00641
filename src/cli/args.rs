//! Arguments that several commands have, and commands that have others in them.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use policy::{Budget, LedgerLocation};
use std::error::Error;
use std::path::PathBuf;

/// `--policy`
#[derive(Clone, Debug, Args)]
pub struct PolicyFile {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
}

/// Books of a policy: where they are, and which budgets they hold.
pub struct Books {
    /// The ledger.
    pub ledger: LedgerLocation,
    /// The budgets.
    pub budgets: Vec<Budget>,
    /// Name of the unit, as `privacy.unit` has it.
    pub unit: String,
}

impl PolicyFile {
    /// Books of the policy.
    ///
    /// # Errors
    /// The file cannot be read, or its text alone shows mistakes.
    pub fn books(&self) -> Result<Books, Box<dyn Error>> {
        let raw = policy::load(&self.policy)?;
        let (ledger, budgets) = raw.books()?;
        let unit = raw.unit_name().unwrap_or_default().to_owned();
        Ok(Books { ledger: ledger.clone(), budgets: budgets.to_vec(), unit })
    }
}

/// Who writes, and why.
#[derive(Debug, Args)]
pub struct Signed {
    /// Why: stays in the ledger
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who: stays in the ledger [default: the user of this shell]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

impl Signed {
    /// Who signs.
    pub fn author(&self) -> String {
        self.author.clone().unwrap_or_else(ledger::user)
    }

    /// Why.
    ///
    /// # Errors
    /// Nothing is said.
    pub fn reason(&self) -> Result<&str, String> {
        match self.reason.trim() {
            "" => Err("--reason is empty: say why, it stays in the ledger".into()),
            reason => Ok(reason),
        }
    }
}

/// `--policy`, of one or of many.
#[derive(Clone, Debug, Args)]
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
#[derive(Debug)]
pub enum Either<A, C> {
    /// The command itself.
    Own(A),
    /// One of those in it.
    Other(C),
}

impl<A: Args, C: Subcommand> FromArgMatches for Either<A, C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand_name() {
            None => A::from_arg_matches(matches).map(Self::Own),
            Some(_) => C::from_arg_matches(matches).map(Self::Other),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<A: Args, C: Subcommand> Args for Either<A, C> {
    fn augment_args(command: Command) -> Command {
        let command = C::augment_subcommands(A::augment_args(command));
        command.args_conflicts_with_subcommands(true).subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
