//! Whatever reads what others write takes anything without a panic, and keeps its word: the frame decoder and the start-up
//! read clients' bytes, the policy its owner's text, and a statement goes all the way from SQL to plan, to the SQL that is
//! printed, and to the kernel's proof of it.
//!
//! Each is a plain function of bytes. Inputs are those of the repository (its scripts, policies and statements) and what is kept
//! in `corpus`, changed at random and mixed with each other; an input that fails is written to `corpus`, where it belongs
//! once it does not fail any more. Each takes `NOISEGATE_FUZZ_SECONDS`, 15 unless it is set; `./test fuzz` takes ten minutes, and
//! has cargo-fuzz look at the same functions (`libfuzzer`), which changes inputs by what of the program they reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod functions;
mod hostile;
mod input;
mod mutate;
mod policies;
mod statements;
mod wire;
#[path = "../policy/mod.rs"]
mod wrong;

use input::Corpus;
use mutate::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Inputs that are changed further because the function found a meaning in them.
const GROWN: usize = 20_000;

/// Runs a function over inputs of a corpus, and what becomes of them, for as long as it is told. Gives how many there were, and in
/// how many the function found a meaning.
pub fn fuzz(name: &str, mut corpus: Corpus, run: impl Fn(&[u8]) -> Result<bool, String>) -> (u64, u64) {
    let seconds = std::env::var("NOISEGATE_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(15);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut mutator = Mutator::new();
    let (mut tried, mut meant) = (0u64, 0u64);
    // As they are, first.
    let mut fixed = corpus.inputs.clone().into_iter();
    while fixed.len() > 0 || Instant::now() < end {
        let (input, new) = match fixed.next() {
            Some(input) => (input, false),
            None => (mutator.next(&corpus), true),
        };
        let begun = Instant::now();
        let failed = match catch_unwind(AssertUnwindSafe(|| run(&input))) {
            Ok(Ok(understood)) => {
                meant += u64::from(understood);
                if new && understood && corpus.inputs.len() < GROWN {
                    corpus.inputs.push(input.clone());
                }
                None
            }
            Ok(Err(why)) => Some(why),
            Err(_) => Some("it panicked".to_owned()),
        };
        let slow = begun.elapsed() > Duration::from_secs(20);
        let failed = failed.or(slow.then(|| format!("it took {:?}", begun.elapsed())));
        if let Some(why) = failed {
            let kept = input::keep(name, &input);
            panic!("{why}: {}\nkept as {}", String::from_utf8_lossy(&input), kept.display());
        }
        tried += 1;
    }
    println!("{name}: {tried} inputs, {meant} with a meaning");
    (tried, meant)
}
