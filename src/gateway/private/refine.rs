//! `SET noisegate.accuracy = '2 %'`: an accuracy as a part of each number, which nobody knows before something was released.
//!
//! At most three releases at small prices say how large the numbers are; then one at the price that reaches the accuracy is the
//! answer. Each is a question of its own to the books: charged before it is read, at a price that follows from text, policy,
//! settings and what was released before, never from rows. That is adaptive composition, which the sums of every budget admit
//! (docs/guarantees.md). All of it together is within `noisegate.epsilon`, and nothing is drawn unless the budgets admit that much.
//!
//! The last release's noise decides nothing: whether it is asked for, and at which price, was decided by those before it. With
//! Laplace noise it is the answer. With Gaussian noise the answer is the mean of all of them, which has the noise of one release at
//! their price together (`release::combine`): nothing that was paid is lost, and the last release costs what is left to pay.

use super::step::Asked;
use crate::gateway::session::ask::Ask;
use crate::gateway::tell::words::Kept;
use answer::{ClientError, Notice, SqlState};
use dp::{Distribution, Ratio};
use plan::Plan;
use plan::price::accuracy::{Number, least, proportional, rounded_price};
use plan::words::{decimal, short};
use policy::Policy;
use release::{Noisy, combine};

/// The parts of `noisegate.epsilon` that the first releases take, in this order, until the numbers are large beside their noise.
const FIRST: [u128; 3] = [256, 64, 16];

/// Divisor of ε for the answer when the accuracy is out of reach: its price is more than any before
/// it, and all together are less than a quarter.
const OTHERWISE: u128 = 8;

/// Half widths of its interval that a number must be away from 0 to aim at a part of it.
const KNOWN: f64 = 5.0;

impl Ask<'_> {
    /// Every release's answer, and what is to be said of them. `plan` becomes the one whose noise they have; `part`: how near each
    /// number is to come, of itself.
    pub async fn refined(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        part: f64,
        notices: &mut Vec<Notice>,
    ) -> Result<(Vec<Noisy>, Vec<Notice>), ClientError> {
        let numbers = proportional(plan)?;
        let (most, confidence) = (of.charge.epsilon, self.settings.confidence());
        let prices = prices(of, &self.gateway.policy)?;
        let mut spent = Ratio::from_integer(0);
        let mut aim = Aim::Unknown;
        let mut before: Vec<Answered> = Vec::new();
        for (i, price) in prices.iter().enumerate() {
            let mut small = plan.clone();
            small.at(of.settings, *price)?;
            if i == 0 {
                self.has_room(of, &mut small.clone(), plan).await?;
            }
            let (noisy, _) = self.at_its_price(of, &mut small, notices).await?;
            spent += *price;
            before.push(Answered { plan: small.clone(), noisy, price: *price });
            let together = together(of, &before);
            let Some(shown) = together.as_ref().or(before.last()) else { continue };
            let known: Vec<(Number, f64, f64)> = numbers
                .iter()
                .map(|n| (*n, smallest(&shown.plan, &shown.noisy, *n), n.half_width(&shown.plan, confidence)))
                // What no row can change has no noise.
                .filter(|(_, _, half)| *half > 0.0)
                .collect();
            let wanted: Vec<(Number, f64)> =
                known.iter().map(|(n, value, half)| (*n, part * (value - half))).collect();
            // Twice as much as before at least: the answer is no small release asked again.
            let from = *price + *price;
            let least = match wanted.iter().all(|(_, half)| *half > 0.0) {
                true => least(&mut small, of.settings, &from, &wanted, confidence),
                false => None,
            };
            let had = together.is_some().then(|| squares(&before));
            aim = least.map_or(Aim::Unknown, |all| Aim::At(had.map_or(all, |had| left(all, had, from))));
            if known.iter().all(|(_, value, half)| *value >= KNOWN * half) {
                break;
            }
        }
        let price = match aim {
            Aim::At(price) if spent + price <= most => price,
            Aim::At(_) | Aim::Unknown => most / Ratio::from_integer(OTHERWISE),
        };
        plan.at(of.settings, price)?;
        let (mut noisy, told) = self.at_its_price(of, plan, notices).await?;
        before.push(Answered { plan: plan.clone(), noisy: noisy.clone(), price });
        if let Some(all) = together(of, &before) {
            (*plan, noisy) = (all.plan, all.noisy);
        }
        if self.settings.notices() {
            let halves = numbers.iter().map(|n| (n, n.half_width(plan, confidence)));
            let halves = halves.filter(|(_, half)| *half > 0.0);
            let reached = halves.map(|(n, half)| half / smallest(plan, &noisy, *n)).fold(0.0, f64::max);
            notices.push(Notice::new(said(part, reached, &aim, price, most)));
        }
        Ok((noisy, told))
    }

    /// The answers of a plan at the price that it has.
    pub async fn at_its_price(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        notices: &mut Vec<Notice>,
    ) -> Result<(Vec<Noisy>, Vec<Notice>), ClientError> {
        let Some(charge) = plan.charge.clone() else {
            let cause = "a statement without a price is refined";
            return Err(ClientError::incident(
                SqlState::INTERNAL,
                "the statement could not be priced",
                &cause,
            ));
        };
        let Asked { text, settings, constants, .. } = *of;
        self.answers(&Asked { charge: &charge, text, settings, constants }, plan, notices).await
    }

    /// Checks that the budgets admit the most that the statement may cost, unless its first answer
    /// is kept: then all of them may be.
    async fn has_room(&self, of: &Asked<'_>, small: &mut Plan, plan: &Plan) -> Result<(), ClientError> {
        if let Some(Kept::All { .. }) = self.free_parts(of, small).await? {
            return Ok(());
        }
        self.admits(plan, of.charge).await
    }

    /// The sentence of EXPLAIN about an accuracy in percent, when one is set.
    pub fn refinement(&self, plan: &Plan) -> Result<Option<String>, ClientError> {
        let Some(part) = self.settings.relative_accuracy() else { return Ok(None) };
        proportional(plan)?;
        Ok(Some(format!(
            "That is the most: an accuracy of {} % takes as little of it as the numbers need, after small releases that say how large they are.",
            short(part * 100.0)
        )))
    }
}

/// A release of the statement, and the plan whose noise it has.
struct Answered {
    plan: Plan,
    noisy: Vec<Noisy>,
    /// ε.
    price: Ratio,
}

/// All releases until now as one, where they have Gaussian noise: at the root of the sum of their squared prices, by which
/// such noise narrows.
fn together(of: &Asked<'_>, before: &[Answered]) -> Option<Answered> {
    let last = before.last()?;
    // Rounded down: it has no more noise than is said.
    let price = Ratio::new((squares(before).sqrt() * 1e12).floor() as u128, 1_000_000_000_000);
    let mut plan = last.plan.clone();
    plan.at(of.settings, price).ok()?;
    let gaussian = |d: &Distribution| !matches!(d, Distribution::Laplace { .. });
    if !plan.releases.iter().flat_map(|r| &r.spec.aggregates).all(|n| gaussian(&n.distribution)) {
        return None;
    }
    let one = |release: usize| {
        let each: Option<Vec<_>> = before
            .iter()
            .map(|a| Some((a.noisy.get(release)?, &a.plan.releases.get(release)?.spec)))
            .collect();
        combine::combined(&each?)
    };
    let noisy = (0..last.noisy.len()).map(one).collect::<Option<_>>()?;
    Some(Answered { plan, noisy, price })
}

/// The sum of the squared prices.
fn squares(before: &[Answered]) -> f64 {
    before.iter().map(|a| float(a.price).powi(2)).sum()
}

/// Price of a last release that makes all of them together as accurate as one at ε = `all`, after
/// payments whose squares add up to `had`: √(all² - had), of three digits, and at least `from`.
fn left(all: Ratio, had: f64, from: Ratio) -> Ratio {
    let left = (float(all).powi(2) - had).max(0.0).sqrt();
    let left = Ratio::new((left * 1e12).ceil() as u128, 1_000_000_000_000);
    rounded_price(&left.max(from)).min(all.max(from))
}

fn float(price: Ratio) -> f64 {
    *price.numer() as f64 / *price.denom() as f64
}

/// The price that an answer aims at.
enum Aim {
    At(Ratio),
    /// A number cannot be told from 0, or no price reaches it.
    Unknown,
}

/// Prices of the first releases.
fn prices(of: &Asked<'_>, policy: &Policy) -> Result<Vec<Ratio>, ClientError> {
    let most = of.charge.epsilon;
    let floor = dp::ratio(&policy.statement.min_epsilon);
    let parts = FIRST.iter().map(|part| most / Ratio::from_integer(*part));
    let prices: Vec<Ratio> = parts.filter(|p| floor.as_ref().is_none_or(|floor| p >= floor)).collect();
    match prices.is_empty() {
        false => Ok(prices),
        true => {
            let enough = floor.map(|floor| floor * Ratio::from_integer(16));
            let message = "noisegate.epsilon is too small for an accuracy in percent";
            Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .detail("A sixteenth of it, which says how large the numbers are, is below the policy's least price.")
                .hint(format!("SET noisegate.epsilon = {}, or more.", enough.as_ref().map(decimal).unwrap_or_default())))
        }
    }
}

/// The least of a number's values in all groups, without its sign; 0 where there is none.
fn smallest(plan: &Plan, noisy: &[Noisy], number: Number) -> f64 {
    let Some(of) = noisy.get(number.release) else { return 0.0 };
    let integer = |part: usize, row: usize| of.values.get(part).and_then(|v| v.get(row)).copied();
    let value = |row: usize| number.value(plan, |part| integer(part, row)).unwrap_or(0.0).abs();
    (0..of.rows).map(value).reduce(f64::min).unwrap_or(0.0)
}

fn said(part: f64, reached: f64, aim: &Aim, price: Ratio, most: Ratio) -> String {
    let wanted = short(part * 100.0);
    let within = match reached.is_finite() && reached < 1.0 {
        true => format!("within about {} % of itself", short(reached * 100.0)),
        false => "hard to tell from 0".to_owned(),
    };
    match aim {
        Aim::At(needed) if *needed == price => {
            format!("each number is {within}, at epsilon {}", decimal(needed))
        }
        Aim::At(needed) => format!(
            "an accuracy of {wanted} % would cost epsilon {}, and noisegate.epsilon allows {} in all: some number is {within}",
            decimal(needed),
            decimal(&most)
        ),
        Aim::Unknown => format!("an accuracy of {wanted} % is out of reach: some number is {within}"),
    }
}
