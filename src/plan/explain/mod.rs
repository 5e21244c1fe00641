//! EXPLAIN: the plan as noisegate sees it. Charges nothing, and is built from public data only.

pub mod collected;
mod cut;
mod narrower;
mod parts;
pub mod stream;
pub mod summary;

pub use narrower::narrower;
pub use parts::{bias, bounds, name, parameter};

use crate::Plan;
use crate::price::gaussian;
use crate::words::{approximate, decimal};
use dp::Notion;
use parts::{meaning, release, stages, units};
use policy::Policy;

/// The lines of the plan.
pub fn lines(plan: &Plan, policy: &Policy) -> Vec<String> {
    if let Some(question) = &plan.question {
        let standing = format!("{} for the whole stream, when it is opened", question.opening());
        return stream::lines(plan, question, &standing, policy);
    }
    let mut out = Vec::new();
    let Some(charge) = &plan.charge else {
        out.push("Price: nothing (no private rows are read)".into());
        out.extend(plan.free.iter().map(|free| format!("  {}", free.line())));
        for r in &plan.releases {
            out.push(format!("  Groups only: {}", r.groups_why));
        }
        return out;
    };
    let delta = if *charge.selection_delta.numer() == 0 {
        String::new()
    } else {
        format!(", delta {:.3e} to select private groups", approximate(&charge.selection_delta))
    };
    let epsilon = decimal(&charge.epsilon);
    out.push(match Notion::Zcdp.price(charge) {
        // ε is no guarantee where noise is Gaussian (soundness rule 21).
        Ok(cost) if gaussian(charge) => {
            format!("Price: rho {}{delta}; noisegate.epsilon is {epsilon}", units(cost.loss))
        }
        _ => format!("Price: epsilon {epsilon}{delta}"),
    });
    out.push(format!("Noise: {}", plan.noise));
    out.push(format!("Meaning: {}", meaning(charge, policy).brief()));
    stages(&mut out, plan, charge);
    for (i, r) in plan.releases.iter().enumerate() {
        release(&mut out, i + 1, r, plan, policy);
    }
    if crate::normalise::mixed_union::is_in(&plan.statement) {
        out.push("Added exactly: the rows of a UNION ALL that are nobody's, from public tables or released results".into());
    }
    out.push(
        "Finish: everything above the releases is computed by PostgreSQL over the noisy values, at no price"
            .into(),
    );
    out
}
