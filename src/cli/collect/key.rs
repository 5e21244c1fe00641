//! `noisegate collect key shuffler|analyser --output FILE`: a secret key in a file of its owner, and the public one for a description.

use crate::cli::file;
use dp::SecureRng;
use encode::{AnalyserKey, ShufflerKey};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Whose key it is.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Whose {
    /// Of `noisegate collect shuffle`: opens the outer layer of reports.
    Shuffler,
    /// Of `noisegate collect open`: opens the inner layer.
    Analyser,
}

/// Arguments of `noisegate collect key`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate collect key shuffler --output shuffler.key
  noisegate collect key analyser --output analyser.key")]
pub struct Args {
    /// Whose key it is
    whose: Whose,
    /// The file for the secret key, which only its owner can read; one that is there is not replaced
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Writes the secret and prints the public key.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if args.output.exists() {
        return Err(format!(
            "{} is there already: what was sealed to its key could not be opened any more",
            args.output.display()
        )
        .into());
    }
    let mut rng = SecureRng::new()?;
    let (secret, public) = match args.whose {
        Whose::Shuffler => {
            let key = ShufflerKey::generate(&mut rng)?;
            (key.text(), key.public())
        }
        Whose::Analyser => {
            let key = AnalyserKey::generate(&mut rng)?;
            (key.text(), key.public())
        }
    };
    file::write_private(&args.output, &format!("{secret}\n"))?;
    println!("{public}");
    Ok(())
}

/// The text of a key file, which nobody but its owner may read.
pub fn read(path: &Path) -> Result<String, Box<dyn Error>> {
    let bytes = policy::private_file(&path.to_owned().into(), "the key file", 4096)?;
    Ok(String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))?)
}
