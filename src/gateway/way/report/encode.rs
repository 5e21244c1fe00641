//! Values to numbers of a public domain, and those to randomised reports.

use crate::gateway::session::settings::known::truth;
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

/// Randomiser of a collected relation's rows.
pub struct Encoder {
    pub(super) collect: Collect,
    /// Of each column, the number of each value.
    numbers: Vec<HashMap<String, u32>>,
    /// The secret by which persons are told apart, where the policy does so.
    secret: Option<Secret>,
    /// Of each column, what its coins are for.
    questions: Vec<String>,
}

/// A row, randomised.
pub(super) struct Row {
    pub(super) report: Box<[Report]>,
    /// Whose it is, until it is stored.
    pub(super) person: Option<Person>,
}

/// A value in numbers.
enum Said {
    /// The number of a value of the domain, or of a step.
    One(u32),
    /// The numbers of a set's values, ascending, each once.
    Several(Vec<u32>),
}

/// A mistake in a value: its code, its kind, and what to do. Nothing of the value itself.
type Wrong = (SqlState, &'static str, String);

/// The longest name of a person, in bytes.
const LONGEST_NAME: usize = 1024;

impl Encoder {
    pub(super) fn new(collect: &Collect, secret: Option<Secret>) -> Self {
        let numbers = |c: &Collected| (0u32..).zip(&c.values).map(|(n, v)| (v.clone(), n)).collect();
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

    /// The column of each cell of a row. Every column is written, unless it may be missing: a
    /// column that is not named is NULL.
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
        for (n, name) in names.iter().enumerate() {
            let own = || person.filter(|p| p.column == *name).map(|_| columns.len());
            let Some(place) = columns.iter().position(|c| c.name == *name).or_else(own) else {
                // The name is not repeated: a value may stand in a name's place.
                let message =
                    format!("column {} of the list is none of relation \"{}\"", n + 1, self.collect.name);
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
    /// `permanent` this holds for all reports together that one person gives while they say the same ([`Secret::coins`]), and rows
    /// of a person are linked by `instant_epsilon` each ([`dp::randomised::Layer`]), which its columns share.
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
        let permanent = self.collect.person.as_ref().is_some_and(|p| p.permanent.is_some());
        let mut report = Vec::with_capacity(self.collect.columns.len());
        for (i, c) in self.collect.columns.iter().enumerate() {
            let said = self.said(i, c, given(i), row)?;
            let question = self.questions.get(i).map_or("", String::as_str);
            let drawn = match (&person, &self.secret) {
                (Some(person), Some(secret)) if permanent => {
                    draw(c, &said, &mut secret.coins(person, question, &said.bytes(c.values.len())))
                }
                _ => draw(c, &said, rng),
            };
            let drawn = drawn.and_then(|drawn| match (&c.instant, drawn) {
                (Some(layer), Report::Symbol(symbol)) => layer.randomise(symbol, rng).map(Report::Symbol),
                // A permanent report without a second layer is not stored.
                (Some(_), Report::Bits(_)) => Err(RandomiseError::Outside),
                (None, _) if permanent => Err(RandomiseError::Outside),
                (None, drawn) => Ok(drawn),
            });
            report.push(drawn.map_err(|e: RandomiseError| super::stored::no_entropy(e))?);
        }
        Ok(Row { report: report.into(), person })
    }

    /// The person who gives a row, where persons are told apart. Messages do not repeat the name.
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

    /// A value, in numbers of its domain. Messages do not repeat it.
    fn said(&self, place: usize, c: &Collected, said: Option<&str>, row: usize) -> Result<Said, ClientError> {
        let Some(said) = said else {
            if c.missing {
                return Ok(Said::One(c.values.len() as u32));
            }
            let message = format!("null value in column \"{}\" of row {row}", c.name);
            let hint = match c.kind {
                CollectedKind::Set => "Of who has none of the values write the empty set, '{}'.",
                _ => "The policy does not let it be missing.",
            };
            return Err(ClientError::new(NOT_NULL, message).hint(hint));
        };
        let said = match &c.randomiser {
            Randomiser::Sets(sets) => self.set(place, c, sets.most(), said).map(Said::Several),
            Randomiser::Oracle(_) | Randomiser::Mean { .. } => self.number(place, c, said).map(Said::One),
        };
        said.map_err(|(code, what, hint)| {
            ClientError::new(code, format!("{what} in column \"{}\" of row {row}", c.name)).hint(hint)
        })
    }

    /// The number of a listed value, or of what stands for those that are not.
    fn listed(&self, place: usize, c: &Collected, value: &str) -> Option<u32> {
        let found = self.numbers.get(place).and_then(|n| n.get(value)).copied();
        found.or(c.other.map(|n| n as u32))
    }

    fn number(&self, place: usize, c: &Collected, said: &str) -> Result<u32, Wrong> {
        let outside = || (CHECK, "a value outside of the domain", domain(c));
        match c.kind {
            CollectedKind::Categorical | CollectedKind::Set => {
                self.listed(place, c, said).ok_or_else(outside)
            }
            CollectedKind::Boolean => truth(said)
                .map(u32::from)
                .ok_or_else(|| (INVALID_TEXT, "a value that is not boolean", "Write true or false.".into())),
            CollectedKind::Number => step(c, said).ok_or_else(|| {
                (INVALID_TEXT, "a value that is no number", "Write a plain decimal number.".into())
            }),
            CollectedKind::Count => match said.trim().parse::<i64>() {
                Ok(n) => self
                    .listed(place, c, &n.to_string())
                    .ok_or_else(|| (OUT_OF_RANGE, "a number outside of the range", domain(c))),
                Err(_) => Err((INVALID_TEXT, "a value that is no whole number", domain(c))),
            },
        }
    }

    /// The numbers of a set's values, ascending: a set has each once, however often it is written.
    fn set(&self, place: usize, c: &Collected, most: u32, said: &str) -> Result<Vec<u32>, Wrong> {
        let elements = sql::resolve::elements(said).ok_or_else(|| {
            let hint = "Write one level of texts: '{a,b}', or ARRAY['a', 'b'].";
            (INVALID_TEXT, "a value that is no set", hint.to_owned())
        })?;
        let numbers =
            elements.iter().map(|e| self.listed(place, c, e.as_deref()?)).collect::<Option<Vec<u32>>>();
        let mut numbers = numbers.ok_or_else(|| (CHECK, "a value outside of the domain", domain(c)))?;
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() as u64 > u64::from(most) {
            let hint = format!("The policy takes at most {most} of one person.");
            return Err((CHECK, "a set with too many values", hint));
        }
        Ok(numbers)
    }
}

impl Said {
    /// Bytes of an answer, whose number is the same for every answer in a column of `values`
    /// values.
    fn bytes(&self, values: usize) -> Vec<u8> {
        match self {
            Self::One(number) => number.to_le_bytes().to_vec(),
            Self::Several(numbers) => {
                let mut bits = vec![0u8; values.div_ceil(8)];
                for number in numbers {
                    if let Some(byte) = bits.get_mut(*number as usize / 8) {
                        *byte |= 1 << (number % 8);
                    }
                }
                bits
            }
        }
    }
}

/// What the coins of a column are for: all that says what is asked, and how it is randomised. With the same coins for two questions
/// the reports to both together would tell more of a person than ε says of each; in a domain that was exchanged, all of it.
fn question(c: &Collected) -> String {
    let of = match &c.randomiser {
        Randomiser::Sets(sets) => format!("at most {}", sets.most()),
        Randomiser::Mean { mean, low, grid } => {
            format!("{} steps of {} from {}", mean.steps(), grid.normalized(), low.normalized())
        }
        Randomiser::Oracle(_) => String::new(),
    };
    let (kind, epsilon) = (c.kind.word(), c.epsilon.normalized());
    // Quoted, so that no two lists of values look the same.
    format!(
        "{:?} {kind} {} {epsilon} {of} {:?} {:?} {}",
        c.name,
        c.randomiser.word(),
        c.values,
        c.other,
        c.missing
    )
}

/// The report of a value.
fn draw(c: &Collected, said: &Said, rng: &mut impl Entropy) -> Result<Report, RandomiseError> {
    match (&c.randomiser, said) {
        (Randomiser::Oracle(oracle), Said::One(number)) => oracle.randomise(*number, rng),
        (Randomiser::Mean { mean, .. }, Said::One(number)) => {
            mean.randomise(*number, rng).map(Report::Symbol)
        }
        (Randomiser::Sets(sets), Said::Several(numbers)) => sets.randomise(numbers, rng),
        (Randomiser::Oracle(_) | Randomiser::Mean { .. }, Said::Several(_))
        | (Randomiser::Sets(_), Said::One(_)) => Err(RandomiseError::Outside),
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
        Cell::List(cells) => {
            let elements: Result<Vec<_>, _> = cells.iter().map(|cell| text(cell, types, values)).collect();
            return Ok(Some(super::binary::literal(&elements?)));
        }
    };
    let place = n.saturating_sub(1);
    let Some(value) = values.parameters.get(place) else {
        return Err(ClientError::new(SqlState(*b"42P02"), format!("there is no parameter ${n}")));
    };
    let Some(bytes) = value else { return Ok(None) };
    let wrong = || ClientError::new(SqlState(*b"22P03"), format!("parameter ${n} is not of its type"));
    let binary = values.formats.get(place).copied().unwrap_or(0) == 1;
    let ty = types.get(place).copied().unwrap_or(25);
    match ty {
        1009 | 1015 | 700 | 701 | 1700 | 16 | 20 | 21 | 23 | 25 | 1043 | 1042 | 19 => {
            let text = match binary {
                true => super::binary::text(ty, bytes),
                false => std::str::from_utf8(bytes).ok().map(str::to_owned),
            };
            text.map(Some).ok_or_else(wrong)
        }
        oid => Err(ClientError::unsupported(format!(
            "parameter ${n} of the type with OID {oid} is not supported"
        ))
        .hint("Texts, numbers, booleans and arrays of texts are collected.")),
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
