//! Arguments of `noisegate explain advise`.

use crate::cli::args::Format;
use crate::cli::offline;
use bigdecimal::BigDecimal;
use std::path::PathBuf;

/// Rows of a table that are made up, at most.
pub(super) const MOST: u64 = 5_000_000;

/// Arguments of `noisegate explain advise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate explain advise --policy shop.toml dashboard.sql
  noisegate explain advise --policy shop.toml --people 8000 --rows orders=20000 dashboard.sql
  noisegate explain advise --policy shop.toml --format html dashboard.sql >advice.html")]
pub struct Args {
    #[command(flatten)]
    pub(super) offline: offline::Args,
    /// text, json for programs, or html: one file with pictures
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub format: Format,
    /// Expect errors as on made-up rows of so many people, drawn from the policy's ranges and values; asks the policy's database, of which
    /// no private row is read
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST))]
    pub people: Option<u64>,
    /// How many of these rows a table has [default: six for each row that they belong to]; may be repeated
    #[arg(long, value_name = "TABLE=N", value_parser = rows, requires = "people")]
    pub rows: Vec<(String, u64)>,
    /// The same with numbers of people and rows that the proxy answers, with noise: one question for people and one for each table, at this
    /// epsilon each, debited from the budgets of whoever asks
    #[arg(long, value_name = "EPSILON", value_parser = offline::epsilon, requires = "proxy", conflicts_with = "people")]
    pub measure: Option<BigDecimal>,
    /// The proxy, as a user who may ask and pay: "host=127.0.0.1 port=6432 user=ada dbname=bikes"
    #[arg(long, value_name = "URL", requires = "measure")]
    pub proxy: Option<String>,
    /// The statements; `-` reads them from standard input
    #[arg(value_name = "FILE")]
    pub queries: PathBuf,
}

/// `TABLE=N`.
fn rows(text: &str) -> Result<(String, u64), String> {
    let read = text.split_once('=').and_then(|(table, n)| Some((table.to_owned(), n.parse().ok()?)));
    let within = read.filter(|(_, n)| (1..=MOST).contains(n));
    within.ok_or_else(|| format!("written as TABLE=N, N being at most {}", MOST))
}
