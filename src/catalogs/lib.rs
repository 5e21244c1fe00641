//! System catalogs as a policy shows them.
//!
//! A statement over `pg_catalog`, `information_schema` and constants is printed anew: each relation becomes a
//! subquery over the real one that shows what the policy shows (`relations`, `views.sql`), or nothing, with all its columns;
//! each function, operator and type is taken from a list by schema (`functions`, `operators`, `types`), every name is
//! resolved (`scope`) and quoted. The database runs the text as the finish login. What is on no list is refused; no text of a client's reaches the database
//! but names that were resolved and literals that were quoted. Nothing here does I/O, and nothing private is in reach:
//! what must not be seen is metadata that moves with rows, and what the policy does not name.
//!
//! Names of objects become OIDs here, never there: no expression of a type that looks names up (`regclass` and its kin) can
//! meet a literal. They exist where they are shown, and as the OIDs that they are everywhere else (`print::named`).

mod about;
mod asker;
mod base;
mod facts;
mod functions;
mod operators;
mod print;
mod relations;
mod scope;
mod text;
mod types;
mod views;

pub use about::{About, about};
pub use asker::Asker;
pub use base::Catalogs;
pub use facts::{Facts, QUESTIONS, Questions};
pub use print::{Given, Rewritten, SetConfig, rewrite};
