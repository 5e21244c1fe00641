//! A price by the accuracy that it buys: the least ε at which every released number of the outermost SELECT is as near as
//! is wanted.
//!
//! It follows from the statement's text, the policy and the session's settings (soundness rules 25 and 30): what noise does to a
//! number that is linear in it is known before anything is read. Of other numbers it depends on what is released, and no
//! accuracy is promised of them.

use super::proposals::{ALL, first, first_from, proposal};
use crate::aggregates::Output;
use crate::noise::quantile::Quantile;
use crate::reach::half_width::of_output;
use crate::reach::{Lost, Queries, Uncertain};
use crate::refusals::Refusal;
use crate::refusals::interval::{Dear, Interval, Whole};
use crate::refusals::position;
use crate::words::decimal;
use crate::words::short;
use crate::{Accuracy, Plan, PlanError, Reached, Release, Settings};
use answer::ClientError;
use dp::Ratio;
use policy::Policy;
use sql::ast::*;
use std::collections::BTreeSet;

impl Reached {
    /// As `within ±48, 95 times in 100`.
    pub fn told(&self) -> String {
        within(self.half_width, self.wanted.confidence)
    }
}

/// The plan at the least price that reaches what the settings want, if they want an accuracy and it costs anything.
/// `settings.epsilon` is the most that it may cost.
pub(crate) fn priced(mut plan: Plan, policy: &Policy, settings: &Settings) -> Result<Plan, PlanError> {
    let Some(wanted) = settings.accuracy.filter(|_| plan.charge.is_some() && !settings.question) else {
        return Ok(plan);
    };
    let most = settings.epsilon;
    let at_most = half_width(&plan, wanted.confidence)?;
    if at_most > wanted.half_width {
        let mut reaches = |i| at(&mut plan, settings, proposal(i), wanted.confidence) <= wanted.half_width;
        let dearer = first(first_from(&most), ALL, &mut reaches);
        let dearer = Some(dearer).filter(|i| *i < ALL && reaches(*i)).map(proposal);
        return Err(too_dear(wanted, &most, at_most, dearer).into());
    }
    let least = dp::ratio(&policy.statement.min_epsilon).map_or(0, |least| first_from(&least));
    let mut reaches = |i| at(&mut plan, settings, proposal(i), wanted.confidence) <= wanted.half_width;
    let found = first(least, first_from(&most), &mut reaches);
    // Noise of another kind may be taken in between, so that what was found is looked at.
    let epsilon = if proposal(found) < most && reaches(found) { proposal(found) } else { most };
    let half_width = at(&mut plan, settings, epsilon, wanted.confidence);
    plan.accuracy = Some(Reached { wanted, half_width });
    Ok(plan)
}

/// Half the width of the widest interval of a statement's numbers at another price; infinite where its noise cannot be drawn.
fn at(plan: &mut Plan, settings: &Settings, epsilon: Ratio, confidence: u32) -> f64 {
    match plan.at(settings, epsilon) {
        Ok(()) => half_width(plan, confidence).unwrap_or(f64::INFINITY),
        Err(_) => f64::INFINITY,
    }
}

/// Half the width of the widest interval of the numbers in the outermost SELECT.
///
/// # Errors
/// It depends on what is released, or no number is.
pub fn half_width(plan: &Plan, confidence: u32) -> Result<f64, ClientError> {
    let queries = Queries::of(plan);
    let quantile = Quantile::of(confidence);
    let mut selects = Vec::new();
    selects_of(&plan.statement.query.body, &mut selects);
    let mut widest = None;
    for select in selects {
        let place = queries.place(select);
        for e in numbers(select) {
            let of = queries.follow(e, place).map_err(unpromised)?;
            if matches!(of, Uncertain::Exact(_)) {
                continue;
            }
            let width = queries.half_width(&of, e, quantile).map_err(unpromised)?;
            widest = Some(widest.map_or(width, |w: f64| w.max(width)));
        }
    }
    widest.ok_or_else(|| Interval::NoNumber.at(position(&plan.statement.query.body)).into())
}

/// A number of the outermost SELECT that is a count or a sum, or that many times it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    /// Place of the release.
    pub release: usize,
    /// Place of the aggregate.
    pub output: usize,
}

impl Number {
    fn of(self, plan: &Plan) -> Option<(&Release, &Output)> {
        let release = plan.releases.get(self.release)?;
        release.outputs.get(self.output).map(|(_, output)| (release, output))
    }

    /// Half the width of its interval in the unit of what it counts, at the price that the plan has.
    pub fn half_width(self, plan: &Plan, confidence: u32) -> f64 {
        let width = |(r, output)| of_output(self.release, r, output, Quantile::of(confidence));
        self.of(plan).and_then(width).unwrap_or(f64::INFINITY)
    }

    /// Value of the number in one group, from those of the release's integers.
    pub fn value(self, plan: &Plan, integer: impl Fn(usize) -> Option<i128>) -> Option<f64> {
        self.of(plan).and_then(|(r, output)| output.value(&r.drawn(), integer))
    }
}

/// The numbers that an accuracy in percent of themselves can hold for.
///
/// # Errors
/// One is no count or sum of the outermost SELECT, or which numbers come back is not public.
pub fn proportional(plan: &Plan) -> Result<BTreeSet<Number>, ClientError> {
    let pos = position(&plan.statement.query.body);
    let only = |what, pos| ClientError::from(Interval::Percent(what).at(pos));
    let Body::Select(select) = &plan.statement.query.body else { return Err(only(Whole::SetOperation, pos)) };
    let paying = || plan.releases.iter().filter(|r| !r.is_domain_only());
    if paying().any(|r| r.selects() || r.is_within()) {
        return Err(only(Whole::PrivateGroups, pos));
    }
    if !plan.stages.is_empty() || paying().any(|r| r.spec.top.is_some() || r.spec.points.is_some()) {
        return Err(only(Whole::Chosen, pos));
    }
    let queries = Queries::of(plan);
    let place = queries.place(select);
    if place.release.is_none() {
        return Err(only(Whole::OverResults, pos));
    }
    let mut found = BTreeSet::new();
    for e in numbers(select) {
        match queries.follow(e, place).map_err(unpromised)? {
            Uncertain::Exact(_) => {}
            of => match number(plan, &of) {
                Some(number) => {
                    found.insert(number);
                }
                None => return Err(only(Whole::Computed, e.pos)),
            },
        }
    }
    match found.is_empty() {
        true => Err(only(Whole::NoNumber, pos)),
        false => Ok(found),
    }
}

/// The count or the sum that a number is a multiple of.
fn number(plan: &Plan, of: &Uncertain<'_>) -> Option<Number> {
    match of {
        Uncertain::Released { from, output, .. } => {
            let release = plan.releases.get(*from)?;
            output.linear(&release.drawn())?;
            let at = release.outputs.iter().position(|(_, have)| have == *output)?;
            Some(Number { release: *from, output: at })
        }
        Uncertain::Same(_, x) | Uncertain::Negated(_, x) => number(plan, x),
        Uncertain::Product(_, pair) => match &**pair {
            [x, Uncertain::Exact(_)] | [Uncertain::Exact(_), x] => number(plan, x),
            _ => None,
        },
        Uncertain::Quotient(_, pair) => match &**pair {
            [x, Uncertain::Exact(_)] => number(plan, x),
            _ => None,
        },
        _ => None,
    }
}

/// The least ε of three digits, no less than `from`, at which each of these numbers has an interval no wider than that to either
/// side. None if no price reaches it.
pub fn least(
    plan: &mut Plan,
    settings: &Settings,
    from: &Ratio,
    wanted: &[(Number, f64)],
    confidence: u32,
) -> Option<Ratio> {
    let mut reaches = |i: u32| {
        plan.at(settings, proposal(i)).is_ok()
            && wanted.iter().all(|(number, half)| number.half_width(plan, confidence) <= *half)
    };
    let found = first(first_from(from), ALL, &mut reaches);
    Some(found).filter(|i| *i < ALL && reaches(*i)).map(proposal)
}

/// The least price of three digits that is no less than this one.
pub fn rounded_price(least: &Ratio) -> Ratio {
    proposal(first_from(least))
}

/// The items of a SELECT but for ends of intervals, which go with theirs.
fn numbers(select: &Select) -> impl Iterator<Item = &Expr> {
    select.items.iter().map(|i| &i.expr).filter(|e| !matches!(e.kind, ExprKind::Reach { .. }))
}

fn selects_of<'p>(body: &'p Body, out: &mut Vec<&'p Select>) {
    match body {
        Body::Select(s) => out.push(s),
        Body::Query(q) => selects_of(&q.body, out),
        Body::SetOp { left, right, .. } => {
            selects_of(left, out);
            selects_of(right, out);
        }
        Body::Values(_) | Body::Rows { .. } => {}
    }
}

/// `within ±48, 95 times in 100`.
fn within(half_width: f64, confidence: u32) -> String {
    let times = short(f64::from(confidence) / 1e4);
    format!("within ±{}, {times} times in 100", rounded_up(half_width))
}

/// Three significant digits, and never less.
pub fn rounded_up(x: f64) -> String {
    if x <= 0.0 || !x.is_finite() {
        return short(x.max(0.0));
    }
    let digits = libm::floor(libm::log10(x)) as i32 - 2;
    // Beyond 15 digits it is what floats make of a decimal.
    let steps = libm::ceil(x / 10f64.powi(digits) * (1.0 - 1e-14));
    let text = format!("{:.*}", usize::try_from(-digits).unwrap_or(0), steps * 10f64.powi(digits));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn unpromised(lost: Lost) -> Refusal {
    let (what, pos) = lost.what();
    Interval::Promised(what).at(pos)
}

fn too_dear(wanted: Accuracy, most: &Ratio, at_most: f64, dearer: Option<Ratio>) -> Refusal {
    let dear = Dear {
        accuracy: short(wanted.half_width),
        price: dearer.as_ref().map(decimal),
        most: decimal(most),
        reached: within(at_most, wanted.confidence),
        fits: rounded_up(at_most),
    };
    Interval::Dear(Box::new(dear)).at(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_rounded_up() {
        for (x, shown) in [
            (37.0, "37"),
            (37.41, "37.5"),
            (0.0, "0"),
            (1234.0, "1240"),
            (0.012_31, "0.0124"),
            (999.5, "1000"),
        ] {
            assert_eq!(rounded_up(x), shown);
        }
    }
}
