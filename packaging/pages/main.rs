//! `noisegate-pages DIR`: writes manual pages (DIR/man) and what shells read to complete commands and options
//! (DIR/completions), of every command that people see. Packages have them; the program itself does not make them.

use clap_complete::{Shell, generate_to};
use std::io::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("noisegate-pages: say where to write: noisegate-pages DIR");
        return ExitCode::FAILURE;
    };
    let folder = Path::new(&folder);
    match write(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("noisegate-pages: cannot write to {}: {e}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), Error> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(noisegate::cli::command(), &man)?;
    for (shell, installed) in
        [(Shell::Bash, "noisegate"), (Shell::Zsh, "_noisegate"), (Shell::Fish, "noisegate.fish")]
    {
        let made = generate_to(shell, &mut noisegate::cli::command(), "noisegate", &completions)?;
        std::fs::rename(made, completions.join(installed))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
