//! The loss of one use on a grid of losses: never less than it is.

use super::{PldError, Source};
use crate::interval::Interval;
use crate::loss::PrivacyLoss;
use crate::tradeoff::TradeOff;

/// Masses on multiples of a step, from `first` times the step on, each rounded up.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) first: i64,
    pub(super) masses: Vec<f64>,
    /// Mass at infinite loss, rounded up.
    pub(super) infinite: f64,
}

/// No base has more entries.
const MOST: i64 = 1 << 21;

impl Source {
    /// The range of losses outside of which less than `beyond` remains, and the mean square of the loss: roughly, to choose
    /// a step.
    pub(super) fn size(&self, beyond: f64) -> Result<(f64, f64), PldError> {
        let size = match self {
            Self::Loss(loss) => {
                let square = loss.atoms().iter().map(|a| a.mass.hi() * a.loss.hi() * a.loss.hi()).sum();
                (reach(loss, beyond), square)
            }
            Self::Curve(curve @ (TradeOff::Gaussian { .. } | TradeOff::Laplace { .. })) => {
                let square = curve.functionals().ok_or(PldError::Unsuitable)?.kappa2.hi();
                (top(curve, beyond), square)
            }
            Self::Curve(_) => return Err(PldError::Unsuitable),
        };
        if size.0.is_finite() && size.1.is_finite() { Ok(size) } else { Err(PldError::Unsuitable) }
    }

    /// On the grid, with less than `beyond` above its top.
    pub(super) fn discretised(&self, step: f64, beyond: f64) -> Result<Base, PldError> {
        match self {
            Self::Loss(loss) => split(loss, step, beyond),
            Self::Curve(curve) => dots(curve, step, beyond),
        }
    }
}

/// The loss above which less than `beyond` lies.
fn reach(loss: &PrivacyLoss, beyond: f64) -> f64 {
    let mut atoms: Vec<(f64, f64)> = loss.atoms().iter().map(|a| (a.loss.hi(), a.mass.hi())).collect();
    atoms.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = beyond;
    for (loss, mass) in atoms {
        left -= mass;
        if left < 0.0 {
            return loss.max(0.0);
        }
    }
    0.0
}

fn top(curve: &TradeOff, beyond: f64) -> f64 {
    match curve {
        TradeOff::Laplace { epsilon } => *epsilon,
        TradeOff::Gaussian { mu } => crate::gdp::epsilon(*mu, beyond),
        _ => f64::INFINITY,
    }
}

/// Each outcome between two points of the grid becomes two outcomes at them with the same probability under both
/// distributions: with r above the lower point, p·(1 - e^-r)/(1 - e^-h) at the upper. δ(ε) is convex in the pair of
/// probabilities, so it can only rise.
fn split(loss: &PrivacyLoss, step: f64, beyond: f64) -> Result<Base, PldError> {
    let limit = reach(loss, beyond);
    let last = (limit / step).ceil() as i64 + 1;
    if last > MOST {
        return Err(PldError::TooFine);
    }
    let mut masses = vec![Interval::from(0.0); (2 * last + 1) as usize];
    let mut infinite = loss.infinite();
    let whole = -Interval::from(-step).exp_m1();
    for atom in loss.atoms() {
        // A loss may be called larger than it is.
        let at = atom.loss.hi().max(-limit);
        if at > limit {
            infinite = infinite + atom.mass;
            continue;
        }
        let below = (at / step).floor();
        let rest = (Interval::from(at) - Interval::from(below) * step).at_least(0.0).at_most(step);
        let share = -(-rest).exp_m1() / whole;
        let other = ((-rest).exp() - (-Interval::from(step)).exp()).at_least(0.0) / whole;
        let index = usize::try_from(below as i64 + last).map_err(|_| PldError::TooFine)?;
        for (mass, part) in masses.iter_mut().skip(index).zip([other, share]) {
            *mass = *mass + atom.mass * part;
        }
    }
    let masses = masses.iter().map(|m| m.hi().max(0.0)).collect();
    Ok(Base { first: -last, masses, infinite: infinite.hi().min(1.0) })
}

/// Connect the dots (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022): the distribution on the grid whose profile runs
/// through δ(ε) at the points of the grid, and straight (in e^ε) between them. A profile is convex in e^ε, so this one is
/// nowhere below it. Its mass at ε_i is e^ε_i times the change of slope there.
///
/// Dots are laid through the upper bounds of δ, taken as exact numbers: what a bound is too high by cancels in the sum of
/// masses. Where rounding has bent the dots the wrong way a mass comes out below 0, and 0 is more. Trade-off functions here
/// are symmetric, so the mass at -ε is e^-ε times that at ε.
fn dots(curve: &TradeOff, step: f64, beyond: f64) -> Result<Base, PldError> {
    let last = (top(curve, beyond) / step).ceil() as i64;
    if !(1..=MOST).contains(&last) {
        return Err(PldError::TooFine);
    }
    let h = Interval::from(step);
    let (down, up) = (-(-h).exp_m1(), h.exp_m1());
    let dots: Vec<Interval> = (0..=last).map(|i| curve.profile(i as f64 * step).hi().into()).collect();
    // e^ε_i·(δ_(i-1) - δ_i)/(e^ε_i - e^ε_(i-1)) to the left of ε_i, and with the other sign to the right; beyond the last
    // dot the profile is level.
    let falls: Vec<Interval> = dots.windows(2).map(fall).collect();
    let (zero, first) = match (dots.first(), falls.first()) {
        (Some(zero), Some(first)) => (*zero, *first),
        _ => return Err(PldError::TooFine),
    };
    // δ(-h) = 1 - e^-h + e^-h·δ(h), so δ(-h) - δ(0) = (1 - e^-h)(1 - δ(0)) - e^-h(δ(0) - δ(h)), of which e^-h/(1 - e^-h) is
    // 1/(e^h - 1).
    let centre = Interval::from(1.0) - zero - first * 2.0 / up;
    let rights = falls.iter().skip(1).copied().chain(std::iter::once(Interval::from(0.0)));
    let outer = falls.iter().zip(rights).map(|(left, right)| *left / down - right / up);
    let masses: Vec<Interval> = std::iter::once(centre).chain(outer).collect();
    let negative = masses.iter().enumerate().skip(1).rev().map(|(i, m)| (*m * (-(h * i as f64)).exp()).hi());
    let all = negative.chain(masses.iter().map(|m| m.hi()));
    let infinite = dots.last().map_or(1.0, |d| d.hi());
    Ok(Base { first: -last, masses: all.map(|m| m.max(0.0)).collect(), infinite })
}

fn fall(pair: &[Interval]) -> Interval {
    match pair {
        [a, b] => *a - *b,
        _ => Interval::ALL,
    }
}
