//! Changes inputs at random.

use crate::input::Corpus;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Changes in one input, at most; a text is soon without a meaning.
const CHANGES: usize = 6;
const CHANGES_OF_TEXT: usize = 2;
/// Bytes of the longest input.
const LONGEST: usize = 64 * 1024;

pub struct Mutator {
    rng: ChaCha8Rng,
}

impl Mutator {
    /// By `NOISEGATE_FUZZ_SEED`, or the clock.
    pub fn new() -> Self {
        let given = std::env::var("NOISEGATE_FUZZ_SEED").ok().and_then(|s| s.parse().ok());
        let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        let seed = given.unwrap_or_else(clock);
        println!("NOISEGATE_FUZZ_SEED={seed}");
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// In an order of chance.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
    }

    fn below(&mut self, n: usize) -> usize {
        (self.rng.next_u64() % n.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, of: &'a [Vec<u8>]) -> &'a [u8] {
        let n = self.below(of.len());
        of.get(n).map_or(&[], Vec::as_slice)
    }

    /// An input of the corpus with a few changes.
    pub fn next(&mut self, corpus: &Corpus) -> Vec<u8> {
        let mut input = self.pick(&corpus.inputs).to_vec();
        for _ in 0..=self.below(if corpus.text { CHANGES_OF_TEXT } else { CHANGES }) {
            if corpus.text && self.below(20) > 0 {
                self.change_words(&mut input, corpus);
            } else {
                self.change_bytes(&mut input, corpus);
            }
        }
        input.truncate(LONGEST);
        input
    }

    fn change_bytes(&mut self, input: &mut Vec<u8>, corpus: &Corpus) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(16)).min(input.len());
        match self.below(7) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << (self.rng.next_u32() % 8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.rng.next_u32() as u8;
                }
            }
            2 => drop(input.drain(at..end)),
            3 => {
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            4 => {
                let word = self.pick(&corpus.words).to_vec();
                input.splice(at..at, word);
            }
            5 => {
                // A number that is a length, perhaps.
                let n = [0i32, 1, 4, 5, -1, i32::MAX, i32::MIN, 0xffff][self.below(8)].to_be_bytes();
                let end = (at + 4).min(input.len());
                input.splice(at..end, n);
            }
            _ => self.splice(input, corpus),
        }
    }

    /// The beginning of one, and the end of another.
    fn splice(&mut self, input: &mut Vec<u8>, corpus: &Corpus) {
        let other = self.pick(&corpus.inputs);
        let from = self.below(other.len() + 1);
        let tail = other[from..].to_vec();
        input.truncate(self.below(input.len() + 1));
        input.extend(tail);
    }

    fn change_words(&mut self, input: &mut Vec<u8>, corpus: &Corpus) {
        let words = words(input);
        if words.is_empty() {
            return;
        }
        let (from, to) = words[self.below(words.len())];
        match self.below(6) {
            0 => drop(input.drain(from..to)),
            1 | 2 => {
                let word = self.pick(&corpus.words).to_vec();
                input.splice(from..to, word);
            }
            3 => {
                let (a, b) = words[self.below(words.len())];
                let word = input[a..b].to_vec();
                input.splice(from..to, word);
            }
            4 => {
                let word = [b" ".to_vec(), self.pick(&corpus.words).to_vec(), b" ".to_vec()].concat();
                input.splice(to..to, word);
            }
            // A stretch of another one, between words.
            _ => {
                let other = self.pick(&corpus.inputs).to_vec();
                let theirs = self::words(&other);
                if !theirs.is_empty() {
                    let a = self.below(theirs.len());
                    let b = (a + self.below(8)).min(theirs.len() - 1);
                    input.splice(from..to, other[theirs[a].0..theirs[b].1].iter().copied());
                }
            }
        }
    }
}

/// Where words, numbers, quoted texts and single signs stand.
fn words(input: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 0x80;
    while at < input.len() {
        let begin = at;
        at += 1;
        match input[begin] {
            b if b.is_ascii_whitespace() => continue,
            quote @ (b'\'' | b'"') => {
                while at < input.len() && input[at] != quote {
                    at += 1;
                }
                at = (at + 1).min(input.len());
            }
            b if word(b) => {
                while at < input.len() && word(input[at]) {
                    at += 1;
                }
            }
            _ => {}
        }
        found.push((begin, at));
    }
    found
}
