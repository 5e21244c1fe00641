//! Notions that budgets count in: a file for each, which says all that is known of it.
//!
//! A new one is a file with its [`Entry`], and a line in the list below. It must be a privacy
//! filter.

mod advanced;
mod approx;
mod gdp;
mod pure;
mod rdp;
mod zcdp;

use super::cost::{Cost, Unpriced, units_up};
use super::entry::{Conversion, Entry};
use super::kinds::{self, Kind, Rule};
use super::stated;
use crate::ratio::exact;
use crate::{Charge, Guarantee, Mechanism, Ratio};
use num_traits::Zero;

macro_rules! notions {
    ($($(#[$doc:meta])* $notion:ident = $file:ident;)*) => {
        /// A notion that a budget counts in. Each is a privacy filter: a sum of charges fixed
        /// before each draw, and a limit that implies the budget's (ε, δ) however charges are
        /// chosen from earlier answers and however sessions interleave.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Notion { $($(#[$doc])* $notion),* }

        impl Notion {
            /// All, in the order of the document.
            pub const ALL: [Self; [$(Self::$notion),*].len()] = [$(Self::$notion),*];

            fn entry(self) -> &'static Entry {
                match self { $(Self::$notion => &$file::ENTRY),* }
            }
        }
    };
}

notions! {
    /// Σε, with δ = 0: pure differential privacy.
    Pure = pure;
    /// Σε and Σδ: basic composition.
    Approx = approx;
    /// Σε², and Σδ beside it: √(2 ln(1/δ′)·Σε²) + Σε²/2 <= ε.
    Advanced = advanced;
    /// Σρ: zero-concentrated differential privacy, with Σδ of selection beside it.
    Zcdp = zcdp;
    /// Σ of the Rényi divergence at each order of [`crate::ORDERS`], with a share of δ for each.
    Rdp = rdp;
    /// Σμ²: Gaussian differential privacy, with Σδ of selection beside it.
    Gdp = gdp;
}

impl Notion {
    /// The letter of its loss: ε, ρ, or what is summed.
    pub fn symbol(self) -> &'static str {
        self.entry().symbol
    }

    /// The word of policies and ledgers.
    pub fn word(self) -> &'static str {
        self.entry().word
    }

    /// The notion of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|n| n.word() == word)
    }

    /// Name of the loss in JSON; None when no single number says it.
    pub fn key(self) -> Option<&'static str> {
        self.entry().key
    }

    /// Whether its δ may be above 0, so that it has a price for private groups (soundness rule 22).
    pub fn has_delta(self) -> bool {
        self.entry().has_delta
    }

    /// Whether its loss is ε itself.
    pub fn adds_epsilon(self) -> bool {
        self.entry().adds_epsilon
    }

    /// Whether it counts ρ, or Rényi divergences no larger than ρ implies: n choices of bounded range ε cost n·ε²/8.
    pub fn counts_rho(self) -> bool {
        self.entry().counts_rho
    }

    /// Whether it counts at each order, of which one has to stay within its limit.
    pub fn counts_orders(self) -> bool {
        self.entry().counts_orders
    }

    /// Whether rounded Gaussian noise has a price only together with a δ of its own.
    pub fn is_analytic(self) -> bool {
        self.entry().analytic
    }

    /// Conversion of a sum of losses to ε.
    pub fn conversion(self) -> Conversion {
        self.entry().conversion
    }

    /// A price in one number, and the name of that number: of orders, one stands for all.
    pub fn told(self, price: &Cost) -> (&'static str, u128) {
        match self.counts_orders() {
            true => ("Rényi divergence of order 2", price.orders.get(1).copied().unwrap_or_default()),
            false => (self.symbol(), price.loss),
        }
    }

    /// The largest cost that implies (ε, δ), given the part of δ for private groups; or what is missing.
    pub(super) fn limit(
        self,
        epsilon: &Ratio,
        delta: &Ratio,
        selection: &Ratio,
    ) -> Result<Cost, &'static str> {
        let entry = self.entry();
        (entry.limit)(epsilon, delta, selection).ok_or(entry.unlimited)
    }

    /// Price of `charge` in this notion, rounded up.
    pub fn price(self, charge: &Charge) -> Result<Cost, Unpriced> {
        let refused = |kind| match rule(kind, self) {
            Rule::Refused(why) => Some(why),
            Rule::Charged(_) => None,
        };
        if *charge.selection_delta.numer() != 0 && refused(Kind::ThresholdSelection).is_some() {
            return Err(Unpriced::PrivateGroups);
        }
        if let Some(why) = charge.events.iter().find_map(|e| refused(e.mechanism.kind())) {
            return Err(Unpriced::Mechanism(why));
        }
        // What is drawn is priced by its noise, what is stated by its guarantee.
        let (mut drawn, mut stated) = (charge.events.clone(), Cost::default());
        drawn.retain(|e| !matches!(e.mechanism, Mechanism::Guaranteed(_)));
        for event in &charge.events {
            if let Mechanism::Guaranteed(guarantee) = &event.mechanism {
                let cost = self.price_of(guarantee, event.times, None).map_err(|e| match e {
                    // It is not private groups that bring this δ.
                    Unpriced::PrivateGroups => Unpriced::Mechanism(
                        "its delta is above zero, and a pure budget has none to pay it from",
                    ),
                    other => other,
                })?;
                stated = stated.checked_add(cost).ok_or(Unpriced::Unbounded)?;
            }
        }
        let cost = if drawn.is_empty() { Cost::default() } else { (self.entry().drawn)(&drawn)? };
        let selection = units_up(&charge.selection_delta).ok_or(Unpriced::Unbounded)?;
        Cost { delta: selection, ..cost }.checked_add(stated).ok_or(Unpriced::Unbounded)
    }

    /// Price of a mechanism with this guarantee that is used `times` on the same unit, rounded up.
    ///
    /// Real Gaussian noise costs (ε′, δ′) per use in approx and advanced budgets, where
    /// `gaussian_delta` is δ′ and ε′ its analytic ε (soundness rule 21); without a δ′ they refuse
    /// it.
    pub fn price_of(
        self,
        guarantee: &Guarantee,
        times: u32,
        gaussian_delta: Option<&Ratio>,
    ) -> Result<Cost, Unpriced> {
        let entry = self.entry();
        let refused = |kind| Err(stated::refused(rule(kind, self)));
        match guarantee {
            Guarantee::Pure { epsilon } => (entry.pure)(epsilon, times),
            Guarantee::BoundedRange { epsilon } => (entry.bounded_range)(epsilon, times),
            Guarantee::Approximate { epsilon, delta } => {
                if !entry.has_delta && !delta.numer().is_zero() {
                    return Err(Unpriced::PrivateGroups);
                }
                let delta = stated::sum(&exact(delta), times)?.loss;
                Ok(Cost { delta, ..(entry.pure)(epsilon, times)? })
            }
            Guarantee::Concentrated { .. } => (entry.gaussian)(guarantee, times, gaussian_delta)
                .unwrap_or_else(|| refused(Kind::DiscreteGaussian)),
            Guarantee::Gaussian { .. } => (entry.gaussian)(guarantee, times, gaussian_delta)
                .unwrap_or_else(|| refused(Kind::RoundedGaussian)),
        }
    }
}

/// The table of mechanisms and notions of the guarantees document, in Markdown.
pub fn mechanisms() -> String {
    kinds::table(&Notion::ALL.map(|notion| (notion.word(), notion.entry().rule)))
}

/// The table of notions of the guarantees document, in Markdown: what each sums, and up to where.
pub fn sums() -> String {
    let mut out = String::from("| accounting | sums | limits |\n|---|---|---|\n");
    for notion in Notion::ALL {
        let (sums, limits) = notion.entry().sums;
        out += &format!("| `{}` | {sums} | {limits} |\n", notion.word());
    }
    out
}

/// The rule by which a notion charges for a mechanism.
pub fn rule(kind: Kind, notion: Notion) -> Rule {
    (notion.entry().rule)(kind)
}
