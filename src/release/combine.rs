//! Several answers to one question as one answer, which is nearer than each of them.
//!
//! Post-processing: it sees what was released, and the public parameters of its noise.

use crate::noisy::Noisy;
use dp::{Distribution, Spec};

/// The least variance, in grid units, beside which rounding to the grid once more (a variance of at most 1/4 of a grid unit
/// squared) is nothing: a hundredth of it.
const WIDE: f64 = 25.0;

/// The mean of answers of one question by inverse variances, rounded to the grid; the last one's groups.
///
/// Where they have independent Gaussian noise of variances vᵢ, it has noise of variance 1/Σ(1/vᵢ), as one release would have that
/// costs as much ρ as all of them: ρ is Δ²/(2v), and so are sums of it. This is noise reduction: a Brownian mechanism that is
/// looked at when its noise has the variances 1/Σ(1/vᵢ) shows the same means (Whitehouse, Ramdas, Wu and Rogers, "Brownian Noise
/// Reduction" 2022, Section 3: increments of a Brownian motion are independent). Discrete noise has nearly that distribution
/// (Canonne, Kamath and Steinke 2020); nothing that is promised of privacy rests on it, since each answer was paid for alone.
///
/// None where an answer has other noise, or too little for that; or where public groups have changed in between.
pub fn combined(answers: &[(&Noisy, &Spec)]) -> Option<Noisy> {
    let (last, _) = answers.last()?;
    let alike = |(n, s): &(&Noisy, &Spec)| {
        n.keys == last.keys
            && n.rows == last.rows
            && n.values.len() == last.values.len()
            && s.aggregates.len() == last.values.len()
            && s.selection.is_none()
            && s.points.is_none()
            && s.top.is_none()
    };
    if !answers.iter().all(alike) {
        return None;
    }
    let column = |part: usize| -> Option<Vec<i128>> {
        let of = |(n, s): &(&Noisy, &Spec)| Some((n.values.get(part)?.clone(), precision(s, part)?));
        let each: Vec<(Vec<i128>, f64)> = answers.iter().map(of).collect::<Option<_>>()?;
        let all: f64 = each.iter().map(|(_, precision)| precision).sum();
        if all > 1.0 / WIDE {
            return None;
        }
        let (last, _) = each.last()?;
        // Differences are as small as noise is: floats hold them.
        let mean = |(row, x): (usize, &i128)| {
            let apart = |(values, precision): &(Vec<i128>, f64)| {
                values.get(row).map_or(0.0, |y| y.saturating_sub(*x) as f64 * precision / all)
            };
            x.saturating_add(each.iter().map(apart).sum::<f64>().round() as i128)
        };
        Some(last.iter().enumerate().map(mean).collect())
    };
    let values = (0..last.values.len()).map(column).collect::<Option<_>>()?;
    Some(Noisy { keys: last.keys.clone(), values, rows: last.rows })
}

/// One by the variance of a part's noise, where that is Gaussian.
fn precision(spec: &Spec, part: usize) -> Option<f64> {
    match spec.aggregates.get(part).map(|n| &n.distribution)? {
        Distribution::Gaussian { variance } => Some(*variance.denom() as f64 / *variance.numer() as f64),
        // What no row can change is the same in all of them.
        Distribution::None => Some(0.0),
        Distribution::Laplace { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::SeededRng;
    use dp::{DiscreteGaussian, Noise, Ratio};

    fn spec(variance: u128) -> Spec {
        let distribution = Distribution::Gaussian { variance: Ratio::from_integer(variance) };
        Spec { aggregates: vec![Noise::new(dp::Sensitivity::of_one(1), distribution)], ..Spec::default() }
    }

    fn answer(values: Vec<i128>) -> Noisy {
        Noisy { keys: Vec::new(), rows: values.len(), values: vec![values] }
    }

    #[test]
    fn means_have_the_variance_of_one_release_at_the_price_of_all() {
        let mut rng = SeededRng::new(3);
        let mut draw = |variance: u128| {
            let noise = DiscreteGaussian::new(&Ratio::from_integer(variance)).unwrap();
            answer((0..20_000).map(|_| 1_000_000 + noise.sample(&mut rng).unwrap()).collect())
        };
        let (far, near) = (draw(1200), draw(400));
        let (far_spec, near_spec) = (spec(1200), spec(400));
        let both = combined(&[(&far, &far_spec), (&near, &near_spec)]).unwrap();
        let errors = both.values[0].iter().map(|x| (x - 1_000_000) as f64);
        let (mean, square) = errors.fold((0.0, 0.0), |(m, s), e| (m + e / 20_000.0, s + e * e / 20_000.0));
        // 1 / (1/1200 + 1/400) = 300, and four standard deviations of such estimates.
        assert!(mean.abs() < 0.5 && (square - 300.0).abs() < 12.0, "{mean} {square}");
    }

    #[test]
    fn what_does_not_belong_together_is_left_apart() {
        let (one, other) = (answer(vec![5, 7]), answer(vec![5]));
        let gaussian = spec(100);
        assert_eq!(combined(&[(&one, &gaussian)]), Some(one.clone()));
        assert_eq!(combined(&[(&other, &gaussian), (&one, &gaussian)]), None);
        let narrow = spec(2);
        assert_eq!(combined(&[(&one, &narrow), (&one, &narrow)]), None);
        let mut laplace = spec(100);
        laplace.aggregates[0].distribution = Distribution::Laplace { scale: Ratio::from_integer(10) };
        assert_eq!(combined(&[(&one, &laplace), (&one, &gaussian)]), None);
        assert_eq!(combined(&[]), None);
    }
}
