//! 64 discrete Laplace variables at once, by bit planes.
//!
//! G geometric with ratio q = e^(-1/b), P(G = g) = (1-q)·q^g, has independent binary digits: digit j is 1 with
//! probability x/(1+x), x = q^(2^j), because q^g is the product of q^(2^j) over the digits of g. Digits from 2^J on form
//! G div 2^J, which is geometric with ratio q^(2^J) and independent of those below. Each lane of a machine word is one
//! variable, each digit one comparison of random planes with the digits of its probability ([`Expansion`]).

use super::distribution::DiscreteLaplace;
use crate::exp::{PRECISION, exp_neg, shift_ceil};
use crate::expansion::{Expansion, Form, READY};
use crate::{Entropy, EntropyError};
use num_bigint::BigUint;

/// Lanes of a word.
const LANES: usize = 64;

/// The digits of one scale, computed once.
pub(crate) struct Batch {
    /// Digits 0, …, J-1.
    digits: Vec<Expansion>,
    /// q^(2^J).
    more: Expansion,
    /// P(X = 0), where zeros are drawn apart.
    zero: Option<Expansion>,
}

impl Batch {
    /// Fast: the time depends on what is drawn, not on what it is added to.
    pub(crate) fn new(noise: &DiscreteLaplace) -> Self {
        // 2^J >= 8b: another round is needed once in 3,000 draws.
        Self::with(noise, 8, READY, false)
    }

    /// Draws the same number of words for the same number of variables, but once in 2^120.
    pub(crate) fn in_constant_time(noise: &DiscreteLaplace) -> Self {
        // 2^J >= 89b: e^-89 < 2^-128.
        Self::with(noise, 89, READY, true)
    }

    /// Digits up to the first 2^J >= `reach`·b, `ready` bits of each probability computed ahead.
    fn with(noise: &DiscreteLaplace, reach: u8, ready: u32, zeros_apart: bool) -> Self {
        // b = t/s.
        let (t, s) = (BigUint::from(noise.t), BigUint::from(noise.s));
        // Bounds of q^(2^j), each squared from the one before.
        let mut x = exp_neg(&s, &t);
        let expansion =
            |form, n: &BigUint, x: &_| Expansion::from_bounds(form, n.clone(), t.clone(), x, ready);
        let zero = zeros_apart.then(|| expansion(Form::Zero, &s, &x));
        let far = &t * reach;
        let mut power = s;
        let mut digits = Vec::new();
        while power < far {
            digits.push(expansion(Form::Logistic, &power, &x));
            power <<= 1u8;
            x = ((&x.0 * &x.0) >> PRECISION, shift_ceil(&x.1 * &x.1, PRECISION));
        }
        let more = expansion(Form::Exp, &power, &x);
        Self { digits, more, zero }
    }

    /// Independent draws.
    pub(crate) fn fill(&self, out: &mut [i128], rng: &mut impl Entropy) -> Result<(), EntropyError> {
        let mut planes: Vec<u64> = vec![0; self.digits.len()];
        let mut filled = 0;
        while filled < out.len() {
            let sign = rng.next_u64()?;
            let zero = match &self.zero {
                None => 0,
                Some(zero) => zero.plane_in_constant_time(rng)?,
            };
            for (plane, digit) in planes.iter_mut().zip(&self.digits) {
                *plane = match &self.zero {
                    None => digit.plane(u64::MAX, rng)?,
                    Some(_) => digit.plane_in_constant_time(rng)?,
                };
            }
            let mut magnitudes = columns(&planes);
            self.add_more(&mut magnitudes, rng)?;
            for (lane, magnitude) in magnitudes.into_iter().enumerate() {
                let Some(place) = out.get_mut(filled) else { break };
                let negative = sign >> lane & 1 == 1;
                let magnitude = match &self.zero {
                    // Zero would otherwise be drawn twice as often as it should be.
                    None if negative && magnitude == 0 => continue,
                    None => magnitude,
                    Some(_) if zero >> lane & 1 == 1 => 0,
                    Some(_) => magnitude.saturating_add(1),
                };
                let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
                *place = if negative { -value } else { value };
                filled += 1;
            }
        }
        Ok(())
    }

    /// Adds 2^J times a geometric variable of ratio q^(2^J).
    fn add_more(&self, magnitudes: &mut [u128; LANES], rng: &mut impl Entropy) -> Result<(), EntropyError> {
        let mut going = match &self.zero {
            None => self.more.plane(u64::MAX, rng)?,
            Some(_) => self.more.plane_in_constant_time(rng)?,
        };
        let step = 1u128 << self.digits.len();
        while going != 0 {
            for (lane, magnitude) in magnitudes.iter_mut().enumerate() {
                if going >> lane & 1 == 1 {
                    *magnitude = magnitude.saturating_add(step);
                }
            }
            going = self.more.plane(going, rng)?;
        }
        Ok(())
    }
}

/// Planes of digits as numbers: digit j of number i is bit i of plane j. Fewer than 128 planes.
fn columns(planes: &[u64]) -> [u128; LANES] {
    let mut out = [0u128; LANES];
    for (half, chunk) in planes.chunks(LANES).enumerate() {
        let mut square = [0u64; LANES];
        square.iter_mut().zip(chunk).for_each(|(row, plane)| *row = *plane);
        transpose(&mut square);
        for (number, row) in out.iter_mut().zip(square) {
            *number |= u128::from(row) << (LANES * half);
        }
    }
    out
}

/// Transposes a square of bits in place (Warren, "Hacker's Delight", section 7-3, with the lowest bit first).
fn transpose(square: &mut [u64; LANES]) {
    let mut width = LANES / 2;
    let mut mask = u64::MAX >> width;
    while width != 0 {
        for block in square.chunks_mut(2 * width) {
            let (low, high) = block.split_at_mut(width);
            for (l, h) in low.iter_mut().zip(high) {
                let swap = ((*l >> width) ^ *h) & mask;
                *l ^= swap << width;
                *h ^= swap;
            }
        }
        width /= 2;
        mask ^= mask << width;
    }
}

#[cfg(test)]
mod tests;
