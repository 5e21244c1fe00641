//! `noisegate watchdog`: started by the launcher of private servers, never by a person.

use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `noisegate watchdog`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The private server's folder.
    #[arg(long)]
    dir: PathBuf,
}

/// Runs it until standard input ends.
pub fn run(args: &Args) -> ExitCode {
    match demo::watchdog::watch(&args.dir, std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("noisegate watchdog: {error}");
            ExitCode::FAILURE
        }
    }
}
