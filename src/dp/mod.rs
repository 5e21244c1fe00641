//! Noise, mechanisms and accounting. Pure: no I/O, no SQL, no async, no clocks.
//!
//! Neighbouring databases differ by all rows of one unit (add or remove).

mod spec;
pub use spec::{Charge, Event, Mechanism, Noise, Selection, Spec};

/// Exact non-negative rationals: scales, ε, δ.
pub type Ratio = num_rational::Ratio<u128>;
