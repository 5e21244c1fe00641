//! Refusals in words: the one place where a reason becomes a message, a detail, a hint and a SQLSTATE.

mod aggregate;
mod group;
mod interval;
mod join;
mod meeting;
mod moment;
mod number;
mod price;
mod returned;
mod set_operation;
mod stream;
mod subquery;
mod text;
mod value;
mod within;

use super::Refusal;
use answer::{ClientError, SqlState};
use schema::SqlType;

impl From<Refusal> for ClientError {
    fn from(refusal: Refusal) -> Self {
        let (words, pos) = match refusal {
            Refusal::Aggregation(r, pos) => (r.words(), pos),
            Refusal::Group(r, pos) => (r.words(), pos),
            Refusal::Interval(r, pos) => (r.words(), pos),
            Refusal::Price(r, pos) => (r.words(), pos),
            Refusal::Returned(r, pos) => (r.words(), pos),
            Refusal::Question(r, pos) => (r.words(), pos),
            Refusal::Join(r, pos) => (r.words(), pos),
            Refusal::Meeting(r, pos) => (r.words(), pos),
            Refusal::SetOperation(r, pos) => (r.words(), pos),
            Refusal::Subquery(r, pos) => (r.words(), pos),
            Refusal::Value(r, pos) => (r.words(), pos),
            Refusal::Within(r, pos) => (r.words(), pos),
            Refusal::Unread(form, pos) => (unsupported(&format!("this {form}")), pos),
            Refusal::Said(e) => return e,
        };
        words.at(pos)
    }
}

/// A type as analysts write it.
fn shown(ty: &SqlType) -> String {
    ty.sql_name().replace("pg_catalog.", "")
}

fn mismatch(what: &str) -> ClientError {
    ClientError::new(SqlState::DATATYPE_MISMATCH, what).hint("Add a cast, or compare values of one type.")
}

fn unsupported(what: &str) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported"))
}
