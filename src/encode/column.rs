//! A column of a collection: its public domain, how an answer is read, and how it is randomised.

use super::error::{DescriptionError, EncodeError};
use super::randomiser::Randomiser;
use bigdecimal::num_bigint::Sign;
use bigdecimal::{BigDecimal, RoundingMode};
use dp::randomised::{Mean, MeanKind, Oracle, OracleKind, Report, Sets};
use dp::{DpError, Entropy, Ratio};
use num_traits::ToPrimitive;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value of `values`.
    Categorical,
    /// true or false.
    Boolean,
    /// A whole number of `range`, of which it is asked how many gave each.
    Count,
    /// A number of `range`, rounded to `grid`, of which the average is asked.
    Number,
    /// Up to `max_values` of `values`.
    Set,
}

/// A column as the description has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    pub name: String,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[String; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_values: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    #[serde(default)]
    pub missing: bool,
    #[serde(default = "auto")]
    pub randomiser: String,
    pub epsilon: String,
}

fn auto() -> String {
    "auto".into()
}

/// An answer as somebody gave it.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// No answer.
    Missing,
    /// A single answer, as text.
    One(&'a str),
    /// Several.
    Several(&'a [&'a str]),
}

/// A column that can be asked.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) text: Text,
    /// The public domain in order; of a number none.
    values: Vec<String>,
    grid: Option<Grid>,
    randomiser: Randomiser,
}

/// Numbers from `low`, `steps` times `step`.
#[derive(Clone, Debug)]
struct Grid {
    low: BigDecimal,
    step: BigDecimal,
    steps: u32,
}

/// Values that a description may list.
const MOST_VALUES: usize = 1 << 16;

impl Column {
    pub(crate) fn new(mut text: Text) -> Result<Self, DescriptionError> {
        let name = text.name.clone();
        let wrong = |what: &str| DescriptionError::Column { column: name.clone(), what: what.into() };
        if name.is_empty() || name.len() > 63 {
            return Err(wrong("a name has 1 to 63 bytes"));
        }
        let epsilon = epsilon(&text.epsilon).ok_or_else(|| {
            wrong("epsilon is a decimal in quotes from 0.000000001 to 1000, such as \"0.5\"")
        })?;
        check_keys(&text).map_err(|what| wrong(&what))?;
        let values = values(&text).map_err(wrong)?;
        let grid = if text.kind == Kind::Number { Some(Grid::new(&text).map_err(wrong)?) } else { None };
        let randomiser = randomiser(&text, &values, grid.as_ref(), &epsilon).map_err(|what| wrong(&what))?;
        // What `auto` became belongs to the description: the analyser must take the same.
        text.randomiser = randomiser.word().into();
        Ok(Self { text, values, grid, randomiser })
    }

    /// Name of the column.
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// Kind of its values.
    pub fn kind(&self) -> Kind {
        self.text.kind
    }

    /// The public domain in the order of [`Oracle`]'s values, but for the last one where there may
    /// be no answer (or a set may have fewer values). Empty for a number.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The randomiser.
    pub fn randomiser(&self) -> &Randomiser {
        &self.randomiser
    }

    /// ε of one report, as the description has it.
    pub fn epsilon(&self) -> &str {
        &self.text.epsilon
    }

    /// Bytes of its field.
    pub(crate) fn width(&self) -> usize {
        self.randomiser.bytes().unwrap_or(4)
    }

    /// Randomises an answer.
    pub(crate) fn randomise(
        &self,
        answer: Answer<'_>,
        rng: &mut impl Entropy,
    ) -> Result<Report, EncodeError> {
        let name = &self.text.name;
        let outside = || EncodeError::Outside(name.clone());
        match (&self.randomiser, answer) {
            (Randomiser::Oracle(oracle), Answer::Missing) if self.text.missing => {
                oracle.randomise(oracle.values() - 1, rng)
            }
            (Randomiser::Sets(sets), Answer::Missing) => sets.randomise(&[], rng),
            (_, Answer::Missing) => return Err(EncodeError::Missing(name.clone())),
            (Randomiser::Oracle(oracle), Answer::One(text)) => {
                oracle.randomise(self.place(text).ok_or_else(outside)?, rng)
            }
            (Randomiser::Mean(mean), Answer::One(text)) => {
                let step = self.grid.as_ref().and_then(|grid| grid.place(text)).ok_or_else(outside)?;
                mean.randomise(step, rng).map(Report::Symbol)
            }
            (Randomiser::Sets(sets), Answer::One(text)) => {
                sets.randomise(&[self.place(text).ok_or_else(outside)?], rng)
            }
            (Randomiser::Sets(sets), Answer::Several(texts)) => {
                let set: Option<Vec<u32>> = texts.iter().map(|text| self.place(text)).collect();
                // A set has each value once: two that are not listed are both `other`.
                let mut set = set.ok_or_else(outside)?;
                set.sort_unstable();
                set.dedup();
                sets.randomise(&set, rng)
            }
            (_, Answer::Several(_)) => return Err(outside()),
        }
        .map_err(|e| EncodeError::of(name, e))
    }

    /// The place of a value in the domain, or of what stands for those outside of it. All values are compared, and all of each.
    fn place(&self, text: &str) -> Option<u32> {
        let text = match (self.text.kind, text.trim()) {
            // As PostgreSQL reads them.
            (Kind::Boolean, "t" | "true" | "TRUE" | "True" | "yes" | "on" | "1") => "true",
            (Kind::Boolean, "f" | "false" | "FALSE" | "False" | "no" | "off" | "0") => "false",
            (Kind::Count, number) => return self.whole(number),
            _ => text,
        };
        let at = |wanted: &str| self.values.iter().rposition(|value| value == wanted);
        let found = at(text).or_else(|| self.text.other.as_deref().and_then(at));
        found.and_then(|place| u32::try_from(place).ok())
    }

    /// The place of a whole number in a count's range.
    fn whole(&self, text: &str) -> Option<u32> {
        let [low, high] = self.text.range.as_ref()?;
        let (number, low, high) =
            (text.parse::<i64>().ok()?, low.parse::<i64>().ok()?, high.parse::<i64>().ok()?);
        if (low..=high).contains(&number) { u32::try_from(number - low).ok() } else { None }
    }

    /// The field of a report.
    pub(crate) fn write(&self, report: &Report, fields: &mut Vec<u8>) {
        match report {
            Report::Symbol(symbol) => fields.extend_from_slice(&symbol.to_be_bytes()),
            Report::Bits(bits) => fields.extend_from_slice(bits),
        }
    }

    /// Reads a field; None where no randomiser says it.
    pub(crate) fn read(&self, field: &[u8]) -> Option<Report> {
        let report = match self.randomiser.bytes() {
            Some(_) => Report::Bits(field.into()),
            None => Report::Symbol(u32::from_be_bytes(field.try_into().ok()?)),
        };
        self.randomiser.accepts(&report).then_some(report)
    }
}

/// A decimal, or a quotient of whole numbers.
fn epsilon(text: &str) -> Option<Ratio> {
    let ratio = match text.split_once('/') {
        Some((n, d)) => {
            let (n, d) = (n.parse::<u64>().ok()?, d.parse::<u64>().ok()?);
            (d > 0).then(|| Ratio::new(n.into(), d.into()))?
        }
        None => dp::ratio(&BigDecimal::from_str(text).ok()?)?,
    };
    (Ratio::new(1, 1_000_000_000) <= ratio && ratio <= Ratio::from_integer(1000)).then_some(ratio)
}

/// Keys that a kind needs, and those that it cannot have.
fn check_keys(text: &Text) -> Result<(), String> {
    let there = [
        ("values", text.values.is_some()),
        ("range", text.range.is_some()),
        ("grid", text.grid.is_some()),
        ("max_values", text.max_values.is_some()),
        ("other", text.other.is_some()),
    ];
    let (needs, may): (&[&str], &[&str]) = match text.kind {
        Kind::Categorical => (&["values"], &["other"]),
        Kind::Boolean => (&[], &[]),
        Kind::Count => (&["range"], &[]),
        Kind::Number => (&["range", "grid"], &[]),
        Kind::Set => (&["values", "max_values"], &["other"]),
    };
    for (key, given) in there {
        if !given && needs.contains(&key) {
            return Err(format!("it needs the key {key}"));
        }
        if given && !needs.contains(&key) && !may.contains(&key) {
            return Err(format!("a column of this kind has no key {key}"));
        }
    }
    if text.missing && text.kind == Kind::Number {
        return Err(
            "a number has no value for \"no answer\": ask beside it, as a boolean, whether there is one"
                .into(),
        );
    }
    if text.missing && text.kind == Kind::Set {
        return Err("an empty set is no answer already: remove missing".into());
    }
    Ok(())
}

fn values(text: &Text) -> Result<Vec<String>, &'static str> {
    let list = match (text.kind, &text.values, &text.range) {
        (Kind::Boolean, ..) => vec!["false".to_owned(), "true".to_owned()],
        (Kind::Count, _, Some([low, high])) => {
            let whole = |text: &str| text.parse::<i32>().ok();
            let (Some(low), Some(high)) = (whole(low), whole(high)) else {
                return Err("the range of a count has whole ends, within 32 bits");
            };
            if low >= high || i64::from(high) - i64::from(low) >= MOST_VALUES as i64 {
                return Err("the range of a count holds from 2 to 65536 numbers");
            }
            (low..=high).map(|n| n.to_string()).collect()
        }
        (Kind::Number, ..) => Vec::new(),
        (_, Some(values), _) => values.clone(),
        _ => return Err("it needs the key values"),
    };
    if text.kind != Kind::Number && (list.is_empty() || list.len() > MOST_VALUES) {
        return Err("a domain has from 1 to 65536 values");
    }
    let mut sorted: Vec<&String> = list.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err("a value stands in the domain twice");
    }
    if text.other.as_ref().is_some_and(|other| !list.contains(other)) {
        return Err("other is not among the values: write one of them, or add it");
    }
    Ok(list)
}

fn randomiser(
    text: &Text,
    values: &[String],
    grid: Option<&Grid>,
    epsilon: &Ratio,
) -> Result<Randomiser, String> {
    let word = text.randomiser.as_str();
    if let Some(grid) = grid {
        let mean = match (word, MeanKind::parse(word)) {
            ("auto", _) => Mean::auto(grid.steps, epsilon),
            (_, Some(kind)) => Mean::new(kind, grid.steps, epsilon),
            _ => return Err("a number's randomiser is auto, rounding or piecewise".into()),
        };
        return mean.map(Randomiser::Mean).map_err(said);
    }
    let spare = text.missing || text.kind == Kind::Set;
    let size = u32::try_from(values.len() + usize::from(spare)).unwrap_or(u32::MAX);
    let oracle = match (word, OracleKind::parse(word)) {
        ("auto", _) => Oracle::auto(size, epsilon),
        (_, Some(kind)) => Oracle::new(kind, size, epsilon),
        _ => return Err("the randomiser is auto, response, unary or hadamard".into()),
    };
    let oracle = oracle.map_err(said)?;
    match text.max_values {
        Some(most) => Sets::new(oracle, most).map(Randomiser::Sets).map_err(said),
        None => Ok(Randomiser::Oracle(oracle)),
    }
}

/// What is wrong with a randomiser's parameters.
fn said(error: DpError) -> String {
    match error {
        DpError::OutOfRange(what) => what.into(),
        other => other.to_string(),
    }
}

impl Grid {
    fn new(text: &Text) -> Result<Self, &'static str> {
        let number = |text: &String| BigDecimal::from_str(text).ok().filter(|n| n.digits() <= 38);
        let (Some([low, high]), Some(step)) = (&text.range, &text.grid) else {
            return Err("a number needs range and grid");
        };
        let (Some(low), Some(high), Some(step)) = (number(low), number(high), number(step)) else {
            return Err(
                "range and grid are decimals in quotes, such as \"range\": [\"0\", \"100\"], \"grid\": \"0.5\"",
            );
        };
        if low >= high || step.sign() != Sign::Plus {
            return Err("the range's low end is not below its high one, or the grid is not above zero");
        }
        let steps = (&high - &low) / &step;
        let whole = steps.with_scale_round(0, RoundingMode::Floor);
        let steps =
            (whole == steps).then(|| whole.to_u32()).flatten().filter(|s| (1..=Mean::MAX_STEPS).contains(s));
        let steps = steps.ok_or("the range is a whole number of grid steps, at most 2^29")?;
        Ok(Self { low, step, steps })
    }

    /// The nearest step of a number within the range.
    fn place(&self, text: &str) -> Option<u32> {
        let number = BigDecimal::from_str(text.trim()).ok().filter(|n| n.digits() <= 60)?;
        if number.fractional_digit_count().unsigned_abs() > 60 {
            return None;
        }
        let steps = ((number - &self.low) / &self.step).with_scale_round(0, RoundingMode::HalfEven);
        steps.to_u32().filter(|step| *step <= self.steps)
    }
}
