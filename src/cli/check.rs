//! `noisegate check --policy F`: proves a policy against the database that it names.

use crate::backend::introspect;
use crate::policy::{self, Accounting, Budget, Policy, Privacy, Scope};
use crate::schema::Schema;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use tokio_postgres::NoTls;

/// Time for the database to answer.
const CONNECT: Duration = Duration::from_secs(10);

/// The summary of the policy at `path`, or its mistakes.
pub async fn report(path: &Path) -> Result<String, String> {
    let raw = policy::load(path).map_err(|e| e.to_string())?;
    let mistakes = || raw.mistakes().iter().map(|e| format!("{e}\n")).collect::<String>();
    let Some(backend) = raw.backend() else {
        let why = "tables and columns were not checked: the policy does not say which database";
        return Err(mistakes() + why);
    };
    // Without the database, what the text alone shows is worth knowing all the same.
    let schema = match read_schema(&backend.url).await {
        Ok(schema) => schema,
        Err(e) => return Err(format!("{}tables and columns were not checked: {e}", mistakes())),
    };
    let (policy, warnings) = raw.check_with_warnings(&schema).map_err(|e| e.to_string())?;
    let mut text = String::new();
    for warning in warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.push_str(&summary(&policy));
    Ok(text)
}

/// Connects, reads, and hangs up.
async fn read_schema(url: &str) -> Result<Schema, String> {
    let config: tokio_postgres::Config = url.parse().map_err(|_| "backend.url is not a URL".to_owned())?;
    let connect = tokio::time::timeout(CONNECT, config.connect(NoTls));
    let (client, connection) = match connect.await {
        Ok(Ok(connected)) => connected,
        Ok(Err(e)) => return Err(format!("cannot connect to {}: {}", place(&config), reason(&e))),
        Err(_) => return Err(format!("{} does not answer within {CONNECT:?}", place(&config))),
    };
    let connection = tokio::spawn(connection);
    let schema = introspect::read_schema(&client).await.map_err(|e| e.to_string());
    connection.abort();
    schema
}

/// Host, port and database of a URL, without user and password.
fn place(config: &tokio_postgres::Config) -> String {
    let host = match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    format!("the database {:?} at {host}:{port}", config.get_dbname().unwrap_or_default())
}

/// The cause below `tokio_postgres::Error`'s own words, which name only the stage.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Tables, unit and budgets in a few lines.
fn summary(policy: &Policy) -> String {
    let mut text = String::from("policy ok\n");
    let unit_table = policy.tables.get(policy.unit.0).map_or("", |t| t.name.as_str());
    let _ = writeln!(text, "  unit      {unit_table}.{}", policy.unit.1);
    for t in &policy.tables {
        let whose = match &t.privacy {
            Privacy::Public => "public".to_owned(),
            Privacy::Private { unit, nullable, .. } => {
                let rows = match t.proven_rows {
                    Some(1) => ", one row per unit".to_owned(),
                    Some(n) => format!(", at most {n} rows per unit"),
                    None => String::new(),
                };
                let dropped = if *nullable { ", rows without a unit are dropped" } else { "" };
                format!("private by {unit}{rows}{dropped}")
            }
        };
        let columns: Vec<&str> = t.columns.iter().map(|c| c.name.as_str()).collect();
        let _ = writeln!(text, "  table     {}: {whose}; columns {}", t.name, columns.join(", "));
    }
    for b in &policy.budgets {
        let whose = match b.scope {
            Scope::Dataset => "the whole dataset",
            Scope::User => "each user",
            Scope::Role => "each role",
        };
        let price = policy.statement.epsilon.normalized();
        let _ = writeln!(
            text,
            "  budget    {}: {whose} ε = {}{}, {}: about {} statements at ε = {}",
            b.name,
            b.epsilon.normalized(),
            if b.accounting == Accounting::Pure { String::new() } else { format!(", δ = {}", b.delta) },
            match b.accounting {
                Accounting::Pure => "pure",
                Accounting::Approx => "approx",
                Accounting::Zcdp => "zcdp",
            },
            statements(b, policy),
            price,
        );
    }
    text.trim_end().to_owned()
}

/// Statements of the default price, with public groups only, that a budget admits: an orientation in floating
/// point for the owner; what is admitted is the ledger's to decide, exactly.
///
/// zCDP: (ε, δ) is implied by ρ = (√(ε + L) − √L)², L = ln(1/δ) (Bun and Steinke 2016, proposition 1.3), and a
/// statement of price ε costs at most ε²/2 (their proposition 1.4).
fn statements(budget: &Budget, policy: &Policy) -> u64 {
    let float = |d: &bigdecimal::BigDecimal| d.to_string().parse::<f64>().unwrap_or(f64::NAN);
    let (total, price) = (float(&budget.epsilon), float(&policy.statement.epsilon));
    let count = match budget.accounting {
        Accounting::Pure | Accounting::Approx => total / price,
        Accounting::Zcdp => {
            let l = -float(&(&budget.delta - &budget.selection_delta)).ln();
            // (√(ε + L) − √L) without the cancellation.
            let root = total / ((total + l).sqrt() + l.sqrt());
            root * root / (price * price / 2.0)
        }
    };
    // A quotient such as 0.8 / 0.1 must not lose one to rounding; `as` saturates, and NaN is 0.
    (count * (1.0 + 1e-12)).floor() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn policy() -> Policy {
        let schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
        let text = include_str!("../../config/bikes.toml");
        policy::parse(text, "bikes.toml", Path::new("")).unwrap().check(&schema).unwrap()
    }

    #[test]
    fn what_a_budget_allows() {
        let mut policy = policy();
        // ρ = (√(8 + L) − √L)² with L = ln(2·10⁶) = 0.8747…, a statement costs 0.005.
        assert_eq!(statements(&policy.budgets[0], &policy), 174);
        policy.budgets[0].accounting = Accounting::Pure;
        assert_eq!(statements(&policy.budgets[0], &policy), 80);
        policy.budgets[0].epsilon = "0.3".parse().unwrap();
        assert_eq!(statements(&policy.budgets[0], &policy), 3);
    }

    #[test]
    fn summary_names_units_tables_and_budgets() {
        let text = summary(&policy());
        for part in [
            "policy ok\n",
            "unit      riders.rider_id\n",
            "riders: private by rider_id, one row per unit; columns rider_id, birth_year, plan, city\n",
            "stations: public; columns station, city, capacity\n",
            "everyone: the whole dataset ε = 8, δ = 0.000001, zcdp: about",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
    }
}
