//! `noisegate man --directory D`: a manual page for the program and for each command.

use clap::CommandFactory;
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write noisegate.1, noisegate-serve.1 and the others; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
}

/// Writes them.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let failed = |e: std::io::Error| format!("cannot write to {}: {e}", args.directory.display());
    std::fs::create_dir_all(&args.directory).map_err(failed)?;
    clap_mangen::generate_to(super::Cli::command(), &args.directory).map_err(failed)?;
    Ok(())
}
