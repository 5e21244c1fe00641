//! `noisegate advise --policy F queries.sql`: what a policy's budgets buy of a file of statements, what each costs and how wrong it
//! will be, what is refused, which answers others would share, and which fact of the policy would help most.
//!
//! All of it is planning: no database is asked, and nothing depends on a row. `findings` looks, `helps` plans anew with one fact
//! changed, `text` and `html` print.

mod findings;
mod helps;
mod html;
mod text;

use super::explain::{self, Offline};
use bigdecimal::BigDecimal;
use findings::Findings;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Arguments of `noisegate advise`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
    /// text, json for programs, or html: one file with pictures
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// As SET noisegate.epsilon before each statement [default: statement.epsilon of the policy]
    #[arg(long, value_name = "NUMBER", value_parser = explain::epsilon)]
    pub epsilon: Option<BigDecimal>,
    /// How many values a column of a public table has, where the snapshot does not say; may be repeated
    #[arg(long, value_name = "TABLE.COLUMN=N", value_parser = explain::domain_size)]
    pub domain_size: Vec<(String, String, u64)>,
    /// The statements; `-` reads them from standard input
    #[arg(value_name = "FILE")]
    pub queries: PathBuf,
}

/// How it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines.
    Text,
    /// One object.
    Json,
    /// One page.
    Html,
}

/// What there is to say.
///
/// # Errors
/// The policy, its snapshot or the file cannot be read, or the file is no SQL.
pub fn run(args: &Args) -> Result<String, String> {
    let sql = read(&args.queries)?;
    let offline = Offline::read(&explain::Args {
        epsilon: args.epsilon.clone(),
        domain_size: args.domain_size.clone(),
        ..explain::Args::of_policy(&args.policy)
    })?;
    let found = Findings::of(&sql, &offline).map_err(|e| explain::told(&e, &sql))?;
    Ok(match args.format {
        Format::Text => text::print(&found),
        Format::Json => explain::pretty(&found.object()),
        Format::Html => html::print(&found).into_string(),
    })
}

fn read(path: &Path) -> Result<String, String> {
    if path == Path::new("-") {
        let mut sql = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut sql);
        return read.map(|_| sql).map_err(|e| format!("standard input cannot be read: {e}"));
    }
    std::fs::read_to_string(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
}
