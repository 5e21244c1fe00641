//! Messages over the control socket.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// To read the policy again.
    Reload {
        /// The policy that is meant: it must be the one that is served.
        policy: PathBuf,
        /// Only to say what would come of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        check: bool,
    },
    /// To end all kept answers.
    Refresh {
        /// The policy that is meant.
        policy: PathBuf,
        /// Author of the request.
        author: String,
        /// Why.
        reason: String,
    },
    /// To measure units, or to say what that costs.
    Profile {
        /// The policy that is meant.
        policy: PathBuf,
        /// The step that is wanted.
        step: Profiling,
    },
}

/// A step of `noisegate profile`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Profiling {
    /// To name the private tables.
    Tables,
    /// To price a measurement; nothing is spent.
    Price {
        /// Name of the table.
        table: String,
        /// The measurement.
        what: Measured,
        /// ε.
        epsilon: String,
    },
    /// To measure the number of units.
    Units {
        /// Name of the table.
        table: String,
        /// ε.
        epsilon: String,
    },
    /// To measure the items of a table, and write them into the ledger.
    Items {
        /// Name of the table.
        table: String,
        /// Columns and keys beside rows.
        beside: Beside,
        /// ε.
        epsilon: String,
        /// Who has it measured.
        author: String,
        /// Why.
        reason: String,
    },
}

/// Something that is measured of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Measured {
    /// The number of its units.
    Units,
    /// Items.
    Items(Beside),
}

/// Columns and keys that are measured beside the rows of units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Columns whose values are added up.
    pub columns: Vec<String>,
    /// Keys of groups: a column, or `column:month`.
    pub keys: Vec<String>,
}

/// Outcome of a step of `noisegate profile`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// The private tables, and the least ε of a statement.
    Tables {
        /// Each table.
        tables: Vec<Table>,
        /// The least ε.
        least: String,
    },
    /// The price in each budget.
    Price(Vec<ProfilePrice>),
    /// A noisy number of units.
    Units(i64),
    /// The profile that was written into the ledger.
    Items {
        /// Number of the entry.
        id: u64,
        /// The profile.
        profile: schema::Profile,
        /// The most rows that a unit can have, as the policy says.
        most_rows: Option<u32>,
    },
}

/// A private table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the table.
    pub name: String,
    /// Why there is nothing to measure, if there is not.
    pub nothing: Option<String>,
    /// Columns whose values can be added up.
    pub adds: Vec<String>,
    /// All columns.
    pub columns: Vec<String>,
}

/// Price of a measurement in a budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilePrice {
    /// The budget.
    pub budget: String,
    /// The part of it that is taken, from 0 to 1.
    pub part: f64,
    /// The part that is left, from 0 to 1.
    pub left: f64,
    /// As many statements at the policy's price cost as much.
    pub statements: f64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The new policy is in force.
    Reloaded {
        /// Keys that changed with it.
        changed: Vec<String>,
        /// Keys that changed and need a restart.
        restart: Vec<String>,
        /// Warnings: allowed, but probably not meant.
        warnings: Vec<String>,
    },
    /// Kept answers have ended.
    Refreshed,
    /// Units were measured, or priced.
    Profiled(Profiled),
    /// The old one stays in force, and why.
    Refused(String),
}
