//! Classes of people who share all quasi-identifiers.

use serde::Serialize;

/// Classes of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// People in each.
    pub size: u64,
    /// People whose smallest class has this size.
    pub people: u64,
    /// Classes of this size.
    pub classes: u64,
}

/// Of a table, by size, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Classes {
    /// All sizes that occur.
    pub sizes: Vec<Size>,
}

impl Classes {
    /// People in all.
    pub fn people(&self) -> u64 {
        self.sizes.iter().map(|s| s.people).sum()
    }

    /// Classes in all.
    pub fn classes(&self) -> u64 {
        self.sizes.iter().map(|s| s.classes).sum()
    }

    /// k-anonymity (Samarati and Sweeney 1998): the size of the smallest class; 0 where there is nobody.
    pub fn k(&self) -> u64 {
        self.sizes.iter().filter(|s| s.classes > 0).map(|s| s.size).min().unwrap_or(0)
    }

    /// People who share the columns with nobody.
    pub fn unique(&self) -> u64 {
        self.sizes.iter().filter(|s| s.size == 1).map(|s| s.people).sum()
    }

    /// The share of people whom somebody names rightly who knows the columns of everybody and guesses within each class: the mean
    /// of one over the size (the average prosecutor risk).
    pub fn named(&self) -> f64 {
        let named: f64 = self.sizes.iter().map(|s| s.people as f64 / s.size.max(1) as f64).sum();
        named / (self.people() as f64).max(1.0)
    }

    /// The share of people in a class of at most this size.
    pub fn within(&self, size: u64) -> f64 {
        let within: u64 = self.sizes.iter().filter(|s| s.size <= size).map(|s| s.people).sum();
        within as f64 / (self.people() as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_measures() {
        let size = |size, classes| Size { size, people: size * classes, classes };
        let found = Classes { sizes: vec![size(1, 3), size(2, 1), size(5, 1)] };
        assert_eq!((found.people(), found.classes(), found.k(), found.unique()), (10, 5, 1, 3));
        assert_eq!((found.named(), found.within(1), found.within(4), found.within(5)), (0.5, 0.3, 0.5, 1.0));
        let nobody = Classes::default();
        assert_eq!((nobody.k(), nobody.named(), nobody.within(9)), (0, 0.0, 0.0));
    }

    #[test]
    fn whoever_is_in_several_classes_counts_in_the_smallest() {
        // One of two people of a class of 2 is alone in another.
        let sizes = vec![Size { size: 1, people: 1, classes: 1 }, Size { size: 2, people: 1, classes: 1 }];
        let found = Classes { sizes };
        assert_eq!((found.people(), found.classes(), found.unique(), found.named()), (2, 2, 1, 0.75));
    }
}
