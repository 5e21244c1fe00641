//! `noisegate report risk`: how identifying a table is, if its rows left as they are, for its owner.
//!
//! All figures are exact and promise nobody anything: they are read from the database itself, never through the proxy. `read` has
//! PostgreSQL count (`risk::texts`), `policy` says what a policy would protect, `text` and `html` print. No value of a row is shown.

mod html;
mod policy;
mod read;
mod text;

use self::policy::Protection;
use crate::cli::args::Format;
use crate::cli::{file, print};
use ::risk::{Asked, Classes, Diversity, Found, MAX_COLUMNS, Population};
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;

/// Columns of a set where `--sets` does not say, and there are more than [`ALL_SETS`].
const SOME_SETS: usize = 3;

/// Of so many columns all sets are counted.
const ALL_SETS: usize = 8;

/// Sets that are told.
const TOLD: usize = 8;

/// Sizes of classes of which shares are told.
const STEPS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// What stands at the head of each form.
const NOTICE: &str =
    "These figures are exact and without noise: they are for the owner of the data, not for analysts.";

/// Arguments of `noisegate report risk`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate report risk --backend postgres://owner@host/shop --table people --quasi birth_year,city")]
pub struct Args {
    /// The database itself (not the proxy), as somebody who may read the table
    #[arg(long, value_name = "URL")]
    backend: String,
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// Columns that others may know of somebody (quasi-identifiers), with commas between them
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', required = true)]
    quasi: Vec<String>,
    /// Columns that they shall not learn
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    sensitive: Vec<String>,
    /// The column that says whose a row is [default: as --policy says; else each row is somebody else]
    #[arg(long, value_name = "COLUMN")]
    unit: Option<String>,
    /// A table with a row for everybody whom the table could be about, with the same columns as --quasi
    #[arg(long, value_name = "TABLE")]
    population: Option<String>,
    /// Also counts all sets of at most so many of the columns [default: of all sizes up to 8 columns, else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=12))]
    sets: Option<u8>,
    /// Ends with what this policy would protect, and what not
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// text, json for programs, or html: one file with pictures
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    format: Format,
    /// Where to write it, readable by you alone [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// All that was found.
struct Risk {
    /// The table, as it was named.
    about: String,
    /// The population, likewise.
    beside: Option<String>,
    asked: Asked,
    classes: Classes,
    /// Of all sets that were counted, the smaller first.
    sets: Vec<Found>,
    /// Of each sensitive column.
    diversity: Vec<Diversity>,
    population: Option<Population>,
    protection: Option<Protection>,
}

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

/// Columns as they were named, each once.
struct Named {
    quasi: Vec<String>,
    sensitive: Vec<String>,
}

fn names(args: &Args) -> Result<Named, String> {
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

/// `one, two and three`
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

impl Risk {
    /// What the table's people are called, by how they are counted.
    fn counted(&self) -> String {
        match &self.asked.unit {
            Some(unit) => format!("people, told apart by {unit}"),
            None => "people, one for each row".into(),
        }
    }

    fn object(&self) -> Value {
        let c = &self.classes;
        let diversity = self.diversity.iter().map(|d| {
            json!({
                "column": d.column,
                "values": d.values,
                "distinct_l": d.distinct(),
                "entropy_l": d.entropy(),
                "t_closeness": d.closeness(),
                "distance": if d.ordered { "ordered" } else { "equal" },
                "given_away": d.given_away(),
                "by_values": d.by_values,
            })
        });
        let population = self.population.as_ref().map(|p| {
            json!({
                "table": self.beside,
                "people": p.people(),
                "k_map": p.k_map(),
                "journalist_risk": p.named(),
                "delta_presence": p.presence().map(|(least, most)| json!({ "least": least, "most": most })),
                "missing": p.missing(),
                "exceeding_classes": p.exceeding(),
            })
        });
        json!({
            "notice": NOTICE,
            "table": self.about,
            "unit": self.asked.unit,
            "quasi": self.asked.quasi,
            "people": c.people(),
            "classes": c.classes(),
            "k_anonymity": c.k(),
            "unique": c.unique(),
            "prosecutor_risk": c.named(),
            "sizes": c.sizes,
            "sets": self.sets,
            "uniqueness": ::risk::curve(&self.sets),
            "sensitive": diversity.collect::<Vec<_>>(),
            "population": population,
            "policy": self.protection.as_ref().map(Protection::object),
        })
    }
}
