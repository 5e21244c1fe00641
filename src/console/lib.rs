//! The console: pages for people who decide (owners, data-protection officers) and people who look (auditors). What has been
//! promised, to whom, and what is left.
//!
//! Everything is read from the policy in force and from the books, never from a table, and nothing here changes anything. No
//! page needs a script, but for the demo's survey, and none asks anything of another host. What commands print as pages is drawn with the same parts. `server` is the way of a request; `login`, `sessions` and
//! `throttle` are the door; `source` is what is in force and `reading` what was read of the books;
//! `told` says a policy in sentences; `pages` are the pages. No SQL and no backend belong here.

pub mod chart;
mod door;
mod live;
mod login;
pub mod meaning;
mod pages;
mod reading;
mod report;
mod response;
mod server;
mod sessions;
mod source;
mod survey;
mod throttle;
pub mod told;
pub mod words;

pub use live::{Client, Incident, Live, Pool, UserStream};
pub use pages::{STYLE, meta, table};
pub use report::Report;
pub use server::Console;
pub use source::{InForce, Known, Question, Source, Survey};
