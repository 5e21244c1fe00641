//! Exact integers in, noisy ones out, against a receipt.
//!
//! [`Exact`] is the only form in which a fetch's rows leave the database driver. Its value can be reached in
//! this module alone, it cannot be printed, copied or serialised, and the only things that can be done with it are
//! [`perturb`] and [`stream::Instance::ask`]. No SQL, no I/O, and no error here tells a value.

pub mod arriving;
pub mod combine;
mod error;
mod exact;
mod groups;
mod noisy;
pub mod numeric;
pub mod points;
pub mod stream;
pub mod synthetic;
mod top;
pub mod within;

pub use error::ReleaseError;
pub use exact::Exact;
pub use noisy::Noisy;

use dp::{Distribution, Entropy, Spec};
use ledger::Receipt;
use noisy::pick;
use price::{Proof, Proven, covers};

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
    for ((column, noise), of) in values.iter_mut().zip(&noise).zip(&spec.aggregates) {
        for (value, noise) in column.iter_mut().zip(noise) {
            *value = of.number(value.saturating_add(*noise));
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

#[cfg(test)]
use dp::EntropyError;

/// The seeded generator, which `dp` compiles for its own tests alone.
#[cfg(test)]
#[path = "../dp/testing.rs"]
mod testing;
#[cfg(test)]
mod tests;
