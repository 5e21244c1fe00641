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
use super::serve::control::{Measured, ProfilePrice, Profiled, Profiling};
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
  noisegate profile --policy shop.toml --table orders --epsilon 0.2 --yes

It says first what it costs, and asks. What it finds is kept in the ledger.")]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFile,
    /// A private table; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// The price of each table's rows [default: what its number of units wants, which is measured
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
    let mut priced = Vec::new();
    match &args.epsilon {
        Some(epsilon) => priced.extend(chosen.into_iter().map(|table| (table, plain(epsilon), None))),
        None => {
            let epsilon = text::epsilon(LEAST.max(least));
            for table in &chosen {
                let price = price(&way, table, Measured::Units, &epsilon).await?;
                say(&text::units(table, &epsilon, &price))?;
            }
            confirm(args.yes)?;
            for table in chosen {
                let step = Profiling::Units { table: table.clone(), epsilon: epsilon.clone() };
                let Profiled::Units(units) = way.ask(step).await? else { return Err(way::other()) };
                let wanted = wanted(units).max(least);
                priced.push((table, text::epsilon(wanted), Some(units)));
            }
        }
    }
    for (table, epsilon, units) in &priced {
        let price = price(&way, table, Measured::Rows, epsilon).await?;
        say(&text::rows(table, epsilon, *units, &price))?;
    }
    confirm(args.yes)?;
    let author = args.author.clone().unwrap_or_else(ledger::user);
    for (table, epsilon, _) in priced {
        let step = Profiling::Rows { table, epsilon, author: author.clone(), reason: args.reason.clone() };
        let Profiled::Rows { id, profile, most_rows } = way.ask(step).await? else {
            return Err(way::other());
        };
        say(&text::found(id, &profile, most_rows)?)?;
    }
    Ok(say(&way.take_over().await?)?)
}

/// Tables that are measured: those that were named, or all that have something to measure.
fn chosen(named: &[String], tables: Vec<(String, Option<String>)>) -> Result<Vec<String>, Box<dyn Error>> {
    for name in named {
        match tables.iter().find(|(table, _)| table == name) {
            Some((_, Some(why))) => return Err(format!("{name}: {why}").into()),
            Some((_, None)) => {}
            None => {
                let known: Vec<&str> = tables.iter().map(|(table, _)| table.as_str()).collect();
                let known = known.join(", ");
                return Err(format!("the policy has no private table {name:?}; it has {known}").into());
            }
        }
    }
    let mut chosen = Vec::new();
    for (table, why) in tables {
        match why {
            _ if !named.is_empty() && !named.contains(&table) => {}
            Some(why) => say(&format!("{table}: {why}"))?,
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn small_tables_want_more() {
        let said = [30_000, 6_000, 3_000, 1_000, 300, 12, -40].map(|n| text::epsilon(wanted(n)));
        assert_eq!(said, ["0.05", "0.05", "0.1", "0.3", "1", "1", "1"]);
        assert_eq!(text::epsilon(wanted(2_900)), "0.104");
    }

    #[test]
    fn tables_are_those_with_something_to_measure() {
        let tables = || vec![("a".to_owned(), None), ("b".into(), Some("a key".into())), ("c".into(), None)];
        assert_eq!(chosen(&[], tables()).unwrap(), ["a", "c"]);
        assert_eq!(chosen(&["c".into()], tables()).unwrap(), ["c"]);
        assert_eq!(chosen(&["b".into()], tables()).unwrap_err().to_string(), "b: a key");
        let nobody = chosen(&["d".into()], tables()).unwrap_err().to_string();
        assert_eq!(nobody, "the policy has no private table \"d\"; it has a, b, c");
        assert!(chosen(&[], vec![("b".into(), Some("a key".into()))]).is_err());
    }
}
