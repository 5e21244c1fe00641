//! What statements take of the memory: estimates, against what the allocator says.

use crate::bikes::Bikes;
use allocation_counter::measure;
use noisegate::policy::Limits;
use noisegate::sql::{self, weight};
use std::hint::black_box;

/// Kinds of statements, each as long as it is told.
fn kinds(n: usize) -> Vec<String> {
    let many =
        |item: &dyn Fn(usize) -> String, between: &str| (0..n).map(item).collect::<Vec<_>>().join(between);
    vec![
        format!("SELECT {}", many(&|i| i.to_string(), ",")),
        format!("SELECT {} FROM trips", many(&|i| format!("count(*) AS c{i}"), ", ")),
        format!("SELECT {} FROM trips", many(&|_| "avg(fare)".into(), ",")),
        format!("SELECT count(*) FROM trips WHERE minutes IN ({})", many(&|i| i.to_string(), ", ")),
        format!("SELECT count(*) FROM trips WHERE station IN ({})", many(&|i| format!("'{i}'"), ",")),
        format!("SELECT count(*) FROM trips WHERE {}", many(&|i| format!("minutes = {i}"), " OR ")),
        format!("SELECT sum(CASE {} END) FROM trips", many(&|i| format!("WHEN minutes = {i} THEN 1"), " ")),
        format!("SELECT {} FROM stations", many(&|_| "upper(station)".into(), ",")),
        format!("SELECT {}", many(&|_| "f(1)".into(), ",")),
        format!("SELECT {}", many(&|_| "(SELECT 1)".into(), ",")),
        format!("VALUES {}", many(&|_| "(1)".into(), ",")),
        many(&|_| "SELECT 1".into(), " UNION ALL "),
        format!("SELECT {}", many(&|_| "1::int".into(), ",")),
        format!("SELECT {} FROM a", many(&|_| "a.b".into(), ",")),
        format!("SELECT 1 FROM {}", many(&|i| format!("t{i}"), ",")),
        format!("SELECT {}", many(&|_| "row_number() OVER ()".into(), ",")),
    ]
}

/// Trees take what is said of them, at most, and not a sixteenth of it.
#[test]
fn trees_take_what_is_estimated() {
    let limits = Limits { max_depth: 200, ..Limits::default() };
    let mut worst = 0.0f64;
    for n in [1, 30, 600] {
        for sql in kinds(n) {
            let mut kept = Vec::new();
            let measured = measure(|| {
                let parsed = sql::parse::parse(&sql, &limits).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
                kept = parsed.into_iter().map(|p| (p.tokens, sql::classify(p).ok())).collect();
            });
            let tokens: usize = kept.iter().map(|(tokens, _)| tokens).sum();
            let (real, estimated) = (measured.bytes_current.max(0) as usize, weight::tree(tokens));
            worst = worst.max((real as f64 - 8192.0) / tokens as f64);
            within(real, estimated, tokens, &sql);
            assert!(n < 600 || real * 16 >= estimated, "{real} bytes, estimated were {estimated}");
            black_box(&kept);
        }
    }
    println!("at most {worst} bytes a token");
}

/// And so do plans.
#[tokio::test]
async fn plans_take_what_is_estimated() {
    let bikes = Bikes::new().await;
    let mut planned = 0;
    for n in [1, 30, 300] {
        for sql in kinds(n) {
            let tokens: usize =
                sql::parse::parse(&sql, &bikes.policy.limits).unwrap().iter().map(|p| p.tokens).sum();
            let Ok(plan) = bikes.plan(&sql).await else { continue };
            planned += 1;
            let mut copy = None;
            let measured = measure(|| copy = Some(plan.clone()));
            let (real, estimated) = (measured.bytes_current.max(0) as usize, weight::plan(tokens));
            within(real, estimated, tokens, &sql);
            black_box(&copy);
        }
    }
    assert!(planned >= 12, "{planned}");
}

fn within(real: usize, estimated: usize, tokens: usize, sql: &str) {
    println!("{real} of {estimated}, {} a token: {}", real / tokens.max(1), &sql[..sql.len().min(60)]);
    assert!(real <= estimated, "{real} bytes, estimated were {estimated}: {}", &sql[..sql.len().min(200)]);
}
