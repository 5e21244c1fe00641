//! Budgets that say beforehand what they will be used for: the one sound way to spend by numerical composition.

use super::cost::Unpriced;
use crate::pld::{Pld, PldError, Source};
use crate::{Charge, Mechanism};

/// An envelope: at most n₁ uses of one mechanism, n₂ of another, and so on, with the (ε, δ) that
/// all of them together have.
///
/// Guarantee: an analyst who asks at most nᵢ questions of each class, chosen from answers, in any
/// order and in any number of interleaved sessions, learns no more than the tensor product of all
/// of them would tell; (ε, δ) is its bound by [`Pld`]. Add or remove one unit.
///
/// Why it holds: "answer at most nᵢ adaptively chosen questions, each fᵢ-DP" is one interactive
/// mechanism with fᵢ ⊗ … ⊗ fᵢ (Dong, Roth and Su, Theorem 3.2, with fᵢ fixed), and interactive
/// mechanisms side by side compose as their trade-off functions do (Vadhan and Zhang 2023). To stop
/// early is post-processing. The multiset is fixed; were a class or a number chosen from answers,
/// the theorem would not apply.
#[derive(Clone, Debug)]
pub struct Envelope {
    classes: Vec<(Mechanism, u32)>,
    delta: f64,
    epsilon: f64,
}

/// Numbers of uses of each class, in the envelope's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(Vec<u32>);

impl Tokens {
    /// Tokens for uses of each class; none of classes that are not listed.
    pub fn new(counts: Vec<u32>) -> Self {
        Self(counts)
    }

    /// Uses of each class; those that are not listed are 0.
    pub fn counts(&self) -> &[u32] {
        &self.0
    }
}

impl Envelope {
    /// An envelope of uses of each mechanism, each on one integer. ε at `delta` is computed once,
    /// here.
    pub fn new(classes: Vec<(Mechanism, u32)>, delta: f64) -> Result<Self, PldError> {
        let parts = classes
            .iter()
            .map(|(mechanism, n)| Ok((source(mechanism)?, *n)))
            .collect::<Result<Vec<_>, PldError>>()?;
        let epsilon = Pld::new(parts).epsilon(delta)?;
        Ok(Self { classes, delta, epsilon })
    }

    /// Guarantee of all uses together, whether or not they are made: (ε, δ), for a budget above
    /// this one.
    pub fn guarantee(&self) -> (f64, f64) {
        (self.epsilon, self.delta)
    }

    /// A charge as tokens, of the class of which it needs fewest. Refused where no declared class dominates an event: parameters of
    /// noise must be those declared, exactly.
    pub fn price(&self, charge: &Charge) -> Result<Tokens, Unpriced> {
        if *charge.selection_delta.numer() != 0 {
            return Err(Unpriced::Mechanism("group selection was not declared in this budget"));
        }
        let mut tokens = vec![0u32; self.classes.len()];
        for event in &charge.events {
            let classes = self.classes.iter().enumerate();
            let needed = classes.filter_map(|(i, (class, _))| Some((uses(class, &event.mechanism)?, i)));
            let (needed, class) = needed.min().ok_or(Unpriced::Mechanism(
                "the noise of this statement is none of those that this budget was declared for",
            ))?;
            let token = tokens.get_mut(class).ok_or(Unpriced::Unbounded)?;
            let needed = needed.checked_mul(event.times).ok_or(Unpriced::Unbounded)?;
            *token = token.checked_add(needed).ok_or(Unpriced::Unbounded)?;
        }
        Ok(Tokens(tokens))
    }

    /// The sum after `price` is added to `spent`, if every class has enough left.
    pub fn admit(&self, spent: &Tokens, price: &Tokens) -> Option<Tokens> {
        if price.0.iter().all(|uses| *uses == 0) {
            return Some(spent.clone());
        }
        let spent = spent.0.iter().copied().chain(std::iter::repeat(0));
        let sum = |(((_, limit), spent), price): ((&(Mechanism, u32), u32), &u32)| {
            spent.checked_add(*price).filter(|sum| sum <= limit)
        };
        let sums: Option<Vec<u32>> = self.classes.iter().zip(spent).zip(&price.0).map(sum).collect();
        sums.filter(|s| s.len() == self.classes.len()).map(Tokens)
    }

    /// Uses of each class that this grants.
    pub fn granted(&self) -> impl Iterator<Item = u32> {
        self.classes.iter().map(|(_, n)| *n)
    }

    /// Number of charges of `price` that still fit, one after the other.
    pub fn fits(&self, spent: &Tokens, price: &Tokens) -> u128 {
        if price.0.iter().all(|uses| *uses == 0) {
            return u128::MAX;
        }
        let spent = spent.0.iter().copied().chain(std::iter::repeat(0));
        let room = |((limit, spent), price): ((u32, u32), &u32)| {
            limit.checked_sub(spent).map_or(Some(0), |left| left.checked_div(*price))
        };
        let fits = self.granted().zip(spent).zip(&price.0).filter_map(room).min();
        fits.map_or(u128::MAX, u128::from)
    }
}

/// How many uses of a declared class, whose sensitivity is that of one integer, dominate this noise, which has the class's very
/// parameter. None where no number of them is known to.
///
/// Discrete Laplace noise. Let a unit's changes be v, with |vᵢ| <= s and Σ|vᵢ| <= R: ⌈R/s⌉ uses of sensitivity s dominate them.
/// Proof. Let T(k) = P(G >= k) for G = max(X, 0), X the noise; the loss of a shift by n is (n - 2·min(G, n))/b. For a <= b, shifts
/// (a-1, b+1) dominate (a, b): the pairs are symmetric, so that δ(-t) = 1 - e^-t + e^-t·δ(t), and only t >= 0 counts, where
/// δ(t) = E max(1 - e^(t-L), 0) looks at L > 0 alone, that is, at P(min(G₁, a) + min(G₂, b) >= k) for k <= ⌈(a+b)/2⌉ <= b. There b and
/// b+1 do not cut G₂, and min(G₁, a) >= min(G₁, a-1). Step by step, and since products keep domination, v is dominated by
/// whatever is more uneven: by changes of s and one rest, which is dominated by s. ∎
///
/// Discrete Gaussian noise is dominated by as many uses as there are groups, each of the largest change, since it is log-concave; what
/// bounds squares alone says no number of groups, and a shift of a vector is not that of one integer by its norm.
fn uses(class: &Mechanism, used: &Mechanism) -> Option<u32> {
    let proper = |a: &crate::Ratio, b: &crate::Ratio| *a.denom() != 0 && *b.denom() != 0 && a == b;
    match (class, used) {
        (
            Mechanism::DiscreteLaplace { sensitivity: class, scale },
            Mechanism::DiscreteLaplace { sensitivity, scale: other },
        ) if proper(scale, other) && sensitivity.linf <= class.linf && sensitivity.l1 < u128::MAX => {
            u32::try_from(sensitivity.l1.div_ceil(class.linf.max(1))).ok()
        }
        (
            Mechanism::DiscreteGaussian { sensitivity: class, variance },
            Mechanism::DiscreteGaussian { sensitivity, variance: other },
        ) if proper(variance, other) && sensitivity.linf <= class.linf => {
            u32::try_from(sensitivity.groups).ok()
        }
        // No envelope holds what states a guarantee: see `source`.
        _ => None,
    }
}

/// Its own privacy loss: discrete noise is never priced as continuous (soundness rule 19).
fn source(mechanism: &Mechanism) -> Result<Source, PldError> {
    use crate::interval::Interval;
    use crate::loss::PrivacyLoss;
    let float = |r: &crate::Ratio| -> Result<Interval, PldError> {
        if *r.numer() == 0 || *r.denom() == 0 {
            return Err(PldError::Unsuitable);
        }
        Ok(super::limits::float(r))
    };
    let loss = match mechanism {
        Mechanism::DiscreteLaplace { sensitivity, scale } => {
            let rate = Interval::from(1.0) / float(scale)?;
            let exact = PrivacyLoss::discrete_laplace(sensitivity.linf, rate);
            // Randomised response dominates it, where it has too many outcomes to list.
            let width = super::limits::float(&crate::Ratio::from_integer(sensitivity.linf));
            exact.unwrap_or_else(|| PrivacyLoss::randomised_response(rate * width))
        }
        Mechanism::DiscreteGaussian { sensitivity, variance } => {
            PrivacyLoss::discrete_gaussian(sensitivity.linf, float(variance)?).ok_or(PldError::Unsuitable)?
        }
        Mechanism::Guaranteed(_) => return Err(PldError::Unsuitable),
    };
    Ok(Source::Loss(loss))
}
