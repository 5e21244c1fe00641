//! What is planned does not depend on private rows; and plans are written down where they are wanted (`tests/plans/compare`).

use crate::bikes::{Bikes, POLICY, SETUP, constants};
use crate::plans::{Written, folder, of_plan, statements};
use crate::support;
use noisegate::explained;
use noisegate::policy::Privacy;
use noisegate::sql::{self, Kind};

/// One of so many statements is planned where plans are not written down.
const EACH: usize = 8;

/// One statement, and not an EXPLAIN or SET.
fn is_query(text: &str, bikes: &Bikes) -> bool {
    let Ok(parsed) = sql::parse::parse(text, &bikes.policy.limits) else { return true };
    let Ok([parsed]) = <[_; 1]>::try_from(parsed) else { return false };
    sql::classify(parsed).is_ok_and(|c| matches!(c.kind, Kind::Query(..)))
}

async fn planned(bikes: &Bikes, texts: &[String]) -> Written {
    let mut written = Written::new();
    for text in texts.iter().filter(|t| is_query(t, bikes)) {
        let told = match bikes.plan(text).await {
            Ok(plan) => of_plan(&plan, &bikes.policy, &constants()),
            Err(e) => explained::error(&e),
        };
        written.add(text, &told);
    }
    written
}

/// The same tables, and no row in those that are private.
async fn emptied(bikes: &Bikes) {
    for table in bikes.policy.tables.iter().filter(|t| !matches!(t.privacy, Privacy::Public)) {
        bikes.db.execute(&format!("TRUNCATE {:?}.{:?} CASCADE", table.schema, table.name)).await;
    }
}

fn chosen() -> Vec<String> {
    let all = statements();
    assert!(all.len() > 2_000, "{}", all.len());
    if folder().is_some() { all } else { all.into_iter().step_by(EACH).collect() }
}

async fn bikes(family: &str, accounting: Option<&str>, intervals: bool) {
    let texts = chosen();
    let mut of = Vec::new();
    for empty in [false, true] {
        let mut bikes = match accounting {
            Some(accounting) => Bikes::paying_by(accounting).await,
            None => Bikes::new().await,
        };
        bikes.intervals = intervals;
        if empty {
            emptied(&bikes).await;
        }
        of.push(planned(&bikes, &texts).await);
    }
    assert_eq!(of[0].first_difference(&of[1]), None);
    of[0].keep(family);
}

#[tokio::test]
async fn plans_of_bikes_do_not_depend_on_private_rows() {
    assert!(SETUP.contains("INSERT") && POLICY.contains("[privacy]"));
    bikes("bikes", None, false).await;
}

#[tokio::test]
async fn plans_with_intervals_do_not_depend_on_private_rows() {
    bikes("bikes-intervals", None, true).await;
}

#[tokio::test]
async fn plans_for_zcdp_do_not_depend_on_private_rows() {
    bikes("bikes-zcdp", Some("zcdp"), false).await;
}

/// Over tables without any rows.
#[tokio::test]
async fn statements_over_tpch_are_planned() {
    let shipped = include_str!("../../config/tpch.toml");
    let (_, rules) = shipped.split_once("[privacy]").unwrap();
    let db = support::database(include_str!("../schemas/tpch.sql")).await;
    db.publish(&["region", "nation", "supplier", "part", "partsupp"]).await;
    let bikes = Bikes::over(db, &format!("[privacy]{rules}")).await;
    let written = planned(&bikes, &statements()).await;
    assert!(written.planned() > 20, "{} of {}", written.planned(), written.len());
    written.keep("tpch");
}
