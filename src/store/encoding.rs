//! Stored answers as bytes: versioned, compact, and read back without trust.
//!
//! Integers are little-endian groups of seven bits (signed ones zigzag), texts and cells follow their length, group keys
//! stay the raw bytes that PostgreSQL sent.

use super::key::Key;
use bytes::Bytes;
use dp::{Distribution, Noise, Ratio, Selection, Sensitivity, Weights};

/// The version of this format.
const VERSION: u8 = 3;
const RELEASE: u8 = 1;
const MEMBER: u8 = 2;
const SEVERAL: u8 = 3;
const TEXT: u8 = 4;
/// No statement has more group keys.
const MAX_KEYS: usize = 100_000;

/// A released part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Key of the part.
    pub key: Key,
    /// Noise of the part.
    pub noise: Noise,
    /// Values, one for each group, in grid units.
    pub values: Vec<i128>,
}

/// A stored release. Nothing in it is exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number of groups.
    pub rows: usize,
    /// Columns of group keys, in canonical order.
    pub keys: Vec<Vec<Option<Bytes>>>,
    /// Released parts.
    pub parts: Vec<Column>,
    /// Selection of the groups.
    pub selection: Option<Selection>,
}

/// Something that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A release.
    Release(Stored),
    /// A release that shares groups and price with others: its key, and the keys of its parts.
    Member(Key, Vec<Key>),
    /// Several releases were stored at once, each under its own key.
    Several,
    /// Text that a user wrote.
    Text(String),
}

impl Record {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Out(vec![VERSION]);
        match self {
            Self::Release(r) => {
                out.0.push(RELEASE);
                out.release(r);
            }
            Self::Member(key, parts) => {
                out.0.push(MEMBER);
                out.0.extend(key);
                out.size(parts.len());
                parts.iter().for_each(|p| out.0.extend(p));
            }
            Self::Several => out.0.push(SEVERAL),
            Self::Text(text) => {
                out.0.push(TEXT);
                out.size(text.len());
                out.0.extend(text.as_bytes());
            }
        }
        out.0
    }

    /// From bytes; None for anything that [`encode`](Self::encode) does not write.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = In(bytes);
        if input.byte()? != VERSION {
            return None;
        }
        let record = match input.byte()? {
            RELEASE => Self::Release(input.release()?),
            MEMBER => {
                let key = input.key()?;
                let n = input.size(32)?;
                Self::Member(key, (0..n).map(|_| input.key()).collect::<Option<_>>()?)
            }
            SEVERAL => Self::Several,
            TEXT => {
                let length = input.size(1)?;
                let (text, rest) = input.0.split_at_checked(length)?;
                input.0 = rest;
                Self::Text(std::str::from_utf8(text).ok()?.to_owned())
            }
            _ => return None,
        };
        input.0.is_empty().then_some(record)
    }
}

struct Out(Vec<u8>);

impl Out {
    fn number(&mut self, mut n: u128) {
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80); // seven bits
            n >>= 7;
        }
        self.0.push(n as u8); // below 0x80
    }

    fn size(&mut self, n: usize) {
        self.number(n as u128);
    }

    fn signed(&mut self, n: i128) {
        self.number(((n << 1) ^ (n >> 127)).cast_unsigned());
    }

    fn ratio(&mut self, r: &Ratio) {
        self.number(*r.numer());
        self.number(*r.denom());
    }

    fn release(&mut self, r: &Stored) {
        self.size(r.rows);
        self.size(r.keys.len());
        for cell in r.keys.iter().flatten() {
            match cell {
                None => self.size(0),
                Some(bytes) => {
                    self.size(bytes.len() + 1);
                    self.0.extend(bytes);
                }
            }
        }
        self.size(r.parts.len());
        for part in &r.parts {
            self.0.extend(part.key);
            let by = part.noise.sensitivity;
            let steps = part.noise.steps.into();
            [by.groups.into(), by.linf, by.l1, by.l2_squared, steps].into_iter().for_each(|n| self.number(n));
            match &part.noise.distribution {
                Distribution::None => self.0.push(0),
                Distribution::Laplace { scale } => {
                    self.0.push(1);
                    self.ratio(scale);
                }
                Distribution::Gaussian { variance } => {
                    self.0.push(2);
                    self.ratio(variance);
                }
            }
            part.values.iter().for_each(|v| self.signed(*v));
        }
        let selection = r.selection.as_ref().and_then(|s| match &s.noise {
            // No group was ever selected without noise.
            Distribution::None => None,
            Distribution::Laplace { scale } => Some((1, scale, s)),
            Distribution::Gaussian { variance } => Some((2, variance, s)),
        });
        // Kinds 1 and 2 count units.
        let weight = r.selection.as_ref().map_or((0, 0), |s| match s.weights {
            Weights::Units => (0, 0),
            Weights::Sum(w) => (2, w),
            Weights::Squares(w) => (4, w),
        });
        match selection {
            None => self.0.push(0),
            Some((kind, parameter, s)) => {
                self.0.push(kind + weight.0);
                if weight.0 > 0 {
                    self.number(weight.1.into());
                }
                self.ratio(parameter);
                self.signed(s.threshold);
                self.ratio(&s.delta);
            }
        }
    }
}

/// What is left to read.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn key(&mut self) -> Option<Key> {
        self.take(32)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u128> {
        let mut n = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift == 126 && bits > 3 {
                return None;
            }
            n |= bits << shift;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    /// A number of things of at least `least` bytes each: never more than there can be.
    fn size(&mut self, least: usize) -> Option<usize> {
        let n = usize::try_from(self.number()?).ok()?;
        (n.checked_mul(least)? <= self.0.len()).then_some(n)
    }

    fn signed(&mut self) -> Option<i128> {
        let n = self.number()?;
        Some((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    fn ratio(&mut self) -> Option<Ratio> {
        let (numer, denom) = (self.number()?, self.number()?);
        (denom != 0).then(|| Ratio::new(numer, denom))
    }

    fn cell(&mut self) -> Option<Option<Bytes>> {
        Some(match self.size(0)? {
            0 => None,
            n => Some(Bytes::copy_from_slice(self.take(n - 1)?)),
        })
    }

    fn release(&mut self) -> Option<Stored> {
        // Without keys and parts a row has no bytes: more than one are not written then.
        let rows = usize::try_from(self.number()?).ok()?;
        if rows > self.0.len().max(1) {
            return None;
        }
        let columns = self.size(rows)?;
        if columns > MAX_KEYS {
            return None;
        }
        let keys = (0..columns).map(|_| (0..rows).map(|_| self.cell()).collect()).collect::<Option<_>>()?;
        let n = self.size(33)?;
        let parts = (0..n).map(|_| self.part(rows)).collect::<Option<_>>()?;
        let kind = self.byte()?;
        let mut weight = || u32::try_from(self.number()?).ok();
        let weights = match kind {
            0..=2 => Weights::Units,
            3 | 4 => Weights::Sum(weight()?),
            5 | 6 => Weights::Squares(weight()?),
            _ => return None,
        };
        let noise = match kind {
            0 => None,
            n if n % 2 == 1 => Some(Distribution::Laplace { scale: self.ratio()? }),
            _ => Some(Distribution::Gaussian { variance: self.ratio()? }),
        };
        let selection = match noise {
            None => None,
            Some(noise) => {
                Some(Selection { weights, noise, threshold: self.signed()?, delta: self.ratio()? })
            }
        };
        Some(Stored { rows, keys, parts, selection })
    }

    fn part(&mut self, rows: usize) -> Option<Column> {
        let key = self.key()?;
        let groups = u64::try_from(self.number()?).ok()?;
        let (linf, l1, l2_squared) = (self.number()?, self.number()?, self.number()?);
        let sensitivity = Sensitivity { groups, linf, l1, l2_squared };
        let steps = u32::try_from(self.number()?).ok()?;
        let distribution = match self.byte()? {
            0 => Distribution::None,
            1 => Distribution::Laplace { scale: self.ratio()? },
            2 => Distribution::Gaussian { variance: self.ratio()? },
            _ => return None,
        };
        let values = (0..rows).map(|_| self.signed()).collect::<Option<_>>()?;
        Some(Column { key, noise: Noise { sensitivity, distribution, steps }, values })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::prelude::*;

    fn noise() -> impl Strategy<Value = Noise> {
        let ratio = || (any::<u64>(), 1..u64::MAX).prop_map(|(n, d)| Ratio::new(n.into(), d.into()));
        let distribution = prop_oneof![
            Just(Distribution::None),
            ratio().prop_map(|scale| Distribution::Laplace { scale }),
            ratio().prop_map(|variance| Distribution::Gaussian { variance }),
        ];
        let sensitivity = (any::<u64>(), any::<[u128; 3]>());
        let sensitivity = sensitivity.prop_map(|(groups, [linf, l1, l2_squared])| Sensitivity {
            groups,
            linf,
            l1,
            l2_squared,
        });
        (sensitivity, distribution, any::<u32>()).prop_map(|(sensitivity, distribution, steps)| Noise {
            sensitivity,
            distribution,
            steps,
        })
    }

    fn weights() -> impl Strategy<Value = Weights> {
        let w = any::<u32>;
        prop_oneof![Just(Weights::Units), w().prop_map(Weights::Sum), w().prop_map(Weights::Squares)]
    }

    fn stored() -> impl Strategy<Value = Stored> {
        (0usize..5, 0usize..3, 1usize..4).prop_flat_map(|(rows, keys, parts)| {
            let cell =
                proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from));
            let keys = proptest::collection::vec(proptest::collection::vec(cell, rows), keys);
            let part = (any::<[u8; 32]>(), noise(), proptest::collection::vec(any::<i128>(), rows));
            let part = part.prop_map(|(key, noise, values)| Column { key, noise, values });
            let selection =
                proptest::option::of((1u64..1000, any::<bool>(), any::<i128>(), 1u64..1000, weights()));
            let selection = selection.prop_map(|s| {
                s.map(|(a, gaussian, threshold, b, weights)| Selection {
                    weights,
                    noise: match Ratio::new(a.into(), 7) {
                        variance if gaussian => Distribution::Gaussian { variance },
                        scale => Distribution::Laplace { scale },
                    },
                    threshold,
                    delta: Ratio::new(1, b.into()),
                })
            });
            (Just(rows), keys, proptest::collection::vec(part, parts), selection)
                .prop_map(|(rows, keys, parts, selection)| Stored { rows, keys, parts, selection })
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stored in stored()) {
            let record = Record::Release(stored);
            prop_assert_eq!(Record::decode(&record.encode()), Some(record));
        }

        #[test]
        fn other_bytes_are_nothing_or_a_record_of_their_own(
            stored in stored(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<prop::sample::Index>()
        ) {
            let record = Record::Release(stored);
            let mut bytes = record.encode();
            prop_assert_eq!(Record::decode(&bytes[..cut.index(bytes.len())]), None);
            let at = at.index(bytes.len());
            bytes[at] = to;
            if let Some(Record::Release(r)) = Record::decode(&bytes) {
                prop_assert!(r.keys.iter().all(|k| k.len() == r.rows));
                prop_assert!(r.parts.iter().all(|p| p.values.len() == r.rows));
            }
        }

        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Record::decode(&[&[VERSION, RELEASE], &bytes[..]].concat());
            let _ = Record::decode(&[&[VERSION, MEMBER], &bytes[..]].concat());
        }
    }

    #[test]
    fn members_and_marks() {
        for record in [
            Record::Member([1; 32], vec![]),
            Record::Member([2; 32], vec![[3; 32], [4; 32]]),
            Record::Several,
        ] {
            assert_eq!(Record::decode(&record.encode()), Some(record.clone()));
            assert_eq!(Record::decode(&[record.encode(), vec![0]].concat()), None, "nothing may follow");
        }
        assert_eq!(Record::decode(&[VERSION - 1, SEVERAL]), None, "another version");
        // A size that no memory holds.
        let huge = [&[VERSION, RELEASE][..], &[0xff; 17], &[0x03]].concat();
        assert_eq!(Record::decode(&huge), None);
    }
}
