//! Whether noise is for at least what was proven.

use super::proof::Proof;
use dp::{Distribution, Noise, Spec, Weights};
use kernel::Part;

/// Whether a release's noise covers what was proven of its fetch: each part changes by no more than its sensitivity, units
/// are counted where groups are selected and nowhere else, and, for `groups`, no part changes by more over all groups, in the norms of
/// its noise. Where points are chosen, that the cells of one unit weigh no more together. Groups that are neither selected nor
/// public are those that another part selects, or that were released before; without `groups` there are none.
pub fn covers(proof: &Proof, spec: &Spec, groups: bool) -> bool {
    let parts = proof.parts();
    if spec.points.is_some() {
        return !proof.selects && proof.keys > 0 && covers_groups(proof, spec);
    }
    if spec.top.is_some() {
        return proof.public && !proof.selects && covers_groups(proof, spec);
    }
    let each = || parts.iter().zip(&spec.aggregates).all(|(part, noise)| part.linf <= noise.sensitivity.linf);
    proof.selects == spec.selection.is_some()
        && covers_weights(proof.weights, spec)
        && (groups || proof.public)
        && parts.len() == spec.aggregates.len()
        && if groups { covers_groups(proof, spec) } else { each() }
}

/// Whether groups are selected by the very weights that the threshold was computed for.
fn covers_weights(proven: kernel::Weights, spec: &Spec) -> bool {
    match (proven, spec.selection.as_ref().map_or(Weights::Units, |s| s.weights)) {
        (kernel::Weights::Units, Weights::Units) => true,
        (kernel::Weights::Sum(a), Weights::Sum(b)) | (kernel::Weights::Squares(a), Weights::Squares(b)) => {
            a == u64::from(b)
        }
        _ => false,
    }
}

/// Whether the noise covers these norms: Laplace noise the largest change in one group and the sum of changes, Gaussian noise the sum
/// of their squares. Choices among points, a sum of changes up to their weight. Where groups are selected, a unit touches no more
/// of them than the threshold is for.
fn covers_groups(proof: &Proof, spec: &Spec) -> bool {
    let parts = proof.parts();
    if let Some(points) = &spec.points {
        let light = |cells: &Part| cells.l1.is_some_and(|weight| weight <= points.weight().into());
        return matches!(parts, [cells] if light(cells))
            && spec.aggregates.is_empty()
            && spec.selection.is_none();
    }
    if let Some(top) = &spec.top {
        // No more groups come back than are chosen, however many a unit touches.
        let light = |part: &Part, noise: &Noise| {
            // Choices are weighed as they may be where all counts move one way.
            part.rises
                && part.linf <= noise.sensitivity.linf
                && part.linf <= u128::from(top.sensitivity())
                && u64::from(top.choices()) <= noise.sensitivity.groups
        };
        let one = matches!((parts, spec.aggregates.as_slice()), ([part], [noise]) if light(part, noise));
        return one && spec.selection.is_none();
    }
    let covered = |(part, noise): (&Part, &Noise)| {
        let proven = proof.sensitivity(part);
        match noise.distribution {
            Distribution::Gaussian { .. } => noise.sensitivity.covers_squares(&proven),
            Distribution::Laplace { .. } | Distribution::None => noise.sensitivity.covers_sums(&proven),
        }
    };
    let selected = spec.selection.is_none() || proof.l0 <= u64::from(spec.l0);
    selected && parts.len() == spec.aggregates.len() && parts.iter().zip(&spec.aggregates).all(covered)
}
