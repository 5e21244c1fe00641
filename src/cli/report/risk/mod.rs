//! `noisegate report risk`: how identifying a table is, if its rows left as they are, for its owner.
//!
//! All figures are exact and promise nobody anything: they are read from the database itself, never through the proxy. `read` has
//! PostgreSQL count (`risk::texts`), `policy` says what a policy would protect, `text` and `html` print. No value of a row is shown.

mod args;
mod found;
mod html;
mod policy;
mod read;
mod text;
mod words;

pub use args::Args;

use crate::cli::args::Format;
use crate::cli::{file, print};
use args::names;
use std::error::Error;

/// Columns of a set where `--sets` does not say, and there are more than [`ALL_SETS`].
const SOME_SETS: usize = 3;

/// Of so many columns all sets are counted.
const ALL_SETS: usize = 8;

/// Counts, and prints.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let named = names(args)?;
    let most = match args.sets {
        Some(n) => usize::from(n),
        None if args.quasi.len() <= ALL_SETS => ALL_SETS,
        None => SOME_SETS,
    };
    let found = read::risk(args, &named, most).await?;
    let text = match args.format {
        Format::Text => text::print(&found),
        Format::Json => print::pretty(&found.object()),
        Format::Html => html::print(&found).into_string(),
    };
    let Some(path) = &args.output else {
        return Ok(print::say(&text)?);
    };
    file::write_private(path, &(text + "\n"))?;
    Ok(print::say(&format!("wrote {}: exact figures, for the owner of the data", path.display()))?)
}
