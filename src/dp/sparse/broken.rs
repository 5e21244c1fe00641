//! Mutations: the four published sparse vector algorithms that are not private (Lyu, Su and Li 2017, Algorithms 3 to 6),
//! each caught by the audit that the real ones pass.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::audit::{Auditor, Machine};

/// One of the four, at sensitivity 1.
struct Broken {
    threshold: f64,
    question: f64,
    /// None: no end.
    positives: Option<u32>,
    /// Tells the noisy value that was compared.
    tells: bool,
}

impl Machine for Broken {
    type Said = Option<Option<i128>>;
    fn threshold_scale(&self) -> f64 {
        self.threshold
    }
    fn question_scale(&self) -> f64 {
        self.question
    }
    fn positives(&self) -> u32 {
        self.positives.unwrap_or(u32::MAX)
    }
    fn step(&self, noisy: i128, left: u32, margin: i128, noise: i128, _: i128) -> (Self::Said, u32, i128) {
        if margin + noise < noisy {
            return (None, left, noisy);
        }
        let left = if self.positives.is_some() { left - 1 } else { left };
        (Some(self.tells.then_some(margin + noise)), left, noisy)
    }
}

/// The loss at the published worst case.
fn loss(broken: &Broken, here: &[i128], there: &[i128]) -> f64 {
    let step: Vec<i128> = there.iter().zip(here).map(|(a, b)| a - b).collect();
    assert!(step.iter().all(|s| s.abs() <= 1), "neighbours");
    Auditor::new(broken).worst(here, &[step])
}

/// Roth's lecture notes (2011): the noise of the comparison is used again in the answer.
#[test]
fn sparse_vector_that_reuses_its_noise_is_caught() {
    let epsilon = 2.0;
    let broken =
        Broken { threshold: 2.0 / epsilon, question: 2.0 / epsilon, positives: Some(1), tells: true };
    let loss = loss(&broken, &[0, 0, 0, 0, 0], &[1, 1, 1, 1, 0]);
    assert!(loss > 1.5 * epsilon, "{loss}");
}

/// Lee and Clifton (2014): noise on questions that does not grow with c.
#[test]
fn sparse_vector_without_c_in_its_noise_is_caught() {
    let epsilon = 1.0;
    let broken = Broken {
        threshold: 4.0 / epsilon,
        question: 4.0 / (3.0 * epsilon),
        positives: Some(3),
        tells: false,
    };
    let loss = loss(&broken, &[0; 6], &[1, 1, 1, -1, -1, -1]);
    assert!(loss > 1.5 * epsilon, "{loss}");
}

/// Stoddard, Chen and Machanavajjhala (2014): no noise on questions.
#[test]
fn sparse_vector_without_noise_on_questions_is_caught() {
    let epsilon = 1.0;
    let broken = Broken { threshold: 2.0 / epsilon, question: 0.0, positives: None, tells: false };
    let loss = loss(&broken, &[0, 1], &[1, 0]);
    assert!(loss > 20.0, "possible for one neighbour only: {loss}");
}

/// Chen, Xiao, Zhang and Xu (2015): any number of positives.
#[test]
fn sparse_vector_without_an_end_is_caught() {
    let epsilon = 1.0;
    let broken = Broken { threshold: 2.0 / epsilon, question: 2.0 / epsilon, positives: None, tells: false };
    let loss = loss(&broken, &[0; 8], &[1, 1, 1, 1, -1, -1, -1, -1]);
    assert!(loss > 1.5 * epsilon, "{loss}");
}
