//! Keys in rounds: under which keys they are kept, and by which of them their error goes.

use crate::cache_key::{planned, policy, usual};
use bytes::Bytes;
use noisegate::dp::{Notion, Preference, ROUNDS, Ratio};
use noisegate::plan::price::split;
use noisegate::plan::{self};
use noisegate::store::{Epoch, KeyContext, Keys, canonical};

type Columns = Vec<Vec<Option<Bytes>>>;

/// The keys of a statement's last round, where these groups were selected before.
fn keys(sql: &str, without: &Columns) -> Keys {
    let plan = planned(sql, &usual());
    assert_eq!(plan.releases.len(), ROUNDS, "{sql}");
    let (last, policy) = (plan.releases.last().unwrap(), policy());
    let around = KeyContext {
        database: "",
        policy,
        epoch: &Epoch::at(0, None, 0),
        role: None,
        delta: &usual().delta,
        mechanism: Preference::Auto,
        given: &[],
        without,
        within: None,
    };
    Keys::of(&canonical(last), &last.spec, &around)
}

fn columns(rows: &[(Option<&str>, &str)]) -> Columns {
    let cell = |text: &str| Some(Bytes::copy_from_slice(text.as_bytes()));
    vec![rows.iter().map(|r| r.0.and_then(cell)).collect(), rows.iter().map(|r| cell(r.1)).collect()]
}

/// An answer of a later round is for those groups that are left: in whatever order they were found, and keys are written.
#[test]
fn rounds_are_kept_for_the_groups_that_are_left() {
    let sql = "SELECT fare, started_at FROM trips GROUP BY fare, started_at";
    let base = columns(&[(Some("a"), "1"), (None, "2"), (Some("b"), "1")]);
    let own = keys(sql, &base);
    assert_eq!(keys(sql, &columns(&[(None, "2"), (Some("b"), "1"), (Some("a"), "1")])), own);
    let swapped: Columns = base.iter().rev().cloned().collect();
    assert_eq!(keys("SELECT DISTINCT started_at, fare FROM trips AS t", &swapped), own);
    for other in [
        columns(&[]),
        columns(&[(Some("a"), "1"), (None, "2")]),
        columns(&[(Some("a"), "1"), (Some(""), "2"), (Some("b"), "1")]),
        columns(&[(Some("a"), "1"), (None, "2"), (Some("b"), "2")]),
        columns(&[(Some("a"), "1"), (None, "2"), (Some("b"), "1"), (Some("b"), "1")]),
        swapped,
    ] {
        let differs = keys(sql, &other);
        assert!(differs.exact != own.exact && differs.like != own.like, "{other:?}");
        assert_eq!(differs.statement, own.statement);
    }
}

/// What a statement is off by, where several divide a budget, is what its last round is.
#[test]
fn the_last_round_says_how_far_a_statement_is_off() {
    let settings = plan::Settings { budgets: vec![("everyone".into(), Notion::Zcdp)], ..usual() };
    let plan = planned("SELECT fare FROM trips GROUP BY fare", &settings);
    // Of ε² fifteen sixteenths are the last round's: σ = √(16/15)/ε of a whole weight.
    let wanted = (16.0f64 / 15.0).sqrt() * 10.0;
    assert_eq!(settings.epsilon, Ratio::new(1, 10));
    assert!((split::error(&plan) / wanted - 1.0).abs() < 1e-6, "{} and {wanted}", split::error(&plan));
}
