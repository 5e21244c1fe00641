//! Choice of noise for a statement: the distribution that errs least, among those that every budget
//! has a price for.
//!
//! All of it depends on public data only: text, policy, and which budgets apply to a user.

use super::accounting::{Kind, Rule, rule};
use super::outline::{releases_by_epsilon, releases_by_squares};
use super::quantile::Selector;
use super::ratio::{exact, exact_integer};
use super::{Charge, DpError, Notion, Outline, Points, Ratio, Spec, Used};
use num_traits::CheckedMul;

/// Noise that a session asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// The least expected error.
    #[default]
    Auto,
    /// Discrete Laplace noise.
    Laplace,
    /// Discrete Gaussian noise.
    Gaussian,
}

impl Preference {
    /// The words of `noisegate.mechanism`.
    pub const WORDS: [&str; 3] = ["auto", "laplace", "gaussian"];

    /// Reads one of [`Self::WORDS`], in any case.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Auto, Self::Laplace, Self::Gaussian].into_iter().find(|p| p.word().eq_ignore_ascii_case(word))
    }

    /// Word for the preference in SET.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Laplace => "laplace",
            Self::Gaussian => "gaussian",
        }
    }
}

/// Why a statement got its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The session asks for it.
    Asked,
    /// Laplace: there is no integer that a unit can change.
    NothingToChoose,
    /// Laplace: nothing says what can be paid for.
    NoBudget,
    /// Laplace: the budget of this index has no price for Gaussian noise.
    Unpriced(usize),
    /// Laplace: Gaussian noise of this price cannot be drawn.
    OutOfRange,
    /// The error of Gaussian noise over that of Laplace noise was compared.
    Compared {
        /// At the same name.
        at_epsilon: f64,
        /// At the same ρ.
        at_rho: f64,
    },
}

/// The noise of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Specs, one for each outline.
    pub specs: Vec<Spec>,
    /// Charge for all specs.
    pub charge: Charge,
    /// Why they are what they are.
    pub why: Why,
}

/// Why there is no noise for a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Gaussian noise is asked for, and the budget of this index has no price for it.
    #[error("a budget has no price for Gaussian noise")]
    Unpriced(usize),
    /// A parameter is out of range.
    #[error(transparent)]
    Dp(#[from] DpError),
}

/// The noise of a statement whose price is named by `epsilon`, paid from budgets of these notions.
///
/// Laplace: releases divide ε so that the squares of their errors, relative to what a group has of all rows, add up to the
/// least ([`Outline`]), and each splits its part over its selection and aggregates ([`Spec::of`]). Gaussian: releases divide ε²
/// in the same way, and each splits its part over its aggregates and its selection ([`Spec::gaussian`]), or over its choices
/// ([`Points::in_squares`]). Where a budget counts something else than ρ, choices keep the share that they have with Laplace
/// noise; with E the sum of these shares, the other releases divide ε² - E².
///
/// A statement that only chooses divides ε² = 2ρ too, where every budget counts ρ and Laplace noise was not asked for: the name ε
/// then costs the same ρ as that of Gaussian noise.
///
/// Without being asked, Gaussian noise is taken where every budget has a price for it and its error would be less even
/// if it were given no more ρ than Laplace noise. At the same name it never costs less: ε²/2 against a sum of
/// εᵢ·tanh(εᵢ/2). Errors are compared by the number of integers in the 95 % interval, and for a selection by the threshold, as
/// the mean of the ratios over all aggregates and selections; the error of Gaussian noise falls with the root of ρ.
pub fn choose(
    epsilon: &Ratio,
    outlines: &[Outline],
    preference: Preference,
    notions: &[Notion],
) -> Result<Choice, ChoiceError> {
    let portions = releases_by_epsilon(outlines);
    let all: u32 = portions.iter().sum();
    let selector = selector(notions);
    let laplace = outlines
        .iter()
        .zip(&portions)
        .map(|(o, portion)| {
            let share = share_of(epsilon, *portion, all)?;
            match (&o.points, o.top, o.sums.as_slice()) {
                (None, Some(k), [by]) => Spec::top(&share, k, by.linf, selector),
                (None, ..) => Spec::of(&share, o),
                (Some((picks, weight)), ..) => {
                    let points = Some(Points::new(&share, *weight, picks, selector)?);
                    Ok(Spec { l0: o.l0, points, ..Spec::default() })
                }
            }
        })
        .collect::<Result<Vec<_>, DpError>>()?;
    let take = |specs: Vec<Spec>, why| -> Result<Choice, ChoiceError> {
        Ok(Choice { charge: Charge::of(epsilon, &specs)?, specs, why })
    };
    let by_rho = preference != Preference::Laplace && is_by_rho(notions);
    if !laplace.iter().any(has_noise) {
        let choices = laplace.iter().any(|s| s.chosen().is_some());
        let specs = match by_rho && choices {
            true => squares(epsilon, outlines, &laplace)?,
            false => laplace,
        };
        return take(specs, Why::NothingToChoose);
    }
    if preference == Preference::Laplace {
        return take(laplace, Why::Asked);
    }
    if notions.is_empty() && preference == Preference::Auto {
        return take(laplace, Why::NoBudget);
    }
    let refuses = |n: &Notion| matches!(rule(Kind::DiscreteGaussian, *n), Rule::Refused(_));
    if let Some(index) = notions.iter().position(refuses) {
        return match preference {
            Preference::Gaussian => Err(ChoiceError::Unpriced(index)),
            _ => take(laplace, Why::Unpriced(index)),
        };
    }
    let gaussian = match by_rho {
        true => squares(epsilon, outlines, &laplace),
        false => gaussian(epsilon, outlines, &laplace),
    };
    let gaussian = match gaussian {
        Err(_) if preference == Preference::Auto => return take(laplace, Why::OutOfRange),
        specs => specs?,
    };
    if preference == Preference::Gaussian {
        return take(gaussian, Why::Asked);
    }
    let why = compare(epsilon, &laplace, &gaussian)?;
    let better = matches!(why, Why::Compared { at_epsilon, at_rho } if at_epsilon < 1.0 && at_rho < 1.0);
    take(if better { gaussian } else { laplace }, why)
}

/// A portion of a price; all of it for what draws nothing, by which nothing is paid for.
fn share_of(epsilon: &Ratio, portion: u32, all: u32) -> Result<Ratio, DpError> {
    if portion == 0 {
        return Ok(*epsilon);
    }
    let part = Ratio::new(portion.into(), all.into());
    epsilon.checked_mul(&part).ok_or(DpError::OutOfRange("a price split over its releases"))
}

/// How points are chosen: by permute-and-flip, which errs less, where no budget has a better price for the exponential
/// mechanism (soundness rule 20).
fn selector(notions: &[Notion]) -> Selector {
    match !notions.is_empty() && notions.iter().all(|n| n.adds_epsilon()) {
        true => Selector::PermuteAndFlip,
        false => Selector::Exponential,
    }
}

/// It adds noise to integers.
fn has_noise(s: &Spec) -> bool {
    s.selection.is_some() || s.noisy().next().is_some()
}

/// Whether every budget counts ρ, or the divergences that imply it, so that a choice of bounded range ε costs it ε²/8.
fn is_by_rho(notions: &[Notion]) -> bool {
    !notions.is_empty() && notions.iter().all(|n| n.counts_rho())
}

/// Releases with Gaussian noise on their integers and choices that divide ρ, at the same name: all portions are of ε².
fn squares(epsilon: &Ratio, outlines: &[Outline], laplace: &[Spec]) -> Result<Vec<Spec>, DpError> {
    let name = exact(epsilon);
    let portions = releases_by_squares(outlines, true);
    let each = &name * &name / exact_integer(portions.iter().sum::<u32>().max(1));
    let of = |((s, o), portion): ((&Spec, &Outline), &u32)| {
        let square = &each * exact_integer(*portion);
        match (&o.points, o.top, o.sums.as_slice()) {
            (None, Some(k), [by]) => Spec::top_in_squares(&square, k, by.linf),
            (None, ..) => s.gaussian(&square, o),
            (Some((picks, weight)), ..) => {
                let points = Some(Points::in_squares(&square, *weight, picks)?);
                Ok(Spec { l0: o.l0, points, ..Spec::default() })
            }
        }
    };
    laplace.iter().zip(outlines).zip(&portions).map(of).collect()
}

/// Releases with Gaussian noise on their integers, at the same name; choices keep their share of ε.
fn gaussian(epsilon: &Ratio, outlines: &[Outline], laplace: &[Spec]) -> Result<Vec<Spec>, DpError> {
    let choices = laplace.iter().filter(|s| s.chosen().is_some());
    let choices = choices.map(|s| Spec { aggregates: Vec::new(), ..s.clone() });
    let choices =
        Used::by(&choices.collect::<Vec<_>>()).ok_or(DpError::OutOfRange("the noise of a choice"))?;
    let name = exact(epsilon);
    let whole = &name * &name;
    let taken = choices.square();
    if taken >= whole {
        return Err(DpError::Mispriced);
    }
    let portions = releases_by_squares(outlines, false);
    let each = (whole - taken) / exact_integer(portions.iter().sum::<u32>().max(1));
    let of = |((s, o), portion): ((&Spec, &Outline), &u32)| s.gaussian(&(&each * exact_integer(*portion)), o);
    laplace.iter().zip(outlines).zip(&portions).map(of).collect()
}

fn compare(epsilon: &Ratio, laplace: &[Spec], gaussian: &[Spec]) -> Result<Why, DpError> {
    let width = |n: &super::Noise| 1.0 + 2.0 * n.error95();
    let both = || laplace.iter().zip(gaussian);
    let noises = both().flat_map(|(l, g)| l.noisy().zip(g.noisy())).map(|(l, g)| width(g) / width(l));
    let thresholds = both().filter_map(|(l, g)| {
        let (l, g) = (l.selection.as_ref()?, g.selection.as_ref()?);
        Some(g.threshold as f64 / l.threshold as f64)
    });
    let (count, sum) = noises.chain(thresholds).fold((0.0, 0.0), |(n, sum), ratio| (n + 1.0, sum + ratio));
    let rho = |specs: &[Spec]| {
        let cost = Notion::Zcdp.price(&Charge::of(epsilon, specs)?);
        cost.map(|c| c.loss as f64).map_err(|_| DpError::OutOfRange("the price of a statement"))
    };
    let at_epsilon = sum / count;
    Ok(Why::Compared { at_epsilon, at_rho: at_epsilon * (rho(gaussian)? / rho(laplace)?).sqrt() })
}

#[cfg(test)]
mod tests;
