//! Cases: an id, a quantity, its parameters, and what it should be.
//!
//! A number passes within `tolerance.rel` of what is expected. Where a case states `lower_bound` and `upper_bound`, the
//! result of an upper bound is compared with these: not below the lower one (but for 10^-9), and not above the upper one by
//! more than a thousandth.

pub use super::computed::Computed;

use super::computed::number;
use super::quantities;
use serde_json::Value;
use std::fmt;

/// Verdict on a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Something else.
    Fail,
    /// Nothing is known of such a quantity.
    Unknown,
    /// The case lacks a parameter, or has one that makes no sense.
    Broken(String),
}

/// A line of the report.
#[derive(Clone, Debug)]
pub struct Line {
    /// The case's id.
    pub id: String,
    /// The quantity.
    pub quantity: String,
    /// The value that was computed, if one was.
    pub computed: Option<Computed>,
    /// The value in the file.
    pub expected: Value,
    /// The verdict on both.
    pub verdict: Verdict,
}

/// All lines.
#[derive(Clone, Debug)]
pub struct Report {
    /// Lines, one per case, in the file's order.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether there are cases, and all of them pass.
    pub fn passed(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|l| l.verdict == Verdict::Pass)
    }
}

/// Evaluates a file of cases.
pub fn evaluate(text: &str) -> Result<Report, String> {
    let file: Value = serde_json::from_str(text).map_err(|e| format!("the file is not JSON: {e}"))?;
    let cases = file.get("cases").and_then(Value::as_array).ok_or("the file has no list named \"cases\"")?;
    Ok(Report { lines: cases.iter().map(line).collect() })
}

fn line(case: &Value) -> Line {
    let text = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let (id, quantity) = (text("id"), text("quantity"));
    let expected = case.get("expected").cloned().unwrap_or(Value::Null);
    let (computed, verdict) = match quantities::compute(&quantity, case) {
        None => (None, Verdict::Unknown),
        Some(Err(why)) => (None, Verdict::Broken(why)),
        Some(Ok(computed)) => {
            let verdict = if agrees(&computed, case, &expected) { Verdict::Pass } else { Verdict::Fail };
            (Some(computed), verdict)
        }
    };
    Line { id, quantity, computed, expected, verdict }
}

fn agrees(computed: &Computed, case: &Value, expected: &Value) -> bool {
    let bound = |key: &str| case.get(key).and_then(number);
    if let (Computed::Number(x), Some(lower), Some(upper)) =
        (computed, bound("lower_bound"), bound("upper_bound"))
    {
        return *x >= lower - 1e-9 && *x <= upper * (1.0 + 1e-3);
    }
    let tolerance = case.get("tolerance").and_then(|t| t.get("rel")).and_then(number);
    tolerance.is_some_and(|rel| near(computed, expected, rel))
}

/// Every expected value has its computed one, within `rel` of it.
fn near(computed: &Computed, expected: &Value, rel: f64) -> bool {
    match (computed, expected) {
        (Computed::Flag(a), Value::Bool(b)) => a == b,
        (Computed::List(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b, rel))
        }
        (Computed::Fields(fields), Value::Object(all)) => all.iter().all(|(name, value)| {
            fields.iter().find(|(n, _)| n == name).is_some_and(|(_, c)| near(c, value, rel))
        }),
        (Computed::Number(a), value) => {
            number(value).is_some_and(|b| (a - b).abs() <= rel * b.abs() || *a == b)
        }
        _ => false,
    }
}

/// The expected value as text, without the quotes of JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(all) => {
            all.iter().map(|(n, v)| format!("{n} = {}", plain(v))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computed = self.computed.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        write!(
            f,
            "{}  {}  computed {computed}  expected {}  ",
            self.id,
            self.quantity,
            plain(&self.expected)
        )?;
        match &self.verdict {
            Verdict::Pass => write!(f, "pass"),
            Verdict::Fail => write!(f, "FAIL"),
            Verdict::Unknown => write!(f, "UNKNOWN QUANTITY"),
            Verdict::Broken(why) => write!(f, "BROKEN CASE: {why}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        let count = |verdict: fn(&Verdict) -> bool| self.lines.iter().filter(|l| verdict(&l.verdict)).count();
        let all = self.lines.len();
        let (pass, unknown) = (count(|v| *v == Verdict::Pass), count(|v| *v == Verdict::Unknown));
        writeln!(f, "{all} cases: {pass} pass, {} fail, {unknown} unknown", all - pass - unknown)
    }
}
