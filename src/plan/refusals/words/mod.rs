//! Refusals in words: the one place where a reason becomes a message, a detail, a hint and a SQLSTATE.

mod join;
mod set_operation;
mod subquery;
mod within;

use super::Refusal;
use crate::PlanError;
use answer::ClientError;

impl From<Refusal> for ClientError {
    fn from(refusal: Refusal) -> Self {
        let (words, pos) = match refusal {
            Refusal::Join(r, pos) => (r.words(), pos),
            Refusal::SetOperation(r, pos) => (r.words(), pos),
            Refusal::Subquery(r, pos) => (r.words(), pos),
            Refusal::Within(r, pos) => (r.words(), pos),
            Refusal::Unread(form, pos) => (unsupported(&format!("this {form}")), pos),
            Refusal::Said(e) => return e,
        };
        words.at(pos)
    }
}

impl From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        ClientError::from(refusal).into()
    }
}

fn unsupported(what: &str) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported"))
}
