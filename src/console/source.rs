//! The source of the console's pages: the policy in force, and the proxy at the moment of a
//! request.

use crate::live::Live;
use frontend::Tls;
use policy::Policy;
use record::Recorder;
use std::pin::Pin;
use std::sync::Arc;

/// A policy in force, and how it came to be.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The policy.
    pub policy: Policy,
    /// Since when, in microseconds since 1970; None where nobody serves it.
    pub since: Option<i64>,
    /// Warnings, as `noisegate check` has them: a line, and a second one with what would be right.
    pub warnings: Vec<String>,
    /// The one before it, if it was changed while the proxy ran.
    pub before: Option<Arc<Policy>>,
}

/// A question whose answers are changed at random where they are given.
#[derive(Clone, Debug)]
pub struct Question {
    /// In words.
    pub asks: &'static str,
    /// The collected relation, whose column is `answer`.
    pub relation: String,
    /// The answers that can be given, ten at most, in the order of their numbers.
    pub answers: Vec<String>,
    /// ε of a report, in digits.
    pub epsilon: String,
    /// The truth is told with this probability.
    pub truthful: f64,
    /// A lie is told where a uniform number below 2^53 is below this.
    pub lie: u64,
    /// Run of the demo: what browsers remember of another run is not of this one.
    pub run: String,
}

/// Knowledge from reports.
#[derive(Clone, Debug)]
pub struct Known {
    /// Number of reports.
    pub reports: u64,
    /// For each answer how many gave it, by estimate, and between which ends that is with 95 %.
    pub estimates: Vec<[f64; 3]>,
}

/// A survey of the demo's visitors.
pub trait Survey: Send + Sync {
    /// What is asked.
    fn question(&self) -> Question;
    /// Stores reports (numbers of answers, randomised already), and tells what is known then; else in words why not.
    fn take(&self, reports: Vec<u32>) -> Pin<Box<dyn Future<Output = Result<Known, String>> + Send + '_>>;
}

/// State in force at the moment of a request.
pub trait Source: Send + Sync + 'static {
    /// What data this is about, in a word or two.
    fn about(&self) -> String;
    /// The policy in force.
    fn in_force(&self) -> InForce;
    /// Who may log in, and for how long; None where the policy in force has no console any more: then nobody may.
    fn settings(&self) -> Option<policy::Console>;
    /// What runs and ran.
    fn record(&self) -> Arc<Recorder>;
    /// What goes on in the proxy.
    fn live(&self) -> Pin<Box<dyn Future<Output = Live> + Send + '_>>;
    /// The certificate in force, if there is one.
    fn tls(&self) -> Option<Tls>;
    /// What visitors are asked. Only the demo asks anything.
    fn survey(&self) -> Option<&dyn Survey> {
        None
    }
}
