//! `noisegate key shuffler|analyser --output FILE`: a secret key in a file of its owner, and the public one for a description.

use super::file;
use dp::SecureRng;
use encode::{AnalyserKey, ShufflerKey};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Whose key it is.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Whose {
    /// Of `noisegate shuffle`: opens the outer layer of reports.
    Shuffler,
    /// Of `noisegate open`: opens the inner layer.
    Analyser,
}

/// Arguments of `noisegate key`.
#[derive(Debug, clap::Args)]
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
    file::replace(&args.output, &format!("{secret}\n"), true)
        .map_err(|e| format!("{}: {e}", args.output.display()))?;
    println!("{public}");
    Ok(())
}

/// The text of a key file, which nobody but its owner may read.
pub fn read(path: &Path) -> Result<String, Box<dyn Error>> {
    let bytes = policy::private_file(&path.to_owned().into(), "the key file", 4096)?;
    Ok(String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))?)
}
