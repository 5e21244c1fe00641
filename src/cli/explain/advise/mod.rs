//! `noisegate explain advise --policy F queries.sql`: what a policy's budgets buy of a file of statements, what each costs and how wrong it
//! will be, what is refused, which answers others would share, and which fact of the policy would help most.
//!
//! By itself it plans: no database is asked, and nothing depends on a row. `findings` looks, `helps` plans anew with one fact
//! changed, `text` and `html` print. What error each number is expected to have depends on how many people there are: `magnitudes`
//! is told, or has the proxy asked for a price, and `expected` asks made-up rows of that number.

mod expected;
mod findings;
mod helps;
mod html;
mod magnitudes;
mod text;

use crate::cli::args::Format;
use crate::cli::file;
use crate::cli::offline::{self, Chosen, Offline};
use crate::cli::print::{pretty, say};
use crate::cli::stack::with_stack;
use bigdecimal::BigDecimal;
use findings::Findings;
use magnitudes::{Magnitudes, with_parents};
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate explain advise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate explain advise --policy shop.toml dashboard.sql
  noisegate explain advise --policy shop.toml --people 8000 --rows orders=20000 dashboard.sql
  noisegate explain advise --policy shop.toml --format html dashboard.sql >advice.html")]
pub struct Args {
    #[command(flatten)]
    offline: offline::Args,
    /// text, json for programs, or html: one file with pictures
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub format: Format,
    /// Expect errors as on made-up rows of so many people, drawn from the policy's ranges and values; asks the policy's database, of which
    /// no private row is read
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=magnitudes::MOST))]
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

/// Says it.
///
/// # Errors
/// The policy, its snapshot or the file cannot be read, or the file is no SQL; where errors are expected of made-up rows, the policy
/// cannot be served, or the proxy does not answer.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let sql = file::text(&args.queries)?;
    let (offline, mut found) = with_stack(|| {
        let offline = Offline::read(&args.offline, &Chosen::default())?;
        let found = Findings::of(&sql, &offline).map_err(|e| offline::told(&e, &sql))?;
        Ok((offline, found))
    })?;
    let (policy, tables) = (&offline.policy, with_parents(found.tables.iter().copied(), &offline.policy));
    if let Some(of) = Magnitudes::of(args, policy, &tables).await? {
        let asked = expected::ask(
            args.offline.policy.policy.clone(),
            of.sizes.clone(),
            found.epsilon.clone(),
            found.priced(),
        );
        // Planning recurses, and the program's own thread has a small stack.
        let asked = tokio::spawn(asked).await.map_err(|_| "the statements could not be asked")??;
        found.expect(&of, policy, &tables, asked);
    }
    let text = match args.format {
        Format::Text => text::print(&found),
        Format::Json => pretty(&found.object()),
        Format::Html => html::print(&found).into_string(),
    };
    Ok(say(&text)?)
}

/// `TABLE=N`.
fn rows(text: &str) -> Result<(String, u64), String> {
    let read = text.split_once('=').and_then(|(table, n)| Some((table.to_owned(), n.parse().ok()?)));
    let within = read.filter(|(_, n)| (1..=magnitudes::MOST).contains(n));
    within.ok_or_else(|| format!("written as TABLE=N, N being at most {}", magnitudes::MOST))
}
