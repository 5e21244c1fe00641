//! `noisegate ctl …`: what is told to the proxy that serves a policy.

pub mod refresh;
pub mod reload;

use super::print::say;
use std::error::Error;

/// Messages to the proxy.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  noisegate ctl reload --policy shop.toml")]
pub enum Command {
    /// Has the proxy read its policy again. Who is connected stays connected.
    Reload(reload::Args),
    /// Says that the data is new: kept answers end, and questions are asked of the data again.
    Refresh(refresh::Args),
}

/// Runs it.
pub async fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let said = match command {
        Command::Reload(args) => reload::run(args).await?,
        Command::Refresh(args) => refresh::run(args).await?,
    };
    Ok(say(&said)?)
}
