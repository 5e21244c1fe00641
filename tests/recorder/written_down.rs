//! What is planned of what the recorder draws does not depend on private rows; and plans are written down where they are wanted
//! (`tests/plans/compare`).

use crate::data::Variant;
use crate::harness::{Lab, Refusal, constants, settings};
use crate::plans::{Written, folder, of_plan};
use crate::samples::Samples;
use crate::{Case, around, seed};
use serde_json::json;

/// Statements of each of two schemas, and where plans are written down.
const STATEMENTS: (u64, u64) = (300, 10_000);

async fn planned(lab: &mut Lab, samples: &Samples, of: u64) -> Written {
    let mut written = Written::new();
    let wanted = if folder().is_some() { STATEMENTS.1 } else { STATEMENTS.0 };
    for n in 0..wanted {
        let (zone, _) = around(seed() ^ of, n / crate::BATCH);
        let case = Case::drawn(seed() ^ of, n, zone, samples);
        let told = match lab.draft(&case.query.sql, &settings(case.groups, case.rows)).await {
            Ok(p) => of_plan(&p.plan, &lab.policy, &constants()),
            Err(Refusal::Plan(why) | Refusal::Type(why) | Refusal::Defect(why)) => json!({ "error": why }),
        };
        written.add(&case.query.sql, &told);
    }
    written
}

async fn drawn(family: &str, nullable_unit: bool, of: u64) {
    let rows = |dirty, seed| Variant { dirty, nullable_unit, tied: 0, seed };
    let (mut some, mut others) = (Lab::new(rows(false, of)).await, Lab::new(rows(true, of + 7)).await);
    let samples = Samples::of_lab(&mut some).await;
    let (a, b) = (planned(&mut some, &samples, of).await, planned(&mut others, &samples, of).await);
    assert_eq!(a.first_difference(&b), None);
    assert!(a.planned() * 10 > a.len() * 4, "{} of {}", a.planned(), a.len());
    a.keep(family);
}

#[tokio::test]
async fn plans_do_not_depend_on_private_rows() {
    drawn("drawn", false, 1).await;
}

#[tokio::test]
async fn plans_where_units_may_be_null_do_not_depend_on_private_rows() {
    drawn("drawn-nullable", true, 3).await;
}
