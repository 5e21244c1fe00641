//! Prices of statements: noise, the charge that follows from it, and the price that buys an
//! accuracy.

pub mod accuracy;
pub mod proposals;
pub mod row_choice;
pub mod shares;
pub mod split;

use crate::cut::Cut;
use crate::invariant::Invariant;
use crate::refusals::{Refusal, gaussian_unpriced, undrawn};
use crate::words::short;
use crate::{Plan, PlanError, Release, Settings};
use answer::ClientError;
use dp::{Choice, Preference, Why};
use sql::ast::Statement;
use std::collections::BTreeSet;

/// The plan of a statement that was cut: its noise, and its charge.
pub(crate) fn of(statement: &Statement, cut: Cut, settings: &Settings) -> Result<Plan, PlanError> {
    let Cut { mut releases, stages, grouping_sets, private_ctes, tables } = cut;
    let (charge, noise) = price(&mut releases, settings)?.unzip();
    let noise = noise.unwrap_or_default();
    Ok(Plan {
        statement: statement.clone(),
        releases,
        stages,
        grouping_sets,
        private_ctes,
        charge,
        noise,
        accuracy: None,
        rounded: BTreeSet::new(),
        unsure: None,
        tables,
        question: None,
        free: None,
    })
}

/// Sets the noise of every release. Gives the statement's charge, and why its noise is what it is.
fn price(releases: &mut [Release], settings: &Settings) -> Result<Option<(dp::Charge, String)>, Refusal> {
    let mut paying: Vec<&mut Release> = releases.iter_mut().filter(|r| !r.is_domain_only()).collect();
    if paying.is_empty() {
        return Ok(None);
    }
    let selecting = paying.iter().filter(|r| r.selects()).count().max(1);
    let delta = dp::split(&settings.delta, selecting).map_err(undrawn)?;
    let notions: Vec<dp::Notion> = settings.budgets.iter().map(|(_, notion)| *notion).collect();
    let choose = |paying: &[&mut Release], preference| {
        let outlines: Vec<dp::Outline> = paying.iter().map(|r| r.outline(&delta)).collect();
        dp::choose(&settings.epsilon, &outlines, preference, &notions).map_err(|e| match e {
            dp::ChoiceError::Dp(e) => undrawn(e),
            dp::ChoiceError::Unpriced(budget) => gaussian_unpriced(settings, budget),
        })
    };
    // The noise of one row of a bound says which bound of a profile is best; noise is that of any bound times it.
    let profiled = paying.iter().any(|r| r.bounding.is_by_profile());
    if profiled {
        paying.iter_mut().for_each(|r| r.follow_profile(None));
    }
    let mut choice = choose(&paying, settings.mechanism)?;
    if profiled {
        for (release, spec) in paying.iter_mut().zip(&choice.specs) {
            release.follow_profile(Some(spec));
        }
        // Bounds are of this noise: what is known of a norm says nothing of a longer one. Choices have none.
        let same = match choice.charge.events.iter().any(is_drawn) {
            true if gaussian(&choice.charge) => Preference::Gaussian,
            true => Preference::Laplace,
            false => settings.mechanism,
        };
        choice = Choice { why: choice.why, ..choose(&paying, same)? };
    }
    let noise = noise(&choice, settings);
    for (release, spec) in paying.iter_mut().zip(choice.specs) {
        release.draws(spec);
    }
    Ok(Some((choice.charge, noise)))
}

impl Plan {
    /// The same statement for another ε: its noise, and its charge.
    ///
    /// # Errors
    /// Its noise cannot be drawn then, or a budget has no price for it.
    pub fn at(&mut self, settings: &Settings, epsilon: dp::Ratio) -> Result<(), ClientError> {
        let settings = Settings { epsilon, accuracy: None, ..settings.clone() };
        let (charge, noise) = price(&mut self.releases, &settings)?.unzip();
        (self.charge, self.noise, self.accuracy) = (charge, noise.unwrap_or_default(), None);
        Ok(())
    }
}

/// Every release that reads rows has noise of its own for each of its parts, and the charge pays for as many.
impl Invariant for Plan {
    fn broken(&self) -> Option<&'static str> {
        let paying: Vec<&Release> = self.releases.iter().filter(|r| !r.is_domain_only()).collect();
        if self.charge.is_some() == paying.is_empty() {
            return Some("a charge without a release, or a release without a charge");
        }
        // Points are chosen, and have no noise.
        let drawn = |r: &&&Release| r.spec.points.is_some() || r.spec.aggregates.len() == r.parts.len();
        (paying.iter().filter(drawn).count() < paying.len()).then_some("a part without noise")
    }
}

/// Which noise a statement has, and why.
fn noise(choice: &Choice, settings: &Settings) -> String {
    if !choice.charge.events.iter().any(is_drawn) {
        return "none: points are chosen".into();
    }
    let name = if gaussian(&choice.charge) { "discrete Gaussian" } else { "discrete Laplace" };
    let why = match choice.why {
        Why::Asked => format!("noisegate.mechanism is {}", settings.mechanism.word()),
        Why::NothingToChoose => "points are chosen, and nothing that is released needs noise".into(),
        Why::NoBudget => "no budget says what can be paid for".into(),
        Why::Unpriced(budget) => {
            let (name, notion) = settings.budgets.get(budget).map_or(("", ""), |(n, k)| (n, k.word()));
            format!("budget \"{name}\" ({notion} accounting) has no price for Gaussian noise")
        }
        Why::OutOfRange => "Gaussian noise of this price cannot be drawn".into(),
        Why::Compared { at_epsilon, at_rho } if gaussian(&choice.charge) => format!(
            "95 % intervals {} times as wide as Laplace noise's for {} times the rho, and {} times at the same rho",
            short(at_epsilon),
            short((at_rho / at_epsilon).powi(2)),
            short(at_rho)
        ),
        Why::Compared { at_rho, .. } => {
            format!(
                "Gaussian noise would have 95 % intervals {} times as wide at the same rho",
                short(at_rho)
            )
        }
    };
    format!("{name}; {why}")
}

/// Whether it is noise that is drawn, and no choice.
fn is_drawn(e: &dp::Event) -> bool {
    matches!(e.mechanism.kind(), dp::Kind::DiscreteLaplace | dp::Kind::DiscreteGaussian)
}

/// Whether any of its noise is Gaussian.
pub(crate) fn gaussian(charge: &dp::Charge) -> bool {
    charge.events.iter().any(|e| e.mechanism.kind() == dp::Kind::DiscreteGaussian)
}
