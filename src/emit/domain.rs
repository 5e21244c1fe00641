//! Public domains as text: constants, series, and values of public tables.

use super::{alias, ident, number, scalar, string, table};
use plan::expr::domain::{Domain, Image, Tuple, TuplesOf};
use plan::expr::print::{ZONE, float, in_zone, moment};
use plan::expr::{Scalar, StandIn, VALUE};
use plan::release::Release;
use policy::Policy;
use schema::SqlType;
use schema::time::DAY;

/// Every combination of public key values: the whole of a release without aggregates, for the finish login to read.
pub fn rows(release: &Release, policy: &Policy) -> String {
    in_zone(&unzoned(release, policy), &release.zone)
}

/// The same as stage `d` of a fetch, in no zone yet.
pub(super) fn unzoned(release: &Release, policy: &Policy) -> String {
    let mut select = Vec::new();
    let mut from = Vec::new();
    for (i, k) in release.keys.iter().enumerate() {
        let Some((domain, with_null)) = &k.domain else { continue };
        let (place, column) = place(release, i);
        select.push(format!("x{place}.{column} AS k{i}"));
        match domain {
            Domain::Tuple { at: 1.., .. } => {}
            Domain::Tuple { tuple, .. } => {
                let columns: Vec<String> = (0..tuple.of.len()).map(column_of).collect();
                from.push(format!("({}) AS x{i}({})", tuples(tuple, policy), columns.join(", ")));
            }
            domain => {
                from.push(format!(
                    "({}) AS x{i}({VALUE})",
                    of(domain, k.scalar.ty(), *with_null, "", policy)
                ));
            }
        }
    }
    format!(
        "SELECT {} FROM {}{}",
        select.join(", "),
        from.join(" CROSS JOIN "),
        conditions(&over_tuples(release), None)
    )
}

/// The column of a place in tuples.
fn column_of(at: usize) -> String {
    if at == 0 { VALUE.to_owned() } else { format!("{VALUE}{at}") }
}

/// The relation that has a key's values, by the place of the key that it is named for, and the column.
fn place(release: &Release, key: usize) -> (usize, String) {
    let Some((Domain::Tuple { tuple, at }, _)) = release.keys.get(key).and_then(|k| k.domain.as_ref()) else {
        return (key, VALUE.to_owned());
    };
    let first = release
        .keys
        .iter()
        .position(|k| matches!(&k.domain, Some((Domain::Tuple { tuple: of, at: 0 }, _)) if of == tuple));
    (first.unwrap_or(key), column_of(*at))
}

/// The conditions over keys, over the columns that hold their values.
fn over_tuples(release: &Release) -> Vec<Scalar> {
    let stands: Vec<(Scalar, Scalar)> = release
        .keys
        .iter()
        .enumerate()
        .map(|(i, k)| {
            let (place, column) = place(release, i);
            let of = StandIn::Key(place).binding();
            (k.scalar.stand_in(StandIn::Key(i).binding()), k.scalar.stand_in_as(of, &column))
        })
        .collect();
    if stands.iter().all(|(a, b)| a == b) {
        return release.only.clone();
    }
    let given: Vec<(&Scalar, Scalar)> = stands.iter().map(|(a, b)| (a, b.clone())).collect();
    // A condition that were left out would leave groups more.
    release.only.iter().filter_map(|c| c.over(&given)).collect()
}

/// Tuples, each once.
fn tuples(tuple: &Tuple, policy: &Policy) -> String {
    let values: Vec<String> = tuple.of.iter().map(|s| scalar::key(s, false)).collect();
    let (from, null) = match &tuple.from {
        TuplesOf::Rows { table: t, binding, null } => {
            let from = policy.tables.get(*t).map(table).unwrap_or_default();
            (format!("{from} AS {}", alias(*binding)), *null)
        }
        TuplesOf::Base(b) => {
            let rows = of(&b.domain, &b.ty, b.null, "0", policy);
            (format!("({rows}) AS {}({VALUE})", alias(StandIn::Base(0).binding())), false)
        }
    };
    let nulls: Vec<String> = tuple.of.iter().map(|s| format!("NULL::{}", s.ty().sql_name())).collect();
    let null = if null { format!(" UNION SELECT {}", nulls.join(", ")) } else { String::new() };
    format!("SELECT DISTINCT {} FROM {from}{}{null}", values.join(", "), conditions(&tuple.only, None))
}

/// ` WHERE …`
fn conditions(list: &[Scalar], first: Option<String>) -> String {
    let all: Vec<String> = first.into_iter().chain(list.iter().map(scalar::text)).collect();
    if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
}

/// A query for the values of a domain, each once.
fn of(domain: &Domain, ty: &SqlType, with_null: bool, n: &str, policy: &Policy) -> String {
    let null = if with_null { format!(" UNION SELECT NULL::{}", ty.sql_name()) } else { String::new() };
    values(domain, ty, n, policy) + &null
}

/// An expression over the values of what it is a function of.
fn image(image: &Image, policy: &Policy) -> String {
    let value = scalar::key(&image.of, false);
    let bases = image.bases.iter().enumerate().map(|(i, b)| {
        let rows = of(&b.domain, &b.ty, b.null, &i.to_string(), policy);
        format!("({rows}) AS {}({VALUE})", alias(StandIn::Base(i).binding()))
    });
    let from: Vec<String> = bases.collect();
    let present = image.of.nullable().then(|| format!("({value}) IS NOT NULL"));
    let from = if from.is_empty() { String::new() } else { format!(" FROM {}", from.join(" CROSS JOIN ")) };
    format!("SELECT DISTINCT {value}{from}{}", conditions(&image.only, present))
}

/// date_trunc of the moments between these, in this type. No series is of moments in a zone: its steps would be the session's.
fn truncated(unit: &str, [lo, hi]: [i64; 2], from: &SqlType, ty: &SqlType, n: &str) -> String {
    let step = if unit == "quarter" { "3 months".to_owned() } else { format!("1 {unit}") };
    let cut = |x: &str| format!("pg_catalog.date_trunc('{unit}', {x})");
    let cut_in_zone = |x: &str| format!("pg_catalog.date_trunc('{unit}', {x}, {ZONE})");
    let zoned = |x: &str| format!("pg_catalog.timezone({ZONE}, {x})");
    let utc = |x: &str| format!("pg_catalog.timezone('UTC', {x})");
    let g = format!("g{n}.g");
    let (lo, hi) = (moment(from, lo), moment(from, hi));
    let clock = ["second", "minute", "hour"].contains(&unit);
    // An hour that clocks show twice is two moments: those of a moment's clock are stepped through in UTC, others as clocks
    // show them.
    let (lo, hi, value) = match (from, ty) {
        (SqlType::Timestamptz, SqlType::Timestamptz) if clock => {
            (utc(&cut_in_zone(&lo)), utc(&hi), cut_in_zone(&utc(&g)))
        }
        (SqlType::Timestamptz, _) if clock => (utc(&cut_in_zone(&lo)), utc(&hi), cut(&zoned(&utc(&g)))),
        (SqlType::Timestamptz, SqlType::Timestamptz) => {
            (cut(&zoned(&lo)), zoned(&hi), cut_in_zone(&zoned(&g)))
        }
        (SqlType::Timestamptz, _) => (cut(&zoned(&lo)), zoned(&hi), cut(&g)),
        (_, ty) => {
            let local = |x: String| match from {
                SqlType::Date => format!("({x})::pg_catalog.timestamp"),
                _ => x,
            };
            let value = if *ty == SqlType::Timestamptz { cut_in_zone(&zoned(&g)) } else { cut(&g) };
            (cut(&local(lo)), local(hi), value)
        }
    };
    format!(
        "SELECT DISTINCT {value}::{} FROM pg_catalog.generate_series({lo}, {hi}, '{step}'::pg_catalog.interval) AS g{n}(g)",
        ty.sql_name()
    )
}

/// The same, of its values but NULL, in this type. `n` keeps the names of several apart.
fn values(domain: &Domain, ty: &SqlType, n: &str, policy: &Policy) -> String {
    let name = ty.sql_name();
    match domain {
        Domain::Bool => "SELECT true UNION SELECT false".into(),
        // CASE … THEN NULL END: no value but NULL.
        Domain::Values(list) if list.is_empty() => format!("SELECT DISTINCT NULL::{name} WHERE false"),
        Domain::Values(list) => {
            // Of a float key, the statement may list numbers that the type cannot hold.
            let value = |v: &String| match ty.is_float() {
                true => float(&string(v), ty),
                // What is listed without an offset is what the session's clock shows.
                false
                    if *ty == SqlType::Timestamptz
                        && !v.ends_with("+00")
                        && policy::from_iso(v).is_some() =>
                {
                    format!("pg_catalog.timezone({ZONE}, {}::pg_catalog.timestamp)", string(v))
                }
                false => format!("{}::{name}", string(v)),
            };
            let rows: Vec<String> = list.iter().map(|v| format!("({})", value(v))).collect();
            format!("SELECT DISTINCT v{n}.v FROM (VALUES {}) AS v{n}(v)", rows.join(", "))
        }
        Domain::Table { table: t, column, only } => {
            let from = policy.tables.get(*t).map(table).unwrap_or_default();
            let column = ident(column);
            let row = only.as_ref().map_or_else(|| format!("t{n}"), |rows| alias(rows.binding));
            let only = only.as_ref().map(|rows| rows.meets.as_slice()).unwrap_or_default();
            let only = conditions(only, Some(format!("{row}.{column} IS NOT NULL")));
            format!("SELECT DISTINCT {row}.{column}::{name} FROM {from} AS {row}{only}")
        }
        // Steps that a float cannot tell apart are one key, which comes back once.
        Domain::Series { lo, hi, step } => format!(
            "SELECT DISTINCT g{n}.g::{name} FROM pg_catalog.generate_series({}::pg_catalog.numeric, {}::pg_catalog.numeric, {}::pg_catalog.numeric) AS g{n}(g)",
            number(lo),
            number(hi),
            number(step)
        ),
        Domain::DateTrunc { unit, lo, hi, from } => truncated(unit, [*lo, *hi], from, ty, n),
        Domain::Days { lo, hi, from } => {
            let day = |at: i64| match from {
                // The day of a moment with a time zone is one of the session's.
                SqlType::Timestamptz => {
                    format!("pg_catalog.date_trunc('day', pg_catalog.timezone({ZONE}, {}))", moment(from, at))
                }
                _ => moment(&SqlType::Timestamp, at - at.rem_euclid(DAY)),
            };
            let (lo, hi) = (day(*lo), day(*hi));
            format!(
                "SELECT DISTINCT g{n}.g::pg_catalog.date FROM pg_catalog.generate_series({lo}, {hi}, '1 day'::pg_catalog.interval) AS g{n}(g)"
            )
        }
        Domain::Image(of) => image(of, policy),
        // Tuples are relations of their own.
        Domain::Tuple { .. } => format!("SELECT DISTINCT NULL::{name} WHERE false"),
    }
}
