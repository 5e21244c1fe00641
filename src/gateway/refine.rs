//! `SET noisegate.accuracy = '2 %'`: an accuracy as a part of each number, which nobody knows before something was released.
//!
//! At most three releases at small prices say how large the numbers are; then one at the price that reaches the accuracy is the
//! answer. Each is a question of its own to the books: charged before it is read, at a price that follows from text, policy,
//! settings and what was released before, never from rows. That is adaptive composition, which the sums of every budget admit
//! (docs/guarantees.md). All of it together is within `noisegate.epsilon`, and nothing is drawn unless the budgets admit that much.
//!
//! The answer's noise decides nothing: whether it is asked for, and at which price, was decided by the releases before it. So its
//! intervals hold as often as those of any other answer.

use super::Session;
use super::stages::Asked;
use super::words::Kept;
use answer::{ClientError, Notice, SqlState};
use dp::Ratio;
use ledger::{Question as Debit, Refusal};
use plan::Plan;
use plan::accuracy::{Number, least, proportional};
use plan::explain::{decimal, short};
use release::Noisy;

/// The parts of `noisegate.epsilon` that the first releases take, in this order, until the numbers are large beside their noise.
const FIRST: [u128; 3] = [256, 64, 16];

/// What the answer takes where the accuracy is out of reach: more than any before it. With those it is less than a quarter.
const OTHERWISE: u128 = 8;

/// How many times its interval's half width a number is that is known well enough to aim at.
const KNOWN: f64 = 5.0;

impl Session {
    /// Every release's answer, and what is to be said of them. `plan` becomes the one whose noise they have; `part`: how near each
    /// number is to come, of itself.
    pub(super) async fn refined(
        &self,
        of: &Asked<'_>,
        plan: &mut Plan,
        part: f64,
        notices: &mut Vec<Notice>,
    ) -> Result<(Vec<Noisy>, Vec<Notice>), ClientError> {
        let numbers = proportional(plan)?;
        let (most, confidence) = (of.charge.epsilon, self.settings.confidence());
        let prices = prices(of)?;
        let mut spent = Ratio::from_integer(0);
        let mut aim = Aim::Unknown;
        for (i, price) in prices.iter().enumerate() {
            let mut small = plan.clone();
            small.at(of.settings, *price)?;
            if i == 0 {
                self.has_room(of, &mut small.clone(), plan).await?;
            }
            let (noisy, _) = self.at_its_price(of, &mut small, notices).await?;
            spent += *price;
            let known: Vec<(Number, f64, f64)> = numbers
                .iter()
                .map(|n| (*n, smallest(&small, &noisy, *n), n.half_width(&small, confidence)))
                // What no row can change has no noise.
                .filter(|(_, _, half)| *half > 0.0)
                .collect();
            let wanted: Vec<(Number, f64)> =
                known.iter().map(|(n, value, half)| (*n, part * (value - half))).collect();
            // Twice as much as before at least: the answer is no small release asked again.
            let from = *price + *price;
            aim = match wanted.iter().all(|(_, half)| *half > 0.0) {
                true => {
                    least(&mut small, of.settings, &from, &wanted, confidence).map_or(Aim::Unknown, Aim::At)
                }
                false => Aim::Unknown,
            };
            if known.iter().all(|(_, value, half)| *value >= KNOWN * half) {
                break;
            }
        }
        let price = match aim {
            Aim::At(price) if spent + price <= most => price,
            Aim::At(_) | Aim::Unknown => most / Ratio::from_integer(OTHERWISE),
        };
        plan.at(of.settings, price)?;
        let (noisy, told) = self.at_its_price(of, plan, notices).await?;
        if self.settings.notices() {
            let halves = numbers.iter().map(|n| (n, n.half_width(plan, confidence)));
            let halves = halves.filter(|(_, half)| *half > 0.0);
            let reached = halves.map(|(n, half)| half / smallest(plan, &noisy, *n)).fold(0.0, f64::max);
            notices.push(Notice::new(said(part, reached, &aim, price, most)));
        }
        Ok((noisy, told))
    }

    /// The answers of a plan at the price that it has.
    pub(super) async fn at_its_price(
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
        let Asked { gateway, text, settings, constants, .. } = *of;
        self.answers(&Asked { gateway, charge: &charge, text, settings, constants }, plan, notices).await
    }

    /// That the budgets admit all that the statement may take, unless its first answer is kept: then all of them may be.
    async fn has_room(&self, of: &Asked<'_>, small: &mut Plan, plan: &Plan) -> Result<(), ClientError> {
        if let Some(Kept::All { .. }) = self.free_parts(of, small).await? {
            return Ok(());
        }
        let debit = Debit { tables: Some(&plan.tables), ..Debit::new(&self.identity, [0; 32], of.charge) };
        match of.gateway.ledger.admits(debit).await {
            Ok(()) => Ok(()),
            Err(refusal @ Refusal::Exhausted(_)) => Err(self.exhausted(of.gateway, plan, &refusal).await),
            Err(refusal) => Err(refusal.client()),
        }
    }

    /// What EXPLAIN says of it, where it is asked for.
    pub(super) fn refinement(&self, plan: &Plan) -> Result<Option<String>, ClientError> {
        let Some(part) = self.settings.relative_accuracy() else { return Ok(None) };
        proportional(plan)?;
        Ok(Some(format!(
            "That is the most: an accuracy of {} % takes as little of it as the numbers need, after small releases that say how large they are.",
            short(part * 100.0)
        )))
    }
}

/// Which price the answer wants.
enum Aim {
    At(Ratio),
    /// A number cannot be told from 0, or no price reaches it.
    Unknown,
}

/// What the first releases cost.
fn prices(of: &Asked<'_>) -> Result<Vec<Ratio>, ClientError> {
    let (most, policy) = (of.charge.epsilon, &of.gateway.policy);
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
