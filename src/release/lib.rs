//! Exact integers in, noisy ones out, against a receipt.
//!
//! [`Exact`] is the only form in which a fetch's rows leave the database driver. Its value can be reached in
//! this module alone, it cannot be printed, copied or serialised, and the only things that can be done with it are
//! [`perturb`] and [`stream::Instance::ask`]. No SQL, no I/O, and no error here tells a value.

pub mod arriving;
pub mod combine;
pub mod numeric;
pub mod points;
pub mod stream;
pub mod synthetic;
mod top;
pub mod within;

use answer::{ClientError, SqlState};
use bytes::Bytes;
use dp::{Distribution, DpError, Entropy, EntropyError, Spec};
use kernel::Certified;
use ledger::Receipt;
use postgres_types::{FromSql, Type};
use price::{Proof, Proven, covers};
use tokio_postgres::Row;
use within::Within;

/// The exact result of one fetch: group keys as raw bytes, and integers.
///
/// No Debug, no Display, no Clone, no Serialize; nothing outside this module can read it.
pub struct Exact {
    keys: Vec<Vec<Option<Bytes>>>,
    /// Number of distinct units per group, or what they weigh, where groups are selected.
    units: Option<Vec<i128>>,
    values: Vec<Vec<i128>>,
    rows: usize,
    proven: Proof,
    /// The noisy numbers by which its groups were selected as they came, where they were: then all of them stay.
    selected: Option<Vec<i128>>,
    /// Where groups are private and their units are not counted: in which of them it is released.
    within: Option<Within>,
}

/// An answer that may leave: every number has its noise, every group was public or selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noisy {
    /// Columns of group keys: raw PostgreSQL binary, None for NULL.
    pub keys: Vec<Vec<Option<Bytes>>>,
    /// Columns of aggregates, in grid units.
    pub values: Vec<Vec<i128>>,
    /// Rows in each column.
    pub rows: usize,
}

/// Why nothing is released. Never holds a value; which column is wrong is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The fetch did not give what the plan says it gives.
    #[error("a fetch gave column {column} as {problem}")]
    Column {
        /// Counted from 0.
        column: usize,
        /// The problem.
        problem: &'static str,
    },
    /// Rows and specification differ in shape.
    #[error("a fetch has another number of columns than its release")]
    Shape,
    /// The kernel proved less than the release has noise for.
    #[error("the fetch may change by more than its release has noise for")]
    Uncertified,
    /// An integer that no number of units can bring about.
    #[error("a fetch gave more than its units can add up to")]
    Impossible,
    /// The receipt is for other releases than these.
    #[error("the receipt was paid for another charge")]
    Receipt,
    /// A specification that no noise can be drawn for.
    #[error("a release cannot be drawn: {0}")]
    Spec(#[from] DpError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl ReleaseError {
    /// The client's error: a constant and an id.
    pub fn client(&self) -> ClientError {
        ClientError::incident(SqlState::INTERNAL, "the answer could not be released", self)
    }
}

/// Any value as the bytes that came over the wire.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Exact {
    /// Decodes the rows of one fetch: group keys, then (where groups are selected) the number of distinct units, then one
    /// integer per aggregate of `spec`. Keys stay raw. Integers are int4, int8 or numeric without a fraction, never NULL,
    /// and saturate at the edges of i128.
    ///
    /// What was proven of the text must be covered by `spec`, for `groups` over all groups together, and where units are counted no integer may exceed what so
    /// many units can add up to.
    pub fn decode(
        rows: &[Row],
        certified: &Certified,
        spec: &Spec,
        groups: bool,
    ) -> Result<Self, ReleaseError> {
        let proven = Proof::from(certified);
        if !covers(&proven, spec, groups) {
            return Err(ReleaseError::Uncertified);
        }
        let keys = certified.keys;
        // Cells have one count.
        let integers = if spec.points.is_some() { 1 } else { spec.aggregates.len() };
        let width = keys + usize::from(spec.selection.is_some()) + integers;
        if rows.iter().any(|row| row.len() != width) {
            return Err(ReleaseError::Shape);
        }
        let key = |column: usize| {
            let cell = |row: &Row| {
                let raw: Option<Raw> = row
                    .try_get(column)
                    .map_err(|_| ReleaseError::Column { column, problem: "something unreadable" })?;
                Ok(raw.map(|raw| Bytes::copy_from_slice(raw.0)))
            };
            rows.iter().map(cell).collect::<Result<Vec<_>, ReleaseError>>()
        };
        let integer = |column: usize| {
            rows.iter().map(|row| decode_integer(row, column)).collect::<Result<Vec<_>, ReleaseError>>()
        };
        let units = spec.selection.as_ref().map(|_| integer(keys)).transpose()?;
        let values: Vec<Vec<i128>> = (width - integers..width).map(integer).collect::<Result<_, _>>()?;
        if let Some(units) = &units {
            for (column, part) in values.iter().zip(&certified.parts) {
                let most = |units: &i128| units.unsigned_abs().saturating_mul(part.linf);
                if column.iter().zip(units).any(|(value, units)| value.unsigned_abs() > most(units)) {
                    return Err(ReleaseError::Impossible);
                }
            }
        }
        let keys = (0..keys).map(key).collect::<Result<_, _>>()?;
        Ok(Self { keys, values, units, rows: rows.len(), proven, selected: None, within: None })
    }

    /// In which groups it is to be released, where they are private and another part selects them.
    #[must_use]
    pub fn within(self, within: Option<Within>) -> Self {
        Self { within, ..self }
    }
}

fn decode_integer(row: &Row, column: usize) -> Result<i128, ReleaseError> {
    let wrong = |problem| ReleaseError::Column { column, problem };
    let ty = row.columns().get(column).map(|c| c.type_()).ok_or(ReleaseError::Shape)?;
    let raw: Option<Raw> = row.try_get(column).map_err(|_| wrong("something unreadable"))?;
    let Raw(raw) = raw.ok_or_else(|| wrong("NULL"))?;
    let malformed = || wrong("a malformed integer");
    match *ty {
        Type::INT4 => Ok(i32::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        Type::INT8 => Ok(i64::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        Type::NUMERIC => numeric::decode(raw).ok_or_else(|| wrong("a numeric that is no integer")),
        _ => Err(wrong("a type that is no integer")),
    }
}

/// Releases all parts of a statement, once, for the receipt of their charge.
///
/// Guarantee: the result costs what the receipt's events and selection δ say, whatever vector a unit has within what the kernel
/// proved of each part's text. That the receipt is for these very proofs and specifications is checked, and so is every selection's
/// threshold against the δ it states; otherwise nothing is released.
///
/// * Public groups: all come back, in the fetch's order (an ordinal of the domain). Noise is drawn before a value
///   is looked at.
/// * Selected groups: kept where the noisy number of units reaches the threshold. Noise is drawn for every group and
///   every aggregate, kept or not, in a batch whose size is a power of two and at least 64 (soundness rule 29). Kept
///   groups are sorted by the raw bytes of their keys, NULL first: an order that tells nothing but the keys. An aggregate that
///   is counted to select ([`Spec::counted`]) is released as it was compared: post-processing of the same noisy numbers.
///
/// * Points: chosen in each group ([`dp::Points`]), and nothing else of its cells comes back.
///
/// * Private groups whose units are not counted: released in those that a part before it has selected, or that were released
///   earlier ([`within`]).
///
/// * The greatest counts of public groups: chosen from all, and released with noise for so many.
///
/// Sums saturate at the edges of i128.
pub fn perturb(
    parts: Vec<(Exact, &Spec)>,
    receipt: Receipt,
    rng: &mut impl Entropy,
) -> Result<Vec<Noisy>, ReleaseError> {
    // What was paid is what these proofs cost with this noise.
    let fetches: Vec<(Proof, &Spec)> =
        parts.iter().map(|(exact, spec)| (exact.proven.clone(), *spec)).collect();
    if !fetches.iter().all(|(proof, spec)| covers(proof, spec, true)) {
        return Err(ReleaseError::Uncertified);
    }
    if Proven::of(&receipt.charge().epsilon, &fetches)?.charge() != receipt.charge() {
        return Err(ReleaseError::Receipt);
    }
    // Every part is checked before any is drawn.
    for (exact, spec) in &parts {
        let held = spec.selection.as_ref().is_none_or(|s| s.holds(spec.l0));
        // Noise is drawn once for one receipt, as rows come or here.
        let drawn = spec.selection.is_some() && exact.selected.is_some() != receipt.has_selected();
        if drawn || !held || exact.units.is_some() != spec.selection.is_some() {
            return Err(ReleaseError::Receipt);
        }
        // What is counted to select has the noise of the selection, which its event paid for.
        let selects = |i: usize| {
            let counted = spec.aggregates.get(i).map(|a| (a.sensitivity.linf, &a.distribution));
            spec.selection.as_ref().is_some_and(|s| counted == Some((1, &s.noise)))
        };
        if !spec.counted.is_none_or(selects) {
            return Err(ReleaseError::Receipt);
        }
        // Nothing private leaves without noise (soundness rule 35).
        if spec.aggregates.iter().any(|a| a.sensitivity.is_none() || a.distribution == Distribution::None) {
            return Err(ReleaseError::Receipt);
        }
        let integers = if spec.points.is_some() { 1 } else { spec.aggregates.len() };
        if exact.values.len() != integers {
            return Err(ReleaseError::Shape);
        }
        // Groups that are neither public nor selected are told by nobody.
        let known = exact.proven.public() || spec.selection.is_some();
        if known == exact.within.is_some() {
            return Err(ReleaseError::Uncertified);
        }
    }
    let mut released: Vec<Noisy> = Vec::with_capacity(parts.len());
    for (exact, spec) in parts {
        let noisy = perturb_one(exact, spec, &released, rng)?;
        released.push(noisy);
    }
    Ok(released)
}

/// Releases one part; `before`: what was released of those before it.
fn perturb_one(
    mut exact: Exact,
    spec: &Spec,
    before: &[Noisy],
    rng: &mut impl Entropy,
) -> Result<Noisy, ReleaseError> {
    if let Some(within) = exact.within.take() {
        return within::perturb(exact, &within, spec, before, rng);
    }
    if let Some(points) = &spec.points {
        return points::choose(exact, points, rng);
    }
    if let Some(top) = &spec.top {
        return top::choose(exact, spec, top, rng);
    }
    let rows = exact.rows;
    let count = if spec.selection.is_some() { rows.max(64).next_power_of_two() } else { rows };
    // Of the number of units that selects there is one draw, below.
    let columns = spec.aggregates.iter().enumerate().map(|(i, a)| match spec.counted == Some(i) {
        true => Ok(Vec::new()),
        false => Ok(a.sampler()?.draw(count, rng)?),
    });
    let noise = columns.collect::<Result<Vec<_>, ReleaseError>>()?;
    let mut values = exact.values;
    for (column, noise) in values.iter_mut().zip(&noise) {
        for (value, noise) in column.iter_mut().zip(noise) {
            *value = value.saturating_add(*noise);
        }
    }
    let (Some(selection), Some(units)) = (&spec.selection, &exact.units) else {
        return Ok(Noisy { keys: exact.keys, values, rows });
    };
    let noisy: Vec<i128> = match exact.selected {
        Some(noisy) if noisy.len() == rows => noisy,
        Some(_) => return Err(ReleaseError::Shape),
        None => {
            let noise = selection.sampler()?.draw(count, rng)?;
            units.iter().zip(&noise).map(|(units, noise)| units.saturating_add(*noise)).collect()
        }
    };
    let kept: Vec<bool> = noisy.iter().map(|units| *units >= selection.threshold).collect();
    if let Some(column) = spec.counted.and_then(|i| values.get_mut(i)) {
        *column = noisy;
    }
    let mut order: Vec<usize> = (0..rows).filter(|&row| kept.get(row) == Some(&true)).collect();
    let key = |row: usize| exact.keys.iter().map(move |column| column.get(row));
    order.sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
    Ok(Noisy {
        keys: exact.keys.iter().map(|column| pick(column, &order)).collect(),
        values: values.iter().map(|column| pick(column, &order)).collect(),
        rows: order.len(),
    })
}

/// The elements of `column` at `rows`, which all exist.
fn pick<T: Clone>(column: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|&row| column.get(row).cloned()).collect()
}

/// The seeded generator, which `dp` compiles for its own tests alone.
#[cfg(test)]
#[path = "../dp/testing.rs"]
mod testing;
#[cfg(test)]
mod tests;
