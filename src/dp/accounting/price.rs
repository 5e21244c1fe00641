//! What an event costs, rounded up, in integers.

use super::{ORDERS, UNITS_PER_ONE, Unpriced, limits};
use crate::exp::{div_ceil, one};
use crate::gdp;
use crate::guarantee::rho_of;
use crate::interval::Interval;
use crate::rdp::Curve;
use crate::{Event, Mechanism, Ratio};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// A sum of fractions.
struct Sum {
    num: BigUint,
    den: BigUint,
}

impl Sum {
    fn new() -> Self {
        Self { num: BigUint::zero(), den: BigUint::from(1u8) }
    }

    fn add(&mut self, n: BigUint, d: BigUint) {
        self.num = &self.num * &d + n * &self.den;
        self.den *= d;
        let g = self.num.gcd(&self.den);
        self.num /= &g;
        self.den /= &g;
    }

    fn units(self) -> Result<u128, Unpriced> {
        div_ceil(self.num * UNITS_PER_ONE, &self.den).to_u128().ok_or(Unpriced::Unbounded)
    }
}

/// ε of one use, Δ/b, as a fraction. None for what costs nothing.
fn fraction(sensitivity: u128, times: u32, scale: &Ratio) -> Result<Option<(BigUint, BigUint)>, Unpriced> {
    if sensitivity == 0 || times == 0 {
        return Ok(None);
    }
    if *scale.numer() == 0 || *scale.denom() == 0 {
        return Err(Unpriced::Unbounded);
    }
    Ok(Some((BigUint::from(sensitivity) * *scale.denom(), BigUint::from(*scale.numer()))))
}

/// Σ times·Δ/b: exact, then rounded up once.
pub(super) fn epsilon(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Sum::new();
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some((n, d)) = fraction(*sensitivity, event.times, scale)? {
                    sum.add(n * event.times, d);
                }
            }
            // The table refuses it before it comes here; and what states a guarantee is priced by that.
            Mechanism::DiscreteGaussian { .. } | Mechanism::Guaranteed(_) => {
                return Err(Unpriced::Unbounded);
            }
        }
    }
    sum.units()
}

/// Σ times·(Δ/b)²: exact, then rounded up once.
pub(super) fn square(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Sum::new();
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some((n, d)) = fraction(*sensitivity, event.times, scale)? {
                    sum.add(&n * &n * event.times, &d * &d);
                }
            }
            Mechanism::DiscreteGaussian { .. } | Mechanism::Guaranteed(_) => {
                return Err(Unpriced::Unbounded);
            }
        }
    }
    sum.units()
}

/// Σ times·μ², with the least μ that covers any ε-DP mechanism.
pub(super) fn mu_square(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Interval::from(0.0);
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some((n, d)) = fraction(*sensitivity, event.times, scale)? {
                    let mu = gdp::of_pure(Interval::quotient(&n, &d).hi());
                    sum = sum + Interval::from(mu).square() * f64::from(event.times);
                }
            }
            Mechanism::DiscreteGaussian { .. } | Mechanism::Guaranteed(_) => {
                return Err(Unpriced::Unbounded);
            }
        }
    }
    limits::units_above(sum).ok_or(Unpriced::Unbounded)
}

/// The Rényi divergence at each order, from above. At order ∞, which is ε, exact and rounded up once; Gaussian noise is
/// beyond any limit there.
pub(super) fn orders(events: &[Event]) -> Result<[u128; ORDERS.len()], Unpriced> {
    let mut curves = vec![];
    for event in events {
        let (sensitivity, parameter) = match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => (*sensitivity, scale),
            Mechanism::DiscreteGaussian { sensitivity, variance } => (*sensitivity, variance),
            Mechanism::Guaranteed(_) => return Err(Unpriced::Unbounded),
        };
        let Some((n, d)) = fraction(sensitivity, event.times, parameter)? else { continue };
        let curve = match &event.mechanism {
            Mechanism::DiscreteGaussian { .. } => {
                Curve::Gaussian { square: Interval::quotient(&(n * sensitivity), &d) }
            }
            _ => {
                let width = limits::float(&Ratio::from_integer(sensitivity));
                Curve::DiscreteLaplace { sensitivity: width, rate: limits::float(&parameter.recip()) }
            }
        };
        curves.push((curve, f64::from(event.times)));
    }
    let mut prices = [0; ORDERS.len()];
    for (price, order) in prices.iter_mut().zip(ORDERS) {
        *price = if order == f64::INFINITY {
            epsilon(events).unwrap_or(u128::MAX)
        } else {
            let sum = curves.iter().map(|(curve, times)| curve.divergence(order) * *times).sum();
            limits::units_above(sum).ok_or(Unpriced::Unbounded)?
        };
    }
    Ok(prices)
}

/// Σ times·ρ, each ρ from above, rounded up once.
///
/// Discrete Laplace of scale b at sensitivity Δ is ε-DP with ε = Δ/b, and an ε-DP mechanism is ε·tanh(ε/2)-zCDP
/// (Harrison and Manurangsi, "Exact zCDP Characterizations", 2026). At Δ = 1 this is exact: the discrete Laplace is
/// randomised response there. The smaller ε + e^-ε - 1 of continuous Laplace is wrong for it (soundness rule 19).
///
/// Discrete Gaussian of parameter σ² at sensitivity Δ is Δ²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020, Theorem 4):
/// rational, so these are added exactly.
pub(super) fn rho(events: &[Event]) -> Result<u128, Unpriced> {
    let (mut sum, mut gaussian) = (BigUint::zero(), Sum::new());
    // Events of a release have equal shares of its ε: most have the same ε as the one before.
    let mut last: Option<(BigUint, BigUint, BigUint)> = None;
    for event in events {
        let (n, d) = match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                let Some(fraction) = fraction(*sensitivity, event.times, scale)? else { continue };
                fraction
            }
            Mechanism::DiscreteGaussian { sensitivity, variance } => {
                if let Some((n, d)) = fraction(*sensitivity, event.times, variance)? {
                    gaussian.add(n * *sensitivity * event.times, d * 2u8);
                }
                continue;
            }
            Mechanism::Guaranteed(_) => return Err(Unpriced::Unbounded),
        };
        let rho = match last {
            Some((ln, ld, rho)) if &n * &ld == &ln * &d => rho,
            _ => rho_of(&n, &d),
        };
        sum += &rho * event.times;
        last = Some((n, d, rho));
    }
    gaussian.add(sum, one());
    gaussian.units()
}
