//! Outlines of releases: the integers that need noise, and how a price is divided over them: a
//! public matter, fixed before anything is charged.
//!
//! With weights wⱼ, the errors of aggregates relative to what matters of them add up, in squares,
//! to Σ wⱼ²·Var(noise of j in units of its own sensitivity). Shares of the price that add up to a
//! whole make that least where they are in proportion to wⱼ for Gaussian noise, whose variance
//! falls with the share of ε², and to wⱼ^(2/3) for Laplace noise, whose variance falls with the
//! square of the share of ε (both by Lagrange).
//!
//! Releases of a statement divide its price in the same way: the sum of their errors, relative to a
//! group's part of all rows, falls with the root of their share of ε² or with their share of ε, so
//! that shares are in proportion to the errors at a whole price, or to their cube roots' squares.

use super::{Pick, Ratio, Sensitivity};

/// The weight of an aggregate whose error matters in units of its own sensitivity.
pub const WEIGHT_OF_ONE: u32 = 16;

/// The weight of a selection: half of an aggregate's. A group's number of units has to be some five σ to be kept, where the
/// noise of its counts is to be a small part of them.
const OF_SELECTION: u32 = WEIGHT_OF_ONE / 2;

/// Weight of a unit in its only group, when groups are selected by weights: a number that many
/// groups divide, and whose square double precision holds.
pub const WHOLE: u32 = 1_000_000;

/// Shares of a price (of ε, or of ε² with Gaussian noise) of the rounds in which keys are selected, where they are all that is asked for.
/// The first needs little: what it finds is in many units, and what it leaves has the weight of these (Swanberg, Desfontaines and
/// Haney, "DP-SIPS: A simpler, more scalable mechanism for differentially private partition selection", 2023). Three rounds, and other
/// shares, found fewer keys in simulations of skewed data.
const OF_ROUNDS: [u32; ROUNDS] = [1, 15];

/// Number of rounds.
pub const ROUNDS: usize = 2;

/// No aggregate has more, nor less than one.
const MOST: u32 = 1 << 12;

/// Shares of releases that need noise are whole numbers from the least to the most. What has few groups is known well, and is
/// to stay so: no other has more than four times its share.
const OF_A_RELEASE: std::ops::RangeInclusive<u32> = 3..=12;

/// A choice among some thousand points lies further off than the noise of a count of the same price, by about
/// ln(points / 5 %) over ln(1 / 5 %); and so does the threshold of a selection, by ln(1/δ) over that.
const FAR_OF_EPSILON: f64 = 4.0;

/// With Gaussian noise a threshold is some five σ, and 95 % of it are within two.
const FAR_OF_SQUARES: f64 = 2.5;

/// The outline of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Number of groups that share the rows, as far as is public; 0 counts as 1.
    pub groups: usize,
    /// Groups one unit may touch, where they are selected.
    pub l0: u32,
    /// Change that one unit can make in each aggregate, in grid units, when the change over all
    /// groups is bounded.
    pub sums: Vec<Sensitivity>,
    /// Grid steps that are one of each released number; one that is not there has 1.
    pub steps: Vec<u32>,
    /// Sensitivities of aggregates for Gaussian noise, where squares of changes are bounded instead; None where nothing is.
    pub squares: Option<Vec<Sensitivity>>,
    /// Weight of each aggregate's error, in units of its sensitivity and of 1/[`WEIGHT_OF_ONE`];
    /// one that is not there has [`WEIGHT_OF_ONE`].
    pub weights: Vec<u32>,
    /// δ for the selection of its groups; None where groups are public.
    pub selection_delta: Option<Ratio>,
    /// The aggregate that is the number of units by which groups are selected, which one unit changes by 1: where it is some,
    /// what is compared with the threshold is what is released.
    pub counted: Option<usize>,
    /// Number of the round in which keys alone are selected, from 0: units weigh less the more
    /// groups they are in, and those that were selected before are in none of them.
    pub round: Option<usize>,
    /// Picks among points, and the weight of one unit's cells together; then there are no
    /// aggregates.
    pub points: Option<(Vec<Pick>, u32)>,
    /// Number of groups that come back, those with the greatest values of the one aggregate; it is
    /// `l0`.
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
        Self {
            l0,
            groups: 1,
            sums: linf.iter().map(|n| Sensitivity::in_each(*n, l0.into())).collect(),
            selection_delta: selection_delta.copied(),
            ..Self::default()
        }
    }

    /// Sensitivities for Gaussian noise.
    pub(super) fn in_squares(&self) -> &[Sensitivity] {
        self.squares.as_ref().unwrap_or(&self.sums)
    }

    /// Grid steps that are one of a released number.
    pub(super) fn steps(&self, aggregate: usize) -> u32 {
        self.steps.get(aggregate).copied().unwrap_or(1)
    }

    /// The aggregate that has the noise of the selection, and no share of its own.
    pub(super) fn counted(&self) -> Option<usize> {
        let is_units = |i: &usize| self.sums.get(*i).is_some_and(|s| s.linf == 1);
        self.counted.filter(|i| self.selection_delta.is_some() && is_units(i))
    }

    /// In how many groups a unit weighs as much as in one, of so many that it may touch.
    fn weighing(&self, l0: u32) -> u32 {
        if self.round.is_some() { 1 } else { l0 }
    }

    /// Whether it draws nothing, and needs no share of a price.
    fn draws_nothing(&self) -> bool {
        let integers = self.selection_delta.is_none() && self.sums.iter().all(Sensitivity::is_none);
        integers && self.points.is_none() && self.top.is_none()
    }

    /// The root of the sum of its weighted squared errors at a whole price of Laplace noise, relative to a group's part of all
    /// rows: d·l0·W·√Σ(wⱼ/aⱼ)², for d groups and shares aⱼ of W.
    fn error_of_epsilon(&self) -> f64 {
        if self.draws_nothing() {
            return 0.0;
        }
        let all = self.groups.max(1) as f64 * f64::from(self.weighing(self.l0));
        match (&self.points, self.top) {
            (Some((picks, _)), _) => all * FAR_OF_EPSILON * picks.len() as f64,
            // Half of the price chooses them.
            (None, Some(_)) => 2.0 * all,
            (None, None) => {
                let shares = self.of_epsilon();
                let own = self.relative(&shares, FAR_OF_EPSILON, |_| 1.0, |share| 1.0 / (share * share));
                all * f64::from(shares.all) * own.sqrt()
            }
        }
    }

    /// The error of Gaussian noise, relative as that of Laplace noise: d·√(W·Σ (wⱼ·Δⱼ)²/aⱼ), with Δⱼ the l₂ norm of what a unit changes, in multiples of what it changes
    /// in one group. For `choices` among points or groups, that of the ε that their share of ε² gives them; else 0 for what is
    /// chosen among points, and for groups that of their counts.
    fn error_of_squares(&self, choices: bool) -> f64 {
        if self.draws_nothing() || (self.points.is_some() && !choices) {
            return 0.0;
        }
        let all = self.groups.max(1) as f64;
        match (&self.points, self.top) {
            (Some((picks, _)), _) => {
                let weighing = f64::from(self.weighing(self.l0));
                return all * weighing * FAR_OF_SQUARES * (picks.len() as f64).sqrt();
            }
            // Half of the price chooses them.
            (None, Some(k)) if choices => return all * (2.0 * f64::from(k)).sqrt(),
            _ => {}
        }
        let shares = self.of_squares();
        let one = &self.sums;
        let norm = |i: usize| match (self.in_squares().get(i), one.get(i)) {
            (Some(by), Some(one)) if one.linf > 0 => (by.l2_squared as f64).sqrt() / one.linf as f64,
            _ => 1.0,
        };
        let threshold = FAR_OF_SQUARES * f64::from(self.weighing(self.l0)).sqrt();
        let own = self.relative(&shares, threshold, norm, |share| 1.0 / share);
        all * (f64::from(shares.all) * own).sqrt()
    }

    /// Σ wⱼ²·(factor of j)²·variance(share of j) over what has a share, the weight of one being 1, and that of a selection how
    /// far its threshold is: what is below is lost to all releases of the statement.
    fn relative(
        &self,
        shares: &Shares,
        threshold: f64,
        factor: impl Fn(usize) -> f64,
        variance: impl Fn(f64) -> f64,
    ) -> f64 {
        let aggregates = shares
            .aggregates
            .iter()
            .enumerate()
            .map(|(i, share)| (self.weight(i) / f64::from(WEIGHT_OF_ONE) * factor(i), *share));
        let of = |(weight, share): (f64, u32)| {
            if share == 0 { 0.0 } else { weight * weight * variance(f64::from(share)) }
        };
        aggregates.chain([(threshold, shares.selection)]).map(of).sum()
    }

    fn weight(&self, aggregate: usize) -> f64 {
        f64::from(self.weights.get(aggregate).copied().unwrap_or(WEIGHT_OF_ONE).clamp(1, MOST))
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
        let counted = self.counted();
        let own = |(i, by): (usize, &Sensitivity)| {
            if by.is_none() || counted == Some(i) { 0 } else { whole(self.weight(i)) }
        };
        let mut aggregates: Vec<u32> = self.sums.iter().enumerate().map(own).collect();
        let selection = f64::from(OF_SELECTION);
        let mut selection = match (self.selection_delta, counted) {
            (None, _) => 0,
            (Some(_), None) => whole(selection),
            (Some(_), Some(i)) => whole((selection * selection + self.weight(i) * self.weight(i)).sqrt()),
        };
        // As small as they can be, so that scales are.
        let common = aggregates.iter().fold(selection, |a, b| gcd(a, *b)).max(1);
        aggregates.iter_mut().chain([&mut selection]).for_each(|w| *w /= common);
        let all = aggregates.iter().fold(selection, |sum, w| sum.saturating_add(*w)).max(1);
        Shares { aggregates, selection, all }
    }
}

/// The share of ε of each release with Laplace noise, of their sum; 0 for one that draws nothing.
pub(super) fn releases_by_epsilon(outlines: &[Outline]) -> Vec<u32> {
    let errors: Vec<f64> = outlines.iter().map(Outline::error_of_epsilon).collect();
    by_round(portions(&errors, |e| libm::cbrt(e * e)), outlines)
}

/// The same of ε² with Gaussian noise; 0 for one that draws nothing, and for choices among points where these have no part of it.
pub(super) fn releases_by_squares(outlines: &[Outline], choices: bool) -> Vec<u32> {
    let errors: Vec<f64> = outlines.iter().map(|o| o.error_of_squares(choices)).collect();
    by_round(portions(&errors, |e| e), outlines)
}

/// The same, where the rounds of a selection have one portion together, which they divide. Errors of the rounds of one
/// are the same, and so are their portions.
fn by_round(mut portions: Vec<u32>, outlines: &[Outline]) -> Vec<u32> {
    let all: u32 = OF_ROUNDS.iter().sum();
    for (portion, outline) in portions.iter_mut().zip(outlines) {
        *portion *= outline.round.map_or(all, |round| OF_ROUNDS.get(round).copied().unwrap_or(all));
    }
    smallest(portions)
}

/// Whole numbers in proportion, as small as they can be, where there is an error.
fn portions(errors: &[f64], share: impl Fn(f64) -> f64) -> Vec<u32> {
    let largest = share(errors.iter().copied().fold(0.0, f64::max));
    let (least, most) = (f64::from(*OF_A_RELEASE.start()), f64::from(*OF_A_RELEASE.end()));
    // The cast holds what is within these; the largest is the most even where no number holds it.
    let whole = |error: f64| libm::round(share(error) / largest * most).max(least).min(most) as u32;
    smallest(errors.iter().map(|e| if *e == 0.0 { 0 } else { whole(*e) }).collect())
}

/// The same proportions by the smallest numbers.
fn smallest(mut portions: Vec<u32>) -> Vec<u32> {
    let common = portions.iter().fold(0, |a, b| gcd(a, *b)).max(1);
    portions.iter_mut().for_each(|p| *p /= common);
    portions
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
        assert_eq!(Outline { sums: vec![Sensitivity::of_one(2)], ..outline.clone() }.counted(), None);
        assert_eq!(Outline { selection_delta: None, ..outline }.counted(), None);
    }

    #[test]
    fn rounds_have_one_portion_of_a_price() {
        let keys = |round| Outline { round: Some(round), ..Outline::even(20, &[], delta().as_ref()) };
        let rounds = [keys(0), keys(1)];
        assert_eq!(releases_by_epsilon(&rounds), OF_ROUNDS);
        assert_eq!(releases_by_squares(&rounds, true), OF_ROUNDS);
        // Beside another release they have together what one would have alone.
        let other = Outline::even(1, &[1], None);
        let alone = [Outline { round: None, l0: 1, ..keys(0) }, other.clone()];
        let both = [&rounds[..], &[other]].concat();
        for portions in [releases_by_epsilon, |all: &[Outline]| releases_by_squares(all, true)] {
            let (alone, both) = (portions(&alone), portions(&both));
            let of = |all: &[u32], place: usize| all.get(place).copied().unwrap_or_default();
            let (first, second) = (of(&both, 0), of(&both, 1));
            assert_eq!(
                (second, (first + second) * of(&alone, 1)),
                (15 * first, of(&alone, 0) * of(&both, 2))
            );
            assert!(first > 0);
        }
    }
}
