//! `noisegate passwd NAME`: a SCRAM verifier for a password. The password itself is written nowhere.

use super::file;
use crate::init::quote;
use frontend::password::verifier;
use policy::userlist;
use std::error::Error;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Longer than any password, and short enough to say so at once.
const LONGEST: u64 = 4096;

/// Arguments of `noisegate passwd`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate passwd ada >>shop.toml
  noisegate passwd ada --users-file users.txt")]
pub struct Args {
    /// The user's login name
    #[arg(value_name = "NAME")]
    name: String,
    /// The user's role, for budgets per role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Rounds of hashing: more make guessing dearer, and every login as well
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(4096..=10_000_000))]
    iterations: u32,
    /// Reads one line from standard input and asks nothing
    #[arg(long)]
    stdin: bool,
    /// Replaces or adds the user in this file (server.users_file of a policy) [default: print an entry for the policy]
    #[arg(long, value_name = "FILE")]
    users_file: Option<PathBuf>,
}

/// Asks, and prints or writes.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    for (what, text) in [("name", Some(&args.name)), ("role", args.role.as_ref())] {
        if text.is_some_and(|t| t.is_empty() || t.chars().any(char::is_control)) {
            return Err(format!("the {what} is empty, or has characters that no {what} has").into());
        }
    }
    let password = if args.stdin { from_stdin(std::io::stdin().lock())? } else { from_terminal(&args.name)? };
    if password.is_empty() {
        return Err("the password is empty".into());
    }
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|e| format!("no randomness is available: {e}"))?;
    let verifier = verifier(&password, &salt, args.iterations);
    match &args.users_file {
        None => print!("{}", entry(args, &verifier)),
        Some(path) => {
            let added = write(path, &args.name, &verifier, args.role.as_deref())?;
            println!("{} {:?} in {}", if added { "added" } else { "replaced" }, args.name, path.display());
        }
    }
    Ok(())
}

/// `[[user]]` of a policy.
fn entry(args: &Args, verifier: &str) -> String {
    let role = args.role.as_ref().map_or_else(String::new, |r| format!("role = {}\n", quote(r)));
    format!("[[user]]\nname = {}\n{role}scram = {}\n", quote(&args.name), quote(verifier))
}

/// Whether the user was new.
fn write(path: &Path, name: &str, verifier: &str, role: Option<&str>) -> Result<bool, String> {
    let shown = path.display();
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(format!("{shown} cannot be read: {e}")),
    };
    let (entries, wrong) = userlist::parse(&old);
    if let Some(line) = wrong.first() {
        // What is not understood is not rewritten.
        return Err(format!("{shown}, {line}; nothing was changed"));
    }
    let new = userlist::set(&old, name, verifier, role);
    file::write_private(path, &new)?;
    Ok(!entries.iter().any(|e| e.name == name))
}

fn from_stdin(input: impl BufRead) -> Result<String, String> {
    let mut line = String::new();
    let read = input.take(LONGEST).read_line(&mut line);
    read.map_err(|e| format!("the password cannot be read from standard input: {e}"))?;
    if line.len() as u64 >= LONGEST {
        return Err(format!("the password is longer than {LONGEST} bytes"));
    }
    Ok(line.strip_suffix('\n').map_or(line.as_str(), |l| l.strip_suffix('\r').unwrap_or(l)).to_owned())
}

/// Asks twice on the terminal, without echo.
fn from_terminal(name: &str) -> Result<String, String> {
    let terminal = terminal::Term::stderr();
    if !terminal.is_term() {
        return Err(
            "there is no terminal to ask for the password on; write --stdin to read it from standard input"
                .into(),
        );
    }
    let ask = |prompt: String| {
        let read = terminal.write_str(&prompt).and_then(|()| terminal.read_secure_line());
        read.map_err(|e| format!("the password cannot be read: {e}"))
    };
    let first = ask(format!("Password for {name}: "))?;
    if first.is_empty() {
        return Err("the password is empty".into());
    }
    match ask("Again: ".into())? == first {
        true => Ok(first),
        false => Err("the two passwords differ".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_line_is_the_password() {
        let read = |bytes: &[u8]| from_stdin(bytes);
        assert_eq!(read(b"a b \r\nmore").unwrap(), "a b ");
        assert_eq!(read(b"secret").unwrap(), "secret");
        assert_eq!(read(b"\n").unwrap(), "");
        assert!(read(b"\xff\n").is_err());
        assert!(read(&[b'a'; 5000]).is_err());
    }
}
