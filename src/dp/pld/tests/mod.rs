#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::loss::PrivacyLoss;
use crate::tradeoff::TradeOff;

mod digits;
mod ways;

fn response(epsilon: f64) -> Source {
    Source::Loss(PrivacyLoss::randomised_response(epsilon.into()))
}

fn gaussian(mu: f64) -> Source {
    Source::Curve(TradeOff::Gaussian { mu })
}

fn laplace(epsilon: f64) -> Source {
    Source::Curve(TradeOff::Laplace { epsilon })
}

/// An upper bound, and near.
fn above(ours: f64, exact: f64, relative: f64) {
    assert!(ours >= exact * (1.0 - 1e-12) && ours <= exact * (1.0 + relative), "{ours} against {exact}");
}

#[test]
fn closed_forms_are_met_from_above() {
    for (mu, k, d) in
        [(1.0, 1u32, 1e-6), (0.1, 100, 1e-6), (0.5, 16, 1e-9), (0.01, 10_000, 1e-5), (2.0, 3, 1e-12)]
    {
        let ours = Pld::new(vec![(gaussian(mu), k)]);
        let total = mu * f64::from(k).sqrt();
        above(ours.epsilon(d).unwrap(), gdp::epsilon(total, d), 1e-4);
        above(ours.delta(total).unwrap(), gdp::delta(total, total), 3e-4);
    }
    for (e, k, d) in [(0.1, 100u32, 1e-6), (1.0, 5, 1e-3), (0.02, 3000, 1e-8)] {
        let exact = PrivacyLoss::repeated_response(e.into(), k);
        let ours = Pld::new(vec![(response(e), k)]);
        // What is exact there is rounded up itself, by more than is here.
        above(ours.epsilon(d).unwrap(), exact.epsilon(d) * (1.0 - 1e-11), 1e-7);
        let at = exact.epsilon(1e-4);
        above(ours.delta(at).unwrap(), exact.profile(at).lo(), 1e-7);
    }
    // One use: the profile itself.
    above(Pld::new(vec![(laplace(0.5), 1)]).epsilon(1e-6).unwrap(), 0.499_997_999_998_999_9, 1e-14);
}

#[test]
fn different_mechanisms_compose() {
    // Gaussians of two sizes, against the exact sum.
    let ours = Pld::new(vec![(gaussian(0.3), 10), (gaussian(0.1), 40)]);
    above(ours.epsilon(1e-6).unwrap(), gdp::epsilon((0.9f64 + 0.4).sqrt(), 1e-6), 1e-4);
    // Responses of two sizes by convolution of their exact atoms.
    let (a, b) =
        (PrivacyLoss::repeated_response(0.3.into(), 8), PrivacyLoss::repeated_response(0.5.into(), 5));
    let exact = |e: f64| -> f64 {
        let pairs = a.atoms().iter().flat_map(|x| b.atoms().iter().map(move |y| (x, y)));
        pairs
            .map(|(x, y)| x.mass.hi() * y.mass.hi() * (1.0 - (e - x.loss.hi() - y.loss.hi()).exp()).max(0.0))
            .sum()
    };
    let ours = Pld::new(vec![(response(0.3), 8), (response(0.5), 5)]);
    for e in [0.0, 1.0, 2.0, 3.0] {
        above(ours.delta(e).unwrap(), exact(e), 2e-3);
    }
}

#[test]
fn discrete_noise_composes() {
    let loss = PrivacyLoss::discrete_laplace(3, Interval::from(0.1)).unwrap();
    let ours = Pld::new(vec![(Source::Loss(loss.clone()), 1)]);
    for e in [0.0, 0.05, 0.15, 0.25] {
        above(ours.delta(e).unwrap(), loss.delta(e), 1e-3);
    }
    // Dominated by randomised response, and above its own single use.
    let many = Pld::new(vec![(Source::Loss(loss), 50)]).epsilon(1e-6).unwrap();
    assert!(many < Pld::new(vec![(response(0.3), 50)]).epsilon(1e-6).unwrap());
    let gauss = PrivacyLoss::discrete_gaussian(1, Interval::from(100.0)).unwrap();
    let ours = Pld::new(vec![(Source::Loss(gauss), 100)]).epsilon(1e-6).unwrap();
    assert!((ours / gdp::epsilon(1.0, 1e-6) - 1.0).abs() < 1e-3, "σ = 10 is nearly a Gaussian: {ours}");
}

#[test]
fn delta_of_parts_adds_up() {
    let leaky = Source::Loss(PrivacyLoss::approximate(0.0.into(), 1e-4.into()));
    let ours = Pld::new(vec![(leaky, 10)]);
    above(ours.delta(0.0).unwrap(), 1.0 - (1.0 - 1e-4f64).powi(10), 1e-3);
    assert_eq!(ours.epsilon(1e-4).unwrap(), f64::INFINITY);
    assert_eq!(ours.epsilon(1.1e-3).unwrap(), 0.0);
}

/// A hundred thousand uses, against the exact binomial sum.
#[test]
fn a_hundred_thousand_uses() {
    let exact = gdp::epsilon(1e-3 * 1e5f64.sqrt(), 1e-6);
    above(Pld::new(vec![(gaussian(1e-3), 100_000)]).epsilon(1e-6).unwrap(), exact, 1e-3);
}

#[test]
fn edges() {
    assert_eq!(Pld::new(vec![]).epsilon(1e-6), Ok(0.0));
    assert_eq!(Pld::new(vec![(laplace(1.0), 0)]).delta(0.5), Ok(0.0));
    assert_eq!(Pld::new(vec![(laplace(1.0), 2)]).epsilon(0.0), Ok(f64::INFINITY));
    let group = TradeOff::Gaussian { mu: 1.0 }.inverse();
    assert!(Pld::new(vec![(Source::Curve(group), 2)]).delta(0.5).is_ok());
    let lines = TradeOff::from_profile(&[(1.0, 0.0)]);
    assert_eq!(Pld::new(vec![(Source::Curve(lines), 2)]).delta(0.5), Err(PldError::Unsuitable));
    assert_eq!(Pld::new(vec![(response(f64::INFINITY), 1)]).delta(0.5), Err(PldError::Unsuitable));
}
