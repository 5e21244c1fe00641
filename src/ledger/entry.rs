//! How an entry's events are written: JSON that a person can read, with integers as text (they may have 128 bits).

use crate::dp::{BigRatio, Charge, Event, Guarantee, Mechanism, Ratio};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "snake_case", deny_unknown_fields)]
enum Record {
    DiscreteLaplace { sensitivity: String, scale: String, times: u32 },
    DiscreteGaussian { sensitivity: String, variance: String, times: u32 },
    // What states a guarantee, by its word in the guarantees document.
    Pure { epsilon: String, times: u32 },
    BoundedRange { epsilon: String, times: u32 },
    Approximate { epsilon: String, delta: String, times: u32 },
    Concentrated { rho: String, times: u32 },
    Gaussian { square: String, times: u32 },
}

impl Record {
    fn stated(guarantee: &Guarantee, times: u32) -> Self {
        match guarantee {
            Guarantee::Pure { epsilon } => Self::Pure { epsilon: epsilon.to_string(), times },
            Guarantee::BoundedRange { epsilon } => Self::BoundedRange { epsilon: epsilon.to_string(), times },
            Guarantee::Approximate { epsilon, delta } => {
                Self::Approximate { epsilon: epsilon.to_string(), delta: delta.to_string(), times }
            }
            Guarantee::Concentrated { rho } => Self::Concentrated { rho: rho.to_string(), times },
            Guarantee::Gaussian { square } => Self::Gaussian { square: square.to_string(), times },
        }
    }
}

/// Events as a JSON array.
pub(super) fn encode(events: &[Event]) -> String {
    let record = |event: &Event| match &event.mechanism {
        Mechanism::DiscreteLaplace { sensitivity, scale } => Record::DiscreteLaplace {
            sensitivity: sensitivity.to_string(),
            scale: scale.to_string(),
            times: event.times,
        },
        Mechanism::DiscreteGaussian { sensitivity, variance } => Record::DiscreteGaussian {
            sensitivity: sensitivity.to_string(),
            variance: variance.to_string(),
            times: event.times,
        },
        Mechanism::Guaranteed(guarantee) => Record::stated(guarantee, event.times),
    };
    let records: Vec<Record> = events.iter().map(record).collect();
    serde_json::json!(records).to_string()
}

/// A charge as it was written. None if it is not what [`encode`] writes.
pub(super) fn decode(epsilon: &str, selection_delta: &str, events: &str) -> Option<Charge> {
    let records: Vec<Record> = serde_json::from_str(events).ok()?;
    let events = records
        .into_iter()
        .map(|record| {
            let (mechanism, times) = match record {
                Record::DiscreteLaplace { sensitivity, scale, times } => {
                    let (sensitivity, scale) = (sensitivity.parse().ok()?, ratio(&scale)?);
                    (Mechanism::DiscreteLaplace { sensitivity, scale }, times)
                }
                Record::DiscreteGaussian { sensitivity, variance, times } => {
                    let (sensitivity, variance) = (sensitivity.parse().ok()?, ratio(&variance)?);
                    (Mechanism::DiscreteGaussian { sensitivity, variance }, times)
                }
                Record::Pure { epsilon, times } => {
                    (Mechanism::Guaranteed(Guarantee::Pure { epsilon: ratio(&epsilon)? }), times)
                }
                Record::BoundedRange { epsilon, times } => {
                    (Mechanism::Guaranteed(Guarantee::BoundedRange { epsilon: ratio(&epsilon)? }), times)
                }
                Record::Approximate { epsilon, delta, times } => {
                    let (epsilon, delta) = (ratio(&epsilon)?, ratio(&delta)?);
                    (Mechanism::Guaranteed(Guarantee::Approximate { epsilon, delta }), times)
                }
                Record::Concentrated { rho, times } => {
                    (Mechanism::Guaranteed(Guarantee::Concentrated { rho: big(&rho)? }), times)
                }
                Record::Gaussian { square, times } => {
                    (Mechanism::Guaranteed(Guarantee::Gaussian { square: big(&square)? }), times)
                }
            };
            Some(Event { mechanism, times })
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Charge { epsilon: ratio(epsilon)?, events, selection_delta: ratio(selection_delta)? })
}

fn ratio(text: &str) -> Option<Ratio> {
    text.parse::<Ratio>().ok()
}

fn big(text: &str) -> Option<BigRatio> {
    text.parse::<BigRatio>().ok()
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
