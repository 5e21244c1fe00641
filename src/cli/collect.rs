//! `noisegate collect …`: what is done with answers that nobody shall see, where they are given and on their way.

pub mod describe;
pub mod encode;
pub mod key;
pub mod open;
pub mod shuffle;

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
        Command::Open(args) => open::run(args),
    }
}
