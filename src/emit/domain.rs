//! Public domains as text: constants, series, and values of public tables.

use super::{ident, number, string, table};
use plan::domain::Domain;
use plan::expr::print::{float, moment};
use plan::release::Release;
use policy::Policy;
use schema::SqlType;
use std::fmt::Write;

/// Every combination of public key values: stage `d` of a fetch, and the whole of a release without aggregates, for the
/// finish login to read.
pub fn rows(release: &Release, policy: &Policy) -> String {
    let mut select = Vec::new();
    let mut from = Vec::new();
    for (i, k) in release.keys.iter().enumerate() {
        let Some((domain, with_null)) = &k.domain else { continue };
        let ty = k.scalar.ty();
        let mut rows = values(domain, ty, policy);
        if *with_null {
            let _ = write!(rows, " UNION SELECT NULL::{}", ty.sql_name());
        }
        select.push(format!("x{i}.k AS k{i}"));
        from.push(format!("({rows}) AS x{i}(k)"));
    }
    format!("SELECT {} FROM {}", select.join(", "), from.join(" CROSS JOIN "))
}

/// A query for the values of a domain, as the key's type.
fn values(domain: &Domain, ty: &SqlType, policy: &Policy) -> String {
    let name = ty.sql_name();
    match domain {
        Domain::Bool => "SELECT true UNION SELECT false".into(),
        // CASE … THEN NULL END: no value but NULL.
        Domain::Values(list) if list.is_empty() => format!("SELECT DISTINCT NULL::{name} WHERE false"),
        Domain::Values(list) => {
            // Of a float key, the statement may list numbers that the type cannot hold.
            let value = |v: &String| match ty.is_float() {
                true => float(&string(v), ty),
                false => format!("{}::{name}", string(v)),
            };
            let rows: Vec<String> = list.iter().map(|v| format!("({})", value(v))).collect();
            format!("SELECT DISTINCT v.v FROM (VALUES {}) AS v(v)", rows.join(", "))
        }
        Domain::Table { table: t, column } => {
            let from = policy.tables.get(*t).map(table).unwrap_or_default();
            let column = ident(column);
            format!("SELECT DISTINCT t.{column}::{name} FROM {from} AS t WHERE t.{column} IS NOT NULL")
        }
        // Steps that a float cannot tell apart are one key, which comes back once.
        Domain::Series { lo, hi, step } => format!(
            "SELECT DISTINCT g.g::{name} FROM pg_catalog.generate_series({}::pg_catalog.numeric, {}::pg_catalog.numeric, {}::pg_catalog.numeric) AS g(g)",
            number(lo),
            number(hi),
            number(step)
        ),
        Domain::DateTrunc { unit, lo, hi, from } => {
            // date_trunc reads dates as timestamps with time zone; others were cast by the statement.
            let cast = if from == ty { "" } else { "::pg_catalog.timestamptz" };
            let step = if *unit == "quarter" { "3 months".to_owned() } else { format!("1 {unit}") };
            let unit = string(unit);
            let (lo, hi) = (moment(from, *lo), moment(from, *hi));
            format!(
                "SELECT DISTINCT pg_catalog.date_trunc({unit}, g.g)::{name} FROM pg_catalog.generate_series(pg_catalog.date_trunc({unit}, ({lo}){cast}), ({hi}){cast}, '{step}'::pg_catalog.interval) AS g(g)"
            )
        }
        Domain::Days { lo, hi } => format!(
            "SELECT DISTINCT g.g::pg_catalog.date FROM pg_catalog.generate_series({}, {}, '1 day'::pg_catalog.interval) AS g(g)",
            moment(&SqlType::Timestamp, *lo),
            moment(&SqlType::Timestamp, *hi)
        ),
    }
}
