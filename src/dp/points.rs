//! Points of a public grid that are chosen in every group, by how many rows there are at each: quantiles, least and
//! greatest values, modes.

use super::mechanism::{Event, Mechanism};
use super::quantile::{Bound, Extreme, Quantiles, Ranks, Selector, Side, inset};
use super::ratio::{BigRatio, exact};
use super::topk::TopK;
use super::{DpError, Entropy, EntropyError, Ratio, Share};

/// A choice in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A quantile strictly between 0 and 1.
    Quantile(Ratio),
    /// The least value.
    Least,
    /// The greatest value.
    Greatest,
    /// The most frequent value.
    Mode,
    /// An end of an interval for a quantile strictly between 0 and 1.
    End {
        /// The quantile.
        of: Ratio,
        /// The end.
        side: Side,
        /// Probability of a failure, in millionths.
        fails: u32,
        /// How much of a weight further out it lies, for rows that do not count.
        beyond: u64,
    },
}

/// A choice among the points of each group, from counts of cells: one cell for each group and point, all of them public.
///
/// Guarantee, for add/remove neighbours: if one unit adds at most w to all cells together (L cells with at most r in each are
/// w = L·r), then each of [`Self::levels`] levels is ε′-DP over all groups together, and by [`Selector::Exponential`]
/// ε′-bounded-range, with ε′ = [`Self::level`]. Levels are divided from ε, of which they are parts that add up, or from ε² = 2ρ,
/// where they are levels·ε′²/8-zCDP together ([`Self::share`]).
///
/// Proof. Let w_g be what the unit adds to all cells of group g: Σ_g w_g <= w. On one level, each group's mechanism is set for a unit of weight w. Its scores move in proportion to the weight that comes: a quantile's by at
/// most w_g·max(q, 1-q) (an end of its interval's, too), an extreme's by w_g, a mode's all upwards by at most w_g (the proofs stand at
/// [`Quantiles`], [`Bound`], [`Extreme`] and [`TopK`]). So its loss is at most ε′·w_g/w, and with the exponential mechanism lies in an
/// interval of that length. Groups are drawn independently, from cells of their own: losses add up to ε′·Σw_g/w <= ε′. That
/// losses of independent draws lie in an interval as long as theirs together follows from Durfee and Rogers 2019, whose
/// definition compares the loss at two outcomes: it is a sum over groups. Levels are adaptive, one after the other. ∎
///
/// Where groups are few and a unit is in one, nothing is lost against a bound per group; where it may be in several, a bound
/// per group and a number of groups would cost as much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    weight: u32,
    share: Share,
    level: Ratio,
    selector: Selector,
    picks: Vec<Pick>,
}

/// One mechanism, and the places of its picks.
enum Draw {
    Quantiles(Quantiles, Vec<usize>),
    Extreme(Extreme, usize),
    Mode(TopK, usize),
    End(Bound, usize),
}

impl Points {
    /// Choices for ε in all, where a unit's cells weigh at most `weight` >= 1 together; each pick once.
    pub fn new(epsilon: &Ratio, weight: u32, picks: &[Pick], selector: Selector) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        Self::sharing(Share::Epsilon(exact(epsilon)), weight, picks, selector)
    }

    /// The same by the exponential mechanism for ε² = `square` = 2ρ in all.
    pub fn in_squares(square: &BigRatio, weight: u32, picks: &[Pick]) -> Result<Self, DpError> {
        Self::sharing(Share::Square(square.clone()), weight, picks, Selector::Exponential)
    }

    fn sharing(share: Share, weight: u32, picks: &[Pick], selector: Selector) -> Result<Self, DpError> {
        let twice = picks.iter().enumerate().any(|(i, p)| picks.iter().skip(i + 1).any(|q| p == q));
        if picks.is_empty() || twice {
            return Err(DpError::OutOfRange("what is chosen among points is listed once"));
        }
        let level = selector.level(&share, levels(picks))?;
        let points = Self { weight, share, level, selector, picks: picks.to_vec() };
        points.draws(2)?;
        Ok(points)
    }

    /// Weight of one unit's cells together.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// The picks.
    pub fn picks(&self) -> &[Pick] {
        &self.picks
    }

    /// By which mechanism.
    pub fn selector(&self) -> Selector {
        self.selector
    }

    /// The quantiles among them, rising, with their places.
    fn quantiles(&self) -> Vec<(Ratio, usize)> {
        let mut list: Vec<(Ratio, usize)> = self
            .picks
            .iter()
            .enumerate()
            .filter_map(|(i, p)| match p {
                Pick::Quantile(q) => Some((*q, i)),
                _ => None,
            })
            .collect();
        list.sort_unstable();
        list
    }

    /// Number of mechanisms that are used one after the other: ⌈log₂(m+1)⌉ for m quantiles, and one
    /// for each other pick.
    pub fn levels(&self) -> u32 {
        levels(&self.picks)
    }

    /// ε of each level.
    pub fn level(&self) -> Ratio {
        self.level
    }

    /// The event of all picks.
    pub fn event(&self) -> Event {
        let mechanism = Mechanism::Guaranteed(self.selector.guarantee(&self.level));
        Event { mechanism, times: self.levels() }
    }

    /// The share of a price that all picks use together: of ε, or of ε².
    pub fn share(&self) -> Share {
        Selector::used(&self.share, &self.level, self.levels())
    }

    /// With probability 95 % the rank of a choice among `points` points is no more rows than this
    /// from the one asked for; of a mode, the count from the largest. McSherry and Talwar 2007, for
    /// scores of sensitivity at most the weight. For display.
    pub fn error95(&self, points: usize) -> f64 {
        let level = *self.level.numer() as f64 / *self.level.denom() as f64;
        let each = match self.picks.as_slice() {
            [Pick::Mode] => 1.0,
            _ => 2.0,
        };
        each * f64::from(self.weight) * libm::log(20.0 * points as f64) / level
    }

    fn draws(&self, points: usize) -> Result<Vec<Draw>, DpError> {
        let level = self.level;
        let mut draws = Vec::new();
        let (quantiles, places): (Vec<Ratio>, Vec<usize>) = self.quantiles().into_iter().unzip();
        if !quantiles.is_empty() {
            let levels = usize::BITS - quantiles.len().leading_zeros();
            let all = level * Ratio::from_integer(levels.into());
            draws
                .push(Draw::Quantiles(Quantiles::new(&quantiles, self.weight, &all, self.selector)?, places));
        }
        for (i, pick) in self.picks.iter().enumerate() {
            let inset = || inset(points, self.weight, &level, 0.05);
            draws.push(match pick {
                Pick::Quantile(_) => continue,
                Pick::Least => Draw::Extreme(Extreme::least(inset(), self.weight, &level, self.selector)?, i),
                Pick::Greatest => {
                    Draw::Extreme(Extreme::greatest(inset(), self.weight, &level, self.selector)?, i)
                }
                Pick::Mode => Draw::Mode(TopK::mode(self.weight.into(), &level, self.selector)?, i),
                Pick::End { of, side, fails, beyond } => {
                    let grid = (points, f64::from(*fails) / 1e6);
                    let end = Bound::new(of, *side, grid, self.weight, &level, self.selector)?;
                    Draw::End(end.beyond(*beyond), i)
                }
            });
        }
        Ok(draws)
    }

    /// For each pick the place of the chosen point in one group, from the number of rows at each point, in their public
    /// order; there is a point.
    pub fn choose(&self, rows: Vec<u64>, rng: &mut impl Entropy) -> Result<Vec<usize>, PointsError> {
        let mut chosen = vec![0; self.picks.len()];
        let mut put = |place: usize, point: usize| {
            if let Some(slot) = chosen.get_mut(place) {
                *slot = point;
            }
        };
        let draws = self.draws(rows.len())?;
        let ranks = Ranks::from_histogram(rows.clone())?;
        for draw in draws {
            match draw {
                Draw::Quantiles(q, places) => {
                    places.into_iter().zip(q.choose(&ranks, rng)?).for_each(|(i, point)| put(i, point));
                }
                Draw::Extreme(e, i) => put(i, e.choose(&ranks, rng)?),
                Draw::End(e, i) => put(i, e.choose(&ranks, rng)?),
                Draw::Mode(m, i) => {
                    if let Some(point) = m.choose(&rows, rng)?.first() {
                        put(i, *point);
                    }
                }
            }
        }
        self.sort(&mut chosen);
        self.widen(&mut chosen);
        Ok(chosen)
    }

    /// Takes ends of intervals to the quantile that was chosen, where it lies beyond: they hold no less often by that.
    fn widen(&self, chosen: &mut [usize]) {
        for (i, pick) in self.picks.iter().enumerate() {
            let Pick::End { of, side, .. } = pick else { continue };
            let own = self.picks.iter().position(|p| p == &Pick::Quantile(*of));
            let Some(quantile) = own.and_then(|q| chosen.get(q).copied()) else { continue };
            if let Some(end) = chosen.get_mut(i) {
                *end = if *side == Side::Below { quantile.min(*end) } else { quantile.max(*end) };
            }
        }
    }

    /// Puts what lies in order into it: the least value below each quantile, and so on. Errors do not grow by that.
    fn sort(&self, chosen: &mut [usize]) {
        let rank = |p: &Pick| match p {
            Pick::Least => Some(Ratio::from_integer(0)),
            Pick::Quantile(q) => Some(*q),
            Pick::Greatest => Some(Ratio::from_integer(1)),
            // An end of an interval that moved would hold another quantile.
            Pick::Mode | Pick::End { .. } => None,
        };
        let mut order: Vec<(Ratio, usize)> =
            self.picks.iter().enumerate().filter_map(|(i, p)| Some((rank(p)?, i))).collect();
        order.sort_unstable();
        let mut points: Vec<usize> = order.iter().filter_map(|(_, i)| chosen.get(*i).copied()).collect();
        points.sort_unstable();
        for ((_, place), point) in order.into_iter().zip(points) {
            if let Some(slot) = chosen.get_mut(place) {
                *slot = point;
            }
        }
    }
}

/// Number of mechanisms that these picks use one after the other.
fn levels(picks: &[Pick]) -> u32 {
    let quantiles = picks.iter().filter(|p| matches!(p, Pick::Quantile(_))).count();
    let others = picks.len() - quantiles;
    (usize::BITS - quantiles.leading_zeros()).saturating_add(u32::try_from(others).unwrap_or(u32::MAX))
}

/// Why nothing was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointsError {
    /// A parameter is out of range.
    #[error(transparent)]
    Dp(#[from] DpError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::SeededRng;

    fn quantile(p: u128, r: u128) -> Pick {
        Pick::Quantile(Ratio::new(p, r))
    }

    #[test]
    fn levels_are_paid_for_together() {
        let one = Ratio::from_integer(1);
        let picks = [quantile(3, 4), Pick::Least, quantile(1, 4), quantile(1, 2), Pick::Greatest];
        let points = Points::new(&one, 12, &picks, Selector::Exponential).unwrap();
        // Three quantiles are two levels, and the ends one each.
        assert_eq!(points.levels(), 4);
        let event = points.event();
        assert_eq!((event.times, event.epsilon()), (4, Some(one)));
        assert_eq!(points.share(), Share::Epsilon(exact(&one)));
        assert!(Points::new(&one, 12, &[], Selector::Exponential).is_err());
        assert!(Points::new(&one, 12, &[Pick::Mode, Pick::Mode], Selector::Exponential).is_err());
        assert!(Points::new(&one, 0, &[Pick::Mode], Selector::Exponential).is_err());
        assert!(Points::new(&one, 1, &[quantile(1, 1)], Selector::Exponential).is_err());
    }

    #[test]
    fn answers_come_in_the_order_of_picks() {
        let much = Ratio::from_integer(1000);
        let picks = [quantile(3, 4), Pick::Least, quantile(1, 4), quantile(1, 2), Pick::Greatest, Pick::Mode];
        let rows: Vec<u64> = (0..100).map(|i| if i == 30 { 1500 } else { 1000 }).collect();
        for selector in [Selector::Exponential, Selector::PermuteAndFlip] {
            let points = Points::new(&much, 1, &picks, selector).unwrap();
            let chosen = points.choose(rows.clone(), &mut SeededRng::new(5)).unwrap();
            assert_eq!(chosen, [74, 0, 25, 49, 99, 30]);
        }
    }

    #[test]
    fn answers_are_in_order() {
        let little = Ratio::new(1, 100);
        let picks = [quantile(3, 4), Pick::Least, Pick::Greatest, quantile(1, 4)];
        let points = Points::new(&little, 1, &picks, Selector::Exponential).unwrap();
        let mut rng = SeededRng::new(7);
        for _ in 0..200 {
            let c = points.choose(vec![1; 50], &mut rng).unwrap();
            assert!(c[1] <= c[3] && c[3] <= c[0] && c[0] <= c[2], "{c:?}");
        }
    }

    #[test]
    fn ends_stand_around_their_quantile() {
        let end = |side| Pick::End { of: Ratio::new(1, 2), side, fails: 25_000, beyond: 0 };
        let picks = [end(Side::Below), quantile(1, 2), end(Side::Above), quantile(3, 4)];
        let little = Ratio::new(1, 10);
        let points = Points::new(&little, 1, &picks, Selector::Exponential).unwrap();
        assert_eq!(points.levels(), 4);
        let mut rng = SeededRng::new(11);
        for _ in 0..50 {
            let c = points.choose(vec![30; 100], &mut rng).unwrap();
            assert!(c[0] <= c[1] && c[1] <= c[2] && c[1] <= c[3], "{c:?}");
        }
        let sure = Points::new(&Ratio::from_integer(100), 1, &picks, Selector::Exponential).unwrap();
        assert_eq!(sure.choose(vec![30; 100], &mut rng).unwrap(), [49, 49, 50, 74]);
        assert!(
            Points::new(
                &little,
                1,
                &[Pick::End { of: Ratio::from_integer(1), side: Side::Below, fails: 1, beyond: 0 }],
                Selector::Exponential
            )
            .is_err()
        );
    }

    /// A unit that is in several groups weighs no more in all of them than in one: e^-ε of each draw's odds, together.
    #[test]
    fn rule_16_weights_add_up_over_groups() {
        let epsilon = Ratio::from_integer(1);
        for selector in [Selector::Exponential, Selector::PermuteAndFlip] {
            let points = Points::new(&epsilon, 4, &[quantile(1, 2)], selector).unwrap();
            let odds = |rows: [u64; 2]| {
                let n = 20_000;
                let mut rng = SeededRng::new(11);
                let hits = (0..n).filter(|_| points.choose(rows.to_vec(), &mut rng).unwrap() == [0]).count();
                hits as f64 / n as f64
            };
            // Four rows of one unit in one group, or one in each of four groups.
            let all = (odds([9, 5]) / odds([5, 5])).ln();
            let each = 4.0 * (odds([6, 5]) / odds([5, 5])).ln();
            assert!(all <= 1.05 && each <= 1.1, "{all} {each}");
        }
    }
}
