//! What a guarantee costs, in each notion: for mechanisms that state what they promise rather than what they draw.

use super::{Cost, Kind, Notion, ORDERS, Rule, UNITS_PER_ONE, Unpriced, limits, rule, units_up};
use crate::exp::div_ceil;
use crate::interval::Interval;
use crate::ratio::{BigRatio, exact, exact_integer};
use crate::rdp::Curve;
use crate::{Guarantee, Ratio, gdp};
use num_traits::{ToPrimitive, Zero};

impl Notion {
    /// What a mechanism with this guarantee costs when it is used `times` on the same unit, rounded up.
    ///
    /// Real Gaussian noise costs (ε′, δ′) per use in approx and advanced budgets, where `gaussian_delta` is δ′ and ε′ its
    /// analytic ε (soundness rule 21); without a δ′ they refuse it.
    pub fn price_of(
        self,
        guarantee: &Guarantee,
        times: u32,
        gaussian_delta: Option<&Ratio>,
    ) -> Result<Cost, Unpriced> {
        let n = || exact_integer(times);
        let cost = match guarantee {
            Guarantee::Pure { epsilon } => self.pure(epsilon, times)?,
            Guarantee::BoundedRange { epsilon } => {
                let square = exact(epsilon) * exact(epsilon);
                match self {
                    Self::Zcdp => Cost::of_loss(units(&(square * n() / exact_integer(8u8)))?),
                    Self::Rdp => curve(Curve::BoundedRange { epsilon: enclose(&exact(epsilon)) }, times)?,
                    _ => self.pure(epsilon, times)?,
                }
            }
            Guarantee::Approximate { epsilon, delta } => {
                if self == Self::Pure && !delta.numer().is_zero() {
                    return Err(Unpriced::PrivateGroups);
                }
                let delta = units(&(exact(delta) * n()))?;
                Cost { delta, ..self.pure(epsilon, times)? }
            }
            Guarantee::Concentrated { rho } => match self {
                Self::Zcdp => Cost::of_loss(units(&(rho * n()))?),
                Self::Rdp => curve(Curve::Gaussian { square: enclose(&(rho * exact_integer(2u8))) }, times)?,
                _ => return Err(refusal(Kind::DiscreteGaussian, self)),
            },
            Guarantee::Gaussian { square } => match self {
                Self::Pure => return Err(refusal(Kind::RoundedGaussian, self)),
                Self::Zcdp => Cost::of_loss(units(&(square * n() / exact_integer(2u8)))?),
                Self::Gdp => Cost::of_loss(units(&(square * n()))?),
                Self::Rdp => curve(Curve::Gaussian { square: enclose(square) }, times)?,
                Self::Approx | Self::Advanced => self.analytic(square, times, gaussian_delta)?,
            },
        };
        Ok(cost)
    }

    /// (ε′, δ′) for each use.
    fn analytic(self, square: &BigRatio, times: u32, delta: Option<&Ratio>) -> Result<Cost, Unpriced> {
        let delta = delta.filter(|d| *d.numer() != 0 && *d.denom() != 0).ok_or(Unpriced::Mechanism(
            "Gaussian noise costs an epsilon only together with a delta of its own, and none is set aside for it",
        ))?;
        let allowed = enclose(&exact(delta)).lo();
        let epsilon = Interval::from(gdp::epsilon(enclose(square).sqrt().hi(), allowed));
        let each = if self == Self::Advanced { epsilon.square() } else { epsilon };
        let loss = limits::units_above(each * f64::from(times)).ok_or(Unpriced::Unbounded)?;
        let delta = units_up(delta).and_then(|d| d.checked_mul(times.into())).ok_or(Unpriced::Unbounded)?;
        Ok(Cost { loss, delta, ..Cost::default() })
    }

    /// Any ε-DP mechanism.
    fn pure(self, epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
        if *epsilon.denom() == 0 {
            return Err(Unpriced::Unbounded);
        }
        let (e, n) = (exact(epsilon), exact_integer(times));
        Ok(match self {
            Self::Pure | Self::Approx => Cost::of_loss(units(&(e * n))?),
            Self::Advanced => Cost::of_loss(units(&(&e * &e * n))?),
            Self::Zcdp => {
                let rho = Guarantee::Pure { epsilon: *epsilon }.rho().ok_or(Unpriced::Unbounded)?;
                Cost::of_loss(units(&(rho * n))?)
            }
            Self::Rdp => curve(Curve::Pure { epsilon: enclose(&e) }, times)?,
            Self::Gdp => {
                let square = Interval::from(gdp::of_pure(enclose(&e).hi())).square();
                let loss = limits::units_above(square * f64::from(times)).ok_or(Unpriced::Unbounded)?;
                Cost::of_loss(loss)
            }
        })
    }
}

fn refusal(kind: Kind, notion: Notion) -> Unpriced {
    match rule(kind, notion) {
        Rule::Refused(why) => Unpriced::Mechanism(why),
        Rule::Charged(_) => Unpriced::Unbounded,
    }
}

fn enclose(r: &BigRatio) -> Interval {
    Interval::quotient(r.numer(), r.denom())
}

fn units(r: &BigRatio) -> Result<u128, Unpriced> {
    div_ceil(r.numer() * UNITS_PER_ONE, r.denom()).to_u128().ok_or(Unpriced::Unbounded)
}

/// The curve at every order; beyond any limit where it is infinite.
fn curve(curve: Curve, times: u32) -> Result<Cost, Unpriced> {
    let at = |order: f64| {
        let r = curve.divergence(order) * f64::from(times);
        if r.hi().is_finite() { limits::units_above(r).unwrap_or(u128::MAX) } else { u128::MAX }
    };
    Ok(Cost { orders: ORDERS.map(at), ..Cost::default() })
}
