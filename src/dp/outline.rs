//! What a release needs noise for, and how its price is divided over that: a public matter, fixed before anything is charged.
//!
//! With weights wⱼ, the errors of aggregates relative to what matters of them add up, in squares, to Σ wⱼ²·Var(noise of j in
//! units of its own sensitivity). Shares of the price that add up to a whole make that least where they are in proportion to wⱼ
//! for Gaussian noise, whose variance falls with the share of ε², and to wⱼ^(2/3) for Laplace noise, whose variance falls with
//! the square of the share of ε (both by Lagrange).

use super::{Pick, Ratio};

/// The weight of an aggregate whose error matters in units of its own sensitivity.
pub const WEIGHT_OF_ONE: u32 = 16;

/// The weight of a selection: half of an aggregate's. A group's number of units has to be some five σ to be kept, where the
/// noise of its counts is to be a small part of them.
const OF_SELECTION: u32 = WEIGHT_OF_ONE / 2;

/// No aggregate has more, nor less than one.
const MOST: u32 = 1 << 12;

/// What one release of a statement needs noise for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Groups one unit may touch.
    pub l0: u32,
    /// How much one unit can change each aggregate in one group, in grid units.
    pub linf: Vec<u128>,
    /// The same two for Gaussian noise, where the l₂ norm of all groups is bounded by less than these say.
    pub in_squares: Option<(u32, Vec<u128>)>,
    /// How much the error of each aggregate matters, in units of its sensitivity and of 1/[`WEIGHT_OF_ONE`]; one that is not
    /// there has [`WEIGHT_OF_ONE`].
    pub weights: Vec<u32>,
    /// δ for the selection of its groups; None where groups are public.
    pub selection_delta: Option<Ratio>,
    /// The aggregate that is the number of units by which groups are selected, which one unit changes by 1: where it is some,
    /// what is compared with the threshold is what is released.
    pub counted: Option<usize>,
    /// What is chosen among points, and what one unit's cells weigh together; then there are no aggregates.
    pub points: Option<(Vec<Pick>, u32)>,
    /// Only the groups with the greatest values of the one aggregate come back: so many, which is `l0`.
    pub top: Option<u32>,
}

/// Shares of a price, of all of them together. 0: none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shares {
    pub aggregates: Vec<u32>,
    pub selection: u32,
    pub all: u32,
}

impl Outline {
    /// Aggregates that a unit changes by so much in each of `l0` groups, all of one weight.
    pub fn even(l0: u32, linf: &[u128], selection_delta: Option<&Ratio>) -> Self {
        Self { l0, linf: linf.to_vec(), selection_delta: selection_delta.copied(), ..Self::default() }
    }

    /// The aggregate that has the noise of the selection, and no share of its own.
    pub(super) fn counted(&self) -> Option<usize> {
        self.counted.filter(|i| self.selection_delta.is_some() && self.linf.get(*i) == Some(&1))
    }

    /// Shares for Laplace noise, of ε.
    pub(super) fn of_epsilon(&self) -> Shares {
        // libm's cube root is the same on every machine (soundness rule 43).
        self.shares(|w| libm::cbrt(w * w * f64::from(WEIGHT_OF_ONE)))
    }

    /// Shares for Gaussian noise, of ε².
    pub(super) fn of_squares(&self) -> Shares {
        self.shares(|w| w)
    }

    fn shares(&self, share: impl Fn(f64) -> f64) -> Shares {
        // Rounded to a whole number that is no less than 1: the cast holds it.
        let whole = |w: f64| libm::round(share(w)).clamp(1.0, f64::from(MOST)) as u32;
        let weight = |i: usize| {
            let w = self.weights.get(i).copied().unwrap_or(WEIGHT_OF_ONE);
            f64::from(w.clamp(1, MOST))
        };
        let counted = self.counted();
        let own = |(i, linf): (usize, &u128)| {
            if *linf == 0 || counted == Some(i) { 0 } else { whole(weight(i)) }
        };
        let mut aggregates: Vec<u32> = self.linf.iter().enumerate().map(own).collect();
        let selection = f64::from(OF_SELECTION);
        let mut selection = match (self.selection_delta, counted) {
            (None, _) => 0,
            (Some(_), None) => whole(selection),
            (Some(_), Some(i)) => whole((selection * selection + weight(i) * weight(i)).sqrt()),
        };
        // As small as they can be, so that scales are.
        let common = aggregates.iter().fold(selection, |a, b| gcd(a, *b)).max(1);
        aggregates.iter_mut().chain([&mut selection]).for_each(|w| *w /= common);
        let all = aggregates.iter().fold(selection, |sum, w| sum.saturating_add(*w)).max(1);
        Shares { aggregates, selection, all }
    }
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta() -> Option<Ratio> {
        Some(Ratio::new(1, 1_000_000))
    }

    #[test]
    fn even_weights_are_even_shares() {
        let outline = Outline::even(3, &[5, 0, 7, 9], None);
        let even = Shares { aggregates: vec![1, 0, 1, 1], selection: 0, all: 3 };
        assert_eq!(
            (outline.of_epsilon(), outline.of_squares()),
            (even, Shares { aggregates: vec![1, 0, 1, 1], selection: 0, all: 3 })
        );
        // Of ε², half a part selects.
        let outline = Outline::even(3, &[5, 7], delta().as_ref());
        assert_eq!(outline.of_squares(), Shares { aggregates: vec![2, 2], selection: 1, all: 5 });
        let keys = Outline::even(3, &[], delta().as_ref());
        assert_eq!(keys.of_epsilon(), Shares { aggregates: vec![], selection: 1, all: 1 });
    }

    /// Shares near those make the sum of squared errors no less.
    #[test]
    fn shares_make_errors_least() {
        let outline = Outline { weights: vec![160, 16, 57], ..Outline::even(1, &[1, 1, 1], None) };
        let errors = |shares: &[f64], power: i32| -> f64 {
            let all: f64 = shares.iter().sum();
            outline
                .weights
                .iter()
                .zip(shares)
                .map(|(w, s)| f64::from(*w).powi(2) / (s / all).powi(power))
                .sum()
        };
        for (shares, power) in [(outline.of_squares(), 1), (outline.of_epsilon(), 2)] {
            let own: Vec<f64> = shares.aggregates.iter().map(|s| f64::from(*s)).collect();
            let least = errors(&own, power);
            assert!(least < errors(&[1.0, 1.0, 1.0], power));
            for i in 0..own.len() {
                for factor in [0.8, 1.25] {
                    let mut other = own.clone();
                    other.iter_mut().skip(i).take(1).for_each(|s| *s *= factor);
                    assert!(least < errors(&other, power), "{power} {own:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_counted_has_the_share_of_the_selection() {
        let outline = Outline { counted: Some(0), ..Outline::even(4, &[1], delta().as_ref()) };
        assert_eq!(outline.of_squares(), Shares { aggregates: vec![0], selection: 1, all: 1 });
        // A number of rows that a unit changes by more is none of units; nor is there one without a selection.
        assert_eq!(Outline { linf: vec![2], ..outline.clone() }.counted(), None);
        assert_eq!(Outline { selection_delta: None, ..outline }.counted(), None);
    }
}
