//! Magnitudes: how many people and rows there are, as somebody says, or as the proxy was asked, for
//! a price.

use super::args::{Args, MOST};
use crate::cli::explain::proxy::Proxy;
use emit::synthetic::Sizes;
use plan::words::short;
use policy::{Policy, Privacy, Table};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The numbers, and where they are from.
pub(super) struct Magnitudes {
    /// Sizes of made-up tables.
    pub sizes: Sizes,
    /// Numbers that were measured, and their price.
    pub measured: Option<Measured>,
}

/// Of a measurement.
pub(super) struct Measured {
    /// The price of each question.
    epsilon: String,
    numbers: Vec<Number>,
}

/// A noisy count.
struct Number {
    what: String,
    count: f64,
    /// Half of the width of its interval, at 95 %.
    error: f64,
}

impl Magnitudes {
    /// Magnitudes that the arguments ask for; None when they ask for none. `tables` are what the
    /// statements read.
    ///
    /// # Errors
    /// A table is no private one of the policy, or the proxy does not answer.
    pub async fn of(args: &Args, policy: &Policy, tables: &BTreeSet<usize>) -> Result<Option<Self>, String> {
        if let Some(people) = args.people {
            let mut rows = BTreeMap::new();
            for (name, n) in &args.rows {
                rows.insert(counted(name, policy)?, *n);
            }
            let sizes = Sizes { units: people, rows, most: MOST };
            return Ok(Some(Self { sizes, measured: None }));
        }
        let (Some(url), Some(epsilon)) = (&args.proxy, &args.measure) else { return Ok(None) };
        let epsilon = epsilon.normalized().to_plain_string();
        measure(url, epsilon, policy, tables).await.map(Some)
    }

    /// In sentences.
    pub fn told(&self, policy: &Policy, tables: &BTreeSet<usize>) -> Vec<String> {
        let rows = tables.iter().filter(|i| !is_per_person(**i, policy)).filter_map(|i| {
            let name = &policy.tables.get(*i)?.name;
            Some(format!("{} rows of {name}", self.sizes.rows(*i, policy)))
        });
        let all: Vec<String> = std::iter::once(format!("{} people", self.sizes.units)).chain(rows).collect();
        let made = format!(
            "Expected errors are those on made-up rows, drawn evenly from the policy's ranges and values: {}. Real groups are less even: the \
             error of a group is the same there, what it is a share of is not.",
            all.join(", ")
        );
        let measured = self.measured.as_ref().map(|m| {
            let each = m.numbers.iter().map(|n| format!("{} {} ±{}", n.what, short(n.count), short(n.error)));
            format!(
                "Measured through the proxy, with noise: {}. {} question{} at epsilon {} each, debited as any other: SELECT * FROM \
                 noisegate.history.",
                each.collect::<Vec<_>>().join("; "),
                m.numbers.len(),
                if m.numbers.len() == 1 { "" } else { "s" },
                m.epsilon
            )
        });
        measured.into_iter().chain([made]).collect()
    }

    pub fn object(&self, policy: &Policy, tables: &BTreeSet<usize>) -> Value {
        let rows: BTreeMap<&str, u64> = tables
            .iter()
            .filter_map(|i| Some((policy.tables.get(*i)?.name.as_str(), self.sizes.rows(*i, policy))))
            .collect();
        let measured = self.measured.as_ref().map(|m| {
            let numbers =
                m.numbers.iter().map(|n| json!({ "what": n.what, "count": n.count, "error": n.error }));
            json!({ "epsilon_each": m.epsilon, "numbers": numbers.collect::<Vec<_>>() })
        });
        json!({ "people": self.sizes.units, "rows": rows, "measured": measured })
    }
}

/// The private tables that these lead to the unit by, and themselves.
pub(super) fn with_parents(tables: impl IntoIterator<Item = usize>, policy: &Policy) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let mut next: Vec<usize> = tables.into_iter().collect();
    while let Some(i) = next.pop() {
        let Some(t) = policy.tables.get(i).filter(|t| t.privacy != Privacy::Public) else { continue };
        if all.insert(i)
            && let Privacy::Path(path) = &t.privacy
        {
            next.push(path.table);
        }
    }
    all
}

/// Whether a table has one row for each unit.
fn is_per_person(index: usize, policy: &Policy) -> bool {
    let Some(t) = policy.tables.get(index) else { return false };
    matches!(&t.privacy, Privacy::Private { unit, .. } if t.keys.iter().any(|k| k.iter().all(|c| c == unit)))
}

fn counted(name: &str, policy: &Policy) -> Result<usize, String> {
    let found = policy.tables.iter().position(|t| t.name == *name && t.privacy != Privacy::Public);
    let index =
        found.ok_or_else(|| format!("--rows {name}: the policy has no private table of this name"))?;
    match is_per_person(index, policy) {
        true => Err(format!("--rows {name}: it has one row for each person, so that --people says how many")),
        false => Ok(index),
    }
}

fn named(t: &Table) -> String {
    format!("{}.{}", emit::ident(&t.schema), emit::ident(&t.name))
}

/// Asks for the number of people and of each table's rows. How many people there are, the table tells whose rows stand for them.
async fn measure(
    url: &str,
    epsilon: String,
    policy: &Policy,
    tables: &BTreeSet<usize>,
) -> Result<Magnitudes, String> {
    let unit = policy.unit.as_ref().ok_or("the policy protects nobody: there is nothing to measure")?;
    let people = policy.tables.get(unit.table).ok_or("the policy has no table of its unit")?;
    let proxy = Proxy::connect(url).await?;
    proxy.rows(&format!("SET noisegate.epsilon = {epsilon}; SET noisegate.intervals = on")).await?;
    let count = match is_per_person(unit.table, policy) {
        true => "*".to_owned(),
        false => format!("DISTINCT {}", emit::ident(&unit.column)),
    };
    let mut numbers = vec![number(&proxy, "people", &count, people).await?];
    let whole = |n: &Number| n.count.round().clamp(1.0, MOST as f64) as u64;
    let units = numbers.first().map_or(1, whole);
    let mut rows = BTreeMap::new();
    for i in tables.iter().filter(|i| !is_per_person(**i, policy)) {
        let Some(t) = policy.tables.get(*i) else { continue };
        let n = number(&proxy, &format!("rows of {}", t.name), "*", t).await?;
        rows.insert(*i, whole(&n));
        numbers.push(n);
    }
    let sizes = Sizes { units, rows, most: MOST };
    Ok(Magnitudes { sizes, measured: Some(Measured { epsilon, numbers }) })
}

async fn number(proxy: &Proxy, what: &str, count: &str, t: &Table) -> Result<Number, String> {
    let sql = format!("SELECT count({count}) AS n FROM {}", named(t));
    let rows = proxy.rows(&sql).await.map_err(|e| format!("{what} could not be measured ({sql}): {e}"))?;
    let cell = |i: usize| rows.first()?.get(i)?.as_deref()?.parse::<f64>().ok();
    // Where nobody has measured what bounds cut, an interval has no upper end.
    let read = || Some((cell(0)?, cell(1)?));
    let (count, low) = read().ok_or("the proxy's answer has no interval: is it of another version?")?;
    Ok(Number { what: what.into(), count, error: count - low })
}
