//! Answers that noisegate writes itself, held against those that PostgreSQL writes of the same released columns.

use super::constants;
use noisegate::answer::Field;
use noisegate::backend;
use noisegate::emit::print::{self, Straight};
use noisegate::gateway;
use noisegate::plan::Plan;
use noisegate::policy::Policy;
use noisegate::release::Noisy;

type Row = Vec<Option<String>>;

/// Whether noisegate writes this answer; it must be the one that PostgreSQL gave.
pub fn compare(plan: &Plan, policy: &Policy, noisy: &[Noisy], fields: &[Field], given: &[Row]) -> bool {
    let Some(straight) = print::straight(plan, policy, &constants()) else { return false };
    let Some(own) = gateway::straight::rows(plan, noisy, &straight, fields).unwrap() else { return false };
    let own: Vec<Row> = own.iter().map(|row| backend::texts(row).unwrap()).collect();
    assert_eq!(own.len(), given.len());
    assert_eq!(by_order(&straight, &own), by_order(&straight, given), "the order");
    // Which of several rows that are alike in the order are cut off is nobody's promise.
    if straight.limit.is_none() && straight.offset == 0 {
        let sorted = |rows: &[Row]| {
            let mut rows = rows.to_vec();
            rows.sort();
            rows
        };
        assert_eq!(sorted(&own), sorted(given));
    }
    true
}

/// The values that rows are sorted by, where they are shown.
fn by_order(straight: &Straight, rows: &[Row]) -> Vec<Vec<Option<String>>> {
    // What follows one that is not shown says nothing.
    let places = straight.order.iter().map_while(|o| straight.columns.iter().position(|c| *c == o.by));
    let places: Vec<usize> = places.collect();
    rows.iter().map(|row| places.iter().map(|p| row[*p].clone()).collect()).collect()
}
