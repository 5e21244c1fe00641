//! `noisegate postgres-copy`: for tests that want a certain version of PostgreSQL, and for trying the demo's own.

use demo::copy::{MAJORS, bin_dir};
use std::error::Error;

/// Arguments of `noisegate postgres-copy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Major version of PostgreSQL
    #[arg(long, value_name = "N", default_value_t = MAJORS[0])]
    major: u32,
}

/// Prints the folder of the programs.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    println!("{}", bin_dir(args.major)?.dir().display());
    Ok(())
}
