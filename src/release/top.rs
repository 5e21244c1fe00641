//! The groups with the greatest counts: exact counts of all public groups in, and of those that are chosen noisy ones.

use crate::error::ReleaseError;
use crate::exact::Exact;
use crate::noisy::{Noisy, pick};
use dp::topk::TopK;
use dp::{Entropy, Spec};

/// Chooses groups, in the order of choice, and draws noise for their counts. Every count is looked at, and as many draws are
/// made as groups are chosen, which is public.
///
/// Guarantee: that of [`Spec::top`], since the groups and their order are public.
pub(super) fn choose(
    exact: Exact,
    spec: &Spec,
    top: &TopK,
    rng: &mut impl Entropy,
) -> Result<Noisy, ReleaseError> {
    let ([noise], [counts]) = (spec.aggregates.as_slice(), exact.values.as_slice()) else {
        return Err(ReleaseError::Shape);
    };
    let score = |n: &i128| u64::try_from(*n).unwrap_or(if *n < 0 { 0 } else { u64::MAX });
    let scores: Vec<u64> = counts.iter().map(score).collect();
    let chosen = top.choose(&scores, rng)?;
    let drawn = noise.sampler()?.draw(chosen.len(), rng)?;
    let values = pick(counts, &chosen);
    Ok(Noisy {
        keys: exact.keys.iter().map(|column| pick(column, &chosen)).collect(),
        values: vec![
            values.iter().zip(&drawn).map(|(n, drawn)| noise.number(n.saturating_add(*drawn))).collect(),
        ],
        rows: chosen.len(),
    })
}
