//! A table beside the population that its people come from.

use serde::Serialize;

/// Classes of the population of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Match {
    /// People of the population in each.
    pub size: u64,
    /// People of the table in them.
    pub people: u64,
    /// Number of classes with somebody of the table.
    pub classes: u64,
    /// Number of classes with more people of the table than of the population.
    pub exceeding: u64,
    /// All of them.
    pub there: u64,
    /// The least and the greatest share of a class that is in the table; None for size 0.
    pub shares: Option<(f64, f64)>,
}

/// By size, ascending; size 0 is of classes that the population does not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Population {
    /// All sizes that occur.
    pub sizes: Vec<Match>,
}

impl Population {
    /// k-map (Sweeney 2002): the fewest people of the population who look like somebody of the table; 0 where the population has
    /// nobody like them.
    pub fn k_map(&self) -> u64 {
        self.sizes.iter().filter(|m| m.classes > 0).map(|m| m.size).min().unwrap_or(0)
    }

    /// δ-presence (Nergiz, Atzori and Clifton 2007): the least and the greatest chance that somebody of the population is in the
    /// table, to who knows the columns.
    pub fn presence(&self) -> Option<(f64, f64)> {
        let shares = self.sizes.iter().filter_map(|m| m.shares);
        let (low, high) = shares.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some((low.min(1.0), high.min(1.0)))
    }

    /// People of the table whom the population does not have, by their columns: it is no population of it.
    pub fn missing(&self) -> u64 {
        self.sizes.iter().filter(|m| m.size == 0).map(|m| m.people).sum()
    }

    /// Classes with more people of the table than of the population: likewise.
    pub fn exceeding(&self) -> u64 {
        self.sizes.iter().map(|m| m.exceeding).sum()
    }

    /// People of the population.
    pub fn people(&self) -> u64 {
        self.sizes.iter().map(|m| m.size.saturating_mul(m.there)).sum()
    }

    /// The share of the table's people whom somebody names rightly who has the population's columns with names, and guesses within each
    /// class (the average journalist risk). Whom the population does not have counts as named.
    pub fn named(&self) -> f64 {
        let named: f64 = self.sizes.iter().map(|m| m.people as f64 / m.size.max(1) as f64).sum();
        named / self.sizes.iter().map(|m| m.people as f64).sum::<f64>().max(1.0)
    }

    /// Share of the table's people with at most `size` people of the population who look like them.
    pub fn within(&self, size: u64) -> f64 {
        let within: u64 = self.sizes.iter().filter(|m| m.size <= size).map(|m| m.people).sum();
        within as f64 / self.sizes.iter().map(|m| m.people as f64).sum::<f64>().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_those_of_the_population() {
        let of = |size, people, classes, exceeding, there, shares| Match {
            size,
            people,
            classes,
            exceeding,
            there,
            shares,
        };
        // 10 classes of 4, of which 2 have 4 and 2 people of the table; 5 of 1 with one each.
        let found = Population {
            sizes: vec![of(1, 5, 5, 0, 5, Some((1.0, 1.0))), of(4, 6, 2, 0, 10, Some((0.0, 1.0)))],
        };
        assert_eq!((found.k_map(), found.people(), found.missing(), found.exceeding()), (1, 45, 0, 0));
        assert_eq!(found.presence(), Some((0.0, 1.0)));
        assert!((found.named() - 6.5 / 11.0).abs() < 1e-12);
        assert!((found.within(1) - 5.0 / 11.0).abs() < 1e-12);
        // Somebody whom it does not have.
        let odd = Population { sizes: vec![of(0, 2, 1, 1, 1, None), of(3, 6, 1, 1, 1, Some((2.0, 2.0)))] };
        assert_eq!(
            (odd.k_map(), odd.missing(), odd.exceeding(), odd.presence()),
            (0, 2, 2, Some((1.0, 1.0)))
        );
        assert_eq!(Population::default().presence(), None);
    }
}
