//! Profiles: what was measured, once and for everybody, of how much single units weigh in a table.
//!
//! A profile is a release. It is kept in the books, and public: bounds are chosen by it, and it
//! says what they cut. No promise of privacy rests on it.

use bigdecimal::{BigDecimal, RoundingMode, Signed, ToPrimitive, Zero};
use dp::profile::{Histogram, Tail};
use dp::{Distribution, Ratio};
use schema::{ProfileDeviations, ProfileItem, ProfileKey, ProfileNoise};
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

/// A number that each unit has: a norm, over groups, of what its rows add up to in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What is added up for each row.
    pub added: Added,
    /// The groups, over which the root of the sum of squares is taken. None: all rows are together.
    pub by: Option<ByKey>,
}

/// What is added up for each row of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// 1.
    Rows,
    /// The magnitude of a value less a centre.
    Deviations(Deviations),
}

/// Magnitudes of a column's values, within their range, less a centre.
///
/// No value that lies between others and the centre deviates more: what is measured bounds the sums of any rows of the table, and of
/// values that are cut further towards the centre.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviations {
    /// The column.
    pub column: String,
    /// The centre, on the grid.
    pub about: BigDecimal,
    /// Lower end of the values.
    pub low: BigDecimal,
    /// Upper end of the values.
    pub high: BigDecimal,
    /// The grid on which they are added up.
    pub grid: BigDecimal,
    /// Steps of the grid that are one of [`dp::profile::ENDS`].
    pub steps: u64,
}

/// Groups by a column of the table, or by the month or year that its value lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByKey {
    /// The column.
    pub column: String,
    /// What of it.
    pub to: Option<Calendar>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// Of a year.
    Month,
    /// Of the calendar.
    Year,
}

impl Calendar {
    /// As PostgreSQL names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// The unit of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Month, Self::Year].into_iter().find(|u| u.word() == word)
    }
}

impl std::fmt::Display for ByKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.column)?;
        self.to.map_or(Ok(()), |unit| write!(f, ":{}", unit.word()))
    }
}

/// As commands and views name it: `rows`, `fare`, `fare about 3.2 by station`.
impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.added {
            Added::Rows => f.write_str("rows")?,
            Added::Deviations(d) if d.about.is_zero() => f.write_str(&d.column)?,
            Added::Deviations(d) => {
                write!(f, "{} about {}", d.column, d.about.normalized().to_plain_string())?;
            }
        }
        self.by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))
    }
}

impl Measure {
    /// The number of rows.
    pub const ROWS: Self = Self { added: Added::Rows, by: None };

    /// What is added up, in words.
    pub fn named(&self) -> String {
        match &self.added {
            Added::Rows => "rows".into(),
            Added::Deviations(d) if d.about.is_zero() => format!("values of {}", d.column),
            Added::Deviations(d) => {
                let about = d.about.normalized().to_plain_string();
                format!("differences of {} from {about}", d.column)
            }
        }
    }

    /// The most that a unit of so many rows has, in numbers of [`dp::profile::ENDS`].
    pub fn most(&self, rows: u32) -> u64 {
        match &self.added {
            Added::Rows => rows.into(),
            Added::Deviations(d) => {
                let far = (&d.high - &d.about).abs().max((&d.about - &d.low).abs());
                let all = far * BigDecimal::from(rows) / &d.grid / BigDecimal::from(d.steps);
                all.with_scale_round(0, RoundingMode::Ceiling).to_u64().unwrap_or(u64::MAX)
            }
        }
    }

    /// A number of [`dp::profile::ENDS`] in its own unit.
    pub fn amount(&self, ends: u64) -> BigDecimal {
        match &self.added {
            Added::Rows => ends.into(),
            Added::Deviations(d) => BigDecimal::from(ends) * BigDecimal::from(d.steps) * &d.grid,
        }
    }

    /// The same of any number, as people read it.
    pub fn told(&self, ends: f64) -> f64 {
        match &self.added {
            Added::Rows => ends,
            Added::Deviations(d) => ends * d.grid.to_f64().unwrap_or(f64::NAN) * d.steps as f64,
        }
    }

    fn read(item: &ProfileItem) -> Option<Self> {
        let number = |text: &String| text.parse::<BigDecimal>().ok();
        let added = match (item.of.as_str(), &item.deviations) {
            ("rows", None) => Added::Rows,
            ("deviations", Some(d)) => {
                let (grid, steps) = (number(&d.grid)?, d.steps);
                if !grid.is_positive() || steps == 0 {
                    return None;
                }
                let (about, low, high) = (number(&d.about)?, number(&d.low)?, number(&d.high)?);
                Added::Deviations(Deviations { column: d.column.clone(), about, low, high, grid, steps })
            }
            _ => return None,
        };
        let cut = |key: &ProfileKey| {
            let to = key.cut.as_ref().map(|word| Calendar::of_word(word).ok_or(())).transpose().ok()?;
            Some(ByKey { column: key.column.clone(), to })
        };
        Some(Self { added, by: item.by.as_ref().map(|key| cut(key).ok_or(())).transpose().ok()? })
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
            Some((Measure::read(item)?, histogram))
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
        let text = |d: &BigDecimal| d.normalized().to_plain_string();
        let deviations = |d: &Deviations| ProfileDeviations {
            column: d.column.clone(),
            about: text(&d.about),
            low: text(&d.low),
            high: text(&d.high),
            grid: text(&d.grid),
            steps: d.steps,
        };
        let key = |cut: &ByKey| {
            let unit = cut.to.map(|unit| unit.word().to_owned());
            ProfileKey { column: cut.column.clone(), cut: unit }
        };
        let item = |(of, histogram): &(Measure, Histogram)| ProfileItem {
            of: if of.added == Added::Rows { "rows" } else { "deviations" }.into(),
            deviations: if let Added::Deviations(d) = &of.added { Some(deviations(d)) } else { None },
            by: of.by.as_ref().map(key),
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
