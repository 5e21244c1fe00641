//! `noisegate collect …`: what is done with answers that nobody shall see, where they are given and on their way.

pub mod describe;
pub mod encode;
pub mod key;
pub mod open;
pub mod persons;
pub mod shuffle;

use super::args::PolicyFile;
use std::error::Error;

/// Steps of answers that nobody shall see.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  noisegate collect encode --collection survey.json answers.csv >reports")]
pub enum Command {
    /// Makes a key of a shuffler or an analyser, for reports that are sealed where they are given.
    Key(key::Args),
    /// Prints the public description of what is collected, for who encodes and who shuffles.
    Describe(describe::Args),
    /// Randomises and seals answers (CSV or JSON lines), where they are given: reports come out, one a line.
    Encode(encode::Args),
    /// Takes sealed reports, drops who wrote them and when, and puts out batches.
    Shuffle(shuffle::Args),
    /// Makes the files in which it is kept how much each person has said, and adds relations that are new. None is overwritten.
    #[command(after_help = "Example:\n  noisegate collect create --policy shop.toml")]
    Create(PolicyFile),
    /// Accepts limits of persons that were changed, and goes on where what they have said is lost: it counts as all that they may
    /// say until their window ends.
    Accept(persons::Accept),
    /// Opens a batch of sealed reports: randomised values come out, as CSV.
    Open(open::Args),
}

/// Runs it.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Key(args) => key::run(args),
        Command::Describe(args) => describe::run(args),
        Command::Encode(args) => encode::run(args),
        Command::Shuffle(args) => shuffle::run(args).await,
        Command::Create(file) => persons::create(file),
        Command::Accept(args) => persons::accept(args),
        Command::Open(args) => open::run(args),
    }
}
