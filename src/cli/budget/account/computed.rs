//! Values of quantities, and numbers as files of cases write them.

use serde_json::Value;
use std::fmt;

/// A value that was computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    /// A number.
    Number(f64),
    /// A yes or no.
    Flag(bool),
    /// Several, in order.
    List(Vec<Computed>),
    /// Several, by name.
    Fields(Vec<(&'static str, Computed)>),
}

impl From<f64> for Computed {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

/// A number, written as one or as text.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

impl fmt::Display for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: Vec<String>| write!(f, "{}", parts.join(", "));
        match self {
            Self::Number(x) if *x != 0.0 && (x.abs() < 1e-4 || x.abs() >= 1e9) => write!(f, "{x:e}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Flag(x) => write!(f, "{x}"),
            Self::List(all) => list(f, all.iter().map(ToString::to_string).collect()),
            Self::Fields(all) => list(f, all.iter().map(|(n, x)| format!("{n} = {x}")).collect()),
        }
    }
}
