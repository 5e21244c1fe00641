//! From text to a resolved tree: parse, resolve names, know which functions exist.
//!
//! No I/O, and nothing here knows what is private or what anything costs; that is `plan`. Names resolve through
//! [`catalog::Catalog`] only: what it does not name does not exist.

pub mod ast;
pub mod catalog;
pub mod command;
pub mod constants;
mod depth;
mod estimates;
pub mod functions;
pub mod insert;
mod lines;
pub mod names;
pub mod output;
pub mod parse;
pub mod place;
mod read_only;
pub mod resolve;
pub mod session;
pub mod spend;
pub mod statement;
pub mod text_size;
mod types;
pub mod weight;

pub use answer::Control;
pub use command::Syntax;
pub use insert::{Cell, Insert};
pub use session::SessionStatement;
pub use spend::Spend;
pub use statement::{Classified, Explain, Kind, classify};
