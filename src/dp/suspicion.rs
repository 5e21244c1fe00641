//! The meaning of a guarantee for a person: how far an attacker's suspicion can move, and how well
//! the best attack does.
//!
//! The attacker knows everything but whether one unit's rows are in the data (or which of two sets
//! of rows they are), and sees all answers. Bounds hold for every attacker, and are reached for
//! randomised response. For display: percentages are rounded up.

use super::interval::{Interval, least};
use super::tradeoff::TradeOff;
use std::fmt;

/// The ends of a suspicion of `prior` after answers with a privacy loss of at most ε in either
/// direction: by Bayes' rule the odds move by a factor of at most e^ε. None for a prior outside of
/// [0, 1].
///
/// Guarantee: pure ε-DP, add or remove one unit. For (ε, δ)-DP see [`exceeded`].
pub fn update(prior: f64, epsilon: f64) -> Option<(f64, f64)> {
    if !(0.0..=1.0).contains(&prior) || epsilon.is_nan() || epsilon < 0.0 {
        return None;
    }
    let (p, rest) = (Interval::from(prior), Interval::from(1.0) - prior);
    // p/(p + (1-p)·e^±ε): e^-ε cannot overflow, so each is divided by the larger factor.
    let shrink = (-Interval::from(epsilon)).exp();
    let least = p * shrink / (p * shrink + rest);
    let most = p / (p + rest * shrink);
    Some((least.lo().clamp(0.0, prior), most.hi().clamp(prior, 1.0)))
}

/// The largest probability that the odds move by more than e^`bound` under an (ε, δ)-DP mechanism,
/// for a `bound` above ε: δ/(1 - e^(ε - bound)), for the answers that the present unit gets.
///
/// On the set where the loss is above the bound, P <= e^ε·Q + δ <= e^(ε-bound)·P + δ.
pub fn exceeded(epsilon: f64, delta: f64, bound: f64) -> f64 {
    if delta == 0.0 && bound >= epsilon {
        return 0.0;
    }
    if bound.is_nan() || bound <= epsilon {
        return 1.0;
    }
    let share = -(Interval::from(epsilon) - bound).exp_m1();
    (Interval::from(delta) / share).hi().clamp(0.0, 1.0)
}

/// The meaning of (ε, δ)-differential privacy for one person.
#[derive(Clone, Debug)]
pub struct Meaning {
    epsilon: f64,
    delta: f64,
}

/// Suspicions beforehand that are shown.
const PRIORS: [f64; 3] = [0.01, 0.1, 0.5];

/// The suspicion beforehand of one line.
const BRIEF: f64 = 0.1;

/// Levels at which the best attack's power is shown.
const LEVELS: [f64; 2] = [0.01, 0.05];

impl Meaning {
    /// Of a budget, or of one price in ε (δ = 0).
    pub fn of(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta }
    }

    /// The largest probability that a suspicion moves further than is said: 100δ, which leaves the
    /// loss within 0.0101 of ε; no more than 1 % where δ is so large, and never below 2δ, for which
    /// the loss is ε + ln 2. 0 for δ = 0.
    pub fn chance(&self) -> f64 {
        let least = 2.0 * self.delta;
        (100.0 * self.delta).min(0.01_f64.max(least))
    }

    /// The loss that is exceeded with probability at most [`Self::chance`], rounded up; ε itself for δ = 0.
    pub fn usual_loss(&self) -> f64 {
        if self.delta == 0.0 {
            return self.epsilon;
        }
        let (start, end, chance) = (self.epsilon, self.epsilon + 1.0, self.chance());
        least(start, end, |bound| exceeded(self.epsilon, self.delta, bound) <= chance)
            .unwrap_or(f64::INFINITY)
    }

    /// Prior suspicion, and the least and the most that it can become, but for [`Self::chance`].
    pub fn updates(&self) -> Vec<(f64, f64, f64)> {
        let loss = self.usual_loss();
        PRIORS.iter().filter_map(|p| update(*p, loss).map(|(low, high)| (*p, low, high))).collect()
    }

    /// The update of one suspicion in a line, for EXPLAIN.
    pub fn brief(&self) -> String {
        let loss = self.usual_loss();
        let (low, high) = update(BRIEF, loss).unwrap_or((0.0, 1.0));
        let but = match self.delta > 0.0 {
            true => format!(", but for a chance of {}", chance(self.chance())),
            false => String::new(),
        };
        format!(
            "who suspects with {} that somebody is in the data may end between {} and {}{but}",
            percent(BRIEF, true),
            percent(low, false),
            percent(high, true)
        )
    }

    /// Level of false alarms, and how many present units the best attack finds at it.
    pub fn powers(&self) -> Vec<(f64, f64)> {
        let f = TradeOff::Approximate { epsilon: self.epsilon, delta: self.delta };
        LEVELS.iter().map(|a| (*a, f.power(*a))).collect()
    }
}

/// A share in percent with three digits, rounded up (or down).
fn percent(share: f64, up: bool) -> String {
    let percent = share * 100.0;
    // Near 100 as far from 100 as small ones are from 0.
    let size = percent.min(100.0 - percent).max(1e-12);
    let digits = (2.0 - libm::log10(size).floor()).clamp(0.0, 9.0);
    let scale = libm::pow(10.0, digits);
    let rounded =
        if up { (percent * scale * (1.0 - 1e-12)).ceil() } else { (percent * scale * (1.0 + 1e-12)).floor() };
    format!("{} %", (rounded / scale).clamp(0.0, 100.0))
}

/// A small probability with two digits, rounded up.
fn chance(probability: f64) -> String {
    let exponent = libm::log10(probability).floor();
    let digits = (probability / libm::pow(10.0, exponent - 1.0) * (1.0 - 1e-9)).ceil() / 10.0;
    match digits < 10.0 {
        true => format!("{digits}e{exponent}"),
        false => format!("1e{}", exponent + 1.0),
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Who suspects that somebody is in the data")?;
        for (i, (prior, low, high)) in self.updates().into_iter().enumerate() {
            let before = if i == 0 { "" } else { ";" };
            let (low, high) = (percent(low, false), percent(high, true));
            write!(f, "{before} with {} may end between {low} and {high}", percent(prior, true))?;
        }
        if self.delta > 0.0 {
            write!(f, ", but for a chance of {}", chance(self.chance()))?;
        }
        write!(f, ". The best attack that accuses")?;
        for (i, (level, power)) in self.powers().into_iter().enumerate() {
            let before = if i == 0 { "" } else { ", and" };
            let (level, power) = (percent(level, true), percent(power, true));
            write!(
                f,
                "{before} {level} of those who are absent finds at most {power} of those who are present"
            )?;
        }
        write!(f, ".")
    }
}

#[cfg(test)]
mod tests;
