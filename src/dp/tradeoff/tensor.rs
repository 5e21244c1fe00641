//! The tensor product: the trade-off function of two answers together (Dong, Roth and Su, Definition 3.1 and Theorem 3.2).

use super::function::{TradeOff, grid};
use super::lines::{FUZZ, Lines, Outcome};

/// Cells per unit of loss.
const FINE: f64 = 128.0;

/// Losses beyond this are kept apart.
const FAR: f64 = 60.0;

/// A lower and an upper bound of a trade-off function.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// At most the function, and itself a trade-off function: safe to state.
    pub lower: Lines,
    /// At least the function: how far the lower bound may be off.
    pub upper: Lines,
}

impl Bounds {
    /// Bounds of straight lines: from below tangents (by the privacy profile), from above chords.
    pub fn around(f: &TradeOff) -> Self {
        if let TradeOff::Lines(lines) = f {
            return Self { lower: lines.clone(), upper: lines.clone() };
        }
        let losses = (0..=600).map(|i| libm::pow(f64::from(i) / 600.0, 2.0) * FAR);
        let profile: Vec<(f64, f64)> = losses.map(|e| (e, f.profile(e).hi())).collect();
        let chords = grid().into_iter().map(|a| (a, f.at(a).hi())).collect();
        Self { lower: Lines::from_profile(&profile), upper: Lines::chords(chords) }
    }

    /// f ⊗ g: the tests that see an answer of each, between bounds. Exact for Gaussians, see [`TradeOff::gaussians`].
    ///
    /// Larger factors make a larger product, so bounds of factors make bounds of products. Products of outcomes are put on a
    /// grid of losses: from below by splitting each between its neighbours, with both probabilities kept, from above by
    /// merging a cell, which is post-processing.
    pub fn tensor(&self, other: &Self) -> Self {
        Self {
            lower: product(&self.lower, &other.lower, split, -FUZZ),
            upper: product(&self.upper, &other.upper, merge, FUZZ),
        }
    }

    /// `n` answers of the same kind.
    pub fn power(&self, n: u32) -> Self {
        let (mut base, mut left) = (self.clone(), n);
        let mut result: Option<Self> = None;
        while left > 0 {
            if left % 2 == 1 {
                result = Some(result.map_or_else(|| base.clone(), |r| r.tensor(&base)));
            }
            left /= 2;
            if left > 0 {
                base = base.tensor(&base);
            }
        }
        let nothing = Lines::chords(vec![(0.0, 1.0), (1.0, 0.0)]);
        result.unwrap_or(Self { lower: nothing.clone(), upper: nothing })
    }
}

impl TradeOff {
    /// G_μ₁ ⊗ G_μ₂ ⊗ …, exactly: G of √Σμᵢ² (Dong, Roth and Su, Corollary 3.3).
    pub fn gaussians(mus: impl IntoIterator<Item = f64>) -> Self {
        Self::Gaussian { mu: crate::gdp::compose(mus) }
    }
}

const NOTHING: Outcome = Outcome { absent: 0.0, present: 0.0 };

/// On cell borders: the outcome at its loss becomes two at the borders around it.
fn split(o: Outcome, cell: i64) -> [Outcome; 2] {
    let (low, high) = (libm::exp(cell as f64 / FINE), libm::exp((cell + 1) as f64 / FINE));
    // absent = a + b and present = a·low + b·high.
    let b = ((o.present - o.absent * low) / (high - low)).clamp(0.0, o.absent);
    let a = o.absent - b;
    [Outcome { absent: a, present: a * low }, Outcome { absent: b, present: b * high }]
}

/// In the cell, as it is.
fn merge(o: Outcome, _cell: i64) -> [Outcome; 2] {
    [o, NOTHING]
}

/// Products of all outcomes, put in cells by `place`, and the result moved by `fuzz`, which covers the rounding of up to
/// 2^24 products.
fn product(f: &Lines, g: &Lines, place: impl Fn(Outcome, i64) -> [Outcome; 2], fuzz: f64) -> Lines {
    let (f, g) = (f.outcomes(), g.outcomes());
    let ends = (2.0 * FAR * FINE) as i64;
    let mut cells = vec![NOTHING; 2 * ends as usize + 2];
    // Losses of 2·FAR and more count as infinite: e^-120 is far below the fuzz.
    let (mut certain, mut never) = (0.0, 0.0);
    for a in &f {
        for b in &g {
            let o = Outcome { absent: a.absent * b.absent, present: a.present * b.present };
            let loss = libm::log(o.present / o.absent) * FINE;
            if loss.is_nan() || loss >= ends as f64 {
                certain += o.present;
                never += o.absent;
            } else if loss <= -ends as f64 {
                never += o.absent;
                certain += o.present;
            } else {
                let cell = loss.floor() as i64;
                let at = usize::try_from(cell + ends).unwrap_or(0);
                for (sum, part) in cells.iter_mut().skip(at).zip(place(o, cell)) {
                    sum.absent += part.absent;
                    sum.present += part.present;
                }
            }
        }
    }
    cells.push(Outcome { absent: 0.0, present: certain });
    cells.push(Outcome { absent: never, present: 0.0 });
    cells.retain(|o| o.absent > 0.0 || o.present > 0.0);
    Lines::from_outcomes(cells).moved(fuzz)
}
