//! Words and rows for analysts: EXPLAIN, prices, advice, how to read an answer, and the relations
//! `noisegate.*`.

pub mod advice;
pub mod budget_split;
pub mod explanation;
pub mod help;
pub mod price;
mod ranks;
pub mod reading;
pub mod virtual_relations;
pub mod words;
