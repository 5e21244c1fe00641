//! From FROM and WHERE to relations of which each row belongs to one unit.
//!
//! | state ([`relation`]) | what stands in it | what holds |
//! |---|---|---|
//! | `Reading` | joins of scans so far (`from`, `set_operations`, `per_unit`, `correlated`, `released`) | derived tables that only project and filter are part of the query around them |
//! | `Read` | all joins, and WHERE | no scalar subquery looks at rows around it |
//! | `Owned` | joins with the equalities of units (`units`, `unit_paths`), their properties | each row has one owner; subqueries in conditions are tied to it (`semi_join`) |
//!
//! A relation of groups or windows within a unit, and a branch of a set operation, is owned by itself before it is a scan of the
//! relation around it.

mod correlated;
mod cross_unit;
mod from;
pub mod given;
mod outer_join;
pub(crate) mod per_unit;
pub(crate) mod relation;
mod released;
pub(crate) mod row_bounds;
pub(crate) mod scans;
pub(crate) mod scope;
mod semi_join;
mod set_operations;
mod unit_paths;
pub(crate) mod units;
