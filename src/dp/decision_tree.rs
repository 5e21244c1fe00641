//! For tests: every path of a sampler through its random bits, with exact masses.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{Entropy, EntropyError};
use std::collections::BTreeMap;

/// Bits from a list; an error when the list is at its end, with the number of bits that were asked for.
pub(super) struct Script<'a> {
    pub(super) draws: &'a [(u32, u128)],
    pub(super) next: usize,
    pub(super) asked: Option<u32>,
}

impl Entropy for Script<'_> {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        panic!("the sampler draws by `bits` only")
    }

    fn bits(&mut self, count: u32) -> Result<u128, EntropyError> {
        if count == 0 {
            return Ok(0);
        }
        match self.draws.get(self.next) {
            Some((bits, value)) => {
                assert_eq!(*bits, count, "the same draws lead to the same question");
                self.next += 1;
                Ok(*value)
            }
            None => {
                self.asked = Some(count);
                Err(EntropyError)
            }
        }
    }
}

/// Follows every path of `f` of at most `depth` random bits. Gives the exact mass of each outcome, in units of
/// 2^-depth, and the mass of the paths that are longer.
pub(super) fn enumerate<T: Ord>(
    depth: u32,
    f: impl Fn(&mut Script) -> Result<T, EntropyError>,
) -> (BTreeMap<T, u64>, u64) {
    let (mut outcomes, mut open) = (BTreeMap::new(), 0u64);
    let mut stack: Vec<(u32, Vec<(u32, u128)>)> = vec![(0, Vec::new())];
    while let Some((used, draws)) = stack.pop() {
        let mut script = Script { draws: &draws, next: 0, asked: None };
        match f(&mut script) {
            Ok(outcome) => *outcomes.entry(outcome).or_default() += 1u64 << (depth - used),
            Err(_) => match script.asked.unwrap() {
                bits if used + bits > depth => open += 1u64 << (depth - used),
                bits => {
                    for value in 0..1u128 << bits {
                        let mut longer = draws.clone();
                        longer.push((bits, value));
                        stack.push((used + bits, longer));
                    }
                }
            },
        }
    }
    assert_eq!(outcomes.values().sum::<u64>() + open, 1u64 << depth, "no mass is lost");
    (outcomes, open)
}

/// Every word is one random bit in all lanes: what a bit-plane sampler does in each lane, as a decision tree.
pub(super) struct Lanes<'a, 'b>(pub(super) &'a mut Script<'b>);

impl Entropy for Lanes<'_, '_> {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        Ok(if self.0.bits(1)? == 1 { u64::MAX } else { 0 })
    }
}

/// Words of which only the lowest lanes are looked at: the others need no bits.
pub(super) struct Narrow<'a, 'b>(pub(super) &'a mut Script<'b>, pub(super) u32);

impl Entropy for Narrow<'_, '_> {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        Ok(self.0.bits(self.1)? as u64)
    }

    fn bits(&mut self, count: u32) -> Result<u128, EntropyError> {
        self.0.bits(count)
    }
}
