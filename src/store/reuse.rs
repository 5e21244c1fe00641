//! From stored releases to a question's own: which of them hold its parts, and in which order.

use super::canonical::Canonical;
use super::encoding::{Column, Stored};
use super::key::{Key, Keys, Wanted};
use dp::{Distribution, Noise, Spec};
use plan::{PartKind, Release};
use release::Noisy;

/// An answer out of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Groups and values, as the release has them.
    pub noisy: Noisy,
    /// The noise that they have.
    spec: Spec,
    /// For each part, whether it is the sum that is not centred.
    plain: Vec<bool>,
}

/// The places of stored releases, of this list, that together hold what is wanted. Where groups are selected they come
/// from one: parts of two selections never mix (soundness rules 5 and 6).
pub fn choose(wanted: &[Wanted], public: bool, list: &[(Key, Vec<Key>)]) -> Option<Vec<usize>> {
    let has = |parts: &[Key], w: &Wanted| {
        parts.contains(&w.key) || w.plain.is_some_and(|plain| parts.contains(&plain))
    };
    let whole = list.iter().position(|(_, parts)| wanted.iter().all(|w| has(parts, w)));
    if let Some(one) = whole {
        return Some(vec![one]);
    }
    if !public || wanted.is_empty() {
        return None;
    }
    let mut places = Vec::new();
    for w in wanted {
        let place = list.iter().position(|(_, parts)| has(parts, w))?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Some(places)
}

/// The release's answer from stored ones, if these hold all its parts for the same groups.
pub fn serve(release: &Release, canonical: &Canonical, keys: &Keys, stored: &[Stored]) -> Option<Served> {
    let (first, others) = stored.split_first()?;
    let same = |o: &Stored| o.rows == first.rows && o.keys == first.keys;
    let selected = release.selects() == first.selection.is_some();
    if !selected || (!others.is_empty() && !release.public_groups) || !others.iter().all(same) {
        return None;
    }
    if first.keys.len() != release.keys.len() || canonical.keys.len() != release.keys.len() {
        return None;
    }
    let find = |key: &Key| stored.iter().flat_map(|s| &s.parts).find(|c| c.key == *key);
    let columns: Vec<(&Column, bool)> = keys
        .parts
        .iter()
        .map(|w| match find(&w.key) {
            Some(column) => Some((column, false)),
            None => w.plain.as_ref().and_then(find).map(|column| (column, true)),
        })
        .collect::<Option<_>>()?;
    let mut own = vec![Vec::new(); release.keys.len()];
    for (column, place) in first.keys.iter().zip(&canonical.keys) {
        own.get_mut(*place)?.clone_from(column);
    }
    Some(Served {
        noisy: Noisy {
            keys: own,
            values: columns.iter().map(|(c, _)| c.values.clone()).collect(),
            rows: first.rows,
        },
        spec: Spec {
            l0: release.spec.l0,
            aggregates: match &release.spec.points {
                None => columns.iter().map(|(c, _)| c.noise.clone()).collect(),
                Some(_) => Vec::new(),
            },
            selection: first.selection.clone(),
            points: release.spec.points.clone(),
            top: release.spec.top,
        },
        plain: columns.iter().map(|(_, plain)| *plain).collect(),
    })
}

impl Served {
    /// How many times as wide as that of a fresh answer the noise is, where it is wider: of the part where that is worst.
    /// An answer to more questions at the same price has more noise for each.
    pub fn wider(&self, release: &Release) -> Option<f64> {
        let noises = self.spec.aggregates.iter().zip(&release.spec.aggregates);
        let ratios = noises.map(|(kept, fresh)| kept.error95() / fresh.error95());
        ratios.filter(|r| *r > 1.000_001).max_by(f64::total_cmp)
    }

    /// Makes the release the one that was stored: its noise, and sums as they were released.
    pub fn become_of(&self, release: &mut Release) {
        for ((part, noise), plain) in release.parts.iter_mut().zip(&self.spec.aggregates).zip(&self.plain) {
            part.linf = noise.linf;
            if let (true, PartKind::Sum(sum)) = (plain, &mut part.kind) {
                *sum = sum.uncentred();
            }
        }
        release.spec = self.spec.clone();
    }
}

/// What is kept of a release.
pub fn stored(canonical: &Canonical, keys: &Keys, spec: &Spec, noisy: &Noisy) -> Option<Stored> {
    // Chosen points have no noise of their own.
    let chosen =
        spec.points.as_ref().map(|p| Noise { linf: p.weight().into(), distribution: Distribution::None });
    let noises = spec.aggregates.iter().chain(chosen.iter().cycle());
    let columns = canonical.keys.iter().map(|place| noisy.keys.get(*place).cloned());
    let parts = keys.parts.iter().zip(noises).zip(&noisy.values);
    let parts: Vec<Column> = parts
        .map(|((wanted, noise), values)| Column {
            key: wanted.key,
            noise: noise.clone(),
            values: values.clone(),
        })
        .collect();
    let stored = Stored {
        rows: noisy.rows,
        keys: columns.collect::<Option<_>>()?,
        parts,
        selection: spec.selection.clone(),
    };
    (stored.parts.len() == keys.parts.len()).then_some(stored)
}
