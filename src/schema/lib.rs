//! A plain snapshot of a database's schema: relations, columns, types, keys, checks.
//!
//! It is read by `backend::introspect` or from a file, and imports nobody. No rows, no statistics and no
//! estimates are ever in it. What a key proves is decided here (soundness rule 7): see [`Relation::usable_keys`].

mod difference;
mod model;
mod profile;
pub mod quoted;
mod snapshot;
#[cfg(test)]
mod tests;
pub mod time;
mod types;
pub use difference::{differences, version};
pub use model::{Check, Column, Engine, ForeignKey, Key, Placement, Relation, RelationKind, Schema};
pub use profile::{Profile, ProfileDeviations, ProfileItem, ProfileKey, ProfileNoise};
pub use snapshot::{FORMAT, NumberedProfile, Size, Snapshot, SnapshotError};
pub use types::SqlType;
