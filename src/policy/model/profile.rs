//! Profiles: what was measured, once and for everybody, of how much single units weigh in a table.
//!
//! A profile is a release. It is kept in the books, and public: bounds are chosen by it, and it
//! says what they cut. No promise of privacy rests on it.

use dp::profile::{Histogram, Tail};
use dp::{Distribution, Ratio};
use schema::{ProfileItem, ProfileNoise};
use std::time::Duration;

/// How long a profile is taken for true where the policy does not say.
pub const PROFILE_VALID: Duration = Duration::from_secs(90 * 86_400);

/// What was measured of a table's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Number of the ledger's entry that holds it.
    pub id: u64,
    /// When it was measured, in microseconds since 1970-01-01 UTC.
    pub measured: i64,
    /// Until when it is taken for true, likewise.
    pub valid_until: i64,
    /// The items.
    pub items: Vec<Item>,
}

/// A number of each unit, of which there is a noisy histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The number.
    pub of: Measure,
    /// The histogram.
    pub histogram: Histogram,
    /// What it says of the units that have most.
    pub tail: Tail,
}

/// A number that each unit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Its rows, of all rows of the table.
    Rows,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 1] = [Self::Rows];

    /// As books, commands and views name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rows => "rows",
        }
    }

    /// The measure of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.word() == word)
    }
}

/// A profile that waits for its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Schema of the table in the database.
    pub schema: String,
    /// Name of the table in the database.
    pub table: String,
    /// Whose rows were counted together, by [`Policy::owner`](super::Policy::owner).
    pub owner: String,
    /// Number of the ledger's entry that holds it.
    pub id: u64,
    /// When it was measured, in microseconds since 1970-01-01 UTC.
    pub measured: i64,
    /// Until when it is taken for true, likewise.
    pub valid_until: i64,
    /// The histograms.
    pub items: Vec<(Measure, Histogram)>,
}

impl Measured {
    /// A profile as books have it. None if it is not what [`Self::written`] writes.
    pub fn read(id: u64, written: &schema::Profile) -> Option<Self> {
        let ratio = |text: &str| text.parse::<Ratio>().ok();
        let item = |item: &ProfileItem| {
            let noise = match &item.noise {
                ProfileNoise::Laplace(scale) => Distribution::Laplace { scale: ratio(scale)? },
                ProfileNoise::Gaussian(variance) => Distribution::Gaussian { variance: ratio(variance)? },
            };
            let histogram = Histogram::new(item.bins.clone(), noise, ratio(&item.epsilon)?).ok()?;
            Some((Measure::of_word(&item.of)?, histogram))
        };
        let schema::Profile { schema, table, owner, measured, valid_until, items } = written;
        Some(Self {
            schema: schema.clone(),
            table: table.clone(),
            owner: owner.clone(),
            id,
            measured: *measured,
            valid_until: *valid_until,
            items: items.iter().map(item).collect::<Option<_>>()?,
        })
    }

    /// As books have it.
    pub fn written(&self) -> schema::Profile {
        let item = |(of, histogram): &(Measure, Histogram)| ProfileItem {
            of: of.word().into(),
            epsilon: histogram.epsilon().to_string(),
            noise: match histogram.noise() {
                Distribution::Laplace { scale } => ProfileNoise::Laplace(scale.to_string()),
                Distribution::Gaussian { variance } => ProfileNoise::Gaussian(variance.to_string()),
                // No histogram is made without noise.
                Distribution::None => ProfileNoise::Gaussian("0".into()),
            },
            bins: histogram.bins().to_vec(),
        };
        schema::Profile {
            schema: self.schema.clone(),
            table: self.table.clone(),
            owner: self.owner.clone(),
            measured: self.measured,
            valid_until: self.valid_until,
            items: self.items.iter().map(item).collect(),
        }
    }
}
