//! Sets of quasi-identifiers, and which of them identify most.

use serde::Serialize;

/// A set of columns, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set(u32);

impl Set {
    /// From what GROUPING says of `columns` columns: a 1 for each that is left out, the first being the highest bit.
    pub fn from_grouping(grouping: i32, columns: usize) -> Self {
        let out = |i: &usize| grouping >> (columns - 1 - i) & 1 == 1;
        Self((0..columns).filter(|i| !out(i)).map(|i| 1 << i).sum())
    }

    /// The places of its columns, ascending from 0.
    pub fn columns(self) -> impl Iterator<Item = usize> {
        (0..u32::BITS as usize).filter(move |i| self.0 >> i & 1 == 1)
    }

    /// Number of columns.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Sets of at most `most` of `columns` columns, and the set of all; the smaller first.
pub fn sets(columns: usize, most: usize) -> Vec<Set> {
    let all = (1u32 << columns.min(u32::BITS as usize - 1)) - 1;
    let mut sets: Vec<Set> = (1..=all).map(Set).filter(|s| s.len() <= most || s.0 == all).collect();
    sets.sort_by_key(|s| (s.len(), s.0));
    sets
}

/// Counts of a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Columns of the set.
    pub columns: Vec<String>,
    /// Classes of people who share them.
    pub classes: u64,
    /// People in the smallest.
    pub k: u64,
    /// People who share them with nobody.
    pub unique: u64,
    /// The same as a share of all.
    pub share: f64,
}

/// Sets that identify most: of those whose every column adds something, by the share of people who are unique, and where that is
/// the same the fewer columns first. A set that identifies nobody more than a smaller one within it is left out.
pub fn most_identifying(found: &[Found], told: usize) -> Vec<&Found> {
    let within = |small: &Found, large: &Found| {
        small.columns.len() < large.columns.len() && small.columns.iter().all(|c| large.columns.contains(c))
    };
    let adds = |f: &&Found| f.unique > 0 && !found.iter().any(|s| within(s, f) && s.unique >= f.unique);
    let mut best: Vec<&Found> = found.iter().filter(adds).collect();
    best.sort_by(|a, b| b.unique.cmp(&a.unique).then(a.columns.len().cmp(&b.columns.len())));
    best.truncate(told);
    best
}

/// Uniqueness of people to somebody who knows a number of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Number of columns.
    pub columns: usize,
    /// The share of people who are unique, by the set that identifies least.
    pub least: f64,
    /// The mean over all sets.
    pub mean: f64,
    /// By the set that identifies most.
    pub most: f64,
}

/// Points of the curve: one for each number of columns of which sets were counted.
pub fn curve(found: &[Found]) -> Vec<Curve> {
    let most = found.iter().map(|f| f.columns.len()).max().unwrap_or(0);
    let point = |columns: usize| {
        let shares: Vec<f64> = found.iter().filter(|f| f.columns.len() == columns).map(|f| f.share).collect();
        let (least, most) =
            (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
        Some(Curve { columns, least, mean: shares.iter().sum::<f64>() / shares.len() as f64, most })
    };
    (1..=most).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &[&str], unique: u64) -> Found {
        let columns = columns.iter().map(|c| (*c).to_owned()).collect();
        Found { columns, classes: 1, k: 1, unique, share: unique as f64 / 100.0 }
    }

    #[test]
    fn sets_are_those_of_grouping() {
        let two: Vec<Vec<usize>> = sets(3, 2).into_iter().map(|s| s.columns().collect()).collect();
        assert_eq!(two, [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![1, 2], vec![0, 1, 2]]);
        assert_eq!((sets(3, 1).len(), sets(12, 12).len(), sets(1, 3).len()), (4, 4095, 1));
        // GROUPING(q1, q2, q3) = 3 where only q1 is grouped by.
        assert!(Set::from_grouping(3, 3).columns().eq([0]));
        assert!(Set::from_grouping(0, 3).columns().eq([0, 1, 2]) && Set::from_grouping(7, 3).is_empty());
    }

    #[test]
    fn a_column_that_adds_nothing_is_left_out() {
        let all = [
            found(&["a"], 10),
            found(&["b"], 0),
            found(&["c"], 3),
            found(&["a", "b"], 10),
            found(&["a", "c"], 40),
            found(&["a", "b", "c"], 41),
        ];
        let best: Vec<u64> = most_identifying(&all, 3).iter().map(|f| f.unique).collect();
        assert_eq!(best, [41, 40, 10]);
        let points = curve(&all);
        assert_eq!(
            points.iter().map(|p| (p.columns, p.least, p.most)).collect::<Vec<_>>(),
            [(1, 0.0, 0.1), (2, 0.1, 0.4), (3, 0.41, 0.41)]
        );
        assert!(curve(&[]).is_empty());
    }
}
