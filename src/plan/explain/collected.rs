//! Words about estimates over collected relations: whose guarantee it is, how they are made, and
//! how wrong they are. From public parameters only: the number of reports is not looked at.

use crate::Plan;
use bigdecimal::ToPrimitive;
use policy::{Collect, Collected, Policy, Randomiser};

/// δ of the central guarantee that is told beside the local one.
const DELTA: f64 = 1e-6;
/// Reports that it is told for.
const REPORTS: u64 = 10_000;

/// The collected relations that a statement asks.
pub fn of<'p>(plan: &Plan, policy: &'p Policy) -> Vec<&'p Collect> {
    let asked = |c: &&Collect| plan.statement.bindings.iter().any(|(_, b)| b.table() == Some(c.reports));
    policy.collects.iter().filter(asked).collect()
}

/// The notice that comes with an answer; `consistent` when estimates were made so.
pub fn notice(collects: &[&Collect], consistent: bool) -> Option<String> {
    let names: Vec<String> = collects.iter().map(|c| format!("\"{}\"", c.name)).collect();
    let first = collects.first()?;
    let cut = if consistent { "; none is below 0, which is a bias (noisegate.consistent = on)" } else { "" };
    Some(format!(
        "estimates over randomised reports of {}, at a local epsilon of {} a row: nothing is spent for them{cut}",
        names.join(" and "),
        first.epsilon()
    ))
}

/// The sentence of EXPLAIN about estimates that the session has made consistent.
pub fn bias(collects: &[&Collect], consistent: bool) -> Option<String> {
    (consistent && !collects.is_empty()).then(|| {
        "noisegate.consistent is on: estimates are the nearest (least squares) of which none is below 0 and all together are the number of \
         reports. What is rare becomes 0, and what is frequent loses as much: a bias, of which the errors above say nothing."
            .to_owned()
    })
}

/// The sentences of EXPLAIN.
pub fn sentences(collect: &Collect) -> Vec<String> {
    let columns: Vec<String> = collect.columns.iter().map(column).collect();
    let mut said = vec![
        format!(
            "What is asked of {} is estimated from randomised reports, of which nothing is spent: local epsilon {} a row ({}).",
            collect.name,
            collect.epsilon(),
            columns.join(", ")
        ),
        "A count adds up (1 - q)/(p - q) for a report that supports a value and -q/(p - q) for another; columns multiply.".to_owned(),
        format!(
            "95 times in 100, randomising leaves of n reports {}.",
            collect.columns.iter().map(error).collect::<Vec<_>>().join(", ")
        ),
    ];
    if let Some(local) = dp::ratio(&collect.epsilon()) {
        let central = dp::shuffle::epsilon(REPORTS, &local, DELTA);
        said.push(format!(
            "Who sees answers over {REPORTS} reports once, and not who wrote when, learns of one of them no more than epsilon \
             {central:.3} at delta {DELTA:e}."
        ));
    }
    said
}

fn column(c: &Collected) -> String {
    format!("{} {} by {}", c.name, c.epsilon.normalized(), c.randomiser.word())
}

/// Of a value that nobody said, and of an average at its worst.
fn error(c: &Collected) -> String {
    match &c.randomiser {
        Randomiser::Oracle(oracle) => {
            format!("a count of one {} within ±{:.2} √n", c.name, 1.96 * oracle.deviation(1, 0))
        }
        Randomiser::Sets(sets) => {
            format!("a count of one of {} within ±{:.2} √n", c.name, 1.96 * sets.deviation(1, 0))
        }
        Randomiser::Mean { mean, grid, .. } => {
            let most = mean.largest_variance().sqrt() * grid.to_f64().unwrap_or(1.0);
            format!("the average {} within ±{:.2} / √n", c.name, 1.96 * most)
        }
    }
}
