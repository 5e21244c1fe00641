//! Specs of releases: the draws of a release, fixed from public data before anything is charged.

use super::mechanism::{Event, Mechanism, Share};
use super::outline::{Outline, Shares, WHOLE};
use super::quantile::Selector;
use super::ratio::{BigRatio, exact, exact_integer, narrow, split};
use super::topk::TopK;
use super::{
    DiscreteGaussian, DiscreteLaplace, Distribution, DpError, Guarantee, Noise, Points, Ratio, Sensitivity,
};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, Zero};

/// Weights that a unit adds to the number by which each of its groups is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// 1: the number is that of its units.
    #[default]
    Units,
    /// ⌊w/s⌋ to each of its s groups: no more than w in all.
    Sum(u32),
    /// ⌊w/√s⌋ to each of its s groups: no more than w² in squares.
    Squares(u32),
}

impl Weights {
    /// The most that a unit adds to one group, of which it is in no other.
    pub fn whole(self) -> u128 {
        match self {
            Self::Units => 1,
            Self::Sum(w) | Self::Squares(w) => w.into(),
        }
    }

    /// Sensitivity to a unit that is in at most `l0` groups.
    pub fn sensitivity(self, l0: u32) -> Sensitivity {
        match self {
            Self::Units => Sensitivity::in_each(1, l0.into()),
            Self::Sum(w) => Sensitivity { groups: l0.into(), ..Sensitivity::in_all(w.into(), w.into()) },
            Self::Squares(w) => {
                Sensitivity { groups: l0.into(), ..Sensitivity::in_squares(u128::from(w) * u128::from(w)) }
            }
        }
    }

    /// Weight that a unit adds to each of its `groups` groups, which are one at least.
    pub fn in_each(self, groups: u32) -> u128 {
        let groups = u128::from(groups.max(1));
        match self {
            Self::Units => 1,
            Self::Sum(w) => u128::from(w) / groups,
            // ⌊√⌊x⌋⌋ = ⌊√x⌋.
            Self::Squares(w) => (u128::from(w) * u128::from(w) / groups).isqrt(),
        }
    }
}

/// Selection of private groups: a group is kept when the weights of its units, plus this noise, are
/// at least the threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Weights of units.
    pub weights: Weights,
    /// The noise on what they add up to.
    pub noise: Distribution,
    /// Keep when the noisy number >= threshold.
    pub threshold: i128,
    /// Probability that a group of one unit alone is kept, over all of its groups, of which it has at most l0; rounded up.
    pub delta: Ratio,
}

/// The spec of a release: groups (public, or selected), and noise for each aggregate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Groups one unit may touch.
    pub l0: u32,
    /// Noises, one per aggregate of the fetch, in order.
    pub aggregates: Vec<Noise>,
    /// The selection; None where all groups are public. With one, the fetch's first integer column
    /// after the keys is the number of distinct units, before the aggregates.
    pub selection: Option<Selection>,
    /// The aggregate that is the number of units by which groups are selected, if there is one: what is released of it is what
    /// is compared with the threshold, and its noise is that of the selection, drawn and paid for once.
    pub counted: Option<usize>,
    /// Points, in place of aggregates: the fetch counts cells, of which the last key is the point,
    /// and points are chosen in each group of the other keys.
    pub points: Option<Points>,
    /// The first k groups by the one aggregate, when not all come back: the aggregate has noise for
    /// `l0` of them, however many a unit touches.
    pub top: Option<TopK>,
}

/// The price of a statement, in no notion yet: each budget turns the events into its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The ε that names the price.
    pub epsilon: Ratio,
    /// All events of all releases.
    pub events: Vec<Event>,
    /// δ of group selection, all releases together.
    pub selection_delta: Ratio,
}

impl Spec {
    /// A release by discrete Laplace noise that costs ε = `epsilon` in all.
    ///
    /// A unit changes aggregate j over all groups by at most l₁; where `selection_delta` is some, groups are private, a unit touches at
    /// most `l0` of them, and they are selected by their number of units (sensitivity 1). ε is split over
    /// the aggregates that need noise and the selection: of the share wⱼ of W in all, the scale of part j is
    /// l₁·W/(wⱼ·ε). An aggregate that no unit changes is a constant: it gets no noise and no share, and neither does the one
    /// that is counted to select, which has the noise of the selection.
    pub fn of(epsilon: &Ratio, outline: &Outline) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        if outline.l0 == 0 {
            return Err(DpError::NoGroups);
        }
        let shares = outline.of_epsilon();
        let noise = |by: Sensitivity, share: u32| -> Result<Distribution, DpError> {
            let whole = Ratio::new(shares.all.into(), u128::from(share.max(1)));
            let b = Ratio::from_integer(by.l1).checked_mul(&whole).and_then(|b| b.checked_div(epsilon));
            let scale = b.ok_or(DpError::OutOfRange("a noise scale"))?;
            DiscreteLaplace::new(&scale).map(|_| Distribution::Laplace { scale })
        };
        let weights = if outline.round.is_some() { Weights::Sum(WHOLE) } else { Weights::Units };
        Self::from(&outline.sums, &shares, weights, outline, noise)
    }

    /// The same with aggregates of one weight, each changed by at most `linf[j]` in each of `l0` groups.
    pub fn laplace(
        epsilon: &Ratio,
        l0: u32,
        linf: &[u128],
        selection_delta: Option<&Ratio>,
    ) -> Result<Self, DpError> {
        Self::of(epsilon, &Outline::even(l0, linf, selection_delta))
    }

    /// Each aggregate with its noise, at its share, and the selection.
    fn from(
        aggregates: &[Sensitivity],
        shares: &Shares,
        weights: Weights,
        outline: &Outline,
        distribution: impl Fn(Sensitivity, u32) -> Result<Distribution, DpError>,
    ) -> Result<Self, DpError> {
        let select = |delta: &Ratio| {
            let noise = distribution(weights.sensitivity(outline.l0), shares.selection)?;
            Selection::of(outline.l0, weights, noise, delta)
        };
        let selection = outline.selection_delta.as_ref().map(select).transpose()?;
        let counted = outline.counted();
        let noise = |(i, (by, share)): (usize, (&Sensitivity, u32))| {
            let distribution = match &selection {
                _ if by.is_none() => Distribution::None,
                Some(selection) if counted == Some(i) => selection.noise,
                _ => distribution(*by, share)?,
            };
            Ok(Noise { sensitivity: *by, distribution, steps: outline.steps(i) })
        };
        let each = aggregates.iter().zip(shares.aggregates.iter().copied()).enumerate();
        let aggregates = each.map(noise).collect::<Result<Vec<_>, DpError>>()?;
        Ok(Self { l0: outline.l0, aggregates, selection, counted, points: None, top: None })
    }

    /// The same release with discrete Gaussian noise on its aggregates and on the numbers of units of its groups, whose Σεᵢ² is
    /// `square`; what is chosen stays. `outline` is what it was made of.
    ///
    /// Of the share wᵢ of W in all, an aggregate gets εᵢ² = wᵢ·`square`/W (soundness rule 23), that is
    /// σᵢ² = Δ₂²/εᵢ², and so does the selection. Together they cost ρ = `square`/2.
    pub fn gaussian(&self, square: &BigRatio, outline: &Outline) -> Result<Self, DpError> {
        if self.selection.is_none() && self.noisy().next().is_none() {
            return Ok(self.clone());
        }
        let shares = outline.of_squares();
        let noise = |by: Sensitivity, share: u32| {
            if square.numer().is_zero() {
                return Err(DpError::Epsilon);
            }
            let l2 = exact_integer(by.l2_squared);
            let variance = l2 * exact_integer(shares.all) / (square * exact_integer(share.max(1)));
            let variance = narrow(&variance).ok_or(DpError::OutOfRange("a noise variance"))?;
            DiscreteGaussian::new(&variance).map(|_| Distribution::Gaussian { variance })
        };
        let weights = if outline.round.is_some() { Weights::Squares(WHOLE) } else { Weights::Units };
        let spec = Self::from(outline.in_squares(), &shares, weights, outline, noise)?;
        Ok(Self { points: self.points.clone(), top: self.top.clone(), ..spec })
    }

    /// The aggregates that a unit can change.
    pub fn noisy(&self) -> impl Iterator<Item = &Noise> {
        self.aggregates.iter().filter(|a| !a.sensitivity.is_none())
    }

    /// The event of its selection.
    fn selected(&self) -> Option<Event> {
        let Selection { weights, noise, .. } = self.selection.as_ref()?;
        Some(Event::noise(weights.sensitivity(self.l0), *noise))
    }

    /// The k groups with the greatest counts, of public ones: with half of ε they are chosen, with the other half their counts
    /// have discrete Laplace noise.
    ///
    /// A unit changes each count by at most `linf`, all in one direction. Guarantee: ε-DP by composition. Given which groups were
    /// chosen, the vector of their counts changes by at most k·`linf` in l₁ norm, however many groups a unit is in.
    pub fn top(epsilon: &Ratio, k: u32, linf: u128, selector: Selector) -> Result<Self, DpError> {
        let half = split(epsilon, 2)?;
        let counts = Self::laplace(&half, k, &[linf], None)?;
        Ok(Self { top: Some(TopK::new(k, counted(linf)?, &half, selector)?), ..counts })
    }

    /// The same for ε² = `square` = 2ρ: half of it chooses, by the exponential mechanism, and counts have discrete Gaussian
    /// noise of the other half. The vector of counts changes by at most √k·`linf` in l₂ norm.
    pub fn top_in_squares(square: &BigRatio, k: u32, linf: u128) -> Result<Self, DpError> {
        let half = square / exact_integer(2u8);
        let outline = Outline::even(k, &[linf], None);
        let counts = Self::of(&Ratio::from_integer(1), &outline)?.gaussian(&half, &outline)?;
        Ok(Self { top: Some(TopK::in_squares(k, counted(linf)?, &half)?), ..counts })
    }

    /// The event of its choices among points, in all groups together, or among groups, and the share that they use.
    pub(super) fn chosen(&self) -> Option<(Event, Share)> {
        match (&self.top, &self.points) {
            (Some(top), _) => Some((top.event(), top.share())),
            (None, Some(points)) => Some((points.event(), points.share())),
            (None, None) => None,
        }
    }

    /// The events of its noise. Constants cost nothing and are not among them.
    fn drawn(&self) -> impl Iterator<Item = Event> {
        let own = self.aggregates.iter().enumerate();
        let own = own.filter(|(i, a)| !a.sensitivity.is_none() && self.counted != Some(*i));
        let noisy = own.map(|(_, a)| Event::noise(a.sensitivity, a.distribution));
        self.selected().into_iter().chain(noisy)
    }

    /// The events of this release.
    pub fn events(&self) -> Vec<Event> {
        self.drawn().chain(self.chosen().map(|(event, _)| event)).collect()
    }
}

/// What releases use of a price: the sums of the two shares that its name pays for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Σε of Laplace noise, and of choices that divide ε.
    pub pure: BigRatio,
    /// Σε² of Gaussian noise, and of choices that divide ε² = 2ρ.
    pub squares: BigRatio,
}

impl Used {
    /// What these releases use together. None where what a unit can change has no noise.
    pub fn by<'s>(specs: impl IntoIterator<Item = &'s Spec>) -> Option<Self> {
        let mut used = Self::default();
        for spec in specs {
            let shares = spec.drawn().map(|event| event.share());
            for share in shares.chain(spec.chosen().map(|(_, share)| Some(share))) {
                match share? {
                    Share::Epsilon(e) => used.pure += e,
                    Share::Square(e) => used.squares += e,
                }
            }
        }
        Some(used)
    }

    /// ε² of the least name that pays for them: E² + G.
    pub fn square(&self) -> BigRatio {
        &self.pure * &self.pure + &self.squares
    }
}

/// How much a unit counts, as a choice weighs it.
fn counted(linf: u128) -> Result<u64, DpError> {
    u64::try_from(linf).map_err(|_| DpError::OutOfRange("how much a unit counts"))
}

impl Charge {
    /// The charge for one use of a mechanism that is known by its (ε, δ) alone, named by its ε. Its δ is in the event: it
    /// is no group selection's.
    pub fn guaranteed(guarantee: &Guarantee) -> Result<Self, DpError> {
        let epsilon = guarantee.epsilon().filter(|e| *e.numer() != 0 && *e.denom() != 0);
        let event = Event { mechanism: Mechanism::Guaranteed(guarantee.clone()), times: 1 };
        Ok(Self {
            epsilon: *epsilon.ok_or(DpError::Epsilon)?,
            events: vec![event],
            selection_delta: Ratio::from_integer(0),
        })
    }

    /// The charge for all releases of a statement whose price is named by `epsilon`.
    ///
    /// Refuses releases that cost more than their name (soundness rule 23). With E the sum of ε over Laplace noise and G
    /// the sum of ε² over Gaussian noise, the name ε pays for E² + G <= ε². Without Gaussian noise that is Σεᵢ <= ε,
    /// without Laplace noise Σεᵢ² <= ε². Either way ρ <= ε²/2: an ε-DP mechanism is ε²/2-zCDP, and E² >= Σεᵢ². A choice
    /// is in E, or in G by the 2ρ = ε²/4 of its bounded range, as its price was divided.
    pub fn of(epsilon: &Ratio, specs: &[Spec]) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        let used = Used::by(specs).ok_or(DpError::OutOfRange("the price of a statement"))?;
        let name = exact(epsilon);
        if used.square() > &name * &name {
            return Err(DpError::Mispriced);
        }
        let events: Vec<Event> = specs.iter().flat_map(Spec::events).collect();
        let mut selections = specs.iter().filter_map(|s| s.selection.as_ref());
        let selection_delta = selections
            .try_fold(Ratio::from_integer(0), |sum, s| sum.checked_add(&s.delta))
            .ok_or(DpError::OutOfRange("the delta of a statement"))?;
        Ok(Self { epsilon: *epsilon, events, selection_delta })
    }
}

#[cfg(test)]
mod tests;
