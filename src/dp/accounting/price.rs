//! Prices of events, rounded up, in integers.

use super::cost::{ORDERS, UNITS_PER_ONE, Unpriced};
use super::limits;
use crate::exp::{div_ceil, one};
use crate::gdp;
use crate::guarantee::rho_of;
use crate::interval::Interval;
use crate::rdp::Curve;
use crate::{Event, Mechanism, Ratio, Sensitivity};
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

/// A noise's worst case: how much of it one unit changes in one group, and in all.
///
/// The price of Laplace noise for the vector of a unit's changes v is Σ f(|vᵢ|/b), where f is the price of one integer. With ε = l∞/b
/// it is at most (l₁/l∞)·f(ε) wherever f(x)/x does not fall ([`Sensitivity`]), and it does not:
///
/// * pure: f(x) = x. advanced: f(x)/x = x.
/// * zcdp: f(x)/x = tanh(x/2), which rises.
/// * rdp, of order α > 1, randomised response: (α-1)·f = ln cosh((α-½)x) - ln cosh(x/2), so that (α-1)·(x·f' - f) = u((α-½)x) - u(x/2)
///   with u(t) = t·tanh t - ln cosh t, which rises from 0 on: u' = t/cosh² t. Discrete Laplace noise: e^((α-1)f) at Δ = 0, 1, 2, … is
///   (1+K)·A^Δ + (1-K/r)·B^Δ over 1+q with A = e^((α-1)/b), B = e^(-α/b), r = e^(-(2α-1)/b), K = (1-q)·r/(1-r) <= r; its logarithm
///   is convex and 0 at 0. The lesser of two such prices is one. Orders 1 and ∞ are limits of these.
/// * gdp: f = 4z² with x = ln(Φ(z)/Φ(-z)) =: λ(z). f/x rises where 2λ >= z·λ'; both sides are 0 at 0, and the derivative λ' - z·λ'' is not
///   below 0, because λ' = φ/(Φ(z)Φ(-z)) has (ln λ')' = h(z) - h(-z) - z <= 1/z with Mills' h = φ/Φ(-·) < z + 1/z (Gordon 1941).
struct Uses {
    /// l∞/b.
    each: (BigUint, BigUint),
    /// l₁/l∞, and times.
    uses: Ratio,
    times: u32,
}

impl Uses {
    /// None for what costs nothing.
    fn of(sensitivity: &Sensitivity, times: u32, scale: &Ratio) -> Result<Option<Self>, Unpriced> {
        let Some(uses) = sensitivity.uses().filter(|_| times != 0) else { return Ok(None) };
        if sensitivity.l1 == u128::MAX {
            return Err(Unpriced::Unbounded);
        }
        let each = quotient(sensitivity.linf, scale)?;
        Ok(Some(Self { each, uses, times }))
    }

    /// How many uses of the largest change, as a fraction.
    fn number(&self) -> (BigUint, BigUint) {
        (BigUint::from(*self.uses.numer()) * self.times, BigUint::from(*self.uses.denom()))
    }

    fn interval(&self) -> Interval {
        let (n, d) = self.number();
        Interval::quotient(&n, &d)
    }
}

/// n over a parameter of noise, which is above 0.
fn quotient(n: u128, parameter: &Ratio) -> Result<(BigUint, BigUint), Unpriced> {
    if *parameter.numer() == 0 || *parameter.denom() == 0 {
        return Err(Unpriced::Unbounded);
    }
    Ok((BigUint::from(n) * *parameter.denom(), BigUint::from(*parameter.numer())))
}

/// The square of the l₂ norm over the variance. None for what costs nothing.
fn square_of_gaussian(
    sensitivity: &Sensitivity,
    times: u32,
    variance: &Ratio,
) -> Result<Option<(BigUint, BigUint)>, Unpriced> {
    if sensitivity.is_none() || times == 0 {
        return Ok(None);
    }
    if sensitivity.l2_squared == u128::MAX {
        return Err(Unpriced::Unbounded);
    }
    let (n, d) = quotient(sensitivity.l2_squared, variance)?;
    Ok(Some((n * times, d)))
}

/// Σ l₁/b: exact, then rounded up once.
pub(super) fn epsilon(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Sum::new();
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some(of) = Uses::of(sensitivity, event.times, scale)? {
                    let ((n, d), (uses, parts)) = (&of.each, of.number());
                    sum.add(n * uses, d * parts);
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

/// Σ (l₁/l∞)·(l∞/b)²: exact, then rounded up once.
pub(super) fn square(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Sum::new();
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some(of) = Uses::of(sensitivity, event.times, scale)? {
                    let ((n, d), (uses, parts)) = (&of.each, of.number());
                    sum.add(n * n * uses, d * d * parts);
                }
            }
            Mechanism::DiscreteGaussian { .. } | Mechanism::Guaranteed(_) => {
                return Err(Unpriced::Unbounded);
            }
        }
    }
    sum.units()
}

/// Σ (l₁/l∞)·μ², with the least μ that covers any mechanism that is l∞/b-DP.
pub(super) fn mu_square(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = Interval::from(0.0);
    for event in events {
        match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some(of) = Uses::of(sensitivity, event.times, scale)? {
                    let (n, d) = &of.each;
                    let mu = gdp::of_pure(Interval::quotient(n, d).hi());
                    sum = sum + Interval::from(mu).square() * of.interval();
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
        match &event.mechanism {
            Mechanism::DiscreteGaussian { sensitivity, variance } => {
                if let Some((n, d)) = square_of_gaussian(sensitivity, event.times, variance)? {
                    curves
                        .push((Curve::Gaussian { square: Interval::quotient(&n, &d) }, Interval::from(1.0)));
                }
            }
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                if let Some(of) = Uses::of(sensitivity, event.times, scale)? {
                    let width = limits::float(&Ratio::from_integer(sensitivity.linf));
                    let rate = limits::float(&scale.recip());
                    curves.push((Curve::DiscreteLaplace { sensitivity: width, rate }, of.interval()));
                }
            }
            Mechanism::Guaranteed(_) => return Err(Unpriced::Unbounded),
        }
    }
    let mut prices = [0; ORDERS.len()];
    for (price, order) in prices.iter_mut().zip(ORDERS) {
        *price = if order == f64::INFINITY {
            epsilon(events).unwrap_or(u128::MAX)
        } else {
            let sum = curves.iter().map(|(curve, uses)| curve.divergence(order) * *uses).sum();
            limits::units_above(sum).ok_or(Unpriced::Unbounded)?
        };
    }
    Ok(prices)
}

/// Σ (l₁/l∞)·ρ, each ρ from above, rounded up once.
///
/// Discrete Laplace of scale b at sensitivity Δ is ε-DP with ε = Δ/b, and an ε-DP mechanism is ε·tanh(ε/2)-zCDP
/// (Harrison and Manurangsi, "Exact zCDP Characterizations", 2026). At Δ = 1 this is exact: the discrete Laplace is
/// randomised response there. The smaller ε + e^-ε - 1 of continuous Laplace is wrong for it (soundness rule 19).
///
/// Discrete Gaussian of parameter σ² at l₂ sensitivity Δ is Δ²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14):
/// rational, so these are added exactly.
pub(super) fn rho(events: &[Event]) -> Result<u128, Unpriced> {
    let (mut laplace, mut gaussian) = (Sum::new(), Sum::new());
    // Events of a release have equal shares of its ε: most have the same ε as the one before.
    let mut last: Option<((BigUint, BigUint), BigUint)> = None;
    for event in events {
        let of = match &event.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => {
                let Some(of) = Uses::of(sensitivity, event.times, scale)? else { continue };
                of
            }
            Mechanism::DiscreteGaussian { sensitivity, variance } => {
                if let Some((n, d)) = square_of_gaussian(sensitivity, event.times, variance)? {
                    gaussian.add(n, d * 2u8);
                }
                continue;
            }
            Mechanism::Guaranteed(_) => return Err(Unpriced::Unbounded),
        };
        let ((n, d), (uses, parts)) = (&of.each, of.number());
        let rho = match last {
            Some(((ln, ld), rho)) if n * &ld == &ln * d => rho,
            _ => rho_of(n, d),
        };
        laplace.add(&rho * uses, parts);
        last = Some((of.each, rho));
    }
    gaussian.add(laplace.num, laplace.den * one());
    gaussian.units()
}
