//! The kernel alone over what the recorder draws: planned and printed, not typed and not run. It takes seconds, so that
//! `tests/mutations` can ask for each fault whether the kernel sees it without anybody's help.

use crate::chosen_bounds;
use crate::data::Variant;
use crate::harness::{Lab, Refusal, settings};
use crate::samples::Samples;
use crate::{Case, around, found, number, questions, seed};

/// Statements of each member of the family.
const STATEMENTS: u64 = 700;
/// After so many failures the search ends.
const ENOUGH: usize = 4;

#[tokio::test]
async fn the_kernel_certifies_what_is_drawn() {
    let wanted = number("NOISEGATE_RECORDER_STATEMENTS").unwrap_or(STATEMENTS);
    let (mut drawn, mut planned, mut failures) = (0u64, 0u64, Vec::new());
    for (dirty, nullable_unit, of) in [(false, false, 1), (true, false, 2), (true, true, 3)] {
        let v = Variant { dirty, nullable_unit, tied: 0, seed: of };
        let mut lab = Lab::new(v).await;
        // What is seldom drawn; the last of it the planner refuses.
        let seldom = [found::of_tied_floats(), found::of_equal_numbers(), found::of_loose_texts()];
        for text in seldom.concat() {
            let Ok(plan) = lab.draft(&text, &settings(2, 3)).await else { continue };
            (drawn, planned) = (drawn + 1, planned + 1);
            let Err(Refusal::Defect(what)) = lab.certify(&plan) else { continue };
            failures.push(format!("{what}\n  after {drawn} statements\n  statement: {text}"));
        }
        failures.extend(questions::certified(&mut lab).await);
        let samples = Samples::of_lab(&mut lab).await;
        for n in 0..wanted {
            if failures.len() >= ENOUGH {
                break;
            }
            let (zone, _) = around(seed() ^ v.seed, n / crate::BATCH);
            let case = Case::drawn(seed() ^ v.seed, n, zone, &samples);
            drawn += 1;
            let Ok(plan) = lab.draft(&case.query.sql, &settings(case.groups, case.rows)).await else {
                continue;
            };
            planned += 1;
            // And the release that would choose its bound.
            let choice = chosen_bounds::choice(&lab, &plan.plan, &settings(case.groups, case.rows));
            let both = [Some(plan), choice.map(|c| chosen_bounds::planned(&lab, &c))];
            for plan in both.into_iter().flatten() {
                let Err(Refusal::Defect(what)) = lab.certify(&plan) else { continue };
                failures.push(format!("{what}\n  after {drawn} statements\n  statement: {}", case.query.sql));
            }
        }
    }
    println!("{planned} of {drawn} statements planned and certified");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(planned * 100 >= drawn * 60, "only {planned} of {drawn} statements planned");
}
