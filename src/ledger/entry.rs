//! Events of entries, as text: JSON that a person can read, with integers as text (they may have
//! 128 bits).

use dp::{BigRatio, Charge, Event, Guarantee, Mechanism, Ratio, Sensitivity};
use serde::{Deserialize, Serialize};

/// An event as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Record {
    // By how much a unit changes an integer in one group, and `l1` over all of them. Without it: so many times as much, in whatever
    // groups.
    DiscreteLaplace {
        sensitivity: String,
        scale: String,
        times: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        l1: Option<String>,
    },
    // In each of `times` groups; or `squares` over however many groups.
    DiscreteGaussian {
        sensitivity: String,
        variance: String,
        times: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        squares: Option<String>,
    },
    // What states a guarantee, by its word in the guarantees document.
    Pure {
        epsilon: String,
        times: u32,
    },
    BoundedRange {
        epsilon: String,
        times: u32,
    },
    Approximate {
        epsilon: String,
        delta: String,
        times: u32,
    },
    Concentrated {
        rho: String,
        times: u32,
    },
    Gaussian {
        square: String,
        times: u32,
    },
}

fn stated(guarantee: &Guarantee, times: u32) -> Record {
    match guarantee {
        Guarantee::Pure { epsilon } => Record::Pure { epsilon: epsilon.to_string(), times },
        Guarantee::BoundedRange { epsilon } => Record::BoundedRange { epsilon: epsilon.to_string(), times },
        Guarantee::Approximate { epsilon, delta } => {
            Record::Approximate { epsilon: epsilon.to_string(), delta: delta.to_string(), times }
        }
        Guarantee::Concentrated { rho } => Record::Concentrated { rho: rho.to_string(), times },
        Guarantee::Gaussian { square } => Record::Gaussian { square: square.to_string(), times },
    }
}

/// An event, to be written.
pub(super) fn record(event: &Event) -> Record {
    match &event.mechanism {
        Mechanism::DiscreteLaplace { sensitivity, scale } => Record::DiscreteLaplace {
            sensitivity: sensitivity.linf.to_string(),
            scale: scale.to_string(),
            times: event.times,
            // One use of all that there is needs no second number.
            l1: (sensitivity.l1 != sensitivity.linf || event.times != 1).then(|| sensitivity.l1.to_string()),
        },
        Mechanism::DiscreteGaussian { sensitivity, variance } => {
            let (linf, squares) = (sensitivity.linf.to_string(), sensitivity.l2_squared);
            let groups = u32::try_from(sensitivity.groups).ok();
            let each = groups.filter(|n| {
                event.times == 1 && Sensitivity::in_each(sensitivity.linf, (*n).into()) == *sensitivity
            });
            let (times, squares) = match each {
                Some(groups) => (groups, None),
                None => (event.times, Some(squares.to_string())),
            };
            Record::DiscreteGaussian { sensitivity: linf, variance: variance.to_string(), times, squares }
        }
        Mechanism::Guaranteed(guarantee) => stated(guarantee, event.times),
    }
}

/// An event as it was written. None if it is not what [`record`] writes.
pub(super) fn event(record: &Record) -> Option<Event> {
    let (mechanism, times) = match record {
        Record::DiscreteLaplace { sensitivity, scale, times, l1 } => {
            let (linf, scale): (u128, Ratio) = (sensitivity.parse().ok()?, ratio(scale)?);
            let (sensitivity, times) = match l1 {
                Some(l1) => (Sensitivity::in_all(l1.parse().ok()?, linf), *times),
                // What programs wrote that counted uses, where a unit could bring to one group what counts in all: the dearer.
                None => (Sensitivity::of_one(linf.saturating_mul(u128::from(*times))), 1),
            };
            (Mechanism::DiscreteLaplace { sensitivity, scale }, times)
        }
        Record::DiscreteGaussian { sensitivity, variance, times, squares } => {
            let (linf, variance): (u128, Ratio) = (sensitivity.parse().ok()?, ratio(variance)?);
            let (sensitivity, times) = match squares {
                Some(squares) => {
                    (Sensitivity { linf, ..Sensitivity::in_squares(squares.parse().ok()?) }, *times)
                }
                None => (Sensitivity::in_each(linf, (*times).into()), 1),
            };
            (Mechanism::DiscreteGaussian { sensitivity, variance }, times)
        }
        Record::Pure { epsilon, times } => {
            (Mechanism::Guaranteed(Guarantee::Pure { epsilon: ratio(epsilon)? }), *times)
        }
        Record::BoundedRange { epsilon, times } => {
            (Mechanism::Guaranteed(Guarantee::BoundedRange { epsilon: ratio(epsilon)? }), *times)
        }
        Record::Approximate { epsilon, delta, times } => {
            let (epsilon, delta) = (ratio(epsilon)?, ratio(delta)?);
            (Mechanism::Guaranteed(Guarantee::Approximate { epsilon, delta }), *times)
        }
        Record::Concentrated { rho, times } => {
            (Mechanism::Guaranteed(Guarantee::Concentrated { rho: big(rho)? }), *times)
        }
        Record::Gaussian { square, times } => {
            (Mechanism::Guaranteed(Guarantee::Gaussian { square: big(square)? }), *times)
        }
    };
    Some(Event { mechanism, times })
}

/// Charge of a statement, as entries have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Charged {
    pub(super) epsilon: String,
    pub(super) selection_delta: String,
    pub(super) events: Vec<Record>,
}

impl Charged {
    pub(super) fn new(charge: &Charge) -> Self {
        Self {
            epsilon: charge.epsilon.to_string(),
            selection_delta: charge.selection_delta.to_string(),
            events: charge.events.iter().map(record).collect(),
        }
    }

    /// Some of it is read as more than it was written for: Laplace noise of several uses ([`event`]).
    pub(super) fn is_read_anew(&self) -> bool {
        let several = |e: &Record| matches!(e, Record::DiscreteLaplace { times, l1: None, .. } if *times > 1);
        self.events.iter().any(several)
    }

    /// The charge. None if it is not what [`Self::new`] writes.
    pub(super) fn read(&self) -> Option<Charge> {
        let events = self.events.iter().map(event).collect::<Option<Vec<_>>>()?;
        Some(Charge {
            epsilon: ratio(&self.epsilon)?,
            events,
            selection_delta: ratio(&self.selection_delta)?,
        })
    }
}

/// A ratio with a denominator.
pub(super) fn ratio(text: &str) -> Option<Ratio> {
    text.parse::<Ratio>().ok()
}

fn big(text: &str) -> Option<BigRatio> {
    text.parse::<BigRatio>().ok()
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS.get(usize::from(n & 15)).copied().unwrap_or(b'?'));
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(*b)]).collect()
}

/// 32 bytes from 64 such digits.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'a'..=b'f' => Some(d - b'a' + 10),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(32);
    for pair in text.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push(digit(*high)? << 4 | digit(*low)?);
    }
    bytes.try_into().ok()
}
