//! Profiles of units as books and snapshots have them: numbers that may have more than 53 bits are
//! text.

use serde::{Deserialize, Serialize};

/// A profile of a private table's units: released, and public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The table's schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// Whose rows were counted together: the columns that lead to the unit.
    pub owner: String,
    /// When it was measured, in microseconds since 1970-01-01 UTC.
    pub measured: i64,
    /// Until when it is taken for true, likewise.
    pub valid_until: i64,
    /// Its items.
    pub items: Vec<ProfileItem>,
}

/// A noisy histogram of one number of each unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileItem {
    /// The number: `rows`, or `deviations`, which add up.
    pub of: String,
    /// What deviates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviations: Option<ProfileDeviations>,
    /// The groups over which the root of the sum of squares is taken; without, all rows are together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ProfileKey>,
    /// The ε that names the price.
    pub epsilon: String,
    /// Noise of each bin.
    pub noise: ProfileNoise,
    /// Noisy numbers of units.
    pub bins: Vec<i64>,
}

/// Magnitudes of a column's values less a centre.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileDeviations {
    /// The column.
    pub column: String,
    /// The centre.
    pub about: String,
    /// Lower end of the values.
    pub low: String,
    /// Upper end of the values.
    pub high: String,
    /// The grid of the values.
    pub grid: String,
    /// Steps of the grid that are one of the bins' ends.
    pub steps: u64,
}

/// A key of groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileKey {
    /// The column.
    pub column: String,
    /// What it is cut to: `month` or `year`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// Noise of a bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProfileNoise {
    /// Discrete Laplace noise of this scale.
    Laplace(String),
    /// Discrete Gaussian noise of this variance.
    Gaussian(String),
}
