//! Amplification by shuffling: what is known of one unit after n reports, each ε₀-DP in the local sense, were put into an order
//! that says nothing.
//!
//! Feldman, McMillan and Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by
//! Shuffling" (2021). Neighbours differ in what one unit says (replacement); that it says something is not hidden. Everything
//! here is an upper bound on ε or δ, by arithmetic that rounds outward.
//!
//! It holds for what an observer of the shuffled reports sees. Who sees reports as they arrive, or knows who wrote which, has
//! ε₀ and no more than that.

use super::bernoulli::uniform_below;
use super::interval::Interval;
use super::{Entropy, EntropyError, Ratio};

/// No more reports are counted on: fewer hide less.
const MOST: u64 = 10_000_000;
/// Pieces that the number of clones is cut into.
const PIECES: u64 = 200;
/// Standard deviations at which tails of that number are cut off, at a price of their bound.
const REACH: f64 = 10.0;
/// Shuffling is not said to divide ε₀ by more than this, and ε is found in so many halvings: to less than a thousandth.
const LEAST: f64 = 1_048_576.0;
const STEPS: u32 = 14;
/// Up to here binomial coefficients are multiplied out.
const SMALL: u64 = 1000;

/// Puts items into a uniformly random order (Fisher and Yates), each one of n! with the same probability.
///
/// # Errors
/// There is no entropy; the order is not to be used then.
pub fn permute<T>(items: &mut [T], rng: &mut impl Entropy) -> Result<(), EntropyError> {
    for last in (1..items.len()).rev() {
        let place = uniform_below(last as u64 + 1, rng)?;
        items.swap(last, usize::try_from(place).unwrap_or(last));
    }
    Ok(())
}

/// The closed form: ε <= ln(1 + (1-e^-ε₀)/(1+e^-(ε₀+a))·(8√(e^ε₀·ln(4/δ))/√n + 8e^ε₀/n)), where a is the same with 1 in the place of
/// the fraction, for ε₀ <= ln(n/(16·ln(4/δ))) and 0 < δ <= 1. This is how the authors' program has Theorem 3.1 of Feldman, McMillan
/// and Talwar 2021: its fraction is a little larger, and its condition a little stricter, than those in the paper's text. None where
/// it says nothing.
pub fn closed_form(n: u64, local: &Ratio, delta: f64) -> Option<f64> {
    if n == 0 || *local.denom() == 0 || !(delta > 0.0 && delta <= 1.0) {
        return None;
    }
    let (n, e0, delta) = (Interval::from(n as f64), Interval::ratio(local), Interval::from(delta));
    let log = (Interval::from(4.0) / delta).ln();
    if e0.hi() > (n / (log * 16.0)).ln().lo() {
        return None;
    }
    let e = e0.exp();
    let sum = (e * log).sqrt() * 8.0 / n.sqrt() + e * 8.0 / n;
    let fraction = -(-e0).exp_m1() / ((-(e0 + sum.ln_1p())).exp() + 1.0);
    Some((fraction * sum).ln_1p().hi().min(e0.hi()))
}

/// δ at ε: the numerical bound of Theorem 3.2.
///
/// Each other report is a clone with probability e^-ε₀: one that is as likely to be what the unit says as what its neighbour
/// says. With C ~ Bin(n-1, e^-ε₀) clones, of which A ~ Bin(C, 1/2) are of the one kind, and the unit's own report of that kind
/// with probability e^ε₀/(e^ε₀+1), an observer sees no more than the number of each kind; δ is the divergence of the two
/// distributions of this pair (they are mirror images, so that one direction is as the other).
pub fn delta(n: u64, local: &Ratio, epsilon: f64) -> f64 {
    match Clones::new(n, local) {
        Some(clones) => clones.delta(epsilon),
        None => f64::from(u8::from(epsilon < Interval::ratio(local).hi())),
    }
}

/// ε at δ: the least (to a thousandth) at which [`delta`] is no more than δ. Never more than ε₀.
pub fn epsilon(n: u64, local: &Ratio, delta: f64) -> f64 {
    let most = Interval::ratio(local).hi();
    let Some(clones) = Clones::new(n, local) else { return most };
    // Bisection of the logarithm: whatever it returns was seen to hold, or is ε₀.
    let (mut low, mut high) = (most / LEAST, most);
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if clones.delta(middle) <= delta { high = middle } else { low = middle }
    }
    high
}

/// The numbers of clones there may be, in pieces, and how likely each piece is at most.
struct Clones {
    /// e^ε₀/(e^ε₀+1), and one less it.
    own: (Interval, Interval),
    local: Interval,
    /// The least number of each piece, and the piece's probability.
    pieces: Vec<(u64, f64)>,
}

impl Clones {
    /// None where there is nothing to compute: one report, or an ε₀ that no number of reports hides.
    fn new(n: u64, local: &Ratio) -> Option<Self> {
        if *local.denom() == 0 || n < 2 {
            return None;
        }
        let local = Interval::ratio(local);
        let others = n.min(MOST) - 1;
        let (p, x) = ((-local).exp(), local.exp());
        if p.lo() <= 0.0 || p.hi() >= 1.0 || x.hi() > 1e300 {
            return None;
        }
        let own = (x / (x + 1.0), Interval::from(1.0) / (x + 1.0));
        Some(Self { own, local, pieces: pieces(others, p) })
    }

    fn delta(&self, epsilon: f64) -> f64 {
        if epsilon >= self.local.hi() {
            return 0.0;
        }
        let epsilon = Interval::from(epsilon.max(0.0));
        let all = self.pieces.iter().map(|(clones, probability)| {
            // More clones hide more: who sees the pair of one number can add a clone to it.
            self.delta_of(*clones, epsilon) * Interval::from(*probability)
        });
        all.sum::<Interval>().hi().clamp(0.0, 1.0)
    }

    /// δ given c clones: of k of the one kind among c+1, P(k) = q·B(k-1) + (1-q)·B(k) and Q(k) = q·B(k) + (1-q)·B(k-1) with
    /// B = Bin(c, 1/2) and q = e^ε₀/(e^ε₀+1). P - e^ε·Q is positive from some k on, where
    /// k/(c+1) > (e^ε·q - (1-q))/((e^ε+1)(2q-1)), because B(k-1)/B(k) = k/(c+1-k). Its sum from there on is
    /// (q - e^ε(1-q))·B(k-1) - (e^ε-1)·P(B >= k).
    fn delta_of(&self, c: u64, epsilon: Interval) -> Interval {
        let (q, other) = self.own;
        let x = epsilon.exp();
        let share = (x * q - other) / ((x + 1.0) * (q - other));
        let at = share * ((c + 1) as f64);
        if !at.lo().is_finite() || !at.hi().is_finite() {
            return Interval::from(1.0);
        }
        // Where the first k lies is known to a rounding. The sum from the right one is the largest.
        let first = at.lo().floor().max(0.0) as u64;
        let last = ((at.hi().floor() + 1.0).max(0.0) as u64).min(c + 1);
        let mut tail = half_from(c, last + 1);
        let mut worst = Interval::from(0.0);
        for k in (first..=last).rev() {
            tail = (tail + half(c, k)).at_most(1.0);
            let before = k.checked_sub(1).map_or(Interval::from(0.0), |j| half(c, j));
            worst = worst.max((q - x * other) * before - epsilon.exp_m1() * tail);
        }
        worst
    }
}

/// ln(n!) less n·ln(n) - n + ln(2πn)/2, for n > 0 (Stirling's series, which envelops).
fn remainder(n: u64) -> Interval {
    let n = Interval::from(n as f64);
    let first = Interval::from(1.0) / (n * 12.0);
    (first - Interval::from(1.0) / (n * n * n * 360.0)).hull(first)
}

/// P(B = k) for B ~ Bin(c, 1/2).
fn half(c: u64, k: u64) -> Interval {
    if k > c {
        return Interval::from(0.0);
    }
    if c <= SMALL {
        let least = Interval::from(libm::ldexp(1.0, -(c as i32)));
        return (0..k.min(c - k)).fold(least, |b, j| b * ((c - j) as f64) / ((j + 1) as f64));
    }
    let all = Interval::from(c as f64);
    let rest = c - k;
    if k == 0 || rest == 0 {
        return (-(all * Interval::from(2.0).ln())).exp();
    }
    let part = |n: u64| Interval::from(n as f64) * (Interval::from(2.0 * n as f64) / all).ln();
    let root = all / (Interval::PI * 2.0 * (k as f64) * (rest as f64));
    let exponent = remainder(c) - remainder(k) - remainder(rest) - part(k) - part(rest);
    root.sqrt() * exponent.exp()
}

/// P(B >= k) for B ~ Bin(c, 1/2).
fn half_from(c: u64, k: u64) -> Interval {
    if k == 0 {
        return Interval::from(1.0);
    }
    let mut term = half(c, k);
    let mut sum = Interval::from(0.0);
    for j in k..=c {
        sum = sum + term;
        // P(B = j+1)/P(B = j), which falls: the rest is below a geometric series of this ratio.
        let ratio = Interval::from((c - j) as f64) / ((j + 1) as f64);
        term = term * ratio;
        if ratio.hi() < 1.0 {
            let rest = (term / (Interval::from(1.0) - ratio)).hi();
            if rest <= 1e-9 * sum.lo() {
                return (sum + Interval::new(0.0, rest)).at_most(1.0);
            }
        }
    }
    sum.at_most(1.0)
}

/// Bin(n, p) in pieces: their least numbers, and upper bounds of their probabilities.
fn pieces(n: u64, p: Interval) -> Vec<(u64, f64)> {
    let q = Interval::from(1.0) - p;
    let mode = (((n + 1) as f64 * p.lo()) as u64).min(n);
    let width = (REACH * ((n as f64) * p.hi() * q.hi()).sqrt()) as u64 + 60;
    let (low, high) = (mode.saturating_sub(width), mode.saturating_add(width).min(n));
    let (up, down) = (p / q, q / p);
    // Multiples of the probability of the mode: their sum over a window is at most what all add up to, so that a share of it
    // is at least the probability.
    let mut above = vec![Interval::from(1.0)];
    let mut term = Interval::from(1.0);
    for k in mode..high {
        term = term * Interval::from((n - k) as f64) / ((k + 1) as f64) * up;
        above.push(term);
    }
    let mut below = Vec::new();
    term = Interval::from(1.0);
    for k in (low..mode).rev() {
        term = term * Interval::from((k + 1) as f64) / ((n - k) as f64) * down;
        below.push(term);
    }
    let masses: Vec<Interval> = below.into_iter().rev().chain(above).collect();
    let total: Interval = masses.iter().copied().sum();
    let piece = (masses.len() as u64).div_ceil(PIECES).max(1);
    let mut out = Vec::new();
    if low > 0 {
        // Below the window: no clones at all.
        out.push((0, tail(n, low, p)));
    }
    let mut first = low;
    for chunk in masses.chunks(usize::try_from(piece).unwrap_or(1)) {
        out.push((first, (chunk.iter().copied().sum::<Interval>() / total).hi().min(1.0)));
        first += piece;
    }
    if high < n {
        out.push((high, upper_tail(n, high, p)));
    }
    out
}

/// P(Bin(n, p) < k) for k <= n·p, by Chernoff's bound e^(-n·D(k/n || p)); 1 where k is not so small.
fn tail(n: u64, k: u64, p: Interval) -> f64 {
    let share = Interval::from(k as f64) / (n as f64);
    if share.hi() >= p.lo() { 1.0 } else { chernoff(n, share, p) }
}

/// P(Bin(n, p) > k) likewise.
fn upper_tail(n: u64, k: u64, p: Interval) -> f64 {
    let share = Interval::from(k as f64) / (n as f64);
    if share.lo() <= p.hi() { 1.0 } else { chernoff(n, share, p) }
}

fn chernoff(n: u64, share: Interval, p: Interval) -> f64 {
    let one = Interval::from(1.0);
    let part = |a: Interval, b: Interval| if a.hi() <= 0.0 { Interval::from(0.0) } else { a * (a / b).ln() };
    let divergence = (part(share, p) + part(one - share, one - p)).at_least(0.0);
    (-(divergence * (n as f64))).exp().hi().min(1.0)
}

#[cfg(test)]
mod tests;
