//! Arguments of `noisegate report risk`.

use crate::cli::args::Format;
use ::risk::MAX_COLUMNS;
use std::path::PathBuf;

/// Arguments of `noisegate report risk`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate report risk --backend postgres://owner@host/shop --table people --quasi birth_year,city")]
pub struct Args {
    /// The database itself (not the proxy), as somebody who may read the table
    #[arg(long, value_name = "URL")]
    pub(super) backend: String,
    /// The table
    #[arg(long, value_name = "NAME")]
    pub(super) table: String,
    /// Columns that others may know of somebody (quasi-identifiers), with commas between them
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', required = true)]
    pub(super) quasi: Vec<String>,
    /// Columns that they shall not learn
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) sensitive: Vec<String>,
    /// The column that says whose a row is [default: as --policy says; else each row is somebody else]
    #[arg(long, value_name = "COLUMN")]
    pub(super) unit: Option<String>,
    /// A table with a row for everybody whom the table could be about, with the same columns as --quasi
    #[arg(long, value_name = "TABLE")]
    pub(super) population: Option<String>,
    /// Also counts all sets of at most so many of the columns [default: of all sizes up to 8 columns, else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(super) sets: Option<u8>,
    /// Ends with what this policy would protect, and what not
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    /// text, json for programs, or html: one file with pictures
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub(super) format: Format,
    /// Where to write it, readable by you alone [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Columns as they were named, each once.
pub(super) struct Named {
    pub(super) quasi: Vec<String>,
    pub(super) sensitive: Vec<String>,
}

pub(super) fn names(args: &Args) -> Result<Named, String> {
    let trimmed = |names: &[String]| names.iter().map(|n| n.trim().to_owned()).collect::<Vec<_>>();
    let named = Named { quasi: trimmed(&args.quasi), sensitive: trimmed(&args.sensitive) };
    if named.quasi.len() > MAX_COLUMNS {
        return Err(format!(
            "--quasi names {} columns; at most {MAX_COLUMNS} are looked at",
            named.quasi.len()
        ));
    }
    let all: Vec<&String> = named.quasi.iter().chain(&named.sensitive).chain(&args.unit).collect();
    if let Some(twice) = all.iter().enumerate().find(|(i, name)| all.iter().take(*i).any(|n| n == *name)) {
        return Err(format!(
            "the column {:?} is named twice: a column is a quasi-identifier, sensitive, or the unit",
            twice.1
        ));
    }
    Ok(named)
}
