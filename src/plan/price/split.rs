//! One ε divided among several statements, so that the largest of their errors is least.
//!
//! Errors of numbers in different units are compared by what one unit can change in them: noise of a standard deviation of three
//! times that is as much of a rider's trips as of a rider's fares. Of discrete Laplace noise the deviation falls with 1/ε, of
//! Gaussian noise as well, so that the largest is least where all are the same, and prices are as the errors at one price.

use super::proposals::{first_from, proposal};
use crate::refusals::price::Price;
use crate::{Plan, Release, Settings};
use answer::ClientError;
use dp::{Distribution, Ratio};

/// Rounds of division: the mechanism may be another at another price.
const ROUNDS: usize = 4;

/// The standard deviation of a statement's noise in multiples of what one unit can change: the largest of its parts, and of what
/// its groups are selected by. 0 where it reads no private rows.
pub fn error(plan: &Plan) -> f64 {
    // Of rounds the last says which groups stay hidden.
    let own = plan.releases.iter().filter(|r| !r.is_followed() && !r.is_domain_only());
    own.map(of_release).fold(0.0, f64::max)
}

fn of_release(r: &Release) -> f64 {
    let deviation = |d: &Distribution| d.cumulants().0.sqrt();
    let integers = r.spec.aggregates.iter().filter(|n| !n.sensitivity.is_none());
    let integers = integers.map(|n| deviation(&n.distribution) / n.sensitivity.linf as f64);
    let selection = r.spec.selection.iter().map(|s| deviation(&s.noise) / s.weights.whole() as f64);
    let points = r.spec.points.as_ref().zip(r.cells.as_ref());
    // Twice as far as the deviation lies what 95 % stay within, roughly: only ratios matter.
    let points =
        points.map(|(points, cells)| points.error95(cells.points) / f64::from(points.weight()) / 2.0);
    integers.chain(selection).chain(points).fold(0.0, f64::max)
}

/// Gives each statement its part of `budget`, none below `least`.
///
/// # Errors
/// There is not enough for all.
pub fn split(
    plans: &mut [Plan],
    settings: &Settings,
    budget: &Ratio,
    least: &Ratio,
) -> Result<(), ClientError> {
    let mut paying: Vec<&mut Plan> = plans.iter_mut().filter(|p| p.charge.is_some()).collect();
    let n = paying.len();
    // What is left beside the least prices is divided.
    let all = float(budget);
    if float(least) * n as f64 > all {
        return Err(Price::Statements { count: n, budget: *budget, least: *least }.at(None).into());
    }
    let mut shares = vec![all / n.max(1) as f64; n];
    for _ in 0..ROUNDS {
        let mut weights = Vec::with_capacity(n);
        for (plan, share) in paying.iter_mut().zip(&shares) {
            let epsilon = rounded_down(*share, least);
            plan.at(settings, epsilon)?;
            weights.push(error(plan) * float(&epsilon));
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            shares = weights.iter().map(|w| all * w / sum).collect();
        }
    }
    // Those that would be below the least price have it, and the others the rest.
    let floor = float(least);
    let (below, above): (Vec<f64>, Vec<f64>) = shares.iter().partition(|s| **s < floor);
    let rest = (all - floor * below.len() as f64) / above.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    for (plan, share) in paying.iter_mut().zip(&shares) {
        let share = if *share < floor { floor } else { share * rest.min(1.0) };
        plan.at(settings, rounded_down(share, least))?;
    }
    Ok(())
}

/// The largest price of three digits that is no more, or the least price.
fn rounded_down(x: f64, least: &Ratio) -> Ratio {
    // Billionths: no price is less.
    let exact = Ratio::new((x.max(1e-9) * 1e9).floor() as u128, 1_000_000_000);
    let index = first_from(&exact);
    let below = if proposal(index) > exact { index.saturating_sub(1) } else { index };
    proposal(below).max(*least)
}

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}
