//! From stored releases to a question's own: which of them hold its parts, and in which order.

use super::canonical::Canonical;
use super::encoding::{Column, Stored};
use super::key::{Key, Keys, Wanted};
use dp::{Distribution, Noise, Spec};
use plan::aggregates::{CentredSum, Sum};
use plan::{Part, PartKind, Release};
use release::Noisy;

/// An answer out of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Groups and values, as the release has them.
    pub noisy: Noisy,
    /// The noise that they have.
    spec: Spec,
    /// What is there for each part of the release.
    found: Vec<Found>,
}

/// What is there for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Itself.
    Itself,
    /// The sum that is not centred.
    Plain,
    /// The sum that is, and the count of the same rows in this column.
    Centred(usize),
}

/// The places of stored releases, of this list, that together hold what is wanted. Where groups are selected they come
/// from one: parts of two selections never mix (soundness rules 5 and 6).
pub fn choose(wanted: &[Wanted], public: bool, list: &[(Key, Vec<Key>)]) -> Option<Vec<usize>> {
    let has = |parts: &[Key], w: &Wanted| w.ways().any(|way| way.iter().all(|key| parts.contains(key)));
    let whole = list.iter().position(|(_, parts)| wanted.iter().all(|w| has(parts, w)));
    if let Some(one) = whole {
        return Some(vec![one]);
    }
    if !public || wanted.is_empty() {
        return None;
    }
    let mut places = Vec::new();
    let place = |key: &Key| list.iter().position(|(_, parts)| parts.contains(key));
    for w in wanted {
        let found = w.ways().find_map(|way| way.iter().map(place).collect::<Option<Vec<usize>>>())?;
        for place in found {
            if !places.contains(&place) {
                places.push(place);
            }
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
    let (mut columns, mut found): (Vec<&Column>, Vec<Found>) = (Vec::new(), Vec::new());
    // Counts that come with centred sums stand behind the parts.
    let mut counts: Vec<&Column> = Vec::new();
    for w in &keys.parts {
        let (column, what) = if let Some(column) = find(&w.key) {
            (column, Found::Itself)
        } else if let Some(column) = w.plain.as_ref().and_then(find) {
            (column, Found::Plain)
        } else {
            let [sum, count] = w.centred.as_ref()?;
            let count = find(count)?;
            let have = counts.iter().position(|c| c.key == count.key);
            let place = have.unwrap_or_else(|| {
                counts.push(count);
                counts.len() - 1
            });
            (find(sum)?, Found::Centred(keys.parts.len() + place))
        };
        columns.push(column);
        found.push(what);
    }
    columns.extend(counts);
    let mut own = vec![Vec::new(); release.keys.len()];
    for (column, place) in first.keys.iter().zip(&canonical.keys) {
        own.get_mut(*place)?.clone_from(column);
    }
    Some(Served {
        noisy: Noisy {
            keys: own,
            values: columns.iter().map(|c| c.values.clone()).collect(),
            rows: first.rows,
        },
        spec: Spec {
            l0: release.spec.l0,
            aggregates: match &release.spec.points {
                None => columns.iter().map(|c| c.noise.clone()).collect(),
                Some(_) => Vec::new(),
            },
            selection: first.selection.clone(),
            counted: None,
            points: release.spec.points.clone(),
            top: release.spec.top.clone(),
        },
        found,
    })
}

impl Served {
    /// The factor by which the noise is wider than that of a fresh answer, when it is wider: of the
    /// part where that is worst. An answer to more questions at the same price has more noise for
    /// each.
    pub fn wider(&self, release: &Release) -> Option<f64> {
        let kept = self.spec.aggregates.iter().zip(&self.found).zip(&release.parts);
        let kept = kept.map(|((noise, found), part)| match (found, &part.kind) {
            (Found::Centred(count), PartKind::Sum(s)) => {
                // As far as a float holds it.
                let centre = s.centred().centre() as f64;
                let of_count = self.spec.aggregates.get(*count).map_or(0.0, Noise::error95) * centre;
                (noise.error95().powi(2) + of_count.powi(2)).sqrt()
            }
            _ => noise.error95(),
        });
        let ratios = kept.zip(&release.spec.aggregates).map(|(kept, fresh)| kept / fresh.error95());
        ratios.filter(|r| *r > 1.000_001).max_by(f64::total_cmp)
    }

    /// Makes the release the one that was stored: its noise, and sums as they were released.
    pub fn become_of(&self, release: &mut Release) {
        let own = release.parts.len();
        for (i, (noise, found)) in self.spec.aggregates.iter().zip(&self.found).enumerate() {
            let Some(part) = release.parts.get_mut(i).filter(|_| i < own) else { break };
            part.linf = noise.linf();
            let PartKind::Sum(sum) = &mut part.kind else { continue };
            match *found {
                Found::Itself => {}
                Found::Plain => *sum = sum.uncentred(),
                Found::Centred(count) => {
                    *sum = sum.centred();
                    let rows = PartKind::rows_of(sum.arg());
                    if let (true, Some(noise)) =
                        (count == release.parts.len(), self.spec.aggregates.get(count))
                    {
                        release.parts.push(Part { linf: noise.linf(), ..Part::new(rows, "count") });
                    }
                    for (_, output) in &mut release.outputs {
                        if let Some(Sum { part, ty }) = output.of()
                            && *part == i
                        {
                            *output = CentredSum { sum: i, count, ty: ty.clone() }.into();
                        }
                    }
                }
            }
        }
        release.spec = self.spec.clone();
    }
}

/// Record of a release.
pub fn stored(canonical: &Canonical, keys: &Keys, spec: &Spec, noisy: &Noisy) -> Option<Stored> {
    // Chosen points have no noise of their own.
    let chosen = spec
        .points
        .as_ref()
        .map(|p| Noise::new(dp::Sensitivity::of_one(p.weight().into()), Distribution::None));
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
