//! `noisegate explain fit`: how many private groups a unit has, and where a column's values lie, measured through a proxy like
//! any question, and paid for like one. How many rows units have is the profile's (`noisegate profile`).
//!
//! Values of each unit are counted inside the fetch, and the histogram of these numbers comes back with noise: each unit is
//! one row of it. What is printed is computed from the noisy histogram alone.

mod edges;
mod histogram;
mod report;

use crate::cli::explain::proxy::Proxy;
use histogram::Histogram;
use plan::expr::print::{ident, string};
use std::error::Error;

/// Arguments of `noisegate explain fit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
How many rows of a unit count is no question for it: noisegate profile measures that once, for everybody.

Example:
  noisegate explain fit --proxy postgres://ada@localhost:6432/shop --table orders --column amount")]
pub struct Args {
    /// The proxy, as a user who may ask and pay: "host=127.0.0.1 port=6432 user=ada dbname=bikes"
    #[arg(long, value_name = "URL")]
    proxy: String,
    /// A private table of the policy
    #[arg(long, value_name = "NAME")]
    table: String,
    /// How many values of this column a unit has, for max_groups where groups are private; may be repeated
    #[arg(long, value_name = "COLUMN", required_unless_present = "column")]
    key: Vec<String>,
    /// Where the values of this numeric column lie, for its range; may be repeated
    #[arg(long, value_name = "COLUMN")]
    column: Vec<String>,
    /// The price of each of these questions [default: the session's noisegate.epsilon]
    #[arg(long, value_name = "NUMBER")]
    epsilon: Option<String>,
    /// The share of pairs of unit and value, or of values at both ends together, that a proposal may cut
    #[arg(long, value_name = "SHARE", default_value = "0.005")]
    cut: f64,
}

/// Asks, and prints what to write into the policy.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if !(0.0..1.0).contains(&args.cut) {
        return Err("--cut is a share of at least 0 and below 1, for example 0.01".into());
    }
    let proxy = Proxy::connect(&args.proxy).await?;
    if let Some(epsilon) = &args.epsilon {
        let valid = epsilon.parse::<f64>().is_ok_and(|e| e > 0.0 && e.is_finite());
        if !valid {
            return Err("--epsilon is a number above 0".into());
        }
        proxy.rows(&format!("SET noisegate.epsilon = {epsilon}")).await?;
    }
    let table = ident(&args.table);
    if !args.key.is_empty() {
        let Rows { from, unit } = proxy.rows_of_units(&args.table).await?;
        for key in &args.key {
            let counted = format!("count(DISTINCT {table}.{})", ident(key));
            let counts = format!("SELECT {unit} AS unit, {counted} AS n FROM {from} GROUP BY {unit}");
            let bin = edges::bin("c.n", &edges::counts());
            let asked = format!(
                "SELECT b.bin, count(*) FROM (SELECT {bin} AS bin FROM ({counts}) AS c) AS b GROUP BY b.bin"
            );
            print!("{}", report::groups(key, &proxy.histogram(&asked).await?, args.cut));
        }
    }
    for column in &args.column {
        let bin = edges::bin(&ident(column), &edges::values());
        let values = format!("SELECT {bin} AS bin FROM {table}");
        let asked =
            format!("SELECT b.bin, count(*) FROM ({values}) AS b WHERE b.bin IS NOT NULL GROUP BY b.bin");
        print!("{}", report::values(column, &proxy.histogram(&asked).await?, args.cut));
    }
    let shown = proxy.rows("SHOW noisegate.epsilon").await?;
    let epsilon = shown.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
    let questions = args.key.len() + args.column.len();
    println!(
        "# {questions} question(s) at epsilon {epsilon} each, paid for by who asked: SELECT * FROM noisegate.history"
    );
    Ok(())
}

/// The rows of a private table, each with its unit.
struct Rows {
    /// FROM: the table, and those that lead to the unit.
    from: String,
    /// The unit's column.
    unit: String,
}

/// `table.column`, quoted.
fn qualified(column: &str) -> Option<(&str, String)> {
    let (table, name) = column.trim().split_once('.')?;
    Some((table, format!("{}.{}", ident(table), ident(name))))
}

/// The joins by which a table's rows lead to their unit, as EXPLAIN (VERBOSE) tells them: the table that is joined, and on what.
fn joins(line: &str) -> Option<(&str, String)> {
    let (condition, _) =
        line.trim().strip_prefix("Condition ")?.split_once(", added to a join: it leads to the unit")?;
    let mut joined = None;
    let each = condition.split(" AND ").map(|same| {
        let (left, right) = same.split_once(" = ")?;
        let ((_, left), (table, right)) = (qualified(left)?, qualified(right)?);
        joined = Some(table);
        Some(format!("{left} = {right}"))
    });
    let on = each.collect::<Option<Vec<_>>>()?.join(" AND ");
    Some((joined?, on))
}

impl Proxy {
    /// Where a private table's units stand: in it, or in the table that its path leads to.
    async fn rows_of_units(&self, table: &str) -> Result<Rows, Box<dyn Error>> {
        let mut from = ident(table);
        let mut last = table.to_owned();
        if let Some(unit) = self.unit(table).await? {
            return Ok(Rows { unit: format!("{from}.{}", ident(&unit)), from });
        }
        let plan = self.rows(&format!("EXPLAIN (VERBOSE) SELECT count(*) FROM {from}")).await?;
        for (joined, on) in plan.iter().filter_map(|row| joins(row.first()?.as_deref()?)) {
            from += &format!(" JOIN {} ON {on}", ident(joined));
            joined.clone_into(&mut last);
        }
        self.rows(&format!("EXPLAIN SELECT count(*) FROM {from}")).await.map_err(|e| {
            format!("the columns by which {table:?} leads to the unit must be declared in the policy: {e}")
        })?;
        let unit = if last == table { None } else { self.unit(&last).await? };
        let unit = unit.ok_or_else(|| {
            format!("neither {table:?} nor a table that it leads to shows the unit's column: declare that column in the policy")
        })?;
        Ok(Rows { unit: format!("{}.{}", ident(&last), ident(&unit)), from })
    }

    /// The unit's column of a private table, if it shows it.
    async fn unit(&self, table: &str) -> Result<Option<String>, Box<dyn Error>> {
        let name = string(table);
        let sql =
            format!("SELECT column_name, is_unit, privacy FROM noisegate.columns WHERE table_name = {name}");
        let columns = self
            .rows(&sql)
            .await
            .map_err(|e| format!("this is no noisegate proxy, or not this one's: {e}"))?;
        let is = |row: &[Option<String>], at: usize, what: &str| {
            row.get(at).is_some_and(|v| v.as_deref() == Some(what))
        };
        if columns.is_empty() {
            return Err(format!("the policy has no table {table:?}, or shows none of its columns: SELECT * FROM noisegate.columns").into());
        }
        if columns.iter().any(|row| is(row, 2, "public")) {
            return Err(format!("{table:?} is public: nothing of it is bounded").into());
        }
        let unit = columns.iter().find(|row| is(row, 1, "t") || is(row, 1, "true"));
        Ok(unit.and_then(|row| row.first().cloned().flatten()))
    }

    /// A noisy histogram, and how far its numbers may be off.
    async fn histogram(&self, sql: &str) -> Result<Histogram, Box<dyn Error>> {
        let plan = self.rows(&format!("EXPLAIN (VERBOSE) {sql}")).await?;
        let lines = || plan.iter().filter_map(|row| row.first().and_then(Option::as_deref));
        let error = lines().find_map(|line| {
            let (_, within) = line.split_once("Expected error of count: 95 % within ±")?;
            within.trim().parse::<f64>().ok()
        });
        let error =
            error.ok_or("the proxy's EXPLAIN states no error of the counts: is it of another version?")?;
        let rows = self.rows(sql).await?;
        let bin = |row: &Vec<Option<String>>| {
            let number = |at: usize| row.get(at)?.as_deref()?.parse::<f64>().ok();
            Some((number(0)?, number(1)?))
        };
        Ok(Histogram::new(rows.iter().filter_map(bin).collect(), error))
    }
}
