//! Where bounds do not bind, the fetch gives what PostgreSQL gives for the analyst's own statement: a fetch that
//! returns zeros would change little when a unit leaves, too.

use crate::data::Variant;
use crate::harness::{Claim, Lab, Planned, Rows, numeric, settings};
use crate::query;
use crate::rng::Rng;
use crate::samples::Samples;
use bigdecimal::{BigDecimal, ToPrimitive, Zero};
use noisegate::plan::aggregates::{self, Average, CentredSum, Constant, Count, Sum};
use noisegate::plan::{Output, Part, PartKind, Release, Settings};
use noisegate::sql::ast::{Body, ExprKind};
use postgres_types::Type;
use std::collections::HashMap;
use tokio_postgres::Row;

/// Statements that must have been compared, of those drawn.
const WANTED: u32 = 150;

/// Bounds that do not bind, whatever tables say of theirs.
fn unbound() -> Settings {
    Settings { chosen_rows: Some(100_000), ..settings(1_000, 100_000) }
}

#[tokio::test]
async fn exact_values_are_those_of_postgresql() {
    let variant = Variant { dirty: false, nullable_unit: true, tied: 0, seed: 4 };
    let (seed, only) = (crate::seed(), crate::number("NOISEGATE_RECORDER_CASE"));
    let mut lab = Lab::new(variant).await;
    let samples = Samples::of_lab(&mut lab).await;
    let (mut compared, mut cells, mut case) = (0, 0, 0);
    let mut failures = Vec::new();
    while compared < WANTED && failures.len() < 8 {
        case = only.unwrap_or(case + 1);
        assert!(case < 2_000, "only {compared} statements could be compared");
        let mut rng = Rng::of_case(seed ^ variant.seed, case);
        let q = query::query(&mut rng, &samples, true);
        let Ok(planned) = lab.plan(&q.sql, &unbound()).await else { continue };
        // What comes after a stage hangs on a value that has noise.
        if !planned.plan.stages.is_empty() {
            continue;
        }
        if let Some((release, fetch)) = lab.paying(&planned).first() {
            let rows = lab
                .fetch(fetch, &Claim::of(release))
                .await
                .unwrap_or_else(|e| panic!("{e}\n{}\n{fetch}", q.sql));
            // It may divide by zero or overflow where noisegate gives NULL: nothing to compare.
            if let Some(truth) = analyst(&lab, &q.sql).await {
                compared += 1;
                match agree(&planned, release, &rows, &truth) {
                    Ok(n) => cells += n,
                    Err(e) => failures.push(format!(
                        "{e}\n  case: NOISEGATE_RECORDER_SEED={seed} NOISEGATE_RECORDER_CASE={case}\n  statement: {}\n  fetch: {fetch}\n",
                        q.sql
                    )),
                }
            }
        }
        if only.is_some() {
            break;
        }
    }
    println!("{compared} statements compared, {cells} values, of {case} drawn");
    assert!(failures.is_empty(), "{} failures, of which:\n{}", failures.len(), failures.join("\n"));
    assert!(only.is_some() || cells > 1_000, "{cells} values compared");
}

/// The analyst's statement, run by PostgreSQL as it stands, over the rows that have a unit.
async fn analyst(lab: &Lab, sql: &str) -> Option<Vec<Row>> {
    lab.client
        .batch_execute("SAVEPOINT analyst; SET LOCAL search_path = public; SET LOCAL timezone = 'UTC'")
        .await
        .unwrap();
    lab.client.batch_execute(crate::data::NOBODYS).await.unwrap();
    let rows = lab.client.query(sql, &[]).await;
    lab.client.batch_execute("ROLLBACK TO analyst").await.unwrap();
    rows.ok()
}

/// A key in a form in which equal values are equal: numbers without trailing zeros, one zero.
fn canonical(ty: &Type, raw: Option<Vec<u8>>) -> String {
    let Some(raw) = raw else { return "NULL".into() };
    match *ty {
        Type::NUMERIC => numeric(&raw).map_or("NaN".into(), |n| n.normalized().to_plain_string()),
        Type::FLOAT8 => (f64::from_be_bytes(raw.try_into().unwrap()) + 0.0).to_string(),
        Type::FLOAT4 => (f32::from_be_bytes(raw.try_into().unwrap()) + 0.0).to_string(),
        _ => format!("{raw:?}"),
    }
}

/// A number of PostgreSQL's answer.
fn value(row: &Row, i: usize) -> Option<BigDecimal> {
    let raw: Vec<u8> = row.get::<_, Option<crate::harness::Raw>>(i)?.0;
    Some(match *row.columns()[i].type_() {
        Type::INT8 => BigDecimal::from(i64::from_be_bytes(raw.try_into().unwrap())),
        Type::FLOAT8 => BigDecimal::try_from(f64::from_be_bytes(raw.try_into().unwrap())).unwrap(),
        Type::FLOAT4 => BigDecimal::try_from(f32::from_be_bytes(raw.try_into().unwrap())).unwrap(),
        Type::NUMERIC => numeric(&raw).unwrap(),
        ref other => panic!("an aggregate of type {other}"),
    })
}

fn agree(planned: &Planned, release: &Release, rows: &Rows, truth: &[Row]) -> Result<u32, String> {
    let Body::Select(select) = &planned.plan.statement.query.body else { panic!("not a SELECT") };
    // What of the select list is a key, and how each aggregate is computed.
    let outputs: Vec<Option<&Output>> = select
        .items
        .iter()
        .map(|i| match &i.expr.kind {
            ExprKind::Aggregate(a) => release.outputs.iter().find(|(have, _)| *have == **a).map(|(_, o)| o),
            _ => None,
        })
        .collect();
    let keys: Vec<usize> = (0..outputs.len()).filter(|i| outputs[*i].is_none()).collect();
    let place = |i: &usize| release.keys.iter().position(|k| k.expr == select.items[*i].expr).unwrap();
    let types: HashMap<usize, Type> = truth
        .first()
        .map(|r| keys.iter().map(|i| (place(i), r.columns()[*i].type_().clone())).collect())
        .unwrap_or_default();
    let mut fetched: HashMap<Vec<String>, Vec<i128>> = HashMap::new();
    for (key, integers) in &rows.0 {
        let key = key
            .iter()
            .enumerate()
            .map(|(i, raw)| canonical(types.get(&i).unwrap_or(&Type::TEXT), raw.clone()));
        let parts = &integers[usize::from(release.spec.selection.is_some())..];
        // Nothing is scaled here: steps are whole numbers.
        let whole = |(n, p): (&i128, &Part)| {
            let steps = i128::from(release.bounding.steps(&p.kind));
            assert_eq!(n % steps, 0, "{n} steps");
            n / steps
        };
        fetched.insert(key.collect(), parts.iter().zip(&release.parts).map(whole).collect());
    }
    let mut cells = 0;
    for row in truth {
        let mut key = vec![String::new(); release.keys.len()];
        for i in &keys {
            let raw = row.get::<_, Option<crate::harness::Raw>>(*i).map(|r| r.0);
            key[place(i)] = canonical(row.columns()[*i].type_(), raw);
        }
        let parts = fetched.remove(&key).ok_or_else(|| format!("the group {key:?} is missing"))?;
        for (i, output) in outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            cells += 1;
            let expected = value(row, i);
            let float = matches!(*row.columns()[i].type_(), Type::FLOAT4 | Type::FLOAT8);
            same(release, output, &parts, expected.as_ref(), float)
                .map_err(|e| format!("column {i} of group {key:?}: {e}, and PostgreSQL says {expected:?}"))?;
        }
    }
    // What PostgreSQL does not know of are public groups without rows.
    match fetched.values().flat_map(|parts| parts.iter()).find(|n| **n != 0) {
        Some(n) if !(release.keys.is_empty() && truth.is_empty()) => {
            Err(format!("a group without rows has {n}"))
        }
        _ => Ok(cells),
    }
}

fn same(
    release: &Release,
    output: &Output,
    parts: &[i128],
    expected: Option<&BigDecimal>,
    float: bool,
) -> Result<(), String> {
    let sum = |part: usize| match &release.parts[part].kind {
        PartKind::Sum(s) => s,
        _ => panic!("a sum that is none"),
    };
    let on_grid = |part: usize| {
        let s = sum(part);
        // Values on the grid add up exactly; others are rounded to it row by row.
        let exact = s.arg().lattice() == Some(s.grid());
        (s, if exact { BigDecimal::zero() } else { s.grid() * BigDecimal::from(30_000) })
    };
    let zero = BigDecimal::zero();
    let mut empty_is_zero = true;
    let (got, tolerance) = if let Some(Sum { part, .. }) = output.of() {
        let (s, tolerance) = on_grid(*part);
        (Some(BigDecimal::from(parts[*part]) * s.grid()), tolerance)
    } else if let Some(CentredSum { sum: part, count, .. }) = output.of() {
        let (s, tolerance) = on_grid(*part);
        let steps =
            BigDecimal::from(parts[*part]) + BigDecimal::from(s.centre()) * BigDecimal::from(parts[*count]);
        (Some(steps * s.grid()), tolerance)
    } else if output.of::<aggregates::Zero>().is_some() {
        (Some(zero.clone()), zero)
    } else {
        empty_is_zero = false;
        if let Some(Count { part }) = output.of() {
            (Some(BigDecimal::from(parts[*part])), zero)
        } else if let Some(Average { sum: part, count, .. }) = output.of() {
            let (s, n) = (sum(*part), parts[*count]);
            let centre = BigDecimal::from(s.centre()) * s.grid();
            let mean =
                (n != 0).then(|| centre + BigDecimal::from(parts[*part]) * s.grid() / BigDecimal::from(n));
            (mean, s.grid().clone())
        } else if let Some(Constant { count, value, .. }) = output.of() {
            ((parts[*count] != 0).then(|| value.clone()), zero)
        } else {
            panic!("not drawn where answers are compared: {output:?}")
        }
    };
    match (got, expected) {
        (None, None) => Ok(()),
        // A sum of nothing is 0 here and NULL there: nullness never depends on rows.
        (Some(x), None) if empty_is_zero && x.is_zero() => Ok(()),
        (Some(x), Some(y)) => {
            let size = y.abs().to_f64().unwrap_or(0.0);
            // sum(real) keeps seven digits, averages sixteen or so.
            let relative = match (float, tolerance.is_zero()) {
                (true, _) => 1e-5,
                (false, true) => 0.0,
                (false, false) => 1e-9,
            };
            let off = (&x - y).abs();
            if off <= tolerance || off.to_f64().unwrap_or(f64::MAX) <= size * relative {
                Ok(())
            } else {
                Err(format!("{x}"))
            }
        }
        (x, _) => Err(format!("{x:?}")),
    }
}
