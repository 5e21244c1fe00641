//! Findings about a table.

use super::policy::Protection;
use super::words::NOTICE;
use ::risk::{Asked, Classes, Diversity, Found, Population};
use serde_json::{Value, json};

/// All that was found.
pub(super) struct Risk {
    /// The table, as it was named.
    pub(super) about: String,
    /// The population, likewise.
    pub(super) beside: Option<String>,
    pub(super) asked: Asked,
    pub(super) classes: Classes,
    /// Of all sets that were counted, the smaller first.
    pub(super) sets: Vec<Found>,
    /// Of each sensitive column.
    pub(super) diversity: Vec<Diversity>,
    pub(super) population: Option<Population>,
    pub(super) protection: Option<Protection>,
}

impl Risk {
    /// Words for the table's people, by how they are counted.
    pub(super) fn counted(&self) -> String {
        match &self.asked.unit {
            Some(unit) => format!("people, told apart by {unit}"),
            None => "people, one for each row".into(),
        }
    }

    pub(super) fn object(&self) -> Value {
        let c = &self.classes;
        let diversity = self.diversity.iter().map(|d| {
            json!({
                "column": d.column,
                "values": d.values,
                "distinct_l": d.distinct(),
                "entropy_l": d.entropy(),
                "t_closeness": d.closeness(),
                "distance": if d.ordered { "ordered" } else { "equal" },
                "given_away": d.given_away(),
                "by_values": d.by_values,
            })
        });
        let population = self.population.as_ref().map(|p| {
            json!({
                "table": self.beside,
                "people": p.people(),
                "k_map": p.k_map(),
                "journalist_risk": p.named(),
                "delta_presence": p.presence().map(|(least, most)| json!({ "least": least, "most": most })),
                "missing": p.missing(),
                "exceeding_classes": p.exceeding(),
            })
        });
        json!({
            "notice": NOTICE,
            "table": self.about,
            "unit": self.asked.unit,
            "quasi": self.asked.quasi,
            "people": c.people(),
            "classes": c.classes(),
            "k_anonymity": c.k(),
            "unique": c.unique(),
            "prosecutor_risk": c.named(),
            "sizes": c.sizes,
            "sets": self.sets,
            "uniqueness": ::risk::curve(&self.sets),
            "sensitive": diversity.collect::<Vec<_>>(),
            "population": population,
            "policy": self.protection.as_ref().map(Protection::object),
        })
    }
}
