//! Metrics for monitoring: `/metrics` in OpenMetrics, `/live` and `/ready`. Counts and times of all
//! statements of a database together: no user, no text, no value, and of a budget the part that is
//! spent.
//!
//! `reading` is what is measured at a moment, `exposition` its text, with the list of all metrics,
//! and `server` the way of a request. It knows no gateway: what serves is a [`Source`].

mod exposition;
mod reading;
mod server;

pub use exposition::{METRICS, Metric, exposition};
pub use reading::{Database, Ledger, Pool, Reading, Trouble};
pub use server::{Answer, Monitor, Source};

#[cfg(test)]
mod tests;
