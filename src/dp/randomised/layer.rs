//! A second layer of randomised response, over reports that stay the same.
//!
//! A *permanent* response is the same each time, so that it may be given often; and for that it is a fingerprint: who sees a report
//! twice knows that both may be of one unit. RAPPOR (Erlingsson, Pihur and Korolova 2014, section 3.1) therefore randomises the
//! permanent response once more, with coins that are tossed for each report (its *instantaneous* response).

use super::epsilon::{float, usable};
use super::oracle::RandomiseError;
use super::response::RandomisedResponse;
use crate::{DpError, Entropy, Guarantee, Ratio};

/// k-ary randomised response over the symbols of a permanent response.
///
/// Guarantee: ε-DP in the local sense, for replacing one unit's *permanent response* by any other, by one report. Whatever two
/// units gave before, a report is at most e^ε times as likely to be of the one as of the other, so that n reports of a unit are
/// linked by ε each. As post-processing of the permanent response a report also keeps that one's guarantee, however many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    symbols: u32,
    epsilon: Ratio,
    response: RandomisedResponse,
}

impl Layer {
    /// Over symbols 0, …, `symbols` - 1, at least two; ε is above zero, and its terms are below 2^96.
    pub fn new(symbols: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let epsilon = usable(epsilon)?;
        Ok(Self { symbols, epsilon, response: RandomisedResponse::new(symbols, &epsilon)? })
    }

    /// Guarantee of one report to the permanent response behind it, in the local sense.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// ε, for display.
    pub fn epsilon(&self) -> f64 {
        float(&self.epsilon)
    }

    /// A report in the place of a permanent response.
    ///
    /// # Errors
    /// There is no such symbol, or no entropy.
    pub fn randomise(&self, symbol: u32, rng: &mut impl Entropy) -> Result<u32, RandomiseError> {
        self.response.draw(rng)?.report(symbol).ok_or(RandomiseError::Outside)
    }

    /// λ: a report is the permanent response with this probability, and else any symbol, all alike.
    fn kept(&self) -> f64 {
        let (p, q) = self.response.probabilities();
        p - q
    }

    /// p and q of both layers together, of those of the first: what a report supports the unit's value with, and each other one.
    pub fn over(&self, (p, q): (f64, f64)) -> (f64, f64) {
        let (truth, other) = self.response.probabilities();
        (p * truth + (1.0 - p) * other, q * truth + (1.0 - q) * other)
    }

    /// Factor and offset of a symbol, of those of the first layer, where an affine function of its two symbols is right on average.
    pub fn affine_over(&self, (scale, offset): (f64, f64)) -> (f64, f64) {
        let kept = self.kept();
        (scale / kept, offset - scale * (1.0 - kept) / (2.0 * kept))
    }

    /// The largest part of the variance of a count that the permanent layer has, which is common to all reports of a unit: Var(E[y |
    /// permanent response]) / Var(y), where y counts the units that say one of some values. `first`: p and q of the first layer;
    /// `several`: whether a unit may be asked about several values at once.
    ///
    /// A set of s values is supported by a permanent response with probability x, which is p + (s-1)q or s·q, and by a report with
    /// x' = λx + (1-λ)s/k: the part is λ²x(1-x)/(x'(1-x')).
    pub fn common_of_counts(&self, (p, q): (f64, f64), several: bool) -> f64 {
        let (kept, k) = (self.kept(), f64::from(self.symbols));
        let part = |s: f64, x: f64| {
            let x = x.clamp(0.0, 1.0);
            let seen = kept * x + (1.0 - kept) * s / k;
            kept * kept * x * (1.0 - x) / (seen * (1.0 - seen))
        };
        let most = if several { self.symbols - 1 } else { 1 };
        let each = (1..=most).map(f64::from).flat_map(|s| [part(s, p + (s - 1.0) * q), part(s, s * q)]);
        each.fold(0.0, f64::max)
    }

    /// The same of whatever is added up of reports, f, where no permanent response has a probability above `likeliest`.
    ///
    /// Var(E[f | permanent response u]) = λ² Var f(u), and Var f >= λ Var f(u) + (1-λ) Var f(uniform), whose last is at least Var
    /// f(u) / (k · `likeliest`). With two symbols every f is affine in one of them, and λ² is the most. Of several columns that are
    /// randomised independently the part is at most the largest of theirs (the maximal correlation of independent pairs).
    pub fn common(&self, likeliest: f64) -> f64 {
        let kept = self.kept();
        if self.symbols == 2 {
            return kept * kept;
        }
        kept * kept / (kept + (1.0 - kept) / (f64::from(self.symbols) * likeliest))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::randomised::{Oracle, OracleKind};

    fn matrix(k: usize, (p, q): (f64, f64)) -> Vec<Vec<f64>> {
        (0..k).map(|i| (0..k).map(|j| if i == j { p } else { q }).collect()).collect()
    }

    /// Both layers are what their matrices multiply to; the parts are those of all functions on all sets, tried one by one.
    /// Mutation: `over` with p and q exchanged; λ in place of λ².
    #[test]
    fn two_layers_are_the_product_of_their_matrices() {
        for (k, first, second) in [(2u32, 1, 1), (3, 1, 2), (4, 2, 1), (6, 1, 3), (9, 3, 1)] {
            let size = k as usize;
            let oracle = Oracle::new(OracleKind::Response, k, &Ratio::from_integer(first)).unwrap();
            let layer = Layer::new(k, &Ratio::from_integer(second)).unwrap();
            let (a, b) = (matrix(size, oracle.probabilities()), matrix(size, layer.response.probabilities()));
            let (p, q) = layer.over(oracle.probabilities());
            for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
                let product: f64 = (0..size).map(|u| a[i][u] * b[u][j]).sum();
                assert!((product - if i == j { p } else { q }).abs() < 1e-12, "{k} {i} {j}");
            }
            let mut largest = (0.0f64, 0.0f64);
            for row in &a {
                for set in 1u32..(1 << k) - 1 {
                    // An indicator, and a number that is another for each symbol.
                    for (at, weights) in [0u32, 1]
                        .into_iter()
                        .zip([[1.0; 9], [1.0, -2.0, 3.0, 0.5, -1.5, 2.5, 7.0, -4.0, 0.1]])
                    {
                        let f = |j: usize| if set >> j & 1 == 1 { weights[j] } else { 0.0 };
                        let inner = |u: usize| (0..size).map(|j| b[u][j] * f(j)).sum::<f64>();
                        let mean: f64 = (0..size).map(|u| row[u] * inner(u)).sum();
                        let common: f64 =
                            (0..size).map(|u| row[u] * inner(u).powi(2)).sum::<f64>() - mean * mean;
                        let all: f64 = (0..size)
                            .map(|u| row[u] * (0..size).map(|j| b[u][j] * f(j).powi(2)).sum::<f64>())
                            .sum::<f64>()
                            - mean * mean;
                        match at {
                            0 => largest.0 = largest.0.max(common / all),
                            _ => largest.1 = largest.1.max(common / all),
                        }
                    }
                }
            }
            let counts = layer.common_of_counts(oracle.probabilities(), true);
            assert!((counts - largest.0).abs() < 1e-9, "{k}: {counts} {largest:?}");
            let any = layer.common(oracle.probabilities().0);
            assert!(any + 1e-9 >= largest.0.max(largest.1) && any <= 1.0, "{k}: {any} {largest:?}");
        }
    }

    #[test]
    fn numbers_are_right_on_average_through_both_layers() {
        let layer = Layer::new(2, &Ratio::from_integer(1)).unwrap();
        let (scale, offset) = layer.affine_over((3.0, -1.0));
        let (truth, other) = layer.response.probabilities();
        for (symbol, expected) in [(0.0, -1.0), (1.0, 2.0)] {
            let mean = truth * (scale * symbol + offset) + other * (scale * (1.0 - symbol) + offset);
            assert!((mean - expected).abs() < 1e-12, "{symbol}: {mean}");
        }
        assert!(Layer::new(1, &Ratio::from_integer(1)).is_err());
    }
}
