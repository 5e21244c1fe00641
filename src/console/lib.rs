//! The console: pages for people who decide (owners, data-protection officers) and people who look (auditors). What has been
//! promised, to whom, and what is left.
//!
//! Everything is read from the policy in force and from the books, never from a table, and nothing here changes anything. No
//! page needs a script, and none asks anything of another host. `server` is the way of a request; `login`, `sessions` and
//! `throttle` are the door; `reading` is what was read of the books; `pages` are the pages. No SQL and no backend belong here.

mod chart;
mod login;
mod meaning;
mod pages;
mod reading;
mod server;
mod sessions;
mod throttle;
mod words;

pub use server::{Console, Source};
