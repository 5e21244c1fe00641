//! Statements planned by a policy and the snapshot of its schema, where there is no database: the same parse, resolve and plan as
//! `serve`'s. What is missing is PostgreSQL's own judgement of types.

use super::args::PolicyFile;
use super::snapshot;
use answer::ClientError;
use bigdecimal::{BigDecimal, Signed};
use emit::print::Constants;
use plan::{self, Accuracy, Plan, PlanError};
use policy::{self, Policy, decimal_text};
use schema::time;
use schema::{Size, Snapshot};
use sql::parse::Parsed;
use sql::{self, Kind};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Arguments of all commands that plan without a database.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    #[command(flatten)]
    pub policy: PolicyFile,
    /// As SET noisegate.epsilon [default: statement.epsilon of the policy]
    #[arg(long, value_name = "NUMBER", value_parser = epsilon)]
    pub epsilon: Option<BigDecimal>,
    /// How many values a column of a public table has, where the snapshot does not say; may be repeated
    #[arg(long, value_name = "TABLE.COLUMN=N", value_parser = domain_size)]
    pub domain_size: Vec<(String, String, u64)>,
}

impl Args {
    /// Of a policy and its own settings.
    pub fn of(policy: &PolicyFile) -> Self {
        Self { policy: policy.clone(), epsilon: None, domain_size: Vec::new() }
    }
}

/// Settings that a session may have.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Chosen {
    /// As SET noisegate.accuracy: the least price, up to --epsilon, at which each number comes this near, 95 times in 100
    #[arg(long, value_name = "NUMBER", value_parser = accuracy)]
    pub accuracy: Option<f64>,
    /// As SET noisegate.max_groups [default: statement.max_groups of the policy]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_groups: Option<u32>,
    /// As SET noisegate.max_rows [default: statement.max_rows of the policy]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_rows: Option<u32>,
}

/// A price, as the policy's own.
pub(super) fn epsilon(text: &str) -> Result<BigDecimal, String> {
    let number = decimal_text(text, 10);
    let (least, most) = (BigDecimal::new(1.into(), 9), BigDecimal::from(1000));
    let in_range = |n: &BigDecimal| n.is_positive() && (&least..=&most).contains(&n);
    number.filter(in_range).ok_or_else(|| "a price is a number from 1e-9 to 1000".to_owned())
}

fn accuracy(text: &str) -> Result<f64, String> {
    let good = text.parse().ok().filter(|a| (1e-15..=1e30).contains(a));
    good.ok_or_else(|| "an accuracy is a number above 0, in the unit of what is asked for".to_owned())
}

fn domain_size(text: &str) -> Result<(String, String, u64), String> {
    let parsed = || {
        let (name, n) = text.rsplit_once('=')?;
        let (table, column) = name.rsplit_once('.')?;
        Some((table.trim().to_owned(), column.trim().to_owned(), n.trim().parse().ok()?))
    };
    parsed().ok_or_else(|| "write for example stations.station=120".to_owned())
}

/// Why nothing about the statement can be said, or that it is refused.
pub(super) enum Failed {
    /// The statement.
    Statement(Box<ClientError>),
    /// Policy, snapshot, arguments.
    Other(String),
}

impl From<ClientError> for Failed {
    fn from(e: ClientError) -> Self {
        Self::Statement(Box::new(e))
    }
}

impl From<String> for Failed {
    fn from(e: String) -> Self {
        Self::Other(e)
    }
}

/// A planner without a database.
pub(super) struct Offline {
    pub policy: Policy,
    pub settings: plan::Settings,
    pub found: Snapshot,
    sizes: plan::Sizes,
}

impl Offline {
    /// The policy, its snapshot and the settings that the arguments stand for.
    pub fn read(args: &Args, chosen: &Chosen) -> Result<Self, String> {
        let file = &args.policy.policy;
        let raw = policy::load_elsewhere(file).map_err(|e| e.to_string())?;
        let backend = raw.backend().ok_or_else(|| policy::PolicyErrors(raw.mistakes()).to_string())?;
        let found = snapshot::read(&backend.schema, file)?;
        let mut policy = raw.check(&found.schema).map_err(|e| e.to_string())?;
        policy.with_profiles(&snapshot::profiles(&found));
        let settings = settings(args, chosen, &policy, found.schema.server_version)?;
        let sizes = sizes(&policy, &found.sizes, &args.domain_size)?;
        Ok(Self { policy, settings, found, sizes })
    }

    /// The plan of a statement, under this policy and these settings in the place of its own.
    pub fn plan(&self, parsed: Parsed, policy: &Policy, settings: &plan::Settings) -> Result<Plan, Failed> {
        plan(parsed, policy, settings, &self.sizes)
    }
}

fn settings(
    args: &Args,
    chosen: &Chosen,
    policy: &Policy,
    server_version: u32,
) -> Result<plan::Settings, String> {
    let ratio = |x: &BigDecimal, key: &str| {
        dp::ratio(x).ok_or_else(|| format!("{key} has too many digits to compute with"))
    };
    let statement = &policy.statement;
    if let Some(asked) = args.epsilon.as_ref().filter(|e| **e < statement.min_epsilon) {
        let plain = |e: &BigDecimal| e.normalized().to_plain_string();
        let (asked, least) = (plain(asked), plain(&statement.min_epsilon));
        return Err(format!("--epsilon {asked} is below {least}, the policy's statement.min_epsilon"));
    }
    let epsilon = ratio(args.epsilon.as_ref().unwrap_or(&statement.epsilon), "epsilon")?;
    let delta = ratio(&statement.delta, "delta")?;
    let max_groups = chosen.max_groups.unwrap_or(statement.max_groups);
    Ok(plan::Settings {
        accuracy: chosen
            .accuracy
            .map(|half_width| Accuracy { half_width, confidence: sql::ast::Reach::USUAL }),
        chosen_rows: chosen.max_rows,
        old_extract: server_version < 140_000,
        // Whoever asks may have to pay from each of them.
        budgets: policy.budgets.iter().map(|b| (b.name.clone(), b.notion())).collect(),
        ..plan::Settings::new(epsilon, delta, max_groups, statement.max_rows)
    })
}

/// Constants of a session that nobody has yet.
pub(super) fn constants() -> Constants {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX) - 946_684_800 * time::MICROS_PER_SECOND;
    Constants {
        now: format!("{}+00", time::timestamp(micros)),
        user: "user".into(),
        database: "database".into(),
        schema: Some("public".into()),
        own: Vec::new(),
    }
}

/// The numbers of values of public columns: those that were given win over those of the snapshot.
fn sizes(policy: &Policy, snapshot: &[Size], given: &[(String, String, u64)]) -> Result<plan::Sizes, String> {
    let mut sizes = HashMap::new();
    for s in snapshot {
        let table = policy.tables.iter().position(|t| t.schema == s.schema && t.name == s.table);
        if let Some(table) = table {
            sizes.insert(
                plan::Size::Distinct(table, s.column.clone()),
                usize::try_from(s.values).unwrap_or(usize::MAX),
            );
        }
    }
    for (name, column, n) in given {
        let table = policy.tables.iter().position(|t| t.name == *name && t.column(column).is_some());
        let Some(table) = table else {
            return Err(format!("--domain-size {name}.{column}: the policy has no such column"));
        };
        sizes.insert(plan::Size::Distinct(table, column.clone()), usize::try_from(*n).unwrap_or(usize::MAX));
    }
    Ok(sizes)
}

fn plan(
    parsed: Parsed,
    policy: &Policy,
    settings: &plan::Settings,
    sizes: &plan::Sizes,
) -> Result<Plan, Failed> {
    let (query, lines) = match sql::classify(parsed)?.kind {
        Kind::Query(query, lines) | Kind::Explain(query, lines, _) => (query, lines),
        Kind::Control | Kind::Session(_) | Kind::Arguments(..) | Kind::Insert(_) => {
            return Err(ClientError::unsupported("only queries are explained").hint("Write SELECT …").into());
        }
    };
    let mut statement = sql::resolve::resolve(&query, &lines, policy, &policy.limits)?;
    let now = constants().now;
    // What else PostgreSQL alone can evaluate, the planner refuses by name.
    sql::constants::visit(&mut statement, sql::constants::Wanted::Values, &mut |e, array| {
        if let Some(value) = plan::expr::constant::evaluate(e, Some(&now)).filter(|_| !array) {
            *e = value;
        }
    });
    let mut sizes = sizes.clone();
    loop {
        let wanted = match plan::plan(&mut statement, policy, settings, &sizes) {
            Ok(plan) => return Ok(plan),
            Err(PlanError::Refused(e)) => return Err(Failed::Statement(e)),
            Err(PlanError::Missing(missing)) if !missing.types.is_empty() => {
                return Err(Failed::Other(
                    "types in it are PostgreSQL's to say, of a released value among private rows or of a UNION ALL of private rows \
                     and others: ask the proxy itself (EXPLAIN SELECT …)"
                        .into(),
                ));
            }
            Err(PlanError::Missing(missing)) if !missing.rows.is_empty() => {
                return Err(Failed::Other(
                    "public rows are computed beside private ones: ask a running proxy for EXPLAIN, which reads them".into(),
                ));
            }
            Err(PlanError::Missing(missing)) => missing.sizes,
        };
        for size in wanted {
            if let plan::Size::Distinct(table, column) = &size {
                return Err(unmeasured(policy, *table, column));
            }
            // How many rows public tables have is not in a snapshot: the work of a row is bounded where there is a database.
            sizes.insert(size, 1);
        }
    }
}

fn unmeasured(policy: &Policy, table: usize, column: &str) -> Failed {
    let name = policy.tables.get(table).map_or("", |t| t.name.as_str());
    Failed::Other(format!(
        "the snapshot does not say how many values {name}.{column} has, and whether groups are public depends on it; write the \
         snapshot anew (noisegate check --write-schema), or say --domain-size {name}.{column}=N"
    ))
}

/// An error as psql shows it.
pub(super) fn told(e: &ClientError, sql: &str) -> String {
    let mut out = format!("ERROR:  {}: {}\n", e.code.as_str(), e.message);
    if let Some((number, line, column)) = e.position.and_then(|p| place(sql, p)) {
        let label = format!("LINE {number}: ");
        let indent = " ".repeat(label.chars().count() + column);
        let _ = write!(out, "{label}{line}\n{indent}^\n");
    }
    for (name, text) in [("DETAIL", &e.detail), ("HINT", &e.hint)] {
        if let Some(text) = text {
            let _ = writeln!(out, "{name}:  {text}");
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Number (from 1) and text of the line of a position (characters, from 1), and the characters before it there.
fn place(sql: &str, position: usize) -> Option<(usize, &str, usize)> {
    let mut before = position.checked_sub(1)?;
    for (i, line) in sql.split('\n').enumerate() {
        let length = line.chars().count();
        if before <= length {
            return Some((i + 1, line, before));
        }
        before -= length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use answer::SqlState;

    #[test]
    fn places_are_found_in_the_text() {
        assert_eq!(place("SELECT é", 8), Some((1, "SELECT é", 7)));
        assert_eq!(place("a\nbc", 4), Some((2, "bc", 1)));
        assert_eq!(place("a", 9), None);
        let e = ClientError::new(SqlState::UNDEFINED_COLUMN, "no").hint("h").at(Some(4));
        assert_eq!(told(&e, "a\nbc"), "ERROR:  42703: no\nLINE 2: bc\n         ^\nHINT:  h");
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(domain_size("a.b.c=7"), Ok(("a.b".into(), "c".into(), 7)));
        assert!(domain_size("c=7").is_err() && domain_size("a.b").is_err() && domain_size("a.b=x").is_err());
        assert_eq!(epsilon("0.5"), Ok("0.5".parse().unwrap()));
        for bad in ["0", "-1", "1001", "1e-10", "NaN", "1e-999999999", ""] {
            assert!(epsilon(bad).is_err(), "{bad}");
        }
    }
}
