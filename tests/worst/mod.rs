//! What a charge must be at least: the divergence at the worst vector of changes that certificates allow, searched over vectors and
//! computed by nothing that prices are computed by (soundness rule 47).

use noisegate::dp::{Charge, Distribution, Notion, Spec, UNITS_PER_ONE, gdp};
use noisegate::kernel::Certified;

/// Orders at which Rényi divergences are compared.
const ORDERS: [f64; 4] = [1.01, 2.0, 8.0, 40.0];

/// The price of a shift of one integer by `v`, with Laplace noise of scale `b`.
type Price<'a> = &'a dyn Fn(f64, f64) -> f64;

/// The Rényi divergence of discrete Laplace noise: with q = e^(-1/b), r = e^(-(2α-1)/b) and K = (1-q)r/(1-r), e^((α-1)D) is
/// ((1+K)·e^((α-1)v/b) + (1-K/r)·e^(-αv/b))/(1+q), by adding up three geometric series.
fn divergence(v: f64, b: f64, order: f64) -> f64 {
    let rise = (2.0 * order - 1.0) / b;
    // (1-q)/(1-r), in which nothing cancels.
    let part = (-1.0 / b).exp_m1() / (-rise).exp_m1();
    let (all, k) = (1.0 + (-1.0 / b).exp(), part * (-rise).exp());
    if (order * v / b) < 1.0 {
        // Both coefficients add up to 1: nothing of a small divergence is lost to that.
        let rest = (1.0 + k) * ((order - 1.0) * v / b).exp_m1() + (1.0 - part) * (-order * v / b).exp_m1();
        return (rest / all).ln_1p().max(0.0) / (order - 1.0);
    }
    let first = ((1.0 + k) / all).ln() + (order - 1.0) * v / b;
    let second = ((1.0 - part) / all).ln() - order * v / b;
    let top = first.max(second);
    (((first - top).exp() + (second - top).exp()).ln() + top).max(0.0) / (order - 1.0)
}

/// The most that is found over vectors within ‖v‖∞ <= `linf` and ‖v‖₁ <= `l1`: so many equal changes; so many of the largest and a rest.
fn worst(linf: f64, l1: f64, b: f64, price: Price<'_>) -> f64 {
    let fewest = (l1 / linf).ceil().max(1.0);
    let each = |n: f64| {
        let v = (l1 / n).floor().min(linf);
        n * price(v, b)
    };
    let full = (l1 / linf).floor();
    let rest = (l1 - full * linf).max(0.0);
    let some = (0..40).map(|i| each(fewest * 1.25f64.powi(i).floor())).fold(0.0, f64::max);
    some.max(full * price(linf, b) + if rest >= 1.0 { price(rest, b) } else { 0.0 })
}

/// Panics where a charge is below what some vector costs that the certificates allow. Fetches by their certificate and the noise that is
/// drawn for them. What is chosen among points or groups is not looked at: its guarantee is one of all groups together.
pub fn is_covered(charge: &Charge, fetches: &[(&Certified, &Spec)]) {
    let booked = |notion: Notion| notion.price(charge).ok();
    let float = |n: u128| n as f64 / UNITS_PER_ONE as f64;
    let all = |price: Price<'_>, gaussian: &dyn Fn(f64) -> f64| -> f64 {
        let mut sum = 0.0;
        for (certified, spec) in
            fetches.iter().filter(|(_, spec)| spec.points.is_none() && spec.top.is_none())
        {
            for (i, (part, noise)) in certified.parts.iter().zip(&spec.aggregates).enumerate() {
                if spec.counted == Some(i) {
                    continue;
                }
                sum += match noise.distribution {
                    Distribution::None => 0.0,
                    Distribution::Laplace { scale } => {
                        let b = *scale.numer() as f64 / *scale.denom() as f64;
                        worst(part.linf as f64, part.l1.expect("a sum of changes") as f64, b, price)
                    }
                    Distribution::Gaussian { variance } => {
                        let variance = *variance.numer() as f64 / *variance.denom() as f64;
                        gaussian(part.l2_squared.expect("a sum of squares") as f64 / variance)
                    }
                };
            }
            if let Some(selection) = &spec.selection {
                let by = selection.weights.sensitivity(u32::try_from(certified.l0).expect("so many groups"));
                sum += match selection.noise {
                    Distribution::None => 0.0,
                    Distribution::Laplace { scale } => worst(
                        by.linf as f64,
                        by.l1 as f64,
                        *scale.numer() as f64 / *scale.denom() as f64,
                        price,
                    ),
                    Distribution::Gaussian { variance } => {
                        gaussian(by.l2_squared as f64 / (*variance.numer() as f64 / *variance.denom() as f64))
                    }
                };
            }
        }
        sum
    };
    let enough = |booked: f64, least: f64, what: &str| {
        assert!(
            booked >= least * (1.0 - 1e-6),
            "{what}: {booked} is booked, and a vector costs {least}: {charge:?}"
        );
    };
    if let Some(cost) = booked(Notion::Pure) {
        enough(float(cost.loss), all(&|v, b| v / b, &|_| f64::INFINITY), "pure");
    }
    if let Some(cost) = booked(Notion::Advanced) {
        enough(float(cost.loss), all(&|v, b| (v / b).powi(2), &|_| f64::INFINITY), "advanced");
    }
    if let Some(cost) = booked(Notion::Gdp) {
        enough(float(cost.loss), all(&|v, b| gdp::of_pure(v / b).powi(2), &|_| f64::INFINITY), "gdp");
    }
    if let Some(cost) = booked(Notion::Zcdp) {
        for order in ORDERS {
            let least = all(&|v, b| divergence(v, b, order), &|square| order * square / 2.0);
            enough(float(cost.loss) * order, least, "zcdp");
        }
    }
    if let Some(cost) = booked(Notion::Rdp) {
        for (price, order) in
            cost.orders.iter().zip(noisegate::dp::ORDERS).filter(|(_, order)| order.is_finite())
        {
            let least = all(&|v, b| divergence(v, b, order), &|square| order * square / 2.0);
            enough(float(*price), least, "rdp");
        }
    }
}
