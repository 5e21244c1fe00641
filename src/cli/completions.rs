//! `noisegate completions SHELL`: what a shell reads to complete commands and options.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::error::Error;
use std::io::Write;

/// Arguments of `noisegate completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
bash:  noisegate completions bash > /usr/share/bash-completion/completions/noisegate
zsh:   noisegate completions zsh > /usr/share/zsh/vendor-completions/_noisegate
fish:  noisegate completions fish > /usr/share/fish/vendor_completions.d/noisegate.fish")]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints it.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut text = Vec::new();
    generate(args.shell, &mut super::Cli::command(), "noisegate", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}
