//! `noisegate profile`: measures how many rows the units of each private table have, once and for
//! everybody.
//!
//! A measurement is a release like any other: it goes through the process that serves the
//! policy, or through this one where none does, is paid for from budgets over the whole data set,
//! and is written into the ledger, from which the planner has it.

pub mod text;
mod way;

use super::args::PolicyFile;
use super::offline;
use super::print::say;
use super::serve::control::{Beside, Measured, ProfilePrice, Profiled, Profiling, Table};
use bigdecimal::BigDecimal;
use std::error::Error;
use std::io::{IsTerminal, Write};
use way::Way;

/// ε of the number of units, and the least of what is measured then.
const LEAST: f64 = 0.05;
/// The price of what is measured is this over the number of units: with less, intervals of small
/// tables miss.
const UNITS: f64 = 300.0;
/// The most that is paid without being told to.
const MOST: f64 = 1.0;

/// Arguments of `noisegate profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate profile --policy shop.toml
  noisegate profile --policy shop.toml --table orders --key country --key placed_at:month
  noisegate profile --policy shop.toml --table orders --column total --epsilon 0.2 --yes

It says first what it costs, and asks. What it finds is kept in the ledger.")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// A private table; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// A column whose sums are measured, too; may be repeated [default: all numbers with a range; `none` for none]
    #[arg(long, value_name = "NAME")]
    column: Vec<String>,
    /// A key of groups, or its months or years (NAME:month), by which all this is measured, too: answers by such groups err
    /// less where budgets pay for Gaussian noise; may be repeated
    #[arg(long, value_name = "NAME")]
    key: Vec<String>,
    /// The price of each item [default: what the table's number of units wants, which is measured
    /// first]
    #[arg(long, value_name = "NUMBER", value_parser = offline::epsilon)]
    epsilon: Option<BigDecimal>,
    /// Pays without asking
    #[arg(long)]
    yes: bool,
    /// Why: stays in the ledger
    #[arg(long, value_name = "TEXT", default_value = "noisegate profile")]
    reason: String,
    /// Who: stays in the ledger [default: the user of this shell]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
}

/// Measures, and prints what was found.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let way = Way::find(&args.policy).await?;
    let Profiled::Tables { tables, least } = way.ask(Profiling::Tables).await? else {
        return Err(way::other());
    };
    let least: f64 = least.parse()?;
    let chosen = chosen(&args.table, tables)?;
    let asked = beside(&chosen, &args.column, &args.key)?;
    let mut priced = Vec::new();
    match &args.epsilon {
        Some(epsilon) => {
            priced.extend(asked.into_iter().map(|(t, beside)| (t, beside, plain(epsilon), None)))
        }
        None => {
            let epsilon = text::epsilon(LEAST.max(least));
            for (table, _) in &asked {
                let price = price(&way, table, Measured::Units, &epsilon).await?;
                say(&text::units(table, &epsilon, &price))?;
            }
            confirm(args.yes)?;
            for (table, beside) in asked {
                let step = Profiling::Units { table: table.clone(), epsilon: epsilon.clone() };
                let Profiled::Units(units) = way.ask(step).await? else { return Err(way::other()) };
                let wanted = wanted(units).max(least);
                priced.push((table, beside, text::epsilon(wanted), Some(units)));
            }
        }
    }
    let mut all = Vec::new();
    for (table, beside, epsilon, units) in &priced {
        let price = price(&way, table, Measured::Items(beside.clone()), epsilon).await?;
        say(&text::items(table, beside, epsilon, *units, &price))?;
        all.extend(price);
    }
    if let Some(over) = text::over(&all) {
        return Err(over.into());
    }
    confirm(args.yes)?;
    let author = args.author.clone().unwrap_or_else(ledger::user);
    for (table, beside, epsilon, _) in priced {
        let (author, reason) = (author.clone(), args.reason.clone());
        let step = Profiling::Items { table, beside, epsilon, author, reason };
        let Profiled::Items { id, profile, most_rows } = way.ask(step).await? else {
            return Err(way::other());
        };
        say(&text::found(id, &profile, most_rows)?)?;
    }
    Ok(say(&way.take_over().await?)?)
}

/// Columns and keys that are measured of each table: of those that were named, the ones that it has.
fn beside(
    chosen: &[Table],
    columns: &[String],
    keys: &[String],
) -> Result<Vec<(String, Beside)>, Box<dyn Error>> {
    let bare = |key: &str| key.rsplit_once(':').map_or(key, |(column, _)| column).to_owned();
    let none = columns == ["none"];
    let adds = |name: &String| chosen.iter().any(|t| t.adds.contains(name));
    if let Some(name) = columns.iter().find(|name| !none && !adds(name)) {
        let all: Vec<&str> = chosen.iter().flat_map(|t| &t.adds).map(String::as_str).collect();
        return Err(format!(
            "no sums of {name:?} can be measured, only of numbers with a range: {}",
            all.join(", ")
        )
        .into());
    }
    if let Some(key) = keys.iter().find(|key| !chosen.iter().any(|t| t.columns.contains(&bare(key)))) {
        return Err(format!("no table that is measured has a column {:?}", bare(key)).into());
    }
    let of = |t: &Table| {
        let wanted = |name: &&String| !none && (columns.is_empty() || columns.contains(name));
        let columns = t.adds.iter().filter(wanted).cloned().collect();
        let keys = keys.iter().filter(|key| t.columns.contains(&bare(key))).cloned().collect();
        (t.name.clone(), Beside { columns, keys })
    };
    Ok(chosen.iter().map(of).collect())
}

/// Tables that are measured: those that were named, or all that have something to measure.
fn chosen(named: &[String], tables: Vec<Table>) -> Result<Vec<Table>, Box<dyn Error>> {
    for name in named {
        match tables.iter().find(|table| table.name == *name) {
            Some(Table { nothing: Some(why), .. }) => return Err(format!("{name}: {why}").into()),
            Some(_) => {}
            None => {
                let known: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
                let known = known.join(", ");
                return Err(format!("the policy has no private table {name:?}; it has {known}").into());
            }
        }
    }
    let mut chosen = Vec::new();
    for table in tables {
        match &table.nothing {
            _ if !named.is_empty() && !named.contains(&table.name) => {}
            Some(why) => say(&format!("{}: {why}", table.name))?,
            None => chosen.push(table),
        }
    }
    match chosen.is_empty() {
        true => Err(
            "there is nothing to measure: the policy has no private table whose units can have several rows"
                .into(),
        ),
        false => Ok(chosen),
    }
}

async fn price(
    way: &Way,
    table: &str,
    what: Measured,
    epsilon: &str,
) -> Result<Vec<ProfilePrice>, Box<dyn Error>> {
    let (table, epsilon) = (table.to_owned(), epsilon.to_owned());
    match way.ask(Profiling::Price { table, what, epsilon }).await? {
        Profiled::Price(price) => Ok(price),
        _ => Err(way::other()),
    }
}

/// The ε that so many units want.
pub fn wanted(units: i64) -> f64 {
    (UNITS / (units.max(1) as f64)).clamp(LEAST, MOST)
}

fn plain(epsilon: &BigDecimal) -> String {
    epsilon.normalized().to_plain_string()
}

/// Asks whether to pay.
fn confirm(yes: bool) -> Result<(), Box<dyn Error>> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(
            "there is no terminal to ask on whether to pay: write --yes. Nothing was spent for this".into()
        );
    }
    write!(std::io::stderr(), "Pay? [y/N] ")?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err("not measured: nothing was spent for this".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn small_tables_want_more() {
        let said = [30_000, 6_000, 3_000, 1_000, 300, 12, -40].map(|n| text::epsilon(wanted(n)));
        assert_eq!(said, ["0.05", "0.05", "0.1", "0.3", "1", "1", "1"]);
        assert_eq!(text::epsilon(wanted(2_900)), "0.104");
    }

    #[test]
    fn tables_are_those_with_something_to_measure() {
        let table = |name: &str, nothing: Option<&str>| Table {
            name: name.into(),
            nothing: nothing.map(Into::into),
            adds: vec![format!("x{name}")],
            columns: vec![format!("x{name}"), "day".into()],
        };
        let tables = || vec![table("a", None), table("b", Some("a key")), table("c", None)];
        let names = |named: &[String]| {
            chosen(named, tables()).map(|all| all.into_iter().map(|t| t.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["a", "c"]);
        assert_eq!(names(&["c".into()]).unwrap(), ["c"]);
        assert_eq!(names(&["b".into()]).unwrap_err().to_string(), "b: a key");
        let nobody = names(&["d".into()]).unwrap_err().to_string();
        assert_eq!(nobody, "the policy has no private table \"d\"; it has a, b, c");
        assert!(chosen(&[], vec![table("b", Some("a key"))]).is_err());

        let of = |columns: &[&str], keys: &[&str]| {
            let words = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            beside(&chosen(&[], tables()).unwrap(), &words(columns), &words(keys))
        };
        let all = of(&[], &["day:month"]).unwrap();
        assert_eq!(all[0].1, Beside { columns: vec!["xa".into()], keys: vec!["day:month".into()] });
        assert_eq!(of(&["xc"], &[]).unwrap()[0].1, Beside::default());
        assert_eq!(of(&["none"], &[]).unwrap()[1].1, Beside::default());
        assert!(of(&["day"], &[]).unwrap_err().to_string().contains("xa, xc"));
        assert!(of(&[], &["night"]).is_err());
    }
}
