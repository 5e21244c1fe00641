//! Values to numbers of a public domain, and those to randomised reports.

use crate::gateway::settings::known::truth;
use answer::{ClientError, SqlState, Values};
use backend::Cells;
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use dp::randomised::{RandomiseError, Report};
use dp::{Entropy, SecureRng};
use persons::{Person, Secret};
use policy::{Collect, Collected, CollectedKind, Randomiser};
use sql::Cell;
use std::collections::HashMap;

/// 22P02: a value that is none of its type.
const INVALID_TEXT: SqlState = SqlState(*b"22P02");
/// 23502: NULL where something must be said.
const NOT_NULL: SqlState = SqlState(*b"23502");
/// 23514: outside of the domain.
const CHECK: SqlState = SqlState(*b"23514");
/// 22003: a number out of range.
const OUT_OF_RANGE: SqlState = SqlState(*b"22003");

/// Empty columns for the reports of a relation.
pub(super) fn columns(collect: &Collect) -> Vec<Cells> {
    let empty = |c: &Collected| match c.randomiser.stored_word() {
        "bytea" => Cells::Bits(Vec::new()),
        _ => Cells::Symbols(Vec::new()),
    };
    collect.columns.iter().map(empty).collect()
}

/// What makes reports for a collected relation.
pub(super) struct Encoder {
    pub(super) collect: Collect,
    /// Of each column, the number of each value.
    numbers: Vec<HashMap<String, u32>>,
    /// What tells persons apart, where the policy does.
    secret: Option<Secret>,
    /// Of each column, what its coins are for.
    questions: Vec<String>,
}

/// What becomes of a row.
pub(super) struct Row {
    pub(super) report: Box<[Report]>,
    /// Whose it is, until it is stored.
    pub(super) person: Option<Person>,
}

/// The longest name of a person, in bytes.
const LONGEST_NAME: usize = 1024;

impl Encoder {
    pub(super) fn new(collect: &Collect, secret: Option<Secret>) -> Self {
        let numbers = |c: &Collected| (0u32..).zip(&c.values).map(|(n, v)| (v.clone(), n)).collect();
        let question = |c: &Collected| {
            let (size, epsilon) = (c.size(), c.epsilon.normalized());
            format!("{} {} {size} {epsilon}", c.name, c.randomiser.word())
        };
        Self {
            numbers: collect.columns.iter().map(numbers).collect(),
            questions: collect.columns.iter().map(question).collect(),
            secret,
            collect: collect.clone(),
        }
    }

    /// The type of a column's values, for parameters.
    pub(super) fn type_of(&self, column: usize) -> u32 {
        self.collect.columns.get(column).map_or(25, |c| c.kind.ty().oid())
    }

    /// Which column each cell of a row is of. Every column is written, unless it may be missing: what is not said is NULL.
    pub(super) fn places(
        &self,
        names: Option<&[String]>,
        at: Option<usize>,
    ) -> Result<Vec<usize>, ClientError> {
        let columns = &self.collect.columns;
        let person = self.collect.person.as_ref();
        // Whose a row is comes behind what it says.
        let all = columns.len() + usize::from(person.is_some());
        let Some(names) = names else { return Ok((0..all).collect()) };
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let own = || person.filter(|p| p.column == *name).map(|_| columns.len());
            let Some(place) = columns.iter().position(|c| c.name == *name).or_else(own) else {
                let message =
                    format!("column \"{name}\" of relation \"{}\" does not exist", self.collect.name);
                let known = columns.iter().map(|c| &c.name).chain(person.map(|p| &p.column));
                let known: Vec<&str> = known.map(String::as_str).collect();
                return Err(ClientError::new(SqlState::UNDEFINED_COLUMN, message)
                    .hint(format!("What is collected are {}.", known.join(", ")))
                    .at(at));
            };
            if places.contains(&place) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(ClientError::new(SqlState(*b"42701"), message).at(at));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// The randomised report of a row, the `row`-th of its statement; `cells` are of the columns at `places`.
    ///
    /// Guarantee: each column's ε of the policy, for replacing its value by any other; columns are randomised independently. With
    /// `permanent` this holds for all reports together that one person gives while they say the same ([`Secret::coins`]).
    pub(super) fn report(
        &self,
        places: &[usize],
        cells: &[Option<&str>],
        row: usize,
        rng: &mut SecureRng,
    ) -> Result<Row, ClientError> {
        if cells.len() != places.len() {
            let message = format!("row {row} has {} values for {} columns", cells.len(), places.len());
            return Err(ClientError::new(SqlState::SYNTAX_ERROR, message));
        }
        let given =
            |place| places.iter().position(|p| *p == place).and_then(|at| cells.get(at).copied().flatten());
        let person = self.person(given(self.collect.columns.len()), row)?;
        let permanent = self.collect.person.as_ref().is_some_and(|p| p.permanent);
        let mut report = Vec::with_capacity(self.collect.columns.len());
        for (i, c) in self.collect.columns.iter().enumerate() {
            let number = self.number(i, c, given(i), row)?;
            let question = self.questions.get(i).map_or("", String::as_str);
            let drawn = match (&person, &self.secret) {
                (Some(person), Some(secret)) if permanent => {
                    draw(c, number, &mut secret.coins(person, question, number))
                }
                _ => draw(c, number, rng),
            };
            report.push(drawn.map_err(|e: RandomiseError| super::no_entropy(e))?);
        }
        Ok(Row { report: report.into(), person })
    }

    /// Who gives a row, where persons are told apart. Messages do not repeat the name.
    fn person(&self, name: Option<&str>, row: usize) -> Result<Option<Person>, ClientError> {
        let (Some(person), Some(secret)) = (&self.collect.person, &self.secret) else { return Ok(None) };
        match name.filter(|name| !name.is_empty() && name.len() <= LONGEST_NAME) {
            Some(name) => Ok(Some(secret.person(&self.collect.name, name))),
            None => {
                let message = format!("column \"{}\" of row {row} does not say who gives it", person.column);
                let hint = format!(
                    "Write what identifies the person, in 1 to {LONGEST_NAME} bytes; it is not stored."
                );
                Err(ClientError::new(NOT_NULL, message).hint(hint))
            }
        }
    }

    /// The number of a value in its domain. Messages do not repeat it.
    fn number(
        &self,
        place: usize,
        c: &Collected,
        said: Option<&str>,
        row: usize,
    ) -> Result<u32, ClientError> {
        let Some(said) = said else {
            if c.missing {
                return Ok(c.values.len() as u32);
            }
            let message = format!("null value in column \"{}\" of row {row}", c.name);
            return Err(ClientError::new(NOT_NULL, message).hint("The policy does not let it be missing."));
        };
        let numbers = self.numbers.get(place);
        let find = |value: &str| numbers.and_then(|n| n.get(value)).copied();
        let wrong = |code, what: &str, hint: String| {
            Err(ClientError::new(code, format!("{what} in column \"{}\" of row {row}", c.name)).hint(hint))
        };
        match c.kind {
            CollectedKind::Categorical => match find(said).or(c.other.map(|n| n as u32)) {
                Some(number) => Ok(number),
                None => wrong(CHECK, "a value outside of the domain", domain(c)),
            },
            CollectedKind::Boolean => match truth(said) {
                Some(value) => Ok(u32::from(value)),
                None => wrong(INVALID_TEXT, "a value that is not boolean", "Write true or false.".into()),
            },
            CollectedKind::Number => match step(c, said) {
                Some(number) => Ok(number),
                None => {
                    wrong(INVALID_TEXT, "a value that is no number", "Write a plain decimal number.".into())
                }
            },
            CollectedKind::Count => match said.trim().parse::<i64>() {
                Ok(n) => match find(&n.to_string()) {
                    Some(number) => Ok(number),
                    None => wrong(OUT_OF_RANGE, "a number outside of the range", domain(c)),
                },
                Err(_) => wrong(INVALID_TEXT, "a value that is no whole number", domain(c)),
            },
        }
    }
}

/// The report of a value's number.
fn draw(c: &Collected, number: u32, rng: &mut impl Entropy) -> Result<Report, RandomiseError> {
    match &c.randomiser {
        Randomiser::Oracle(oracle) => oracle.randomise(number, rng),
        Randomiser::Mean { mean, .. } => mean.randomise(number, rng).map(Report::Symbol),
    }
}

/// The step of the grid that is nearest to a number, which is cut to its range.
fn step(c: &Collected, said: &str) -> Option<u32> {
    let Randomiser::Mean { mean, low, grid } = &c.randomiser else { return None };
    let number = policy::decimal_text(said.trim(), 10)?;
    let steps = ((number - low) / grid).with_scale_round(0, RoundingMode::HalfEven);
    let steps = steps.max(BigDecimal::from(0)).min(BigDecimal::from(mean.steps()));
    steps.to_u32()
}

/// The domain, which is public, for a hint.
fn domain(c: &Collected) -> String {
    if let (CollectedKind::Count, Some(low), Some(high)) = (c.kind, c.values.first(), c.values.last()) {
        return format!("Its numbers are from {low} to {high}.");
    }
    let shown: Vec<&str> = c.values.iter().take(20).map(String::as_str).collect();
    let more = if c.values.len() > shown.len() {
        format!(" and {} more", c.values.len() - shown.len())
    } else {
        String::new()
    };
    format!("Its values are {}{more}.", shown.join(", "))
}

/// A cell as text: a constant, or a parameter in either format.
pub(super) fn text(cell: &Cell, types: &[u32], values: &Values) -> Result<Option<String>, ClientError> {
    let n = match cell {
        Cell::Null => return Ok(None),
        Cell::Text(text) => return Ok(Some(text.clone())),
        Cell::Param(n) => *n,
    };
    let place = n.saturating_sub(1);
    let Some(value) = values.parameters.get(place) else {
        return Err(ClientError::new(SqlState(*b"42P02"), format!("there is no parameter ${n}")));
    };
    let Some(bytes) = value else { return Ok(None) };
    let wrong = || ClientError::new(SqlState(*b"22P03"), format!("parameter ${n} is not of its type"));
    let binary = values.formats.get(place).copied().unwrap_or(0) == 1;
    let ty = types.get(place).copied().unwrap_or(25);
    let whole = |bytes: &[u8]| -> Option<i64> {
        match ty {
            21 => bytes.try_into().ok().map(|b| i16::from_be_bytes(b).into()),
            23 => bytes.try_into().ok().map(|b| i32::from_be_bytes(b).into()),
            20 => bytes.try_into().ok().map(i64::from_be_bytes),
            _ => None,
        }
    };
    match ty {
        20 | 21 | 23 if binary => whole(bytes).map(|n| Some(n.to_string())).ok_or_else(wrong),
        16 if binary => match bytes.as_ref() {
            [b] => Ok(Some((*b != 0).to_string())),
            _ => Err(wrong()),
        },
        // Texts look the same in both formats; other types come as text.
        701 if binary => match <[u8; 8]>::try_from(bytes.as_ref()).map(f64::from_be_bytes) {
            Ok(x) if x.is_finite() => Ok(Some(x.to_string())),
            _ => Err(wrong()),
        },
        700 if binary => match <[u8; 4]>::try_from(bytes.as_ref()).map(f32::from_be_bytes) {
            Ok(x) if x.is_finite() => Ok(Some(x.to_string())),
            _ => Err(wrong()),
        },
        1700 if binary => Err(ClientError::unsupported(format!(
            "parameter ${n}: a numeric in binary format is not supported"
        ))
        .hint("Send it as text, or as a float8.")),
        700 | 701 | 1700 | 16 | 20 | 21 | 23 | 25 | 1043 | 1042 | 19 => {
            let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
            Ok(Some(text.to_owned()))
        }
        oid => Err(ClientError::unsupported(format!(
            "parameter ${n} of the type with OID {oid} is not supported"
        ))
        .hint("Texts, whole numbers and booleans are collected.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_read_as_postgresql_reads_them() {
        for yes in ["t", "TRUE", " yes ", "y", "on", "1", "tru"] {
            assert_eq!(truth(yes), Some(true), "{yes}");
        }
        for no in ["f", "False", "n", "no", "of", "off", "0"] {
            assert_eq!(truth(no), Some(false), "{no}");
        }
        for neither in ["", "o", "2", "maybe", "truest"] {
            assert_eq!(truth(neither), None, "{neither}");
        }
    }
}
