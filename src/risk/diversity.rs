//! Diversity: what a class tells of a sensitive column.

use serde::Serialize;

/// Classes by their number of distinct values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Values {
    /// Distinct values in each of them; NULL is one.
    pub values: u64,
    /// Number of such classes.
    pub classes: u64,
    /// Rows in them, or people with a value.
    pub entries: u64,
    /// The least exponential of the entropy among them.
    pub entropy: f64,
    /// The greatest distance from the whole table among them.
    pub distance: f64,
}

/// A sensitive column over all classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diversity {
    /// Name of the column.
    pub column: String,
    /// Whether distances are those along a line; else all values are equally far from each other.
    pub ordered: bool,
    /// Distinct values in the whole table.
    pub values: u64,
    /// Classes by their number of values, ascending.
    pub by_values: Vec<Values>,
}

impl Diversity {
    /// Distinct l-diversity (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007): the fewest values in a class; 0 where there
    /// is nobody.
    pub fn distinct(&self) -> u64 {
        self.by_values.iter().map(|v| v.values).min().unwrap_or(0)
    }

    /// Entropy l-diversity (the same): the greatest l such that the entropy of each class is at least ln l.
    pub fn entropy(&self) -> f64 {
        self.by_values.iter().map(|v| v.entropy).reduce(f64::min).unwrap_or(0.0)
    }

    /// t-closeness (Li, Li and Venkatasubramanian 2007): the greatest earth mover's distance between the values of a class and those
    /// of the whole table.
    pub fn closeness(&self) -> f64 {
        self.by_values.iter().map(|v| v.distance).reduce(f64::max).unwrap_or(0.0)
    }

    /// Share of entries in classes of which all have the same value: to know the class is to know
    /// it.
    pub fn given_away(&self) -> f64 {
        self.within(1)
    }

    /// Share of entries in classes with at most `values` values.
    pub fn within(&self, values: u64) -> f64 {
        let all: u64 = self.by_values.iter().map(|v| v.entries).sum();
        let within: u64 = self.by_values.iter().filter(|v| v.values <= values).map(|v| v.entries).sum();
        within as f64 / (all as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_class_counts() {
        let by =
            |values, entries, entropy, distance| Values { values, classes: 1, entries, entropy, distance };
        let by_values = vec![by(1, 5, 1.0, 0.4), by(2, 10, 1.2, 0.7), by(3, 5, 2.9, 0.1)];
        let found = Diversity { column: "d".into(), ordered: false, values: 3, by_values };
        assert_eq!((found.distinct(), found.entropy(), found.closeness()), (1, 1.0, 0.7));
        assert_eq!((found.given_away(), found.within(2), found.within(9)), (0.25, 0.75, 1.0));
    }
}
