//! Private groups as their rows come in: each is kept or let go at once, so that neither time nor memory nor any limit is of all
//! groups that there are, which would be a count of private rows (soundness rule 51).

use crate::error::ReleaseError;
use crate::exact::{Exact, Raw, decode_integer};
use crate::groups::{self, Groups};
use bytes::Bytes;
use dp::{EntropyError, Sampler, SecureRng, Selection, Spec};
use ledger::Receipt;
use price::{Proof, Proven};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::Row;

/// Draws that are made together. A number of groups is seen from the time that a draw takes no more than in so many.
const TOGETHER: usize = 1024;

type Key = Vec<Option<Bytes>>;

/// What is kept of one part, as its rows come in.
#[derive(Default)]
struct Kept {
    /// The noisy numbers by which groups were kept, in their order.
    noisy: Vec<i128>,
    /// Their keys, for parts that are released in no other groups.
    keys: HashSet<Key>,
}

/// A part whose groups are private, once its rows have arrived.
pub struct Arrived(Option<Arc<Mutex<Kept>>>);

impl Arrived {
    /// The part, decoded of the rows that were kept.
    #[must_use]
    pub fn of(self, exact: Exact) -> Exact {
        let noisy =
            self.0.map(|kept| std::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner).noisy));
        Exact { selected: noisy, ..exact }
    }
}

/// Decides for each row of a part whether it stays, in the order of the rows.
pub struct Arriving(Decides);

enum Decides {
    /// By the noisy number of its units, which is drawn once.
    Selects(Box<Selects>),
    /// By what another part of the same receipt has kept, whose rows come before.
    Within { keys: usize, kept: Arc<Mutex<Kept>> },
    /// By what was released before.
    Released { keys: usize, groups: HashSet<Key> },
}

struct Selects {
    keys: usize,
    sampler: Sampler,
    drawn: VecDeque<i128>,
    rng: SecureRng,
    threshold: i128,
    kept: Arc<Mutex<Kept>>,
}

/// A part that is about to be read: what was proven of it, its noise, and in which groups it is released, where others select them.
pub struct Part<'p> {
    /// Proof of its text.
    pub proof: Proof,
    /// Noise of the part.
    pub spec: &'p Spec,
    /// In which groups.
    pub groups: Option<&'p Groups>,
    /// Number of its first columns that are keys of the group. Behind them may be one of its cell.
    pub keys: usize,
}

/// For each part what decides about its rows, and what it leaves; nothing where groups are public, all of which come back.
///
/// Guarantee: that of [`super::perturb`], to which the parts go next, for the same receipt. A group is kept where its number of units with
/// a draw of the selection's noise reaches the threshold, and what was compared is what counts: no number is drawn for it again.
///
/// # Errors
/// The receipt was not paid for these parts, or groups were selected for it before.
pub fn arriving(
    parts: &[Part<'_>],
    receipt: &mut Receipt,
) -> Result<Vec<(Option<Arriving>, Arrived)>, ReleaseError> {
    if parts.iter().all(|p| p.spec.selection.is_none() && p.groups.is_none()) {
        return Ok(parts.iter().map(|_| (None, Arrived(None))).collect());
    }
    if !receipt.begin_selection() {
        return Err(ReleaseError::Receipt);
    }
    let fetches: Vec<(Proof, &Spec)> = parts.iter().map(|p| (p.proof.clone(), p.spec)).collect();
    if Proven::of(&receipt.charge().epsilon, &fetches)?.charge() != receipt.charge() {
        return Err(ReleaseError::Receipt);
    }
    let selecting: Vec<Option<Arc<Mutex<Kept>>>> =
        parts.iter().map(|p| p.spec.selection.as_ref().map(|_| Arc::default())).collect();
    let one = |(part, own): (&Part<'_>, &Option<Arc<Mutex<Kept>>>)| {
        let keys = part.keys;
        let decides = match (&part.spec.selection, own, part.groups) {
            (Some(selection), Some(kept), None) => Some(selects(selection, part, kept.clone())?),
            (None, None, Some(Groups::Of(place))) => {
                let kept = selecting.get(*place).cloned().flatten().ok_or(ReleaseError::Shape)?;
                Some(Decides::Within { keys, kept })
            }
            (None, None, Some(Groups::Released(columns))) => {
                let rows = columns.first().map_or(0, Vec::len);
                let groups = (0..rows).map(|row| groups::key(columns, row)).collect();
                Some(Decides::Released { keys, groups })
            }
            (None, None, None) => None,
            _ => return Err(ReleaseError::Shape),
        };
        Ok((decides.map(Arriving), Arrived(own.clone())))
    };
    parts.iter().zip(&selecting).map(one).collect()
}

fn selects(selection: &Selection, part: &Part<'_>, kept: Arc<Mutex<Kept>>) -> Result<Decides, ReleaseError> {
    if !selection.holds(part.spec.l0) {
        return Err(ReleaseError::Receipt);
    }
    let (sampler, threshold) = (selection.sampler()?, selection.threshold);
    let rng = SecureRng::new().map_err(|_| EntropyError)?;
    let drawn = VecDeque::new();
    Ok(Decides::Selects(Box::new(Selects { keys: part.keys, sampler, drawn, rng, threshold, kept })))
}

impl Arriving {
    /// Whether it selects groups, by numbers with noise. Rows that stay for another reason are of groups that were selected.
    pub fn selects(&self) -> bool {
        matches!(self.0, Decides::Selects(_))
    }

    /// Whether this row, the next one, stays.
    ///
    /// # Errors
    /// The row is not what the fetch of the part gives, or there is no randomness. Neither tells a value.
    pub fn keeps(&mut self, row: &Row) -> Result<bool, ReleaseError> {
        match &mut self.0 {
            Decides::Selects(by) => {
                if by.drawn.is_empty() {
                    by.drawn.extend(by.sampler.draw(TOGETHER, &mut by.rng)?);
                }
                let noise = by.drawn.pop_front().ok_or(EntropyError)?;
                let noisy = decode_integer(row, by.keys)?.saturating_add(noise);
                let stays = noisy >= by.threshold;
                if stays {
                    let key = key(row, by.keys)?;
                    let mut kept = by.kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.noisy.push(noisy);
                    kept.keys.insert(key);
                }
                Ok(stays)
            }
            Decides::Within { keys, kept } => {
                let key = key(row, *keys)?;
                Ok(kept.lock().unwrap_or_else(PoisonError::into_inner).keys.contains(&key))
            }
            Decides::Released { keys, groups } => Ok(groups.contains(&key(row, *keys)?)),
        }
    }
}

fn key(row: &Row, keys: usize) -> Result<Key, ReleaseError> {
    let cell = |column: usize| {
        let raw: Option<Raw> = row
            .try_get(column)
            .map_err(|_| ReleaseError::Column { column, problem: "something unreadable" })?;
        Ok(raw.map(|raw| Bytes::copy_from_slice(raw.0)))
    };
    (0..keys).map(cell).collect()
}
