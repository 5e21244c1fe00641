//! Findings about a file of statements.

use super::expected::{Asked, Expected};
use super::helps::{self, Help};
use super::magnitudes::Magnitudes;
use crate::cli::offline::{Failed, Offline};
use crate::explained;
use crate::store::{Epoch, KeyContext, Keys, canonical};
use answer::ClientError;
use dp::{Charge, Ratio};
use plan::Plan;
use plan::explain::summary;
use plan::words::decimal;
use policy::Policy;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Of all statements.
pub(super) struct Findings {
    /// The price of each.
    pub epsilon: String,
    pub statements: Vec<Statement>,
    /// Shares of each budget that all statements take together, in sentences.
    pub together: Vec<String>,
    pub shared: Vec<Shared>,
    /// The private tables of the policy that statements with a price read.
    pub tables: BTreeSet<usize>,
    /// Rows that errors are expected on, in sentences and as an object, if any.
    pub on: Option<(Vec<String>, Value)>,
}

/// Of one.
pub(super) struct Statement {
    pub text: String,
    /// As it was written.
    sql: String,
    pub outcome: Outcome,
    /// Errors that its numbers are expected to have.
    pub asked: Option<Asked>,
}

pub(super) enum Outcome {
    /// The statement has no price: nothing private is read.
    Free,
    Priced {
        /// Shares of each budget, in sentences.
        costs: Vec<String>,
        /// Errors, and what is cut, in sentences.
        expected: Vec<String>,
        /// Standard deviation of its noise, in multiples of what one unit can change.
        error: f64,
        /// The best first.
        helps: Vec<Help>,
    },
    Refused(Refused),
}

/// Why a statement is not answered.
pub(super) struct Refused {
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
}

/// Two statements, numbered from 1, that read the same rows and groups.
pub(super) struct Shared {
    pub first: usize,
    pub then: usize,
    /// The second is answered from what was released for the first.
    pub free: bool,
}

impl Shared {
    /// In a sentence.
    pub fn told(&self) -> String {
        let Self { first, then, free } = self;
        match free {
            true => format!("{then} costs nothing after {first}: it is answered from the same release."),
            false => format!(
                "{first} and {then} read the same rows and groups: as one statement they have one price, which its numbers share."
            ),
        }
    }
}

impl Findings {
    pub fn of(sql: &str, offline: &Offline) -> Result<Self, Box<ClientError>> {
        let Offline { policy, settings, .. } = offline;
        let parsed = sql::parse::parse(sql, &policy.limits)?;
        let mut statements = Vec::with_capacity(parsed.len());
        let mut plans = Vec::with_capacity(parsed.len());
        for one in parsed {
            let text = one.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let planned = offline.plan(one.clone(), policy, settings);
            let outcome = match &planned {
                Err(Failed::Statement(e)) => {
                    let (message, hint) = (e.message.clone(), e.hint.clone());
                    Outcome::Refused(Refused { code: e.code.as_str().to_owned(), message, hint })
                }
                Err(Failed::Other(e)) => {
                    let code = answer::SqlState::FEATURE_NOT_SUPPORTED.as_str().to_owned();
                    Outcome::Refused(Refused { code, message: e.clone(), hint: None })
                }
                Ok(plan) => match &plan.charge {
                    None => Outcome::Free,
                    Some(charge) => Outcome::Priced {
                        costs: explained::costs(policy, charge, "It costs"),
                        expected: summary::sentences(plan, policy),
                        error: plan::price::split::error(plan),
                        helps: helps::of(plan, &one, offline),
                    },
                },
            };
            statements.push(Statement { text, sql: one.text.to_string(), outcome, asked: None });
            plans.push(planned.ok().filter(|plan| plan.charge.is_some()));
        }
        let together = total(&plans);
        let together = together.map(|c| explained::costs(policy, &c, "All of them together cost"));
        let shared = shared(&plans, offline);
        let epsilon = decimal(&settings.epsilon);
        let tables = plans.iter().flatten().flat_map(|plan| plan.tables.iter().copied()).collect();
        let together = together.unwrap_or_default();
        Ok(Self { epsilon, statements, together, shared, tables, on: None })
    }

    /// The texts of statements with a price; None for others.
    pub fn priced(&self) -> Vec<Option<String>> {
        let priced = |s: &Statement| matches!(s.outcome, Outcome::Priced { .. }).then(|| s.sql.clone());
        self.statements.iter().map(priced).collect()
    }

    /// Takes note of what came of asking them.
    pub fn expect(
        &mut self,
        of: &Magnitudes,
        policy: &Policy,
        tables: &BTreeSet<usize>,
        asked: Vec<Option<Asked>>,
    ) {
        self.on = Some((of.told(policy, tables), of.object(policy, tables)));
        for (statement, asked) in self.statements.iter_mut().zip(asked) {
            statement.asked = asked;
        }
    }

    pub fn object(&self) -> Value {
        let statements = self.statements.iter().map(Statement::object);
        let shared = self.shared.iter().map(|s| json!({ "first": s.first, "then": s.then, "free": s.free }));
        json!({
            "epsilon": self.epsilon,
            "made_up": self.on.as_ref().map(|(_, object)| object),
            "together": self.together,
            "statements": statements.collect::<Vec<_>>(),
            "shared": shared.collect::<Vec<_>>(),
        })
    }
}

impl Statement {
    fn object(&self) -> Value {
        match &self.outcome {
            Outcome::Free => json!({ "statement": self.text, "outcome": "free" }),
            Outcome::Refused(r) => json!({
                "statement": self.text,
                "outcome": "refused",
                "sqlstate": r.code,
                "message": r.message,
                "hint": r.hint,
            }),
            Outcome::Priced { costs, expected, error, helps } => json!({
                "statement": self.text,
                "outcome": "priced",
                "costs": costs,
                "expected": expected,
                "deviation_in_units": error,
                "expected_errors": match &self.asked {
                    Some(Ok(columns)) => columns.iter().map(Expected::object).collect(),
                    Some(Err(why)) => json!({ "unknown": why }),
                    None => Value::Null,
                },
                "helps": helps.iter().map(|h| json!({ "change": h.change, "noise": h.factor })).collect::<Vec<_>>(),
            }),
        }
    }
}

/// The charge of asking each once, where there is something to pay.
fn total(plans: &[Option<Plan>]) -> Option<Charge> {
    let charges = plans.iter().flatten().filter_map(|p| p.charge.clone());
    charges.reduce(|a, b| Charge {
        epsilon: a.epsilon + b.epsilon,
        events: [a.events, b.events].concat(),
        selection_delta: a.selection_delta + b.selection_delta,
    })
}

/// Statements of which the second could use what is released for the first.
fn shared(plans: &[Option<Plan>], offline: &Offline) -> Vec<Shared> {
    let keys: Vec<Vec<Keys>> =
        plans.iter().map(|p| p.as_ref().map_or_else(Vec::new, |p| keys(p, offline))).collect();
    let mut out = Vec::new();
    for (j, later) in keys.iter().enumerate().filter(|(_, k)| !k.is_empty()) {
        for (i, earlier) in keys.iter().enumerate().take(j) {
            let holds =
                |k: &Keys| earlier.iter().any(|e| e.exact == k.exact || e.like == k.like && has(e, k));
            let same = |k: &Keys| earlier.iter().any(|e| e.at_any_price == k.at_any_price);
            let free = later.iter().all(holds);
            if free || later.iter().all(same) {
                out.push(Shared { first: i + 1, then: j + 1, free });
                break;
            }
        }
    }
    out
}

/// Whether all parts of a release are among those of another.
fn has(earlier: &Keys, later: &Keys) -> bool {
    let known: BTreeSet<_> = earlier.parts.iter().map(|w| w.key).collect();
    later.parts.iter().all(|w| known.contains(&w.key) || w.plain.is_some_and(|p| known.contains(&p)))
}

fn keys(plan: &Plan, offline: &Offline) -> Vec<Keys> {
    let epoch = Epoch::default();
    let paying: Vec<_> = plan.releases.iter().filter(|r| !r.is_domain_only()).collect();
    let selecting = paying.iter().filter(|r| r.selects()).count().max(1);
    let delta = offline.settings.delta / Ratio::from_integer(u128::try_from(selecting).unwrap_or(1));
    let context = KeyContext {
        policy: &offline.policy,
        database: "",
        epoch: &epoch,
        role: None,
        delta: &delta,
        mechanism: offline.settings.mechanism,
        given: &[],
        without: &[],
        within: None,
    };
    // What is compared with released values, or selected by another, is another question each time.
    match plan.stages.is_empty() && !paying.iter().any(|r| r.is_within()) {
        true => paying.iter().map(|r| Keys::of(&canonical(r), &r.spec, &context)).collect(),
        false => Vec::new(),
    }
}
